//! The TLS side: what rustls needs to serve with these certificates.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::time_provider::TimeProvider;

use super::{Credential, Error};

/// The serving certificate of a running server; it can be replaced without closing a connection.
pub(crate) struct ServingCertificate {
    current: RwLock<Arc<CertifiedKey>>,
}

impl ServingCertificate {
    /// Serves with this certificate.
    pub(crate) fn new(credential: &Credential) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self {
            current: RwLock::new(certified_key(credential)?),
        }))
    }

    /// Serves new connections with another certificate.
    pub(crate) fn replace(&self, credential: &Credential) -> Result<(), Error> {
        let key = certified_key(credential)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = key;
        Ok(())
    }

    /// The certificate new connections are served with.
    #[cfg(test)]
    pub(crate) fn leaf(&self) -> Vec<u8> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.cert[0].to_vec()
    }
}

impl fmt::Debug for ServingCertificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServingCertificate")
            .finish_non_exhaustive()
    }
}

impl ResolvesServerCert for ServingCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(
            &self.current.read().unwrap_or_else(PoisonError::into_inner),
        ))
    }
}

/// The server side of TLS 1.2 and 1.3, HTTP/2 first. Clients may show a certificate; one that the authority did not sign, or
/// that has expired, ends the handshake.
pub(crate) fn server_config(
    authority_pem: &str,
    serving: Arc<ServingCertificate>,
    clock: Arc<dyn TimeProvider>,
) -> Result<ServerConfig, Error> {
    let provider = provider();
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(authority_pem.as_bytes()).map_err(|_| Error::Damaged {
        what: "the certificate authority".to_owned(),
    })?;
    roots.add(authority).map_err(Error::Tls)?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .allow_unauthenticated()
        .build()
        .map_err(Error::Verifier)?;
    let mut config = ServerConfig::builder_with_details(provider, clock)
        .with_safe_default_protocol_versions()
        .map_err(Error::Tls)?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(serving);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The one provider, named: a dependency that turns another one on must not decide which is used.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Whether certificate and key can be read and belong together.
pub(super) fn is_usable(credential: &Credential) -> bool {
    certified_key(credential).is_ok()
}

fn certified_key(credential: &Credential) -> Result<Arc<CertifiedKey>, Error> {
    let damaged = |_| Error::Damaged {
        what: "the serving certificate".to_owned(),
    };
    let chain = CertificateDer::pem_slice_iter(credential.certificate_pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(damaged)?;
    let key = PrivateKeyDer::from_pem_slice(credential.key_pem.as_bytes()).map_err(damaged)?;
    Ok(Arc::new(
        CertifiedKey::from_der(chain, key, &provider()).map_err(Error::Tls)?,
    ))
}
