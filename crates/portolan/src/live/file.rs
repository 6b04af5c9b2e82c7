//! Files with credentials. Whoever gives them may give a pipe that nobody writes into, or a file system that does not answer:
//! they are read apart from the threads that serve, with limits.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::config::Kubeconfig;

/// Largest file that is read. Kubeconfigs with many contexts have some hundred kilobytes.
const LARGEST: u64 = 1024 * 1024;
/// How long reading may take.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The content of a regular file that is not too large.
pub(crate) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    check(path)?;
    let mut content = Vec::new();
    // It may have grown since.
    std::fs::File::open(path)?
        .take(LARGEST)
        .read_to_end(&mut content)?;
    Ok(content)
}

/// The same as text.
pub(crate) fn read_text(path: &Path) -> std::io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| Error::new(ErrorKind::InvalidData, "it is no text in UTF-8"))
}

/// Refuses what cannot be read at once: others than regular files, and large ones.
pub(crate) fn check(path: &Path) -> std::io::Result<()> {
    let metadata = std::fs::metadata(path)?;
    let why = match metadata.len() {
        _ if !metadata.is_file() => "it is no regular file; accepted: a regular file".to_owned(),
        size if size > LARGEST => format!("it has {size} bytes; accepted: {LARGEST} or fewer"),
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidInput, why))
}

/// The files that a context of a kubeconfig names, the current one without a name: certificates, keys and tokens.
pub(crate) fn named(kubeconfig: &Kubeconfig, context: Option<&str>) -> Vec<PathBuf> {
    let found = || {
        let name = context.or(kubeconfig.current_context.as_deref())?;
        let mut contexts = kubeconfig.contexts.iter();
        contexts.find(|context| context.name == name)?.context.as_ref()
    };
    let Some(context) = found() else {
        return Vec::new();
    };
    let mut clusters = kubeconfig.clusters.iter();
    let cluster = clusters.find(|cluster| cluster.name == context.cluster);
    let cluster = cluster.and_then(|cluster| cluster.cluster.as_ref());
    let mut users = kubeconfig.auth_infos.iter();
    let user = users.find(|user| Some(&user.name) == context.user.as_ref());
    let user = user.and_then(|user| user.auth_info.as_ref());
    let names = [
        cluster.and_then(|cluster| cluster.certificate_authority.clone()),
        user.and_then(|user| user.client_certificate.clone()),
        user.and_then(|user| user.client_key.clone()),
        user.and_then(|user| user.token_file.clone()),
    ];
    names.into_iter().flatten().map(PathBuf::from).collect()
}

/// Reads something apart from the threads that serve. Fails if that takes too long, and as long as an earlier attempt at the
/// same has not ended: each takes a thread.
pub(crate) async fn apart<T: Send + 'static>(
    what: &str,
    read: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<T> {
    static UNDER_WAY: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let under_way = || UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
    if !under_way().insert(what.to_owned()) {
        anyhow::bail!("cannot read {what}: an earlier attempt has not ended");
    }
    let name = what.to_owned();
    let reading = tokio::task::spawn_blocking(move || {
        let read = read();
        under_way().remove(&name);
        read
    });
    match tokio::time::timeout(READ_TIMEOUT, reading).await {
        Ok(Ok(read)) => Ok(read),
        Ok(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Ok(Err(_)) => anyhow::bail!("cannot read {what}: the program ends"),
        Err(_) => anyhow::bail!(
            "cannot read {what}: it takes longer than {} seconds; accepted: files that can be read at once",
            READ_TIMEOUT.as_secs()
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("portolan-file-{name}-{}", std::process::id()))
    }

    #[test]
    fn a_pipe_a_folder_and_a_large_file_are_refused_and_not_read() {
        let pipe = path("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let large = path("large");
        std::fs::File::create(&large)
            .unwrap()
            .set_len(LARGEST + 1)
            .unwrap();
        for odd in [&pipe, &large, &std::env::temp_dir()] {
            let why = read(odd).unwrap_err().to_string();
            assert!(why.contains("accepted"), "{why}");
        }
        std::fs::remove_file(pipe).unwrap();
        std::fs::remove_file(large).unwrap();
    }

    #[tokio::test]
    async fn a_read_that_does_not_end_is_given_up_and_not_begun_again_before_it_does() {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let stuck = apart("the file of a test", move || ended.recv());
        let why = stuck.await.unwrap_err().to_string();
        assert!(why.contains("longer than 5 seconds"), "{why}");
        let why = apart("the file of a test", || ()).await.unwrap_err().to_string();
        assert!(why.contains("an earlier attempt"), "{why}");
        drop(end);
        while apart("the file of a test", || ()).await.is_err() {
            tokio::task::yield_now().await;
        }
    }
}
