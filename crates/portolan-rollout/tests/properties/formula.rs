//! The reference formula for one unnamed group without mandatory groups, written down a second time from the text.

use portolan_rollout::Status;

use crate::fleet::Question;

type Answer = (Vec<(String, Status)>, Vec<String>, bool);

/// What is rolling out by name, what timed out by name, and whether too many failed.
pub(crate) fn progressive(question: &Question) -> Answer {
    let (setting, now) = (&question.setting, question.seconds);
    let members = &question.groups[0].1;
    let total = members.len();
    let size = match setting.slots {
        None | Some(0) => total,
        Some(slots) if slots > total => total,
        Some(slots) => slots,
    };
    let max_failures = setting.failures.min(total);
    let mut existing: Vec<_> = question
        .existing
        .iter()
        .filter(|existing| members.contains(&existing.cluster_name))
        .collect();
    existing.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
    let (mut rolling, mut timed_out) = (Vec::new(), Vec::new());
    let (mut failures, mut breach) = (0, false);
    for cluster in &existing {
        let name = cluster.cluster_name.clone();
        let since = cluster.last_transition_time.map_or(now, |time| time.as_second());
        let mut status = cluster.status;
        match status {
            Status::ToApply if breach => {}
            Status::ToApply => rolling.push((name.clone(), status)),
            Status::Succeeded if now < since + setting.soak => rolling.push((name.clone(), status)),
            Status::Succeeded | Status::TimeOut | Status::Skip => {}
            Status::Progressing | Status::Failed | Status::Unknown => match setting.deadline {
                Some(deadline) if now >= since + deadline => {
                    status = Status::TimeOut;
                    timed_out.push(name.clone());
                }
                _ => rolling.push((name.clone(), status)),
            },
        }
        if matches!(status, Status::TimeOut | Status::Failed) {
            failures += 1;
            breach = failures > max_failures;
        }
        if rolling.len() >= size {
            rolling.sort();
            return (rolling, timed_out, breach);
        }
    }
    if !breach {
        let mut new: Vec<&String> = members
            .iter()
            .filter(|name| !existing.iter().any(|existing| existing.cluster_name == **name))
            .collect();
        new.sort();
        for name in new {
            if rolling.len() >= size {
                break;
            }
            rolling.push((name.clone(), Status::ToApply));
        }
    }
    rolling.sort();
    (rolling, timed_out, breach)
}
