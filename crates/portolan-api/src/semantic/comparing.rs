//! What it takes to find out which options of a work mean which of its manifests.
//!
//! Every agent of the work compares each identifier with each manifest, each time that it looks at the work. Upstream's
//! definition limits neither how many identifiers there are nor how long they are.

use serde_json::Value;

use super::{list, text};
use crate::field::FieldError;

/// Most bytes of a part of an identifier: no name of Kubernetes has more.
const LONGEST: usize = 253;
/// Most steps of all comparisons. Larger, and one work could take a processor for more than a part of a second; smaller, and a
/// work of as many small objects as fit in could not have an option for each.
const MOST_STEPS: u64 = 10_000_000;
/// Bytes of two texts that are compared in one step.
const PER_STEP: u64 = 64;
/// The same where one of them has a `*`.
const PER_PATTERN_STEP: u64 = 4;

/// Why the options of a work are not compared with its manifests; `None` if they are. `spec` is that of a ManifestWork, and `path`
/// where it stands.
pub fn incomparable_options(spec: &Value, path: &str) -> Option<FieldError> {
    let options = list(spec, "/manifestConfigs").map(|(position, option)| {
        let identifier = option.get("resourceIdentifier").unwrap_or(&Value::Null);
        let path = format!("{path}.manifestConfigs[{position}].resourceIdentifier");
        (path, identifier)
    });
    let orphans = "deleteOption.selectivelyOrphans.orphaningRules";
    let rules = list(spec, "/deleteOption/selectivelyOrphans/orphaningRules");
    let rules = rules.map(|(position, identifier)| (format!("{path}.{orphans}[{position}]"), identifier));
    let (mut plain, mut patterns) = (Texts::default(), Texts::default());
    for (path, identifier) in options.chain(rules) {
        let part = |field: &str| text(identifier, &format!("/{field}")).unwrap_or_default();
        for field in ["group", "resource", "namespace", "name"] {
            let part = part(field);
            if part.len() > LONGEST {
                return Some(FieldError::of_text(
                    format!("{path}.{field}"),
                    part,
                    format!(
                        "it has {} bytes, and no name of Kubernetes has so many",
                        part.len()
                    ),
                    format!("{LONGEST} bytes or fewer"),
                ));
            }
        }
        let bytes = part("namespace").len() + part("name").len();
        match part("namespace").contains('*') || part("name").contains('*') {
            true => patterns.add(bytes),
            false => plain.add(bytes),
        }
    }
    let mut manifests = Texts::default();
    for (_, manifest) in list(spec, "/workload/manifests") {
        let bytes = |pointer: &str| text(manifest, pointer).map_or(0, str::len);
        manifests.add(bytes("/metadata/namespace") + bytes("/metadata/name"));
    }
    let steps = plain
        .compared_with(&manifests, PER_STEP)
        .saturating_add(patterns.compared_with(&manifests, PER_PATTERN_STEP));
    (steps > MOST_STEPS).then(|| FieldError {
        path: path.to_owned(),
        value: format!(
            "{} identifiers ({} with *) and {} manifests",
            plain.count + patterns.count,
            patterns.count,
            manifests.count
        ),
        problem: format!("to compare each with each takes {steps} steps"),
        accepted: format!("{MOST_STEPS} steps or fewer: fewer identifiers, or several works"),
    })
}

/// How many texts there are, and how long they are together.
#[derive(Debug, Default)]
struct Texts {
    count: u64,
    bytes: u64,
}

impl Texts {
    fn add(&mut self, bytes: usize) {
        self.count += 1;
        self.bytes += bytes as u64;
    }

    /// The steps of comparing each of these with each of the others.
    fn compared_with(&self, others: &Texts, per_step: u64) -> u64 {
        let pairs = self.count.saturating_mul(others.count);
        let bytes = self.bytes.saturating_mul(others.count);
        let bytes = bytes.saturating_add(others.bytes.saturating_mul(self.count));
        pairs.saturating_add(bytes / per_step)
    }
}
