//! Counts requests, under the names Kubernetes counts them with.
//!
//! Only what is served is counted by name: a client that asks for what does not exist cannot make the hub remember it.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{Method, StatusCode};
use jiff::SignedDuration;

use super::request::{Place, Verb};
use crate::kinds::Resource;

/// Upper bounds of the histogram, in seconds.
const BOUNDS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0,
    20.0, 30.0, 45.0, 60.0,
];
const TOTAL: &str = "apiserver_request_total";
const DURATION: &str = "apiserver_request_duration_seconds";
const LONG_RUNNING: &str = "apiserver_longrunning_requests";

/// What is counted apart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Labels {
    verb: &'static str,
    group: String,
    version: String,
    resource: String,
    subresource: String,
    scope: &'static str,
    dry_run: bool,
}

impl Labels {
    /// Of a request that names nothing that is served.
    pub(crate) fn of(method: &Method) -> Self {
        let verb = match method.as_str() {
            "GET" => "GET",
            "HEAD" => "HEAD",
            "POST" => "POST",
            "PUT" => "PUT",
            "PATCH" => "PATCH",
            "DELETE" => "DELETE",
            _ => "other",
        };
        Self {
            verb,
            ..Self::default()
        }
    }

    /// Says what the request is about.
    pub(crate) fn name(
        &mut self,
        verb: Verb,
        resource: &Resource,
        place: &Place,
        apply: bool,
        dry_run: bool,
    ) {
        self.verb = match verb {
            Verb::Get => "GET",
            Verb::List => "LIST",
            Verb::Watch => "WATCH",
            Verb::Create => "POST",
            Verb::Update => "PUT",
            Verb::Patch if apply => "APPLY",
            Verb::Patch => "PATCH",
            Verb::Delete => "DELETE",
            Verb::DeleteCollection => "DELETECOLLECTION",
        };
        self.group = resource.group.clone();
        self.version = resource.version.clone();
        self.resource = resource.plural.clone();
        // Others are answered with 404, and are not ours to name.
        let known =
            |subresource: &&String| ["status", "scale", "token", "finalize"].contains(&subresource.as_str());
        self.subresource = place
            .subresource
            .as_ref()
            .filter(known)
            .cloned()
            .unwrap_or_default();
        self.scope = match (&place.name, &place.namespace) {
            (Some(_), _) => "resource",
            _ if verb == Verb::Create => "resource",
            (None, Some(_)) => "namespace",
            (None, None) => "cluster",
        };
        self.dry_run = dry_run;
    }

    fn text(&self) -> String {
        format!(
            "component=\"apiserver\",group=\"{}\",resource=\"{}\",scope=\"{}\",subresource=\"{}\",verb=\"{}\",version=\"{}\"",
            self.group, self.resource, self.scope, self.subresource, self.verb, self.version
        )
    }

    fn dry_run(&self) -> &'static str {
        if self.dry_run { "All" } else { "" }
    }
}

/// What happened to requests of one kind.
#[derive(Debug, Clone, Default)]
struct Tally {
    codes: HashMap<u16, u64>,
    buckets: [u64; BOUNDS.len()],
    count: u64,
    seconds: f64,
}

/// All counters of a hub.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<HashMap<Labels, Tally>>,
    watches: Mutex<HashMap<Labels, u64>>,
}

/// Counts a watch for as long as it lives.
#[derive(Debug)]
pub(crate) struct Watching {
    metrics: Arc<Metrics>,
    labels: Labels,
}

impl Metrics {
    /// Counts an answered request. Watches have no duration: they are answered when they start.
    pub(crate) fn observe(&self, labels: Labels, code: StatusCode, took: SignedDuration) {
        let watch = labels.verb == "WATCH";
        let mut requests = lock(&self.requests);
        let tally = requests.entry(labels).or_default();
        *tally.codes.entry(code.as_u16()).or_default() += 1;
        if watch {
            return;
        }
        let seconds = took.as_secs_f64().max(0.0);
        tally.count += 1;
        tally.seconds += seconds;
        for (bucket, bound) in tally.buckets.iter_mut().zip(BOUNDS) {
            *bucket += u64::from(seconds <= bound);
        }
    }

    pub(crate) fn watching(self: &Arc<Self>, labels: Labels) -> Watching {
        *lock(&self.watches).entry(labels.clone()).or_default() += 1;
        Watching {
            metrics: self.clone(),
            labels,
        }
    }

    /// The counters in the text form of Prometheus.
    pub(crate) fn render(&self) -> String {
        let mut requests: Vec<_> = lock(&self.requests).clone().into_iter().collect();
        requests.sort_by(|left, right| left.0.cmp(&right.0));
        let mut text = String::new();
        header(&mut text, TOTAL, "counter", "Answered requests.");
        for (labels, tally) in &requests {
            let mut codes: Vec<_> = tally.codes.iter().collect();
            codes.sort();
            let (dry_run, labels) = (labels.dry_run(), labels.text());
            for (code, count) in codes {
                let _ = writeln!(
                    text,
                    "{TOTAL}{{code=\"{code}\",dry_run=\"{dry_run}\",{labels}}} {count}"
                );
            }
        }
        header(
            &mut text,
            DURATION,
            "histogram",
            "How long requests took to answer, without watches.",
        );
        for (labels, tally) in requests.iter().filter(|(_, tally)| tally.count > 0) {
            let labels = format!("dry_run=\"{}\",{}", labels.dry_run(), labels.text());
            for (count, bound) in tally.buckets.iter().zip(BOUNDS) {
                let _ = writeln!(text, "{DURATION}_bucket{{{labels},le=\"{bound}\"}} {count}");
            }
            let _ = writeln!(text, "{DURATION}_bucket{{{labels},le=\"+Inf\"}} {}", tally.count);
            let _ = writeln!(text, "{DURATION}_sum{{{labels}}} {}", tally.seconds);
            let _ = writeln!(text, "{DURATION}_count{{{labels}}} {}", tally.count);
        }
        header(&mut text, LONG_RUNNING, "gauge", "Open watches.");
        let mut watches: Vec<_> = lock(&self.watches).clone().into_iter().collect();
        watches.sort_by(|left, right| left.0.cmp(&right.0));
        for (labels, count) in watches {
            let _ = writeln!(text, "{LONG_RUNNING}{{{}}} {count}", labels.text());
        }
        text
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(count) = lock(&self.metrics.watches).get_mut(&self.labels) {
            *count = count.saturating_sub(1);
        }
    }
}

fn header(text: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a String does not fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
