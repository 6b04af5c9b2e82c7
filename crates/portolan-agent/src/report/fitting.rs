//! A status that fits into an object. One that does not is refused by the hub, and nothing would be known of the work.

use portolan_api::conditions::cut_message;
use portolan_api::count::part_are;
use portolan_api::labels::conditions;
use portolan_api::work::ManifestCondition;
use serde::Serialize;

use super::FEEDBACK_SYNCED;
use super::finished::{is_complete, is_last_word};
use crate::work::Status;

/// Most bytes of a status. etcd takes objects of 1.5 MiB, and the spec may have a third of that.
pub(super) const MOST_BYTES: usize = 1024 * 1024;
/// Most bytes of a message where all of them are too long together.
const SHORT: usize = 200;

/// The status, with less to say if it is too large: shorter messages first, then no values that were read back, then nothing
/// about the last manifests that are not complete. The conditions of the work say what is missing.
pub(super) fn fit(mut status: Status) -> Status {
    if size(&status.conditions) + size(&status.manifests) <= MOST_BYTES {
        return status;
    }
    let room = MOST_BYTES / 4;
    for longest in [4 * SHORT, SHORT, 0] {
        if size(&status.conditions) <= room {
            break;
        }
        shorten(status.conditions.iter_mut(), longest);
    }
    let mut missing = "messages are cut";
    let room = MOST_BYTES.saturating_sub(size(&status.conditions) + 1024);
    shorten(in_manifests(&mut status), SHORT);
    if size(&status.manifests) > room {
        missing = "messages and values that were read back are left out";
        shorten(in_manifests(&mut status), 0);
        for manifest in &mut status.manifests {
            if manifest.status_feedback.take().is_some() {
                leave_feedback_out(manifest);
            }
        }
    }
    let all = status.manifests.len();
    if size(&status.manifests) > room {
        let complete = status
            .manifests
            .iter_mut()
            .filter(|manifest| is_complete(manifest));
        complete.for_each(|manifest| manifest.conditions.retain(is_last_word));
    }
    let kept = with_room(&status.manifests, room);
    let forgotten = status.manifests.iter().zip(&kept);
    let forgotten = forgotten
        .filter(|(manifest, kept)| !**kept && is_complete(manifest))
        .count();
    let mut kept = kept.into_iter();
    status.manifests.retain(|_| kept.next() == Some(true));
    let fitting = status.manifests.len();
    let mut why = format!("; {missing}: a status has at most {MOST_BYTES} bytes");
    if fitting < all {
        let left_out = part_are(all - fitting, all, "manifest");
        why = format!("; {left_out} left out of the status: it has at most {MOST_BYTES} bytes");
    }
    if forgotten > 0 {
        // The status alone remembers that.
        let forgotten = part_are(forgotten, all, "manifest");
        why.push_str(&format!(
            "; {forgotten} complete and left out as well, so that they may be applied again: accepted are fewer manifests with \
             rules for Complete, or several works"
        ));
    }
    let applied = status.conditions.iter_mut();
    for condition in applied.filter(|condition| condition.type_ == conditions::APPLIED) {
        condition.message = cut_message(std::mem::take(&mut condition.message), 4 * SHORT);
        condition.message.push_str(&why);
    }
    status
}

/// Which manifests there is room for: those that are complete, since the status alone remembers that, and then from the first on.
fn with_room(manifests: &[ManifestCondition], room: usize) -> Vec<bool> {
    let (mut kept, mut used) = (vec![false; manifests.len()], 2);
    for complete in [true, false] {
        let manifests = manifests.iter().zip(&mut kept);
        for (manifest, kept) in manifests.filter(|(manifest, _)| is_complete(manifest) == complete) {
            used += size(manifest) + 1;
            if used > room {
                break;
            }
            *kept = true;
        }
    }
    kept
}

type Condition = k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

fn in_manifests(status: &mut Status) -> impl Iterator<Item = &mut Condition> {
    status
        .manifests
        .iter_mut()
        .flat_map(|manifest| &mut manifest.conditions)
}

fn shorten<'c>(conditions: impl Iterator<Item = &'c mut Condition>, longest: usize) {
    for condition in conditions.filter(|condition| condition.message.len() > longest) {
        condition.message = cut_message(std::mem::take(&mut condition.message), longest);
    }
}

fn leave_feedback_out(manifest: &mut ManifestCondition) {
    let mut conditions = manifest.conditions.iter_mut();
    if let Some(synced) = conditions.find(|condition| condition.type_ == FEEDBACK_SYNCED) {
        synced.status = "False".to_owned();
        synced.reason = "StatusFeedbackSyncFailed".to_owned();
    }
}

/// How many bytes it has when it is written.
fn size(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX / 4,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn condition(r#type: &str, message: &str) -> Condition {
        serde_json::from_value(json!({
            "type": r#type, "status": "True", "reason": "R", "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
        }))
        .unwrap()
    }

    fn status(manifests: usize, message: &str, value: &str) -> Status {
        let manifest = || ManifestCondition {
            conditions: vec![condition("Applied", message), condition(FEEDBACK_SYNCED, message)],
            status_feedback: serde_json::from_value(json!({ "values": [
                { "name": "a", "fieldValue": { "type": "String", "string": value } },
            ] }))
            .unwrap(),
            ..ManifestCondition::default()
        };
        Status {
            conditions: vec![
                condition("Applied", "all is well"),
                condition("Available", message),
            ],
            manifests: (0..manifests).map(|_| manifest()).collect(),
        }
    }

    #[test]
    fn what_is_complete_is_not_forgotten_however_many_manifests_there_are() {
        let mut many = status(20_000, "m", "v");
        for (number, manifest) in many.manifests.iter_mut().enumerate() {
            manifest.resource_meta.ordinal = i32::try_from(number).unwrap();
        }
        for number in [7, 19_998, 19_999] {
            many.manifests[number].conditions.push(condition("Complete", "m"));
        }
        let fitting = fit(many);
        assert!(bytes(&fitting) <= MOST_BYTES);
        let complete = fitting.manifests.iter().filter(|manifest| is_complete(manifest));
        let complete: Vec<i32> = complete.map(|manifest| manifest.resource_meta.ordinal).collect();
        assert_eq!(complete, [7, 19_998, 19_999]);
        assert!(
            fitting
                .manifests
                .is_sorted_by_key(|manifest| manifest.resource_meta.ordinal)
        );
    }

    #[test]
    fn a_work_says_so_where_there_is_no_room_for_all_that_is_complete() {
        let mut many = status(10_000, "m", "v");
        for manifest in &mut many.manifests {
            manifest.conditions.push(condition("Complete", "m"));
        }
        let fitting = fit(many);
        assert!(bytes(&fitting) <= MOST_BYTES);
        let said = &fitting.conditions[0].message;
        let words = "of 10000 manifests are complete and left out as well, so that they may be applied again";
        assert!(said.contains(words) && said.contains("several works"), "{said}");
    }

    fn bytes(status: &Status) -> usize {
        size(&status.conditions) + size(&status.manifests)
    }

    #[test]
    fn a_status_always_fits_and_says_what_is_left_out() {
        let small = status(3, "short", "v");
        assert_eq!(fit(small.clone()), small);

        let cut = fit(status(100, &"m".repeat(30_000), "v"));
        assert!(bytes(&cut) <= MOST_BYTES && cut.manifests.len() == 100);
        assert!(
            cut.conditions[0]
                .message
                .contains("messages are cut: a status has at most 1048576 bytes")
        );
        assert!(cut.manifests[0].status_feedback.is_some());

        let without = fit(status(100, "m", &"v".repeat(30_000)));
        assert!(bytes(&without) <= MOST_BYTES && without.manifests.len() == 100);
        assert!(
            without.conditions[0]
                .message
                .contains("values that were read back are left out")
        );
        assert_eq!(without.manifests[0].conditions[1].status, "False");

        let many = fit(status(20_000, "m", "v"));
        assert!(bytes(&many) <= MOST_BYTES && many.manifests.len() > 1_000);
        let said = &many.conditions[0].message;
        assert!(
            said.starts_with("all is well; ") && said.contains("of 20000 manifests are left out"),
            "{said}"
        );
    }
}
