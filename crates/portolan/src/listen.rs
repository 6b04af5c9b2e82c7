//! Addresses to listen on, as people write them.

use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};

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
}
