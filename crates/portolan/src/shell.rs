//! Commands that people paste into a shell: they work from every folder, and name the program as the user calls it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

/// The words by which a user calls this program as a plugin of kubectl.
pub(crate) const PLUGIN: &str = "kubectl portolan";

/// Whether kubectl has started this process as its plugin.
pub(crate) fn is_plugin() -> bool {
    static IS_PLUGIN: LazyLock<bool> =
        LazyLock::new(|| is_plugin_file(std::env::args_os().next().as_deref()));
    *IS_PLUGIN
}

fn is_plugin_file(program: Option<&OsStr>) -> bool {
    let name = program.and_then(|program| Path::new(program).file_name());
    name.is_some_and(|name| name == "kubectl-portolan")
}

/// How this program is called from another folder: `cargo run` calls it by a relative path that is on no one's PATH.
pub(crate) fn program() -> String {
    let called = std::env::args().next().filter(|called| called.contains('/'));
    match called {
        _ if is_plugin() => PLUGIN.to_owned(),
        Some(called) => path(Path::new(&called)),
        None => "portolan".to_owned(),
    }
}

/// A text for people whose commands name the program as this process was called: `portolan get` becomes
/// `kubectl portolan get` in a plugin of kubectl.
pub(crate) fn as_called(text: &str) -> Cow<'_, str> {
    let text = match is_plugin() {
        true => Cow::Owned(as_plugin(text)),
        false => Cow::Borrowed(text),
    };
    match HUB.get() {
        Some(flags) if !flags.is_empty() => Cow::Owned(with_flags(&text, flags)),
        _ => text,
    }
}

/// The flags of kubectl, and of this program, for a kubeconfig and a context.
pub(crate) fn hub_flags(kubeconfig: Option<&Path>, context: Option<&str>) -> String {
    let kubeconfig = kubeconfig.map(|file| format!(" --kubeconfig {}", path(file)));
    let context = context.map(|name| format!(" --context {}", quoted(name)));
    format!(
        "{}{}",
        kubeconfig.unwrap_or_default(),
        context.unwrap_or_default()
    )
}

/// The flags that name the hub of this process: each process talks to one.
static HUB: OnceLock<String> = OnceLock::new();

/// From now on, commands for kubectl in texts for people have these flags.
pub(crate) fn name_hub(flags: String) {
    // The first one counts: it is the hub of the command line.
    let _ = HUB.set(flags);
}

/// Verbs of kubectl in what people are told.
const VERBS: [&str; 11] = [
    "annotate", "apply", "auth", "create", "delete", "describe", "get", "label", "logs", "patch", "wait",
];

/// The text with flags in every command for kubectl that has none yet.
fn with_flags(text: &str, flags: &str) -> String {
    const CALL: &str = "kubectl ";
    let mut parts = text.split(CALL);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let verb = part.split(|c: char| !c.is_ascii_alphabetic()).next();
        // Not the name of the tool in a sentence: a command stands in quotes, behind a pipe or on a line of its own.
        let is_command = shown.is_empty()
            || shown.ends_with(['`', '\n'])
            || shown.ends_with("| ")
            || shown.ends_with("  ");
        shown.push_str("kubectl");
        if is_command && verb.is_some_and(|verb| VERBS.contains(&verb)) {
            shown.push_str(flags);
        }
        shown.push(' ');
        shown.push_str(part);
    }
    shown
}

/// The text with the plugin's words in front of every subcommand. The word `portolan` alone is the product's name.
pub(crate) fn as_plugin(text: &str) -> String {
    static COMMANDS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let definition = crate::cli::definition();
        let names = definition
            .get_subcommands()
            .map(|command| command.get_name().to_owned());
        names.collect()
    });
    const CALL: &str = "portolan ";
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(CALL) {
        let (before, call) = rest.split_at(at);
        let after = &call[CALL.len()..];
        let word = after
            .split(|c: char| !c.is_ascii_alphanumeric())
            .next()
            .unwrap_or_default();
        shown.push_str(before);
        let begins_word = shown
            .chars()
            .last()
            .is_none_or(|c| c.is_whitespace() || "`('|".contains(c));
        if begins_word && !shown.ends_with("kubectl ") && COMMANDS.iter().any(|name| name == word) {
            shown.push_str("kubectl ");
        }
        shown.push_str(CALL);
        rest = after;
    }
    shown.push_str(rest);
    shown
}

/// A path from the root, as a word for a shell.
pub(crate) fn path(path: &Path) -> String {
    let absolute = std::path::absolute(path);
    quoted(&absolute.as_deref().unwrap_or(path).display().to_string())
}

/// A word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@:".contains(c);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_of_kubectl_names_commands_as_a_user_calls_it() {
        assert!(is_plugin_file(Some(OsStr::new(
            "/usr/local/bin/kubectl-portolan"
        ))));
        assert!(!is_plugin_file(Some(OsStr::new("/usr/local/bin/portolan"))));
        for (text, shown) in [
            (
                "`portolan get placements` lists all",
                "`kubectl portolan get placements` lists all",
            ),
            (
                "Examples:\n  portolan up --demo",
                "Examples:\n  kubectl portolan up --demo",
            ),
            (
                "portolan crds | kubectl apply",
                "kubectl portolan crds | kubectl apply",
            ),
            ("kubectl portolan get", "kubectl portolan get"),
            ("portolan 0.1.0 is up", "portolan 0.1.0 is up"),
            ("bin/portolan get", "bin/portolan get"),
            ("portolan ", "portolan "),
        ] {
            assert_eq!(as_plugin(text), shown);
        }
    }

    #[test]
    fn commands_for_kubectl_name_the_hub_of_the_command_line() {
        for (text, shown) in [
            (
                "install them with `portolan crds | kubectl apply -f -` or",
                "install them with `portolan crds | kubectl --kubeconfig h apply -f -` or",
            ),
            (
                "`kubectl auth can-i --list` shows",
                "`kubectl --kubeconfig h auth can-i --list` shows",
            ),
            ("`kubectl --context m get pods`", "`kubectl --context m get pods`"),
            ("as kubectl apply leaves it out", "as kubectl apply leaves it out"),
            (
                "a proxy such as `kubectl proxy`",
                "a proxy such as `kubectl proxy`",
            ),
        ] {
            assert_eq!(with_flags(text, " --kubeconfig h"), shown);
        }
    }

    #[test]
    fn the_flags_of_a_hub_name_its_kubeconfig_and_its_context() {
        let flags = |file: Option<&str>, context| hub_flags(file.map(Path::new), context);
        assert_eq!(flags(None, None), "");
        assert_eq!(
            flags(Some("/a/hub.yaml"), Some("my hub")),
            " --kubeconfig /a/hub.yaml --context 'my hub'"
        );
    }

    #[test]
    fn a_path_with_spaces_is_one_word_for_a_shell() {
        assert_eq!(path(Path::new("/home/a/kubeconfig")), "/home/a/kubeconfig");
        assert_eq!(path(Path::new("/my data/it's")), r"'/my data/it'\''s'");
    }

    #[test]
    fn a_relative_path_works_from_another_folder() {
        let shown = path(Path::new("target/debug/portolan"));
        assert!(shown.starts_with(['/', '\'']), "{shown}");
        assert!(shown.contains("target/debug/portolan"), "{shown}");
    }
}
