//! Certificates, proven by handshakes in memory.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};

use super::tls::{ServingCertificate, provider, server_config};
use super::*;
use crate::access::identity::Identity;

fn now() -> Timestamp {
    "2026-11-15T00:00:00Z".parse().unwrap()
}

fn days(days: i64) -> Timestamp {
    now() + SignedDuration::from_hours(24 * days)
}

/// A clock that stands still.
#[derive(Debug)]
struct Clock(Timestamp);

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(
            self.0.as_second() as u64,
        )))
    }
}

/// What the two ends agree on.
#[derive(Debug)]
struct Agreed {
    identity: Option<Identity>,
    protocol: Vec<u8>,
}

fn handshake(
    trusted: &str,
    certificates: &Certificates,
    client: Option<&Credential>,
    name: &str,
    now: Timestamp,
) -> Result<Agreed, rustls::Error> {
    let serving = ServingCertificate::new(certificates.serving()).unwrap();
    let server = server_config(
        certificates.authority().certificate_pem(),
        serving,
        Arc::new(Clock(now)),
    )
    .unwrap();
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(trusted.as_bytes()).unwrap())
        .unwrap();
    let builder = ClientConfig::builder_with_details(provider(), Arc::new(Clock(now)))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match client {
        None => builder.with_no_client_auth(),
        Some(credential) => {
            let certificate = CertificateDer::from_pem_slice(credential.certificate_pem.as_bytes()).unwrap();
            let key = PrivateKeyDer::from_pem_slice(credential.key_pem.as_bytes()).unwrap();
            builder.with_client_auth_cert(vec![certificate], key).unwrap()
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut server = ServerConnection::new(Arc::new(server)).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut wire = Vec::new();
        client.write_tls(&mut wire).unwrap();
        server.read_tls(&mut wire.as_slice()).unwrap();
        server.process_new_packets()?;
        let mut wire = Vec::new();
        server.write_tls(&mut wire).unwrap();
        client.read_tls(&mut wire.as_slice()).unwrap();
        client.process_new_packets()?;
    }
    Ok(Agreed {
        identity: server
            .peer_certificates()
            .and_then(|chain| identity(chain.first()?)),
        protocol: server.alpn_protocol().unwrap_or_default().to_vec(),
    })
}

fn in_memory() -> Certificates {
    Certificates::in_memory(&["hub.example".to_owned(), "10.0.0.7".to_owned()], now()).unwrap()
}

#[test]
fn a_client_certificate_says_who_the_user_is() {
    let certificates = in_memory();
    let groups = ["system:masters", "devs", "Ünïcode & \"quotes\""].map(str::to_owned);
    let client = certificates
        .authority()
        .issue_client("ann", &groups, now())
        .unwrap();
    let agreed = handshake(
        certificates.authority().certificate_pem(),
        &certificates,
        Some(&client),
        "localhost",
        now(),
    );
    let agreed = agreed.unwrap();
    assert_eq!(agreed.identity, Some(Identity::authenticated("ann", groups)));
    assert_eq!(agreed.protocol, b"h2");
}

#[test]
fn a_client_needs_no_certificate() {
    let certificates = in_memory();
    for name in ["localhost", "127.0.0.1", "::1", "hub.example", "10.0.0.7"] {
        let agreed = handshake(
            certificates.authority().certificate_pem(),
            &certificates,
            None,
            name,
            now(),
        )
        .unwrap();
        assert_eq!(agreed.identity, None, "{name}");
    }
}

#[test]
fn strangers_and_expired_certificates_are_refused() {
    let (certificates, stranger) = (in_memory(), in_memory());
    let trusted = certificates.authority().certificate_pem();
    let foreign = stranger.authority().issue_client("ann", &[], now()).unwrap();
    let own = certificates.authority().issue_client("ann", &[], now()).unwrap();
    let serving_as_client = certificates.serving().clone();
    for (what, result) in [
        (
            "a client of another authority",
            handshake(trusted, &certificates, Some(&foreign), "localhost", now()),
        ),
        (
            "a client after a year",
            handshake(trusted, &certificates, Some(&own), "localhost", days(366)),
        ),
        (
            "a serving certificate as client",
            handshake(
                trusted,
                &certificates,
                Some(&serving_as_client),
                "localhost",
                now(),
            ),
        ),
        (
            "a server of another authority",
            handshake(
                stranger.authority().certificate_pem(),
                &certificates,
                None,
                "localhost",
                now(),
            ),
        ),
        (
            "a name that is not served",
            handshake(trusted, &certificates, None, "elsewhere.example", now()),
        ),
        (
            "a server after a year",
            handshake(trusted, &certificates, None, "localhost", days(366)),
        ),
    ] {
        assert!(result.is_err(), "{what}");
    }
}

#[test]
fn renewal_keeps_the_authority_until_its_own_time_comes() {
    let mut certificates = in_memory();
    let trusted = certificates.authority().certificate_pem().to_owned();
    let client = certificates
        .authority()
        .issue_client("ann", &[], days(2600))
        .unwrap();
    for (day, expected) in [
        (0, Renewal::Unchanged),
        (240, Renewal::Unchanged),
        (250, Renewal::Serving),
        (251, Renewal::Unchanged),
        (2400, Renewal::Serving),
        (2700, Renewal::Authority),
        (2701, Renewal::Unchanged),
    ] {
        assert_eq!(certificates.renew(days(day)).unwrap(), expected, "day {day}");
    }
    // A client that trusts the old certificate of the authority trusts what it signs now, and the other way round.
    let agreed = handshake(&trusted, &certificates, Some(&client), "localhost", days(2701)).unwrap();
    assert_eq!(agreed.identity.unwrap().user, "ann");
    assert_ne!(trusted, certificates.authority().certificate_pem());
}

#[test]
fn a_running_server_takes_a_new_certificate() {
    let mut certificates = in_memory();
    let serving = ServingCertificate::new(certificates.serving()).unwrap();
    assert_eq!(certificates.renew(days(300)).unwrap(), Renewal::Serving);
    serving.replace(certificates.serving()).unwrap();
    let broken = Credential {
        certificate_pem: String::new(),
        key_pem: "-".to_owned(),
    };
    assert!(
        serving.replace(&broken).is_err(),
        "and keeps it when the next one is damaged"
    );
}

#[test]
fn a_folder_keeps_the_certificates_for_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pki");
    let first = Certificates::open(&path, &[], now()).unwrap();
    let second = Certificates::open(&path, &[], days(1)).unwrap();
    assert_eq!(
        first.authority().certificate_pem(),
        second.authority().certificate_pem()
    );
    assert_eq!(first.serving().certificate_pem, second.serving().certificate_pem);
    let wider = Certificates::open(&path, &["hub.example".to_owned(), "0:0::7".to_owned()], days(2)).unwrap();
    assert_ne!(
        first.serving().certificate_pem,
        wider.serving().certificate_pem,
        "a new name needs a new certificate"
    );
    assert_eq!(
        wider.serving().parsed().unwrap().names,
        ["localhost", "127.0.0.1", "::1", "hub.example", "::7"]
    );
    let again = Certificates::open(&path, &["hub.example".to_owned(), "0:0::7".to_owned()], days(2)).unwrap();
    assert_eq!(again.serving().certificate_pem, wider.serving().certificate_pem);
    let client = again.authority().issue_client("ann", &[], days(2)).unwrap();
    let trusted = first.authority().certificate_pem();
    assert_eq!(
        handshake(trusted, &again, Some(&client), "hub.example", days(2))
            .unwrap()
            .identity
            .unwrap()
            .user,
        "ann"
    );
    let files: Vec<_> = std::fs::read_dir(&path).unwrap().map(Result::unwrap).collect();
    assert_eq!(files.len(), 4);
    for file in files {
        assert_eq!(
            file.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{:?}",
            file.path()
        );
    }
}

#[test]
fn a_damaged_authority_is_reported_and_never_replaced() {
    let other = in_memory().authority().credential();
    for damage in [
        "",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        &other.certificate_pem,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let _ = Certificates::open(folder.path(), &[], now()).unwrap();
        let file = folder.path().join("ca.crt");
        std::fs::write(&file, damage).unwrap();
        let error = Certificates::open(folder.path(), &[], now()).unwrap_err();
        assert_eq!(error.to_string(), "cannot read the certificate authority");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), damage);
    }
    let folder = tempfile::tempdir().unwrap();
    let _ = Certificates::open(folder.path(), &[], now()).unwrap();
    std::fs::remove_file(folder.path().join("ca.key")).unwrap();
    assert!(
        Certificates::open(folder.path(), &[], now())
            .unwrap_err()
            .to_string()
            .contains("ca.key (it is missing)")
    );
}

#[test]
fn a_serving_certificate_that_is_damaged_or_half_written_is_made_again() {
    for (file, damage) in [
        ("serving.key", in_memory().serving().key_pem.clone()),
        ("serving.crt", "x".to_owned()),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let first = Certificates::open(folder.path(), &[], now()).unwrap();
        std::fs::write(folder.path().join(file), damage).unwrap();
        let second = Certificates::open(folder.path(), &[], now()).unwrap();
        assert_ne!(
            first.serving().certificate_pem,
            second.serving().certificate_pem,
            "{file}"
        );
        assert!(
            handshake(
                first.authority().certificate_pem(),
                &second,
                None,
                "localhost",
                now()
            )
            .is_ok(),
            "{file}"
        );
    }
}

#[test]
fn keys_do_not_show_in_logs() {
    let certificates = in_memory();
    let shown = format!("{certificates:?} {:?}", certificates.authority().credential());
    assert!(
        shown.contains("BEGIN CERTIFICATE") && !shown.contains("PRIVATE"),
        "{shown}"
    );
}

proptest! {
    #[test]
    fn garbage_is_no_certificate_and_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        prop_assert_eq!(Parsed::from_der(&bytes), None);
    }

    #[test]
    fn a_damaged_certificate_never_panics(at in 0usize..400, byte: u8, cut in 0usize..600) {
        static CLIENT: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| {
            let client = in_memory().authority().issue_client("ann", &["a".to_owned()], now()).unwrap();
            CertificateDer::from_pem_slice(client.certificate_pem.as_bytes()).unwrap().to_vec()
        });
        let mut certificate = CLIENT.clone();
        if let Some(place) = certificate.get_mut(at) {
            *place = byte;
        }
        let _ = Parsed::from_der(&certificate);
        certificate.truncate(cut);
        let _ = Parsed::from_der(&certificate);
    }
}
