//! On which port a hub listens when nobody says: the one it had before, the usual one, or a free one.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;

use portolan_hub::{Hub, StartError};

use crate::output;

/// The usual port of a Kubernetes API.
const API_PORT: u16 = 6443;
/// The file in the folder of the data that says which port the hub had. Kubeconfigs of members name it.
const REMEMBERED: &str = "port";

/// Starts a hub on the address that is given, or on the first that is free.
pub(crate) async fn start(
    given: Option<SocketAddr>,
    data: Option<&Path>,
    start: impl AsyncFn(SocketAddr) -> Result<Hub, StartError>,
) -> Result<Hub, StartError> {
    let mut candidates = match given {
        Some(address) => vec![address],
        None => ports(data.and_then(remembered)).map(local).collect(),
    }
    .into_iter();
    // Said at the end: a hub that does not start for another reason takes no port at all.
    let mut remarks = String::new();
    loop {
        // There is always a first one, and the last is tried without another.
        let address = candidates.next().unwrap_or(local(0));
        match start(address).await {
            Err(StartError::Listen { source, .. })
                if source.kind() == ErrorKind::AddrInUse && candidates.len() > 0 =>
            {
                let next = match candidates.as_slice() {
                    [next, _, ..] => format!("trying {}", next.port()),
                    _ => "taking a free one".to_owned(),
                };
                remarks.push_str(&format!("port {} is in use; {next}\n", address.port()));
            }
            started => {
                if matches!(started, Ok(_) | Err(StartError::Listen { .. })) {
                    output::remark(&remarks);
                }
                if let (Ok(hub), Some(folder)) = (&started, data) {
                    remember(folder, hub);
                }
                return started;
            }
        }
    }
}

/// The ports to try, in this order. A hub that members have joined is looked for where it was.
fn ports(remembered: Option<u16>) -> impl Iterator<Item = u16> {
    let usual = Some(API_PORT).filter(|usual| Some(*usual) != remembered);
    remembered.into_iter().chain(usual).chain([0])
}

fn local(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

fn remembered(folder: &Path) -> Option<u16> {
    let text = std::fs::read_to_string(folder.join(REMEMBERED)).ok()?;
    text.trim().parse().ok().filter(|port| *port > 0)
}

/// What cannot be written costs the next start its port, and nothing else.
fn remember(folder: &Path, hub: &Hub) {
    if let Some(address) = hub.address() {
        let _ = std::fs::write(folder.join(REMEMBERED), format!("{}\n", address.port()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_before_comes_before_the_usual_one_and_that_before_any_other() {
        assert_eq!(ports(None).collect::<Vec<_>>(), [6443, 0]);
        assert_eq!(ports(Some(35327)).collect::<Vec<_>>(), [35327, 6443, 0]);
        assert_eq!(ports(Some(6443)).collect::<Vec<_>>(), [6443, 0]);
    }

    #[tokio::test]
    async fn a_hub_with_data_is_found_where_it_was_and_elsewhere_only_if_that_is_taken() {
        let folder = std::env::temp_dir().join(format!("portolan-port-{}", std::process::id()));
        let start_hub = async || {
            let open = async |address| Hub::builder().listen(address).data(&folder).start().await;
            start(None, Some(&folder), open).await.unwrap()
        };
        let hub = start_hub().await;
        let first = hub.address().unwrap();
        hub.stop().await;
        let hub = start_hub().await;
        assert_eq!(hub.address().unwrap(), first);
        hub.stop().await;
        let _somebody_else = std::net::TcpListener::bind(first).unwrap();
        let hub = start_hub().await;
        assert_ne!(hub.address().unwrap(), first);
        hub.stop().await;
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
