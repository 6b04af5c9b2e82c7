//! Addresses to listen on, as people write them.

use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};

/// Where metrics and probes are when no address is given. 8080 would be the usual one, but it is where kubectl without a
/// kubeconfig looks for an API server: the user would see the answers of the metrics server instead of a hint.
pub(crate) const METRICS_PORT: u16 = 9464;

/// Reads `127.0.0.1:6443`, `[::1]:6443`, `localhost:6443`, and a port alone, which is one of this machine only.
pub(crate) fn parse(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Ok(port) = text.strip_prefix(':').unwrap_or(text).parse() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    match text.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => named(name, text),
        _ => Err(accepted()),
    }
}

/// Only names of this machine itself: which of its addresses another name stands for depends on who resolves it.
fn named(name: &str, text: &str) -> Result<SocketAddr, String> {
    let found: Vec<SocketAddr> = match text.to_socket_addrs() {
        Ok(found) => found.filter(|address| address.ip().is_loopback()).collect(),
        Err(_) => Vec::new(),
    };
    // Clients try IPv4 where a server names only one address.
    let ipv4 = found.iter().find(|address| address.is_ipv4());
    match ipv4.or(found.first()) {
        Some(address) => Ok(*address),
        None => Err(format!(
            "{name:?} is not a name of this machine's loopback address; {}",
            accepted()
        )),
    }
}

fn accepted() -> String {
    "accepted: an address with a port such as 127.0.0.1:6443, [::1]:6443 or 0.0.0.0:6443, localhost:6443, or a port \
     alone such as 6443, which means 127.0.0.1:6443; port 0 takes a free port"
        .to_owned()
}

/// How members of other machines reach a hub.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Hostnames {
    /// Name or address by which other machines reach the hub; it is in the hub's certificate, and the first one is in
    /// kubeconfigs; may be given several times
    #[arg(long = "hostname", value_name = "HOST", value_parser = hostname)]
    pub(crate) names: Vec<String>,
}

impl Hostnames {
    /// What is to be said when other machines are let in and could not tell that it is this hub.
    pub(crate) fn hint(&self, address: SocketAddr) -> Option<&'static str> {
        let nameless = address.ip().is_unspecified() && self.names.is_empty();
        nameless.then_some(
            "other machines cannot verify the hub: its certificate and its kubeconfigs say 127.0.0.1; start it with \
             --hostname HOST, the name by which they reach it",
        )
    }
}

/// A name or an address without a port.
fn hostname(text: &str) -> Result<String, String> {
    let is_label = |label: &str| {
        let dash = |end: Option<char>| end == Some('-');
        (1..=63).contains(&label.len())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            && !dash(label.chars().next())
            && !dash(label.chars().last())
    };
    let is_name = text.len() <= 253 && text.split('.').all(is_label);
    match is_name || text.parse::<std::net::IpAddr>().is_ok() {
        true => Ok(text.to_owned()),
        false => Err(
            "accepted: a DNS name such as hub.example.com, or an address such as 192.0.2.7, without a port"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_names_of_loopback_and_ports_alone_are_accepted() {
        for (text, expected) in [
            ("127.0.0.1:6443", "127.0.0.1:6443"),
            ("0.0.0.0:0", "0.0.0.0:0"),
            ("[::1]:6443", "[::1]:6443"),
            (":6443", "127.0.0.1:6443"),
            ("6443", "127.0.0.1:6443"),
            ("0", "127.0.0.1:0"),
        ] {
            assert_eq!(parse(text), Ok(expected.parse().unwrap()), "{text}");
        }
        let localhost = parse("localhost:6443").unwrap();
        assert!(
            localhost.ip().is_loopback() && localhost.port() == 6443,
            "{localhost}"
        );
    }

    #[test]
    fn metrics_are_not_served_where_kubectl_without_a_kubeconfig_looks_for_a_hub() {
        assert_ne!(METRICS_PORT, 8080);
        for name in ["up", "controller"] {
            let mut command = crate::cli::definition();
            let help = command
                .find_subcommand_mut(name)
                .unwrap()
                .render_long_help()
                .to_string();
            assert!(help.contains(&format!("127.0.0.1:{METRICS_PORT}")), "{help}");
            assert!(!help.contains(":8080"), "{help}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_is_accepted() {
        for text in [
            "",
            ":",
            "6443x",
            "65536",
            "127.0.0.1",
            "localhost",
            "no such name:6443",
        ] {
            let refused = parse(text).unwrap_err();
            assert!(refused.contains("such as 127.0.0.1:6443"), "{text}: {refused}");
        }
    }

    #[test]
    fn a_hostname_is_a_name_or_an_address_without_a_port() {
        for good in ["hub", "hub.example.com", "192.0.2.7", "2001:db8::7"] {
            assert_eq!(hostname(good).as_deref(), Ok(good));
        }
        for bad in ["", "hub:6443", "https://hub", "-hub", "a..b", "hub/x", "josé"] {
            assert!(hostname(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_hub_for_other_machines_without_a_name_is_told_what_to_add() {
        let everywhere: SocketAddr = ([0, 0, 0, 0], 6443).into();
        assert!(
            Hostnames::default()
                .hint(everywhere)
                .unwrap()
                .contains("--hostname HOST")
        );
        let names = vec!["hub.example.com".to_owned()];
        assert_eq!(Hostnames { names }.hint(everywhere), None);
        assert_eq!(Hostnames::default().hint(([127, 0, 0, 1], 6443).into()), None);
    }
}
