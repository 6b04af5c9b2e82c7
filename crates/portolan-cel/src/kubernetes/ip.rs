//! IP addresses. Zones and IPv4 addresses written as IPv6 are refused, as Kubernetes does.

use std::net::IpAddr;

/// Longest text an address can have; longer text is refused unread.
const MAX_LENGTH: usize = 45;

pub(crate) fn parse(text: &str) -> Result<IpAddr, &'static str> {
    if text.len() > MAX_LENGTH {
        return Err("not an IP address");
    }
    match text.parse() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            Err("IPv4-mapped IPv6 addresses are not accepted")
        }
        Ok(address) => Ok(address),
        Err(_) if text.contains('%') => Err("zones are not accepted"),
        Err(_) => Err("not an IP address"),
    }
}
