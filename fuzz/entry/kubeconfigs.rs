//! Kubeconfigs, which others hand out.

/// A kubeconfig is refused in words, or makes a client; the one that `portolan join` makes of it reaches the same server.
/// The commands that it names are not run, and the files not read.
pub fn kubeconfigs(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let read = runtime
        .expect("a runtime")
        .block_on(portolan::kubeconfig::try_out(text));
    match read {
        Ok((server, joined)) => assert_eq!(server, joined, "the agent's kubeconfig reaches another server"),
        Err(refused) => assert!(!format!("{refused:#}").is_empty(), "a refusal says why"),
    }
}
