//! What a listening hub shows to the outside: its certificate, and the kubeconfig that trusts it.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rustls::ServerConfig;
use rustls::time_provider::DefaultTimeProvider;
use tokio::sync::watch;

use crate::access::MASTERS;
use crate::access::certificates::tls::{ServingCertificate, server_config};
use crate::access::certificates::{Certificates, Renewal};
use crate::access::kubeconfig::{Kubeconfig, User};
use crate::access::tokens::Token;
use crate::clock::Clock;

/// Certificates live for months; a day is soon enough.
const RENEW_EVERY: Duration = Duration::from_secs(24 * 3600);
const ADMIN: &str = "system:admin";

pub(crate) struct Endpoint {
    address: SocketAddr,
    kubeconfig: Kubeconfig,
    tls: Option<Tls>,
}

struct Tls {
    certificates: Arc<Mutex<Certificates>>,
    serving: Arc<ServingCertificate>,
    config: Arc<ServerConfig>,
}

impl Endpoint {
    /// Plain HTTP. The kubeconfig names no user that would matter, but kubectl wants one.
    pub(crate) fn plain(address: SocketAddr) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let user = User::Token(Token::generate()?);
        let kubeconfig = Kubeconfig {
            name: "portolan".into(),
            server: format!("http://{address}"),
            authority_pem: None,
            user,
            namespace: None,
        };
        Ok(Self {
            address,
            kubeconfig,
            tls: None,
        })
    }

    /// TLS with certificates from a folder, or with new ones.
    pub(crate) fn tls(
        address: SocketAddr,
        folder: Option<&Path>,
        names: &[String],
        now: Timestamp,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let given = names.first();
        let mut names = names.to_vec();
        if !address.ip().is_unspecified() {
            names.push(address.ip().to_string());
        }
        let certificates = match folder {
            Some(folder) => Certificates::open(folder, &names, now)?,
            None => Certificates::in_memory(&names, now)?,
        };
        let admin = certificates
            .authority()
            .issue_client(ADMIN, &[MASTERS.to_owned()], now)?;
        let authority = certificates.authority().certificate_pem().to_owned();
        let serving = ServingCertificate::new(certificates.serving())?;
        let config = server_config(&authority, serving.clone(), Arc::new(DefaultTimeProvider))?;
        let host = match given {
            Some(name) => name.clone(),
            // Loopback is what a client of an unspecified address can reach for certain.
            None if address.ip().is_unspecified() => "127.0.0.1".to_owned(),
            None => address.ip().to_string(),
        };
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host
        };
        let kubeconfig = Kubeconfig {
            name: "portolan".into(),
            server: format!("https://{host}:{}", address.port()),
            authority_pem: Some(authority),
            user: User::Certificate(admin),
            namespace: None,
        };
        let tls = Tls {
            certificates: Arc::new(Mutex::new(certificates)),
            serving,
            config: Arc::new(config),
        };
        Ok(Self {
            address,
            kubeconfig,
            tls: Some(tls),
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        self.kubeconfig.server.clone()
    }

    pub(crate) fn kubeconfig(&self) -> &Kubeconfig {
        &self.kubeconfig
    }

    pub(crate) fn config(&self) -> Option<Arc<ServerConfig>> {
        self.tls.as_ref().map(|tls| tls.config.clone())
    }

    /// Renews certificates while the hub runs. A renewal that fails is tried again the next day; the old certificate has
    /// months left then.
    pub(crate) fn renewal(
        &self,
        clock: Clock,
        mut stopping: watch::Receiver<bool>,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let tls = self.tls.as_ref()?;
        let (certificates, serving) = (tls.certificates.clone(), tls.serving.clone());
        Some(async move {
            loop {
                tokio::select! {
                    _ = stopping.wait_for(|stopping| *stopping) => return,
                    () = tokio::time::sleep(RENEW_EVERY) => {}
                }
                let mut certificates = certificates.lock().unwrap_or_else(PoisonError::into_inner);
                let renewed = match certificates.renew(clock.now()) {
                    Ok(Renewal::Unchanged) => continue,
                    Ok(_) => serving
                        .replace(certificates.serving())
                        .map_err(|error| error.to_string()),
                    Err(error) => Err(error.to_string()),
                };
                match renewed {
                    Ok(()) => tracing::info!("the certificate of the hub is renewed"),
                    Err(error) => tracing::warn!(
                        "cannot renew the certificate of the hub: {error}; it is tried again in a day"
                    ),
                }
            }
        })
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_certificate_that_is_due_is_replaced_within_a_day() {
        let start: Timestamp = "2026-11-15T00:00:00Z".parse().unwrap();
        let days = Arc::new(Mutex::new(0));
        let today = days.clone();
        let clock = Clock::new(move || start + SignedDuration::from_hours(24 * *today.lock().unwrap()));
        let address = SocketAddr::from(([127, 0, 0, 1], 6443));
        let door = Endpoint::tls(address, None, &[], start).unwrap();
        let (stop, stopping) = watch::channel(false);
        let renewal = tokio::spawn(door.renewal(clock, stopping).unwrap());
        let leaf = || door.tls.as_ref().unwrap().serving.leaf();
        let first = leaf();
        tokio::time::sleep(RENEW_EVERY * 2).await;
        assert_eq!(leaf(), first, "it has months left");
        *days.lock().unwrap() = 300;
        tokio::time::sleep(RENEW_EVERY + Duration::from_secs(1)).await;
        assert_ne!(leaf(), first);
        stop.send_replace(true);
        renewal.await.unwrap();
    }
}
