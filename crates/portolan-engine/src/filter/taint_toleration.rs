//! TaintToleration: a cluster passes when each of its taints is tolerated.

use jiff::{SignedDuration, Timestamp};
use portolan_api::cluster::{self as api, TaintEffect};

use crate::fleet::cluster::Taint;
use crate::fleet::{Clusters, Fleet};
use crate::mistakes::{self, Collector, Mistake, Mistakes};
use crate::warning::Warning;

/// One entry of `spec.tolerations`, checked.
#[derive(Clone, Debug)]
pub(crate) struct Toleration {
    /// None tolerates any key.
    key: Option<String>,
    value: ValueTest,
    effect: Option<TaintEffect>,
    seconds: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ValueTest {
    Any,
    Equal(String),
}

pub(crate) fn compile(tolerations: &[api::Toleration]) -> Result<Vec<Toleration>, Mistakes> {
    let mut mistakes = Collector::default();
    let tolerations = tolerations.iter().enumerate();
    let compiled = tolerations
        .filter_map(|(index, toleration)| mistakes.take(compile_one(index, toleration)))
        .collect();
    mistakes.none_or(compiled)
}

fn compile_one(index: usize, toleration: &api::Toleration) -> Result<Toleration, Mistake> {
    let key = toleration.key.clone().filter(|key| !key.is_empty());
    let value = toleration.value.clone().unwrap_or_default();
    let operator = toleration.operator.as_deref().unwrap_or_default();
    let test = match operator {
        "" | "Equal" => ValueTest::Equal(value.clone()),
        "Exists" => ValueTest::Any,
        // The definition accepts it, and OCM lets it match nothing.
        other => return Err(mistakes::toleration_operator(index, other)),
    };
    if key.is_none() && operator != "Exists" {
        return Err(mistakes::toleration_without_key(index, operator));
    }
    if operator == "Exists" && !value.is_empty() {
        return Err(mistakes::toleration_with_value(index, &value));
    }
    Ok(Toleration {
        key,
        value: test,
        effect: toleration.effect,
        seconds: toleration.toleration_seconds,
    })
}

/// The tolerations that tolerate nothing, because they end before the taint is added.
pub(crate) fn warnings(tolerations: &[Toleration]) -> impl Iterator<Item = Warning> {
    let negative = tolerations.iter().enumerate();
    negative
        .filter(|(_, toleration)| toleration.seconds.is_some_and(|seconds| seconds < 0))
        .map(|(toleration, _)| Warning::TolerationSecondsNegative { toleration })
}

impl Toleration {
    pub(crate) fn matches(&self, taint: &Taint) -> bool {
        self.effect.is_none_or(|effect| effect == taint.effect)
            && self.key.as_deref().is_none_or(|key| key == &*taint.key)
            && match &self.value {
                ValueTest::Any => true,
                ValueTest::Equal(value) => **value == *taint.value,
            }
    }

    /// When the toleration stops for this taint. A taint without a time is as old as time itself.
    pub(crate) fn expiry(&self, taint: &Taint) -> Option<Timestamp> {
        let seconds = self.seconds?;
        let added = taint.time_added.unwrap_or(Timestamp::MIN);
        let saturated = if seconds < 0 {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        };
        Some(
            added
                .checked_add(SignedDuration::from_secs(seconds))
                .unwrap_or(saturated),
        )
    }
}

/// How one taint is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Tolerated until the given time, or for good.
    Tolerated { until: Option<Timestamp> },
    /// Not tolerated; `expired` when a matching toleration has run out.
    NotTolerated { expired: Option<Timestamp> },
}

/// The first matching toleration that has not expired decides, in list order.
pub(crate) fn judge(taint: &Taint, tolerations: &[Toleration], in_decision: bool, now: Timestamp) -> Verdict {
    match taint.effect {
        TaintEffect::PreferNoSelect => return Verdict::Tolerated { until: None },
        TaintEffect::NoSelectIfNew if in_decision => return Verdict::Tolerated { until: None },
        _ => {}
    }
    let mut expired = None;
    for toleration in tolerations.iter().filter(|toleration| toleration.matches(taint)) {
        match toleration.expiry(taint) {
            Some(until) if now >= until => expired = Some(until),
            until => return Verdict::Tolerated { until },
        }
    }
    Verdict::NotTolerated { expired }
}

/// Whether a `PreferNoSelect` taint counts against the cluster (it does unless a toleration matches it), and when a
/// toleration that spares the cluster now will end.
pub(crate) fn avoided(
    taint: &Taint,
    tolerations: &[Toleration],
    now: Timestamp,
) -> (bool, Option<Timestamp>) {
    if taint.effect != TaintEffect::PreferNoSelect {
        return (false, None);
    }
    let live = tolerations
        .iter()
        .filter(|toleration| toleration.matches(taint))
        .map(|toleration| toleration.expiry(taint))
        .find(|expiry| expiry.is_none_or(|expiry| now < expiry));
    (live.is_none(), live.flatten())
}

/// The survivors, and the first moment at which one of them stops being tolerated.
pub(crate) fn filter(
    fleet: &Fleet,
    tolerations: &[Toleration],
    clusters: &Clusters,
    in_decision: &Clusters,
    now: Timestamp,
) -> (Clusters, Option<Timestamp>) {
    let mut survivors = clusters.clone();
    let mut next_expiry: Option<Timestamp> = None;
    let mut tainted = clusters.clone();
    tainted.intersect_with(fleet.tainted());
    for id in tainted.iter() {
        let Some(cluster) = fleet.cluster(id) else {
            continue;
        };
        let mut first_expiry: Option<Timestamp> = None;
        let tolerated = cluster.taints.iter().all(|taint| {
            match judge(taint, tolerations, in_decision.contains(id), now) {
                Verdict::Tolerated { until } => {
                    first_expiry = earliest(first_expiry, until);
                    true
                }
                Verdict::NotTolerated { .. } => false,
            }
        });
        if tolerated {
            next_expiry = earliest(next_expiry, first_expiry);
        } else {
            survivors.remove(id);
        }
    }
    (survivors, next_expiry)
}

pub(crate) fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint(effect: TaintEffect) -> Taint {
        Taint {
            key: "k".into(),
            value: "v".into(),
            effect,
            time_added: Some(Timestamp::UNIX_EPOCH),
        }
    }

    fn toleration(seconds: Option<i64>) -> api::Toleration {
        api::Toleration {
            key: Some("k".into()),
            value: Some("v".into()),
            toleration_seconds: seconds,
            ..Default::default()
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_toleration_holds_strictly_before_its_expiry() {
        let tolerations = compile(&[toleration(Some(10))]).unwrap();
        let judge = |now| judge(&taint(TaintEffect::NoSelect), &tolerations, false, at(now));
        assert_eq!(judge(9), Verdict::Tolerated { until: Some(at(10)) });
        assert_eq!(
            judge(10),
            Verdict::NotTolerated {
                expired: Some(at(10))
            }
        );
    }

    #[test]
    fn a_later_longer_toleration_takes_over_when_the_first_expires() {
        let tolerations = compile(&[toleration(Some(10)), toleration(Some(20))]).unwrap();
        let judge = |now| judge(&taint(TaintEffect::NoSelect), &tolerations, false, at(now));
        assert_eq!(judge(5), Verdict::Tolerated { until: Some(at(10)) });
        assert_eq!(judge(15), Verdict::Tolerated { until: Some(at(20)) });
    }

    #[test]
    fn a_taint_without_a_time_is_already_expired() {
        let tolerations = compile(&[toleration(Some(10))]).unwrap();
        let old = Taint {
            time_added: None,
            ..taint(TaintEffect::NoSelect)
        };
        assert!(matches!(
            judge(&old, &tolerations, false, at(0)),
            Verdict::NotTolerated { .. }
        ));
    }

    #[test]
    fn no_select_if_new_spares_clusters_already_in_the_decision() {
        let judge = |in_decision| judge(&taint(TaintEffect::NoSelectIfNew), &[], in_decision, at(0));
        assert_eq!(judge(true), Verdict::Tolerated { until: None });
        assert_eq!(judge(false), Verdict::NotTolerated { expired: None });
    }

    #[test]
    fn tolerations_that_contradict_themselves_are_misconfigured() {
        let keyless = api::Toleration {
            operator: Some("Equal".into()),
            ..Default::default()
        };
        let message =
            |tolerations: &[api::Toleration]| compile(tolerations).unwrap_err().first.status().message;
        assert_eq!(
            message(&[keyless]),
            "spec.tolerations[0].operator is \"Equal\": the key is empty; use Exists, or set the key"
        );
        let valued = api::Toleration {
            operator: Some("Exists".into()),
            ..toleration(None)
        };
        assert_eq!(
            message(&[toleration(None), valued]),
            "spec.tolerations[1].value is \"v\": the operator is Exists; use no value, or the operator Equal"
        );
        let unknown = api::Toleration {
            operator: Some("In".into()),
            ..toleration(None)
        };
        assert_eq!(
            message(&[unknown]),
            "spec.tolerations[0].operator is \"In\"; use Equal or Exists"
        );
    }
}
