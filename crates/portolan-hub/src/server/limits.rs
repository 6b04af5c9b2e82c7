//! What clients may have at a time.

/// How much clients may have of the hub at a time. [`Default`] is what `portolan hub` starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimits {
    /// Open connections in all. One more is closed at once. A hub whose process may open fewer files accepts fewer.
    pub connections: u64,
    /// Open connections from one address; at most a quarter of those that the process's open files allow.
    pub connections_per_address: u64,
    /// Requests of one user that are served at a time. One more is answered with 429. Watches, probes, requests of this
    /// process and those of `system:masters` do not count.
    pub requests_per_user: u64,
    /// Open watches of one user. One more is answered with 429.
    pub watches_per_user: u64,
    /// Bytes of answers in memory that clients have not read yet. A read whose answer would exceed it is answered with 429,
    /// unless there is no other answer.
    pub answer_bytes: u64,
    /// The same for the answers of one user.
    pub answer_bytes_per_user: u64,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            // Larger, and the file descriptors that a process may have on most machines would run out.
            connections: 16_384,
            // Larger, and four clients could take all of them; smaller, and a fleet behind one address could not connect: an
            // agent has four connections or so.
            connections_per_address: 4_096,
            // Larger, and the requests of one user could hold more than 400 MB; smaller, and controllers that write side by
            // side would be told to wait.
            requests_per_user: 128,
            // Larger, and one user could use up the file descriptors or a gigabyte of connections' buffers; smaller, and a
            // client that watches each kind in each of some hundred namespaces would be told to wait.
            watches_per_user: 1024,
            // Larger, and answers could fill the memory of a small machine; smaller, and a few users that list a fleet
            // at the same time would be told to wait.
            answer_bytes: 1 << 30,
            // Larger, and four users could take all of it; smaller, and a client that lists several large kinds at once
            // would be told to wait.
            answer_bytes_per_user: 256 << 20,
        }
    }
}
