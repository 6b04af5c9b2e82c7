//! Address ranges in CIDR notation.

use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;

use super::ip::parse;

/// An address and the number of its leading bits that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    address: IpAddr,
    prefix: u32,
}

impl Cidr {
    pub(crate) fn parse(text: &str) -> Result<Cidr, &'static str> {
        let (address, bits) = text.split_once('/').ok_or("not a CIDR such as 10.0.0.0/8")?;
        let address = parse(address)?;
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

    pub(crate) fn prefix(self) -> u32 {
        self.prefix
    }

    /// The same range with the address that it begins with.
    pub(crate) fn masked(self) -> Cidr {
        Cidr {
            address: mask(self.address, self.prefix),
            prefix: self.prefix,
        }
    }

    pub(crate) fn contains(self, address: IpAddr) -> bool {
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
