//! Certificates: an own authority, a serving certificate, client certificates, and the identity a client certificate shows.
//!
//! [`Certificates`] keeps authority and serving certificate, in memory or as PEM files that only their owner may read. It
//! renews what comes near its end when it is told the time; the key of the authority stays, so that everything it ever
//! signed stays valid. [`tls`] makes the rustls configuration from them.

mod authority;
mod der;
mod parsed;
mod store;
pub(crate) mod tls;

#[cfg(test)]
mod tests;

pub(crate) use authority::{Authority, Credential};
pub(crate) use parsed::{Parsed, identity};
pub(crate) use store::{Certificates, Renewal};

/// Why certificates cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A key or certificate cannot be generated.
    #[error("cannot generate {what}")]
    Generate {
        /// What was to be made.
        what: &'static str,
        /// Why not.
        #[source]
        source: rcgen::Error,
    },
    /// A stored or given certificate or key is damaged.
    #[error("cannot read {what}")]
    Damaged {
        /// Which one.
        what: String,
    },
    /// A file cannot be read or written.
    #[error("cannot access {path}")]
    File {
        /// The file.
        path: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The TLS configuration is refused.
    #[error("cannot set up TLS")]
    Tls(#[source] rustls::Error),
    /// The authority cannot be used to verify clients.
    #[error("cannot verify clients")]
    Verifier(#[source] rustls::server::VerifierBuilderError),
}
