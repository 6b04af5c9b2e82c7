mod changes;
mod choosing;
mod finding;
mod grouping;
mod histories;
mod reading;
mod whole;

use std::time::Duration;

use portolan_api::labels::multicluster as labels;
use serde_json::{Value, json};

use crate::{Change, Cluster, DecisionId, Decisions, Discovery, Options, Order, SETTLE, Slice, Update};

const SHOP: &str = "shop";

/// A slice under construction.
#[derive(Clone)]
struct Made(Value);

fn bare(name: &str, clusters: &[&str]) -> Made {
    let entry = |name: &&str| json!({ "clusterProfileRef": { "name": name } });
    Made(json!({
        "metadata": { "namespace": SHOP, "name": name, "labels": {}, "annotations": {} },
        "decisions": clusters.iter().map(entry).collect::<Vec<_>>(),
    }))
}

/// Slice `index` of the decision `web`, without a revision.
fn slice(index: usize, clusters: &[&str]) -> Made {
    bare(&format!("web-{index}"), clusters)
        .label(labels::DECISION_KEY, "web")
        .label(labels::DECISION_INDEX, &index.to_string())
}

/// Slice `index` of `count` of a revision of the decision `web`.
fn revised(revision: u64, count: usize, index: usize, clusters: &[&str]) -> Made {
    slice(index, clusters)
        .label(labels::DECISION_REVISION, &revision.to_string())
        .label(labels::DECISION_SLICE_COUNT, &count.to_string())
}

impl Made {
    fn label(mut self, key: &str, value: &str) -> Made {
        self.0["metadata"]["labels"][key] = value.into();
        self
    }

    fn without(mut self, key: &str) -> Made {
        let labels = self.0["metadata"]["labels"].as_object_mut();
        labels.map(|labels| labels.remove(key));
        self
    }

    fn annotation(mut self, key: &str, value: &str) -> Made {
        self.0["metadata"]["annotations"][key] = value.into();
        self
    }

    fn named(mut self, name: &str) -> Made {
        self.0["metadata"]["name"] = name.into();
        self
    }

    fn by(mut self, scheduler: &str) -> Made {
        self.0["schedulerName"] = scheduler.into();
        self
    }

    fn entries(mut self, entries: Value) -> Made {
        self.0["decisions"] = entries;
        self
    }

    fn read(&self) -> Slice {
        let metadata = serde_json::from_value(self.0["metadata"].clone()).unwrap();
        Slice::read(&metadata, &self.0)
    }
}

fn web() -> DecisionId {
    DecisionId::keyed(SHOP, "web")
}

fn cluster(name: &str) -> Cluster {
    Cluster::new(SHOP, name)
}

fn names<'a>(clusters: impl IntoIterator<Item = &'a Cluster>) -> Vec<&'a str> {
    clusters
        .into_iter()
        .map(|cluster| cluster.name.as_str())
        .collect()
}

/// Decisions with a clock.
struct Consumer {
    decisions: Decisions,
    now: Duration,
}

impl Consumer {
    fn new(discovery: Discovery) -> Consumer {
        Consumer::with(Options::new(discovery))
    }

    fn with(options: Options) -> Consumer {
        Consumer {
            decisions: Decisions::new(options),
            now: Duration::ZERO,
        }
    }

    fn ordered() -> Consumer {
        Consumer::with(Options {
            order: Order::Followed,
            ..Options::new(Discovery::All)
        })
    }

    fn list(&mut self, slices: &[Made]) -> Vec<String> {
        self.decisions.list_began();
        for slice in slices {
            self.decisions.apply(slice.read());
        }
        self.decisions.list_ended();
        self.said()
    }

    fn apply(&mut self, slice: Made) -> Vec<String> {
        self.decisions.apply(slice.read());
        self.said()
    }

    fn delete(&mut self, name: &str) -> Vec<String> {
        self.decisions.delete(&(SHOP.to_owned(), name.to_owned()));
        self.said()
    }

    fn wait(&mut self, time: Duration) -> Vec<String> {
        self.now += time;
        self.said()
    }

    fn settle(&mut self) -> Vec<String> {
        self.wait(SETTLE)
    }

    fn updates(&mut self) -> Vec<Update> {
        self.decisions.updates(self.now)
    }

    /// Changes as words: `+a`, `-a`, `order a b`, `empty`, `gone`, and `hold` or `news` for updates without any.
    fn said(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        for update in self.updates() {
            if update.changes.is_empty() {
                words.push(if update.hold.is_some() { "hold" } else { "news" }.to_owned());
            }
            words.extend(update.changes.iter().map(word));
        }
        words
    }

    fn told(&self) -> Vec<&str> {
        names(
            self.decisions
                .told(&web())
                .into_iter()
                .flat_map(|set| set.clusters()),
        )
    }
}

fn word(change: &Change) -> String {
    match change {
        Change::Added(chosen) => format!("+{}", chosen.cluster.name),
        Change::Removed(cluster) => format!("-{}", cluster.name),
        Change::Reordered(order) => format!("order {}", names(order).join(" ")),
        Change::Emptied => "empty".to_owned(),
        Change::Gone => "gone".to_owned(),
    }
}
