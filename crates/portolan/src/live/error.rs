//! What went wrong with a hub, and what to do next.

use std::error::Error;
use std::io;

use kube::client::AuthError;
pub(crate) use portolan_runtime::failure::error_chain as describe;
use portolan_runtime::failure::shortened;

use super::api_server::NotAnApiServer;
use super::credentials;

/// Characters shown of what a server answered. With an operation and a URL around it, a line stays below 500.
const ANSWER: usize = 280;

/// The hub cannot be reached or refuses the request: the program ends with exit code 3.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct HubUnavailable(String);

/// The error of a list whose server says that there are further objects and sends none.
pub(super) fn endless_list(doing: &str, url: &str) -> anyhow::Error {
    let text = format!(
        "cannot {doing}: {url} says that there is more and gives nothing new; ask its administrator, or choose another hub \
         (--kubeconfig, --context)"
    );
    HubUnavailable(text).into()
}

/// The error of a request, with the next step for the usual causes. `doing` completes "cannot …".
pub(crate) fn explain(error: &kube::Error, doing: &str, url: &str) -> anyhow::Error {
    let text = match error {
        kube::Error::Api(status) => {
            let answer = format!("{url} answered {}", shortened(&describe(error), ANSWER));
            match status.code {
                401 => format!(
                    "{answer}; the server does not accept these credentials; get a new kubeconfig or token, or choose another \
                     --context"
                ),
                403 if status.message.contains("\"system:anonymous\"") => format!(
                    "{answer}; the request had no credentials: give the user of the context a token or a client certificate, \
                     or choose another --kubeconfig or --context"
                ),
                403 => format!("{answer}; {}", allowed(&status.message)),
                404 if is_no_path(status) => format!(
                    "{url} does not serve the kind; install the definitions with `portolan crds | kubectl apply -f -`, or \
                     choose another hub (--kubeconfig, --context)"
                ),
                429 => format!("{answer}; the hub is overloaded or not ready yet, try again later"),
                _ => answer,
            }
        }
        error => without_answer(error, url),
    };
    let text = format!("cannot {doing}: {text}");
    match is_unavailable(error) {
        true => HubUnavailable(text).into(),
        false => anyhow::Error::msg(text),
    }
}

/// How a user finds out what is allowed where a request was refused. A server says in its answer in which namespace.
fn allowed(message: &str) -> String {
    let quoted = |before: &str| {
        message
            .split_once(before)?
            .1
            .split_once('"')
            .map(|(word, _)| word)
    };
    match quoted("in the namespace \"") {
        Some(namespace) => format!("`kubectl auth can-i --list -n {namespace}` shows what is allowed there"),
        None if message.contains("at the cluster scope")
            && quoted("cannot list resource \"").is_some_and(has_namespace_flag) =>
        {
            "`kubectl auth can-i --list` shows what is allowed; in one namespace, use -n NS".to_owned()
        }
        None => "`kubectl auth can-i --list` shows what is allowed".to_owned(),
    }
}

/// Whether the commands that read objects of a kind can be limited to one namespace.
fn has_namespace_flag(plural: &str) -> bool {
    matches!(plural, "placements" | "placementdecisions")
}

/// What is said of a request that was not answered by an API server.
fn without_answer(error: &kube::Error, url: &str) -> String {
    match error {
        error
            if let Some(auth) = auth_error(error)
                && let Some(advice) = credentials::advice(auth, None) =>
        {
            format!("{}; {advice}", shortened(&describe(error), ANSWER))
        }
        error if is_no_api_server(error) => format!(
            "{url} does not answer as a Kubernetes API: {}; choose another server (--kubeconfig, --context), or correct the \
             address (`server` in the kubeconfig)",
            shortened(&describe(error), ANSWER)
        ),
        error if is_refused(error) => format!(
            "{url} refuses connections; does a server run there (`portolan up` starts a hub), and is the kubeconfig the right \
             one?"
        ),
        error if is_plain_http(error) => format!(
            "{url} answers without TLS, although its address begins with https: the server speaks plain HTTP, or another \
             program listens there; correct the address (`server` in the kubeconfig: http:// for a proxy such as `kubectl \
             proxy`), or choose another hub (--kubeconfig, --context)"
        ),
        error if is_tls(error, url) => format!(
            "{url} does not answer in HTTP, although its address begins with http: the server most likely speaks TLS; correct \
             the address (`server` in the kubeconfig: https://), or choose another hub (--kubeconfig, --context)"
        ),
        error if is_untrusted(error) => format!(
            "{url} shows a certificate that the kubeconfig does not trust: {}; another server listens there, or the server was \
             set up anew since the kubeconfig was written; get its kubeconfig again, or choose another hub (--kubeconfig, \
             --context)",
            shortened(&describe(error), ANSWER)
        ),
        error if is_unanswered(error) => format!(
            "{url} does not answer in time; is the server overloaded or stopped, does something between drop the packets, and is \
             it the right server (--kubeconfig, --context)?"
        ),
        error if is_answer(error) => format!(
            "{url} sent an answer that cannot be used: {}; is it a Kubernetes API server (--kubeconfig, --context)?",
            shortened(&describe(error), ANSWER)
        ),
        error => format!(
            "{url} cannot be reached: {}; is it the right server (--kubeconfig, --context)?",
            shortened(&describe(error), ANSWER)
        ),
    }
}

/// The error of a server that answers, but not as an API server does.
pub(crate) fn no_api_server(url: &str) -> anyhow::Error {
    let text = format!(
        "cannot read the version of the server: {url} sent an answer without gitVersion; is it a Kubernetes API server \
         (--kubeconfig, --context)?"
    );
    HubUnavailable(text).into()
}

/// The error of a server whose answer is no object of the kind.
pub(crate) fn no_usable_answer(doing: &str, url: &str, why: &str) -> anyhow::Error {
    let why = shortened(why, ANSWER);
    let text = format!(
        "cannot {doing}: {url} sent an answer that cannot be used: {why}; is it a Kubernetes API server (--kubeconfig, \
         --context)?"
    );
    HubUnavailable(text).into()
}

/// Whether an error of a command is one of the hub rather than of the input: exit code 3 instead of 2.
pub(crate) fn is_of_hub(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.is::<HubUnavailable>() || cause.downcast_ref::<kube::Error>().is_some_and(is_unavailable)
    })
}

/// Whether the hub cannot be reached, refuses, or is broken. An object that does not exist, or content that the server
/// does not accept, is bad input.
fn is_unavailable(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => !matches!(status.code, 400 | 404 | 405 | 406 | 409 | 413 | 415 | 422),
        kube::Error::BuildRequest(_) | kube::Error::InferConfig(_) | kube::Error::InferKubeconfig(_) => false,
        _ => true,
    }
}

/// Whether the hub cannot be reached or is not ready: asking it again later may help.
pub(super) fn is_away(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => matches!(status.code, 0 | 408 | 429 | 500..),
        error => is_unavailable(error),
    }
}

/// Whether the server knows nothing at the path: an object that is missing is told in a Status.
fn is_no_path(status: &kube::core::Status) -> bool {
    status.code == 404 && status.reason != "NotFound"
}

/// Whether the server does not serve the kind that was asked for.
pub(crate) fn is_unserved(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if is_no_path(status))
}

/// Whether the server answered, though not as it should.
fn is_answer(error: &kube::Error) -> bool {
    matches!(error, kube::Error::SerdeError(_) | kube::Error::FromUtf8(_))
}

/// Whether a web server of another kind answered.
fn is_no_api_server(error: &kube::Error) -> bool {
    causes(error).any(|cause| cause.is::<NotAnApiServer>())
}

fn is_refused(error: &kube::Error) -> bool {
    causes(error).any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    })
}

/// Whether the server answered a TLS handshake with something else. rustls names that by the first byte that it reads.
fn is_plain_http(error: &kube::Error) -> bool {
    describe(error).contains("InvalidContentType")
}

/// Whether a server that was asked without TLS answered with something that is no HTTP, as a server with TLS does.
fn is_tls(error: &kube::Error, url: &str) -> bool {
    url.starts_with("http://") && describe(error).contains("invalid HTTP version")
}

/// Whether the server's certificate was signed by another authority than the kubeconfig has, or is for another name.
fn is_untrusted(error: &kube::Error) -> bool {
    describe(error).contains("invalid peer certificate")
}

/// Whether no connection was made, or no answer came, in the time for it.
fn is_unanswered(error: &kube::Error) -> bool {
    let timed_out = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
    causes(error).any(|cause| {
        cause.is::<tokio::time::error::Elapsed>() || cause.downcast_ref::<io::Error>().is_some_and(timed_out)
    })
}

/// Why there are no credentials to send a request with.
fn auth_error(error: &kube::Error) -> Option<&AuthError> {
    causes(error).find_map(|cause| cause.downcast_ref::<AuthError>())
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    fn answered(code: u16, reason: &str, message: &str) -> kube::Error {
        kube::Error::Api(Box::new(
            kube::core::Status::failure(message, reason).with_code(code),
        ))
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
    fn a_request_without_credentials_is_told_apart_from_one_that_lacks_a_right() {
        let said = |user: &str| {
            let message =
                format!("placements is forbidden: User \"{user}\" cannot list resource \"placements\"");
            explain(
                &answered(403, "Forbidden", &message),
                "list placements",
                "https://hub",
            )
            .to_string()
        };
        assert!(said("system:anonymous").contains("no credentials"));
        assert!(said("ann").contains("kubectl auth can-i --list"));
    }

    #[test]
    fn a_refused_request_names_the_namespace_in_which_rights_are_listed() {
        let refused = |resource: &str, scope: &str| {
            allowed(&format!(
                "x is forbidden: User \"ann\" cannot list resource \"{resource}\" in API group \"g\" {scope}"
            ))
        };
        let text = refused("placements", "in the namespace \"ml\"");
        assert_eq!(
            text,
            "`kubectl auth can-i --list -n ml` shows what is allowed there"
        );
        let text = refused("placements", "at the cluster scope");
        assert!(text.ends_with("; in one namespace, use -n NS"), "{text}");
        for other in ["managedclusters", "managedclustersetbindings"] {
            let text = refused(other, "at the cluster scope");
            assert!(!text.contains("-n NS"), "{text}");
        }
    }

    #[test]
    fn refused_credentials_name_the_hub_once() {
        let unauthorized = answered(401, "Unauthorized", "Unauthorized");
        let text = explain(&unauthorized, "list placements", "https://hub").to_string();
        assert_eq!(text.matches("https://hub").count(), 1, "{text}");
    }

    /// What is said about a server that answers everything with these bytes.
    async fn said_of(scheme: &str, answer: &'static [u8]) -> String {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let _ = stream.read(&mut [0; 512]);
                let _ = stream.write_all(answer);
            }
        });
        let server = super::super::Server::new(kube::Config::new(url.parse().unwrap())).unwrap();
        let text = server.version().await.unwrap_err().to_string();
        assert!(text.contains(&url) && text.len() < 500, "{text}");
        text
    }

    #[tokio::test]
    async fn a_server_with_or_without_tls_unlike_its_address_is_said_to_be_so() {
        let plain = said_of("https", b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
        assert!(
            plain.contains("answers without TLS") && plain.contains("http://"),
            "{plain}"
        );
        assert!(!plain.contains("InvalidContentType"), "{plain}");
        // An alert, as the first bytes of a request are no handshake.
        let tls = said_of("http", &[0x15, 3, 3, 0, 2, 2, 70]).await;
        assert!(tls.contains("speaks TLS") && tls.contains("https://"), "{tls}");
    }

    #[test]
    fn a_kind_that_is_not_served_is_told_apart_from_an_object_that_is_missing() {
        let path = answered(404, "Failed to parse error data", "404 page not found");
        let text = explain(&path, "read the cluster x", "https://hub").to_string();
        assert!(
            text.contains("https://hub does not serve the kind; install the definitions"),
            "{text}"
        );
        let object = answered(404, "NotFound", "clusters \"x\" not found");
        let text = explain(&object, "read the cluster x", "https://hub").to_string();
        assert!(
            text.ends_with("answered 404: clusters \"x\" not found") && !is_unserved(&object),
            "{text}"
        );
    }

    #[test]
    fn a_forbidden_list_says_who_is_not_allowed_what() {
        let forbidden = answered(403, "Forbidden", "user x cannot list placements");
        let text = explain(&forbidden, "list placements", "https://hub").to_string();
        assert!(
            text.contains("403 Forbidden: user x cannot list placements") && text.contains("auth can-i"),
            "{text}"
        );
    }

    #[test]
    fn a_long_answer_is_cut() {
        let text = explain(&answered(500, "", &"x".repeat(5000)), "list", "https://hub").to_string();
        assert!(text.chars().count() < 500, "{text}");
    }

    #[test]
    fn a_hub_that_refuses_or_is_away_is_no_bad_input() {
        let unread = serde_json::from_str::<u8>("{").unwrap_err();
        for (error, of_hub) in [
            (answered(401, "Unauthorized", ""), true),
            (answered(403, "Forbidden", ""), true),
            (answered(429, "TooManyRequests", ""), true),
            (answered(500, "", ""), true),
            (answered(0, "", ""), true),
            (kube::Error::Service("timed out".into()), true),
            (kube::Error::SerdeError(unread), true),
            (answered(404, "NotFound", ""), false),
            (answered(409, "Conflict", ""), false),
            (answered(422, "Invalid", ""), false),
        ] {
            let explained = explain(&error, "list placements", "https://hub");
            assert_eq!(is_of_hub(&explained.context("--hub")), of_hub, "{error}");
            let is_refusal = matches!(&error, kube::Error::Api(status) if [401, 403].contains(&status.code));
            assert_eq!(is_away(&error), of_hub && !is_refusal, "{error}");
            let raw = Err::<(), _>(error).context("cannot wait").unwrap_err();
            assert_eq!(is_of_hub(&raw), of_hub, "{raw:#}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_silent_or_shows_another_certificate_is_said_to() {
        let late =
            tokio::time::timeout(std::time::Duration::from_secs(1), std::future::pending::<()>()).await;
        let silent = kube::Error::Service(Box::new(late.unwrap_err()));
        let text = explain(&silent, "list placements", "https://hub").to_string();
        assert!(text.contains("https://hub does not answer in time"), "{text}");
        let foreign = io::Error::other("invalid peer certificate: BadSignature");
        let text = explain(&kube::Error::Service(Box::new(foreign)), "list", "https://hub").to_string();
        assert!(
            text.contains("a certificate that the kubeconfig does not trust")
                && text.contains("get its kubeconfig again"),
            "{text}"
        );
    }
}
