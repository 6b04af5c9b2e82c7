//! How many connections there may be, in all and from one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Larger, and the file descriptors that a process may have on most machines would run out.
const IN_ALL: usize = 16_384;
/// Larger, and four clients could take all of them; smaller, and a fleet behind one address could not connect: an agent has
/// four connections or so.
const FROM_ONE_ADDRESS: usize = 4_096;

#[derive(Clone, Debug)]
pub(crate) struct Connections {
    in_all: usize,
    from_one_address: usize,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// One connection; it counts until this is dropped.
#[derive(Debug)]
pub(crate) struct Open {
    address: IpAddr,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Default for Connections {
    fn default() -> Self {
        Connections::at_most(IN_ALL, FROM_ONE_ADDRESS)
    }
}

impl Connections {
    fn at_most(in_all: usize, from_one_address: usize) -> Connections {
        Connections {
            in_all,
            from_one_address,
            open: Arc::default(),
        }
    }

    /// Counts a connection, unless there are as many as there may be.
    pub(crate) fn open(&self, address: IpAddr) -> Option<Open> {
        let address = address.to_canonical();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let own = open.get(&address).copied().unwrap_or_default();
        if own >= self.from_one_address || open.values().sum::<usize>() >= self.in_all {
            tracing::debug!("refused a connection from {address}, which has {own}: too many connections");
            return None;
        }
        open.insert(address, own + 1);
        Some(Open {
            address,
            open: self.open.clone(),
        })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = open.get_mut(&self.address) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_cannot_take_the_connections_of_others() {
        let connections = Connections::at_most(3, 2);
        let address = |text: &str| text.parse().unwrap();
        let first = connections.open(address("192.0.2.1")).unwrap();
        // The same address, as a socket for both versions of IP has it.
        let _second = connections.open(address("::ffff:192.0.2.1")).unwrap();
        assert!(connections.open(address("192.0.2.1")).is_none());
        let _third = connections.open(address("192.0.2.2")).unwrap();
        assert!(connections.open(address("192.0.2.3")).is_none(), "three in all");
        drop(first);
        assert!(connections.open(address("192.0.2.3")).is_some());
    }
}
