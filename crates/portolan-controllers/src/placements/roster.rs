//! Which placements there are, and which of them are ours.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::{Placement, PlacementStatus};
use portolan_api::shorten;
use portolan_engine::placement::{PlacementKey, is_handed_over, is_ours, with_stand_ins};
use portolan_runtime::version::is_newer;
use portolan_runtime::watch::Key;

use super::scheduler::{Known, Scheduler};

impl Scheduler {
    /// A placement is there.
    pub(super) fn placement(&mut self, placement: &Placement) {
        let key = PlacementKey::of(placement);
        let metadata = &placement.metadata;
        let version = metadata.resource_version.clone().unwrap_or_default();
        let uid = metadata.uid.clone().unwrap_or_default();
        if let Some(known) = self.placements.get(&key)
            && known.uid == uid
            && !is_newer(&version, &known.version)
        {
            return;
        }
        let label = (
            key.namespace.to_string(),
            shorten::label_value(&key.name).into_owned(),
        );
        self.by_label.insert(label, key.clone());
        self.leavers.remove(&key);
        self.resting_leavers.remove(&key);
        self.absent.remove(&key);
        let mut problems = Vec::new();
        if is_ours(placement) && (!self.settings.only_handed_over || is_handed_over(placement)) {
            let mut placement = placement.clone();
            placement.metadata.managed_fields = None;
            problems = with_stand_ins(&mut placement);
            let is_new = self.engine.placement(&key).is_none();
            self.engine.apply_placement(&placement);
            if is_new {
                self.doubt.wake(&key);
                self.fresh.insert(key.clone());
                self.dirty.insert(key.clone());
            }
        } else {
            self.remove(&key);
        }
        let known = Known {
            version,
            uid,
            problems,
        };
        self.placements.insert(key, known);
    }

    /// The status of a placement was written.
    pub(super) fn reported(&mut self, key: &PlacementKey, metadata: ObjectMeta, status: PlacementStatus) {
        let version = metadata.resource_version.as_deref().unwrap_or_default();
        let Some(known) = self.placements.get_mut(key) else {
            return;
        };
        if Some(&known.uid) != metadata.uid.as_ref() || !is_newer(version, &known.version) {
            return;
        }
        known.version = version.to_owned();
        if let Some(placement) = self.engine.placement(key) {
            let placement = Placement {
                metadata,
                spec: placement.spec.clone(),
                status: Some(status),
            };
            self.engine.apply_placement(&placement);
        }
    }

    /// A placement was deleted.
    pub(super) fn placement_gone(&mut self, gone: &Key) {
        let key = PlacementKey::new(&gone.namespace, &gone.name);
        // One that was created anew under the name stays.
        if self
            .placements
            .get(&key)
            .is_some_and(|known| known.uid != gone.uid)
        {
            return;
        }
        self.lose(&key);
        self.absent.remove(&key);
        self.resting_leavers.remove(&key);
        self.leavers.insert(key);
    }

    /// A placement went with its definition, or cannot be read. Its objects stay, and are not written for it either: who looks after what has
    /// no owner any more may delete them.
    pub(super) fn placement_held(&mut self, held: &Key) {
        let key = PlacementKey::new(&held.namespace, &held.name);
        self.lose(&key);
        self.absent.insert(key);
    }

    fn lose(&mut self, key: &PlacementKey) {
        self.placements.remove(key);
        self.remove(key);
        self.fresh.remove(key);
        self.unsure.remove(key);
        self.foreign.remove(key);
    }

    fn remove(&mut self, key: &PlacementKey) {
        if self.is_known(key) {
            self.departed.push(key.clone());
        }
        self.engine.remove_placement(key);
        self.backoff.succeeded(key);
        self.put_off.remove(key);
        self.write_conflicts.forget(key);
        self.restoring.forget(key);
        self.unreadable.forget_told(key);
    }
}
