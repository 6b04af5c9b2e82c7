//! Where the data of `portolan up` is kept.

use std::path::{Component, Path, PathBuf};

use anyhow::Context;

/// The folder that was asked for, or the user's own for this purpose, made if it is not there.
pub(super) fn folder(given: Option<&Path>, demo: bool) -> anyhow::Result<PathBuf> {
    let folder = match given {
        Some(folder) => folder.to_owned(),
        None => {
            let data_home = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
            // Where $HOME is not set, as in some services, the system knows the user's folder.
            let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
            default(data_home, home, demo).context(
                "there is no folder to keep data in: this user has no home folder ($HOME), and $XDG_DATA_HOME is not a path that begins with /; \
                 --data DIR names a folder, --in-memory keeps nothing",
            )?
        }
    };
    std::fs::create_dir_all(&folder).map_err(|error| cannot_make(&folder, &error))?;
    Ok(folder)
}

fn cannot_make(folder: &Path, error: &std::io::Error) -> anyhow::Error {
    anyhow::anyhow!(
        "cannot make the folder {}: {error}; --data DIR names another",
        folder.display()
    )
}

/// A demo and a hub in earnest are kept apart.
fn default(data_home: Option<PathBuf>, home: Option<PathBuf>, demo: bool) -> Option<PathBuf> {
    // The convention: a relative path is to be ignored.
    let data_home = data_home.filter(|path| path.is_absolute());
    let base = data_home.or_else(|| Some(home?.join(".local/share")))?;
    Some(base.join("portolan").join(if demo { "demo" } else { "hub" }))
}

/// The path of a file from the root, for use from other folders. `..` in it is resolved as the system does, also behind a symbolic
/// link, where its folder exists.
pub(super) fn from_root(file: PathBuf) -> PathBuf {
    let file = std::path::absolute(&file).unwrap_or(file);
    let has_dots = file.components().any(|part| part == Component::ParentDir);
    let folder = file.parent().filter(|_| has_dots);
    let folder = folder.and_then(|folder| folder.canonicalize().ok());
    match (folder, file.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_kubeconfig_has_no_dots_where_its_folder_exists() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap();
        assert_eq!(
            from_root(here.join("src/up/../../tests/hub.config")),
            here.join("tests/hub.config")
        );
        let nowhere = here.join("nosuch/../hub.config");
        assert_eq!(from_root(nowhere.clone()), nowhere);
        assert_eq!(from_root(here.join("hub.config")), here.join("hub.config"));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_reported_with_the_cause_before_the_advice() {
        let error = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
        let text = format!("{:#}", cannot_make(Path::new("/data"), &error));
        let expected = format!("cannot make the folder /data: {error}; --data DIR names another");
        assert_eq!(text, expected);
    }

    #[test]
    fn data_goes_where_the_user_keeps_data() {
        let path = |data: Option<&str>, home: Option<&str>, demo| {
            default(data.map(Into::into), home.map(Into::into), demo)
        };
        assert_eq!(
            path(None, Some("/home/a"), true),
            Some("/home/a/.local/share/portolan/demo".into())
        );
        assert_eq!(
            path(Some("/data"), Some("/home/a"), false),
            Some("/data/portolan/hub".into())
        );
        assert_eq!(
            path(Some("data"), Some("/home/a"), false),
            Some("/home/a/.local/share/portolan/hub".into())
        );
        assert_eq!(path(None, None, false), None);
    }
}
