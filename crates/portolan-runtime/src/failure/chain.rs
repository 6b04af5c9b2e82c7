//! Renders an error with its causes on one line.

use std::error::Error;

use kube::client::AuthError;
use kube::core::Status;
use kube::runtime::watcher;

/// The reason that kube sets on an answer whose body is not a `Status`.
const NOT_A_STATUS: &str = "Failed to parse error data";
/// Characters shown of an answer whose body is not a `Status`: enough to recognise a proxy's error page.
const BODY_PREVIEW: usize = 120;

/// Characters shown of what a credential plugin wrote.
const STDERR_PREVIEW: usize = 200;

/// An error and its causes on one line, each cause once: `403 Forbidden: user "x" cannot list placements`. Never empty.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let text = render(error);
    match text.is_empty() {
        true => "an error without a message".to_owned(),
        false => text,
    }
}

/// The text, cut to `limit` characters.
pub fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

fn render(error: &(dyn Error + 'static)) -> String {
    if let Some(status) = status(error) {
        return answer(status);
    }
    if let Some(text) = error.downcast_ref::<AuthError>().and_then(plugin) {
        return text;
    }
    let Some(cause) = error.source() else {
        return one_line(&error.to_string());
    };
    let rendered = render(cause);
    if let Some(own) = replacement(error) {
        return match own {
            "" => rendered,
            own => format!("{own}: {rendered}"),
        };
    }
    let (own, raw) = (one_line(&error.to_string()), one_line(&cause.to_string()));
    if own.is_empty() || is_frame(&own) {
        rendered
    } else if raw.is_empty() || own.contains(&rendered) {
        own
    } else if own.contains(&raw) {
        own.replacen(&raw, &rendered, 1)
    } else {
        format!("{own}: {rendered}")
    }
}

/// What the server answered, if the error is an answer.
fn status<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Status> {
    match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => Some(status),
        Some(_) => None,
        None => {
            let boxed = error.downcast_ref::<Box<Status>>().map(|status| &**status);
            boxed.or_else(|| error.downcast_ref::<Status>())
        }
    }
}

/// Whether a text says the reason of a condition or a status in its own words, as `namespaces "east" not found` says `NotFound`:
/// together with the reason a reader would read the same twice.
pub fn says(text: &str, reason: &str) -> bool {
    let folded = |text: &str| {
        let letters = text.chars().filter(|letter| !letter.is_whitespace());
        letters.flat_map(char::to_lowercase).collect::<String>()
    };
    !reason.is_empty() && folded(text).contains(&folded(reason))
}

/// `403 Forbidden: message`, or `404: message` where the message says that nothing was found. Other reasons stay: scripts and
/// pages look for `403 Forbidden`.
fn answer(status: &Status) -> String {
    let name = match status.reason.as_str() {
        "" | NOT_A_STATUS => http::StatusCode::from_u16(status.code)
            .ok()
            .and_then(|code| code.canonical_reason())
            .unwrap_or("error"),
        reason => reason,
    };
    let head = match status.code {
        0 => format!("{name} without a code"),
        code => format!("{code} {name}"),
    };
    let message = one_line(&status.message);
    let head = match status.code {
        404 if message != name && says(&message, "NotFound") => "404".to_owned(),
        _ => head,
    };
    match message.as_str() {
        "" => format!("{head}: the server gave no message"),
        message if message == name => head,
        message if status.reason == NOT_A_STATUS => {
            let body = shortened(message, BODY_PREVIEW);
            format!("{head}: the answer is not a Kubernetes Status: {body}")
        }
        message => format!("{head}: {message}"),
    }
}

/// How a credential plugin failed. Its own text is the debug rendering of the command, with variables that may be secrets.
fn plugin(error: &AuthError) -> Option<String> {
    match error {
        AuthError::AuthExecRun { cmd, out } => {
            let stderr = String::from_utf8_lossy(&out.stderr);
            let first = stderr.lines().map(str::trim).find(|line| !line.is_empty());
            let said = match first {
                Some(line) => shortened(line, STDERR_PREVIEW),
                None => "it wrote nothing to standard error".to_owned(),
            };
            let status = match out.status.code() {
                Some(code) => format!("with exit status {code}"),
                None => "by a signal".to_owned(),
            };
            let program = program(cmd).unwrap_or("of the kubeconfig");
            Some(format!("the credential plugin {program} ended {status}: {said}"))
        }
        AuthError::AuthExecStart(error) => Some(format!(
            "the credential plugin of the kubeconfig cannot be started: {error}"
        )),
        AuthError::AuthExecParse(_) => Some(
            "the credential plugin of the kubeconfig did not write an ExecCredential to standard output"
                .to_owned(),
        ),
        _ => None,
    }
}

/// The program in the debug rendering of a command, which is the first word in quotes: variables in front of it have a name
/// before the quote.
fn program(command: &str) -> Option<&str> {
    let mut rest = command;
    loop {
        rest = rest.trim_start();
        let quote = rest.find('"')?;
        let (before, quoted) = (&rest[..quote], &rest[quote + 1..]);
        let mut escaped = false;
        let end = quoted.find(|c: char| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        if !before.ends_with('=') {
            return Some(&quoted[..end]);
        }
        rest = &quoted[end + 1..];
    }
}

/// Words in place of an error's own, for errors of kube whose own words are names of its types or repeat what the caller
/// was doing.
fn replacement(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref::<kube::Error>() {
        return match error {
            kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::HttpError(_) => Some(""),
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => Some("the answer cannot be read"),
            kube::Error::ReadEvents(_) => Some("the connection broke off"),
            kube::Error::Auth(_) => Some("cannot get credentials"),
            _ => None,
        };
    }
    error.downcast_ref::<watcher::Error>().map(|_| "")
}

/// Whether a text of the HTTP client names only the layer that failed.
fn is_frame(text: &str) -> bool {
    text.starts_with("client error (")
}

/// In one line, without the name of the type that an error was wrapped in.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.replace("ServiceError: ", "");
    // rustls ends some of its errors with the address of a page for programmers.
    match line.split_once(": https://docs.rs/") {
        Some((text, _)) => text.to_owned(),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn api(code: u16, reason: &str, message: &str) -> kube::Error {
        kube::Error::Api(Box::new(Status::failure(message, reason).with_code(code)))
    }

    #[test]
    fn an_answer_is_its_code_its_reason_and_its_message() {
        for (error, expected) in [
            (
                api(404, "NotFound", "namespaces \"east\" not found"),
                "404: namespaces \"east\" not found",
            ),
            (
                api(
                    404,
                    "NotFound",
                    "the server could not find the requested resource",
                ),
                "404 NotFound: the server could not find the requested resource",
            ),
            (api(404, "NotFound", "NotFound"), "404 NotFound"),
            (
                api(403, "Forbidden", "user x cannot list placements"),
                "403 Forbidden: user x cannot list placements",
            ),
            (api(401, "Unauthorized", "Unauthorized"), "401 Unauthorized"),
            (
                api(500, "", ""),
                "500 Internal Server Error: the server gave no message",
            ),
            (api(0, "", ""), "error without a code: the server gave no message"),
            (
                api(409, "Conflict", "line one\n\tline two"),
                "409 Conflict: line one line two",
            ),
            (
                api(503, NOT_A_STATUS, "<html>\n<title>503</title>"),
                "503 Service Unavailable: the answer is not a Kubernetes Status: <html> <title>503</title>",
            ),
        ] {
            assert_eq!(error_chain(&error), expected);
        }
    }

    #[test]
    fn a_text_says_a_reason_in_other_letters_and_no_other_reason() {
        assert!(says("404: namespaces \"east\" not found", "NotFound"));
        assert!(!says("field is immutable", "Refused"));
        assert!(!says("field is immutable", ""));
    }

    #[test]
    fn a_credential_plugin_that_fails_is_named_with_its_status_and_what_it_wrote() {
        let mut command = std::process::Command::new("sh");
        command.args([
            "-c",
            "echo; echo 'log in \"first\"' >&2; exit 3",
            "argument-secret",
        ]);
        command.env("TOKEN", "variable \" secret");
        let out = Box::new(command.output().unwrap());
        let cmd = format!("{command:?}");
        assert!(cmd.contains("secret"), "{cmd}");
        let error = kube::Error::Auth(AuthError::AuthExecRun { cmd, out });
        assert_eq!(
            error_chain(&error),
            "cannot get credentials: the credential plugin sh ended with exit status 3: log in \"first\""
        );
    }

    #[test]
    fn an_error_page_is_cut() {
        let page = api(502, NOT_A_STATUS, &"x".repeat(10_000));
        assert!(error_chain(&page).chars().count() < 250);
    }

    #[test]
    fn an_answer_inside_other_errors_is_rendered_the_same_way() {
        let forbidden = || api(403, "Forbidden", "no");
        let listed = watcher::Error::InitialListFailed(forbidden());
        assert_eq!(error_chain(&listed), "403 Forbidden: no");
        let ended =
            watcher::Error::WatchError(Box::new(Status::failure("too old", "Expired").with_code(410)));
        assert_eq!(error_chain(&ended), "410 Expired: too old");
        let waited = kube::runtime::wait::Error::ProbeFailed(watcher::Error::WatchFailed(forbidden()));
        let text = error_chain(&waited);
        assert!(
            text.ends_with("403 Forbidden: no") && !text.contains("Status {"),
            "{text}"
        );
        // As a client around a client has it.
        let inner = kube::Error::Service(Box::new(kube::Error::Service("gone".into())));
        assert_eq!(error_chain(&inner), "gone");
    }

    #[test]
    fn each_cause_is_said_once() {
        let error = kube::Error::ReadEvents(io::Error::other("cut off"));
        assert_eq!(error_chain(&error), "the connection broke off: cut off");
        #[derive(Debug, thiserror::Error)]
        #[error("cannot read the file: {0}")]
        struct Repeats(#[source] io::Error);
        assert_eq!(
            error_chain(&Repeats(io::Error::other("gone"))),
            "cannot read the file: gone"
        );
        #[derive(Debug, thiserror::Error)]
        #[error("cannot read the file")]
        struct Leaves(#[source] io::Error);
        assert_eq!(
            error_chain(&Leaves(io::Error::other("gone"))),
            "cannot read the file: gone"
        );
    }

    #[test]
    fn an_error_without_a_text_gets_one() {
        assert_eq!(error_chain(&io::Error::other("")), "an error without a message");
        assert_eq!(
            error_chain(&kube::Error::Service("".into())),
            "an error without a message"
        );
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(shortened("äöü", 2), "äö…");
        assert_eq!(shortened("äöü", 3), "äöü");
    }
}
