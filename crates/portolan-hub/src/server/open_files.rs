//! Open files: every connection is one, and the data file needs some too.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::limits::ClientLimits;

/// Raises how many files this process may open to what it may raise it to, as servers do. Returns how many that are. The usual
/// limit of 1,024 is for programs that use `select`, which this one does not.
pub(crate) fn raise() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // Some systems allow less than they say; what was allowed before is allowed still.
    let allowed = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    allowed.unwrap_or(u64::MAX)
}

impl ClientLimits {
    /// The limits of a process that may open this many files. Some are kept for the data file and for what else the process
    /// does, and no address gets more than a quarter of the others.
    pub(crate) fn within(self, open_files: u64) -> Self {
        let kept = (open_files / 8).clamp(64, 1_024).min(open_files / 2);
        let room = open_files - kept;
        Self {
            connections: self.connections.min(room),
            connections_per_address: self.connections_per_address.min((room / 4).max(1)),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(open_files: u64) -> (u64, u64) {
        let limits = ClientLimits::default().within(open_files);
        (limits.connections, limits.connections_per_address)
    }

    #[test]
    fn connections_leave_files_to_the_store_and_an_address_leaves_connections_to_others() {
        assert_eq!(within(1_024), (896, 224));
        assert_eq!(within(256), (192, 48));
        assert_eq!(within(4_096), (3_584, 896));
        for open_files in [20_000, 1 << 20, u64::MAX] {
            assert_eq!(within(open_files), (16_384, 4_096), "{open_files}");
        }
        for open_files in 8..100_000 {
            let (all, one) = within(open_files);
            assert!(all < open_files && one * 4 <= all, "{open_files}");
        }
    }

    #[test]
    fn limits_that_fit_are_kept() {
        let limits = ClientLimits {
            connections: 10,
            connections_per_address: 10,
            ..ClientLimits::default()
        };
        assert_eq!(limits.within(1_024), limits);
    }

    #[test]
    fn the_limit_of_open_files_is_raised() {
        let limit = getrlimit(Resource::Nofile);
        // Still enough for the tests that run beside this one.
        let lowered = Rlimit {
            current: limit
                .maximum
                .map_or(Some(1 << 20), |maximum| maximum.checked_sub(1)),
            maximum: limit.maximum,
        };
        setrlimit(Resource::Nofile, lowered).unwrap();
        assert_eq!(raise(), limit.maximum.unwrap_or(u64::MAX));
        assert_eq!(getrlimit(Resource::Nofile).current, limit.maximum);
    }
}
