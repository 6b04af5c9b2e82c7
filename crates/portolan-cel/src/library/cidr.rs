//! Address ranges in CIDR notation.

use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;
use std::sync::Arc;

use super::{BOOL, Function, INT, Outcome, STRING, global, ip, member, mismatch};
use crate::error::EvalError;
use crate::eval::Context;
use crate::types::{Kind, Shape};
use crate::value::Val;

const CIDR: Shape = Shape::Is(Kind::Cidr);
const IP: Shape = Shape::Is(Kind::Ip);

pub(super) const FUNCTIONS: &[Function] = &[
    global("cidr", &[STRING], CIDR, cidr),
    global("isCIDR", &[STRING], BOOL, is_cidr),
    member("containsIP", &[CIDR, IP], BOOL, contains_ip),
    member("containsIP", &[CIDR, STRING], BOOL, contains_ip),
    member("containsCIDR", &[CIDR, CIDR], BOOL, contains_cidr),
    member("containsCIDR", &[CIDR, STRING], BOOL, contains_cidr),
    member("masked", &[CIDR], CIDR, masked),
    member("prefixLength", &[CIDR], INT, prefix_length),
];

/// An address and the number of its leading bits that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    address: IpAddr,
    prefix: u32,
}

impl Cidr {
    pub(crate) fn parse(text: &str) -> Result<Cidr, &'static str> {
        let (address, bits) = text.split_once('/').ok_or("not a CIDR such as 10.0.0.0/8")?;
        let address = ip::parse(address)?;
        let plain = !bits.is_empty() && bits.len() <= 3 && bits.bytes().all(|byte| byte.is_ascii_digit());
        if !plain || (bits.len() > 1 && bits.starts_with('0')) {
            return Err("prefix length is not a number");
        }
        match bits.parse() {
            Ok(prefix) if prefix <= width(address) => Ok(Cidr { address, prefix }),
            _ => Err("prefix length is too large"),
        }
    }

    pub(crate) fn address(self) -> IpAddr {
        self.address
    }

    fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && mask(self.address, self.prefix) == mask(address, self.prefix)
    }
}

impl Display for Cidr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address with everything after the prefix cleared.
fn mask(address: IpAddr, prefix: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(prefix)).unwrap_or(0);
            IpAddr::V4((address.to_bits() & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(prefix)).unwrap_or(0);
            IpAddr::V6((address.to_bits() & mask).into())
        }
    }
}

fn cidr(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("cidr", arguments));
    };
    context.meter.charge_text(text.len())?;
    let parsed = Cidr::parse(text).map_err(|reason| EvalError::invalid("cidr", text, reason))?;
    Ok(Val::Cidr(Arc::new(parsed)))
}

fn is_cidr(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("isCIDR", arguments));
    };
    context.meter.charge_text(text.len())?;
    Ok(Val::Bool(Cidr::parse(text).is_ok()))
}

fn contains_ip(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let (range, address) = match arguments {
        [Val::Cidr(range), Val::Ip(address)] => (range, **address),
        [Val::Cidr(range), Val::String(text)] => (
            range,
            ip::parse(text).map_err(|reason| EvalError::invalid("containsIP", text, reason))?,
        ),
        _ => return Err(mismatch("containsIP", arguments)),
    };
    Ok(Val::Bool(range.contains(address)))
}

fn contains_cidr(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let (range, inner) = match arguments {
        [Val::Cidr(range), Val::Cidr(inner)] => (range, **inner),
        [Val::Cidr(range), Val::String(text)] => {
            context.meter.charge_text(text.len())?;
            (
                range,
                Cidr::parse(text).map_err(|reason| EvalError::invalid("containsCIDR", text, reason))?,
            )
        }
        _ => return Err(mismatch("containsCIDR", arguments)),
    };
    Ok(Val::Bool(
        inner.prefix >= range.prefix && range.contains(inner.address),
    ))
}

fn masked(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::Cidr(range)] = arguments else {
        return Err(mismatch("masked", arguments));
    };
    let address = mask(range.address, range.prefix);
    Ok(Val::Cidr(Arc::new(Cidr {
        address,
        prefix: range.prefix,
    })))
}

fn prefix_length(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::Cidr(range)] = arguments else {
        return Err(mismatch("prefixLength", arguments));
    };
    Ok(Val::Int(i64::from(range.prefix)))
}
