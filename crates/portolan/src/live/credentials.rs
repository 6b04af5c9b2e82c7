//! Where the credentials for a server come from, for messages about credentials that are refused or cannot be had.

use std::io::IsTerminal as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use kube::client::AuthError;
use kube::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use secrecy::ExposeSecret as _;
use serde_json::Value;

/// What the credentials of a user are, without the secret: `a token, which ended at …`.
pub(super) fn describe(user: &AuthInfo, now: Timestamp) -> String {
    if let Some(plugin) = &user.exec {
        return format!("given by the credential plugin {}", command(plugin));
    }
    let (what, token) = match (&user.token, &user.token_file) {
        (_, Some(file)) => (
            format!("the token in the file {file}"),
            super::file::read_text(std::path::Path::new(file)).ok(),
        ),
        (Some(token), None) => ("a token".to_owned(), Some(token.expose_secret().to_owned())),
        (None, None) => (without_token(user).to_owned(), None),
    };
    match token.as_deref().and_then(token_end) {
        Some(end) if end < now => format!("{what}, which ended at {end}"),
        Some(end) => format!("{what}, which is valid until {end}"),
        None => what,
    }
}

/// What is said of a user without credentials.
pub(super) const NONE: &str = "none: the user of the context has neither a token nor a client certificate";

fn without_token(user: &AuthInfo) -> &'static str {
    if user.client_certificate.is_some() || user.client_certificate_data.is_some() {
        "a client certificate"
    } else if user.username.is_some() {
        "a user name and a password"
    } else {
        NONE
    }
}

/// When a token ends, where it says so: those of service accounts do. It is read, not verified: the server does that.
fn token_end(token: &str) -> Option<Timestamp> {
    let payload = token.trim().split('.').nth(1)?;
    let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
    let payload: Value = serde_json::from_slice(&payload).ok()?;
    Timestamp::from_second(payload.get("exp")?.as_i64()?).ok()
}

/// The program of a plugin. Its arguments and variables may be secrets.
fn command(plugin: &ExecConfig) -> &str {
    plugin.command.as_deref().unwrap_or("without a command")
}

/// Lets a plugin talk to the user only where there is one, as kubectl does. Otherwise what it writes to standard error
/// becomes part of the error.
pub(super) fn without_terminal(user: &mut AuthInfo) {
    if let Some(plugin) = &mut user.exec
        && plugin.interactive_mode != Some(ExecInteractiveMode::Always)
        && !std::io::stdin().is_terminal()
    {
        plugin.interactive_mode = Some(ExecInteractiveMode::Never);
    }
}

/// What to do about a plugin that gives no credentials; nothing for errors that have another cause.
pub(super) fn advice(error: &AuthError, plugin: Option<&ExecConfig>) -> Option<String> {
    let is_plugin = matches!(
        error,
        AuthError::AuthExecStart(_)
            | AuthError::AuthExecRun { .. }
            | AuthError::AuthExecParse(_)
            | AuthError::AuthExec(_)
            | AuthError::ExecPluginFailed
    );
    if !is_plugin {
        return None;
    }
    let program = plugin.map(|plugin| format!(" {}", command(plugin)));
    let mut advice = match error {
        AuthError::AuthExecStart(_) => format!(
            "install{}, or put its folder into $PATH, or choose another --context",
            program.as_deref().unwrap_or(" the program")
        ),
        _ => format!(
            "run the command{} that users[].user.exec of the kubeconfig names by hand to see what it needs, usually a new \
             login, or choose another --context",
            program.as_deref().unwrap_or_default()
        ),
    };
    if let Some(hint) = plugin.and_then(|plugin| plugin.install_hint.as_deref()) {
        advice.push_str(&format!(
            "; its install hint: {}",
            hint.lines().next().unwrap_or_default()
        ));
    }
    Some(advice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(value: Value) -> AuthInfo {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn credentials_are_described_without_the_secret() {
        let now = Timestamp::from_second(1_000).unwrap();
        let token = |end: i64| {
            let payload = URL_SAFE_NO_PAD.encode(json!({ "exp": end }).to_string());
            format!("head.{payload}.signature")
        };
        for (value, words) in [
            (json!({}), "none: the user"),
            (json!({ "token": "secret" }), "a token"),
            (
                json!({ "token": token(500) }),
                "a token, which ended at 1970-01-01T00:08:20Z",
            ),
            (
                json!({ "token": token(5_000) }),
                "a token, which is valid until 1970-01-01T01:23:20Z",
            ),
            (json!({ "client-certificate": "me.crt" }), "a client certificate"),
            (
                json!({ "exec": { "command": "login", "args": ["secret"] } }),
                "given by the credential plugin login",
            ),
        ] {
            let described = describe(&user(value), now);
            assert!(described.starts_with(words), "{described}");
            assert!(!described.contains("secret"), "{described}");
        }
    }

    #[test]
    fn a_plugin_that_is_not_there_or_fails_is_named_with_what_to_do() {
        let plugin =
            user(json!({ "exec": { "command": "login", "installHint": "get it at example.com\nmore" } }))
                .exec;
        let missing = AuthError::AuthExecStart(std::io::ErrorKind::NotFound.into());
        let said = advice(&missing, plugin.as_ref()).unwrap();
        assert!(
            said.starts_with("install login, or put its folder into $PATH"),
            "{said}"
        );
        assert!(
            said.ends_with("its install hint: get it at example.com"),
            "{said}"
        );
        let said = advice(&AuthError::ExecPluginFailed, plugin.as_ref()).unwrap();
        assert!(
            said.contains("run the command login that users[].user.exec"),
            "{said}"
        );
        assert_eq!(
            advice(&AuthError::UnrefreshableTokenResponse, plugin.as_ref()),
            None
        );
    }
}
