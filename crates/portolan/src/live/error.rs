//! What went wrong with a hub, and what to do next.

use std::error::Error;
use std::io;

/// The error of a request, with the next step for the usual causes. `doing` completes "cannot …".
pub(crate) fn explain(error: &kube::Error, doing: &str, url: &str) -> anyhow::Error {
    let next = match error {
        kube::Error::Api(status) => match status.code {
            401 => format!(
                "{url} does not accept these credentials; get a new kubeconfig or token, or choose another --context"
            ),
            403 => format!(
                "{url} does not allow it: {}; `kubectl auth can-i --list` shows what is allowed",
                status.message
            ),
            _ => format!("{url} answered {}: {}", status.code, status.message),
        },
        error if is_refused(error) => format!(
            "{url} refuses connections; is the hub running (`portolan up` starts one), and is it the right one \
             (--kubeconfig, --context)?"
        ),
        error => format!(
            "{url} cannot be reached: {}; is it the right hub (--kubeconfig, --context)?",
            describe(error)
        ),
    };
    anyhow::anyhow!("cannot {doing}: {next}")
}

fn is_refused(error: &kube::Error) -> bool {
    causes(error).any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    })
}

/// An error with its causes, each said once: many of kube's errors repeat their cause in their own text.
pub(crate) fn describe(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in causes(error).skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_is_part_of_the_text_is_not_repeated() {
        let error = kube::Error::ReadEvents(io::Error::other("cut off"));
        assert_eq!(describe(&error), "Error reading events stream: cut off");
    }

    #[test]
    fn a_refused_connection_names_the_hub_and_what_to_do() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let text = explain(
            &kube::Error::Service(refused.into()),
            "list placements",
            "https://hub",
        )
        .to_string();
        assert!(
            text.starts_with("cannot list placements: https://hub refuses connections"),
            "{text}"
        );
    }

    #[test]
    fn a_forbidden_list_says_who_is_not_allowed_what() {
        let status = kube::core::Status::failure("user x cannot list placements", "Forbidden").with_code(403);
        let text = explain(
            &kube::Error::Api(Box::new(status)),
            "list placements",
            "https://hub",
        )
        .to_string();
        assert!(
            text.contains("user x cannot list placements") && text.contains("auth can-i"),
            "{text}"
        );
    }
}
