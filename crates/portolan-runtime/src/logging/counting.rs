//! Objects that cannot be read, as a metric.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use super::FailureLog;

/// Counts when it is asked: what a log knows changes with every object that is read.
#[derive(Debug)]
pub struct UnreadableObjects(pub FailureLog);

impl Collector for UnreadableObjects {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let help = "Objects that are there and cannot be read, by resource";
        let mut metric = encoder.encode_descriptor("unreadable_objects", help, None, MetricType::Gauge)?;
        for (resource, count) in self.0.count_unreadable() {
            let labels = [("resource", resource)];
            let gauge = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
            gauge.encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
