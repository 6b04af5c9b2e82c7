//! Functions of IP addresses.

use std::net::IpAddr;
use std::sync::Arc;

use super::{BOOL, Function, INT, Outcome, STRING, global, member, mismatch};
use crate::context::Context;
use crate::error::EvalError;
use crate::kubernetes::ip::parse;
use crate::types::{Kind, Shape};
use crate::value::Val;

const IP: Shape = Shape::Is(Kind::Ip);
const CIDR: Shape = Shape::Is(Kind::Cidr);

pub(super) const FUNCTIONS: &[Function] = &[
    global("ip", &[STRING], IP, ip),
    global("isIP", &[STRING], BOOL, is_ip),
    global("ip.isCanonical", &[STRING], BOOL, is_canonical),
    member("ip", &[CIDR], IP, ip_of_cidr),
    member("family", &[IP], INT, family),
    member("isUnspecified", &[IP], BOOL, |_, arguments| {
        test("isUnspecified", arguments, |ip| ip.is_unspecified())
    }),
    member("isLoopback", &[IP], BOOL, |_, arguments| {
        test("isLoopback", arguments, |ip| ip.is_loopback())
    }),
    member("isLinkLocalMulticast", &[IP], BOOL, |_, arguments| {
        test("isLinkLocalMulticast", arguments, is_link_local_multicast)
    }),
    member("isLinkLocalUnicast", &[IP], BOOL, |_, arguments| {
        test("isLinkLocalUnicast", arguments, is_link_local_unicast)
    }),
    member("isGlobalUnicast", &[IP], BOOL, |_, arguments| {
        test("isGlobalUnicast", arguments, is_global_unicast)
    }),
];

fn ip(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("ip", arguments));
    };
    let address = parse(text).map_err(|reason| EvalError::invalid("ip", text, reason))?;
    Ok(Val::Ip(Arc::new(address)))
}

fn is_ip(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("isIP", arguments));
    };
    Ok(Val::Bool(parse(text).is_ok()))
}

fn is_canonical(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("ip.isCanonical", arguments));
    };
    let address = parse(text).map_err(|reason| EvalError::invalid("ip.isCanonical", text, reason))?;
    Ok(Val::Bool(address.to_string() == text.as_ref()))
}

fn ip_of_cidr(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::Cidr(cidr)] = arguments else {
        return Err(mismatch("ip", arguments));
    };
    Ok(Val::Ip(Arc::new(cidr.address())))
}

fn family(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::Ip(address)] = arguments else {
        return Err(mismatch("family", arguments));
    };
    Ok(Val::Int(if address.is_ipv4() { 4 } else { 6 }))
}

fn test(function: &'static str, arguments: &[Val], holds: fn(&IpAddr) -> bool) -> Outcome {
    let [Val::Ip(address)] = arguments else {
        return Err(mismatch(function, arguments));
    };
    Ok(Val::Bool(holds(address)))
}

fn is_link_local_multicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_link_local_unicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Private addresses count as global, as they do in Go.
fn is_global_unicast(address: &IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    let special = address.is_unspecified() || address.is_loopback() || address.is_multicast();
    !(broadcast || special || is_link_local_unicast(address))
}
