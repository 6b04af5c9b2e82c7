//! Commands that people paste into a shell: they work from every folder.

use std::path::Path;

/// How this program is called from another folder: `cargo run` calls it by a relative path that is on no one's PATH.
pub(crate) fn program() -> String {
    let called = std::env::args().next().filter(|called| called.contains('/'));
    called.map_or_else(|| "portolan".to_owned(), |called| path(Path::new(&called)))
}

/// A path from the root, as a word for a shell.
pub(crate) fn path(path: &Path) -> String {
    let absolute = std::path::absolute(path);
    quoted(&absolute.as_deref().unwrap_or(path).display().to_string())
}

/// A word for a shell.
fn quoted(word: &str) -> String {
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
