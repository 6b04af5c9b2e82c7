//! The time it is, on the two clocks that there are.
//!
//! The wall clock is for people and objects. It may be set at any moment, forwards or back. Waits run on the monotonic
//! clock, which is never set, so that a rest of a second is one second long whatever happens to the wall clock.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_runtime::Clock;
use std::time::Duration;
use tokio::time::Instant;

/// Longest time that is counted with. What lies further away is looked at again then.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// One moment, on both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// What is written into objects and said to people.
    pub(crate) wall: Timestamp,
    /// What waits are counted by.
    pub(crate) instant: Instant,
}

impl Moment {
    /// The time it is on both clocks.
    pub(crate) fn now(clock: &Clock) -> Moment {
        Moment {
            wall: clock.now(),
            instant: Instant::now(),
        }
    }

    /// When the wall clock will show `at`, unless it is set meanwhile. To be asked again from time to time.
    pub(crate) fn when(self, at: Timestamp) -> Instant {
        self.instant + between(self.wall, at).min(FAR)
    }
}

/// Since when something is so, as far as this process saw it or the hub wrote it down; counted by the monotonic clock from
/// the moment at which this process learnt of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Since {
    learnt: Instant,
    /// How long it had been so then.
    age: Duration,
}

impl Since {
    /// It is so from now on.
    pub(crate) fn now(now: Moment) -> Since {
        Since::at(now.instant)
    }

    /// It is so from this moment on.
    pub(crate) fn at(learnt: Instant) -> Since {
        Since {
            learnt,
            age: Duration::ZERO,
        }
    }

    /// It has been so since the hub's or a controller's clock showed this. A time that is still to come is now.
    pub(crate) fn recorded(at: Timestamp, now: Moment) -> Since {
        Since {
            learnt: now.instant,
            age: between(at, now.wall).min(FAR),
        }
    }

    /// For how long it has been so.
    pub(crate) fn age(self, now: Moment) -> Duration {
        self.age + now.instant.saturating_duration_since(self.learnt)
    }

    /// The same as a time on the wall clock as it goes now.
    pub(crate) fn wall(self, now: Moment) -> Timestamp {
        now.wall.checked_sub(self.age(now)).unwrap_or(Timestamp::MIN)
    }

    /// When it will have been so for `wait`; nothing when that is beyond counting.
    pub(crate) fn after(self, wait: Duration) -> Option<Instant> {
        self.learnt.checked_add(wait.saturating_sub(self.age))
    }
}

/// When the status of an object was last changed, by the hub's clock: the server writes it into `metadata.managedFields`.
/// What the status says was so at that time at the latest.
pub(crate) fn status_written(metadata: &ObjectMeta) -> Option<Timestamp> {
    let entries = metadata.managed_fields.iter().flatten();
    let status = entries.filter(|entry| entry.subresource.as_deref() == Some("status"));
    status.filter_map(|entry| Some(entry.time.as_ref()?.0)).max()
}

/// Nothing when `to` is before `from`.
fn between(from: Timestamp, to: Timestamp) -> Duration {
    let between: SignedDuration = to.duration_since(from);
    Duration::try_from(between).unwrap_or_default()
}

/// Tests count both clocks from one second, so that a time on one of them is a moment.
#[cfg(test)]
pub(crate) mod tests {
    use std::sync::LazyLock;

    use portolan_api::reading::Trimmed;
    use portolan_api::work::ManifestWork;
    use serde_json::json;

    use super::*;

    const WALL: i64 = 1_600_000_000;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);

    impl From<Timestamp> for Moment {
        fn from(wall: Timestamp) -> Moment {
            let start = Timestamp::from_second(WALL).unwrap();
            // Times before the start are for tests that count from the epoch.
            let instant = match wall < start {
                true => *START + between(Timestamp::UNIX_EPOCH, wall),
                false => *START + between(start, wall),
            };
            Moment { wall, instant }
        }
    }

    /// The monotonic clock when the other shows this.
    pub(crate) fn instant(wall: Timestamp) -> Instant {
        Moment::from(wall).instant
    }

    /// The other way round.
    pub(crate) fn wall(instant: Instant) -> Timestamp {
        Timestamp::from_second(WALL).unwrap() + instant.duration_since(*START)
    }

    /// A moment at which the wall clock was set by so many seconds since the test began.
    pub(crate) fn shifted(wall: Timestamp, seconds: i64) -> Moment {
        Moment {
            wall: wall + SignedDuration::from_secs(seconds),
            ..Moment::from(wall)
        }
    }

    #[test]
    fn an_age_is_counted_on_whatever_happens_to_the_wall_clock() {
        let second = |second: i64| Timestamp::from_second(WALL + second).unwrap();
        let since = Since::recorded(second(40), second(100).into());
        for jump in [-3600, 0, 86_400] {
            let now = shifted(second(130), jump);
            assert_eq!(now.wall.duration_since(since.wall(now)).as_secs(), 90);
        }
        let then = since.after(Duration::from_secs(100)).unwrap();
        assert_eq!(then, Moment::from(second(140)).instant);
        assert_eq!(since.after(Duration::MAX), None);
        let ahead = Since::recorded(second(100_000), second(100).into());
        assert_eq!(ahead, Since::now(second(100).into()));
    }

    #[tokio::test]
    async fn of_a_manifest_work_it_is_kept_when_the_hub_wrote_the_status() {
        let (hub, client) = crate::reconcile::fake::live::hub().await;
        let works: kube::Api<Trimmed<ManifestWork>> = kube::Api::default_namespaced(client.clone());
        let plain: kube::Api<ManifestWork> = kube::Api::default_namespaced(client);
        let work = serde_json::from_value(json!({ "metadata": { "name": "w" }, "spec": {} })).unwrap();
        plain
            .create(&kube::api::PostParams::default(), &work)
            .await
            .unwrap();
        let Trimmed(unwritten) = works.get("w").await.unwrap();
        assert_eq!(status_written(&unwritten.metadata), None);
        let condition = json!({
            "type": "Applied", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2001-01-01T00:00:00Z",
        });
        let patch = kube::api::Patch::Merge(json!({ "status": { "conditions": [condition] } }));
        let by = kube::api::PatchParams::default();
        plain.patch_status("w", &by, &patch).await.unwrap();
        let Trimmed(written) = works.get("w").await.unwrap();
        let time = status_written(&written.metadata).unwrap();
        assert!(time >= written.metadata.creation_timestamp.unwrap().0);
        assert_eq!(
            written.metadata.managed_fields.unwrap().len(),
            1,
            "nothing else is kept"
        );
        hub.stop().await;
    }
}
