//! The authority, and what it signs.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SigningKey,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::der::{BIT_STRING, Elements, OBJECT_IDENTIFIER, SEQUENCE, SET, UTF8_STRING, encode};
use super::{Error, Parsed};

/// The name of the authority. It never changes: a certificate finds its issuer by it.
const AUTHORITY_NAME: &str = "portolan-hub-ca";

const DAY: i64 = 24 * 60 * 60;

/// As long as the authorities that Kubernetes installers make.
const AUTHORITY_LIFETIME: SignedDuration = SignedDuration::from_secs(3650 * DAY);

/// A year, as for the certificates of Kubernetes installers; renewed after two thirds of it.
const CERTIFICATE_LIFETIME: SignedDuration = SignedDuration::from_secs(365 * DAY);

/// Certificates are valid from a little before they are made, for clients whose clock is behind.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(5 * 60);

/// A certificate with its key, as PEM.
#[derive(Clone)]
pub(crate) struct Credential {
    /// The certificate.
    pub(crate) certificate_pem: String,
    /// The private key, PKCS #8.
    pub(crate) key_pem: String,
}

/// Shows the certificate only: keys do not belong into logs.
impl std::fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Credential")
            .field("certificate_pem", &self.certificate_pem)
            .finish_non_exhaustive()
    }
}

impl Credential {
    /// What the certificate says; `None` where it is damaged.
    pub(crate) fn parsed(&self) -> Option<Parsed> {
        Parsed::from_der(&CertificateDer::from_pem_slice(self.certificate_pem.as_bytes()).ok()?)
    }
}

/// The hub's own certificate authority.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate_pem: String,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Authority")
            .field("certificate_pem", &self.certificate_pem)
            .finish_non_exhaustive()
    }
}

impl Authority {
    /// A new authority with a new key.
    pub(crate) fn generate(now: Timestamp) -> Result<Self, Error> {
        let key = KeyPair::generate().map_err(generate("the key of the authority"))?;
        Self::sign_itself(key, now)
    }

    /// The authority a credential stands for; that the two belong together is checked.
    pub(crate) fn load(credential: &Credential) -> Result<Self, Error> {
        let damaged = || Error::Damaged {
            what: "the certificate authority".to_owned(),
        };
        let key = KeyPair::from_pem(&credential.key_pem).map_err(|_| damaged())?;
        let der =
            CertificateDer::from_pem_slice(credential.certificate_pem.as_bytes()).map_err(|_| damaged())?;
        let parsed = Parsed::from_der(&der).ok_or_else(damaged)?;
        let public = rcgen::PublicKeyData::der_bytes(&key);
        // The public key stands in the certificate as it is; another key would sign what nobody can verify.
        let belongs = der.windows(public.len()).any(|window| window == public);
        if !belongs || parsed.common_name.as_deref() != Some(AUTHORITY_NAME) {
            return Err(damaged());
        }
        let issuer = Issuer::new(parameters(parsed.not_before, parsed.not_after), key);
        Ok(Self {
            issuer,
            certificate_pem: credential.certificate_pem.clone(),
        })
    }

    /// The same authority, name and key, with a new certificate from `now` on.
    pub(crate) fn renewed(self, now: Timestamp) -> Result<Self, Error> {
        let key = self.issuer.key().serialize_pem();
        let key = KeyPair::from_pem(&key).map_err(generate("the key of the authority"))?;
        Self::sign_itself(key, now)
    }

    /// The certificate clients trust, as PEM.
    pub(crate) fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Certificate and key, to be stored.
    pub(crate) fn credential(&self) -> Credential {
        Credential {
            certificate_pem: self.certificate_pem.clone(),
            key_pem: self.issuer.key().serialize_pem(),
        }
    }

    /// A serving certificate for DNS names and addresses.
    pub(crate) fn issue_serving(&self, names: &[String], now: Timestamp) -> Result<Credential, Error> {
        const WHAT: &str = "the serving certificate";
        let mut parameters = CertificateParams::new(names).map_err(generate(WHAT))?;
        parameters.distinguished_name = name("portolan-hub");
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let (certificate, key) = self.issue(parameters, now, WHAT)?;
        Ok(Credential {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
        })
    }

    /// A client certificate that says who the user is and which groups it is in.
    pub(crate) fn issue_client(
        &self,
        user: &str,
        groups: &[String],
        now: Timestamp,
    ) -> Result<Credential, Error> {
        const WHAT: &str = "the client certificate";
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = name(user);
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let (certificate, key) = self.issue(parameters, now, WHAT)?;
        let der = self.with_subject(certificate.der(), &subject(user, groups), WHAT)?;
        Ok(Credential {
            certificate_pem: pem("CERTIFICATE", &der),
            key_pem: key.serialize_pem(),
        })
    }

    fn sign_itself(key: KeyPair, now: Timestamp) -> Result<Self, Error> {
        let parameters = parameters(before(now), after(now, AUTHORITY_LIFETIME));
        let certificate = parameters
            .self_signed(&key)
            .map_err(generate("the certificate of the authority"))?;
        Ok(Self {
            certificate_pem: certificate.pem(),
            issuer: Issuer::new(parameters, key),
        })
    }

    fn issue(
        &self,
        mut parameters: CertificateParams,
        now: Timestamp,
        what: &'static str,
    ) -> Result<(rcgen::Certificate, KeyPair), Error> {
        set_lifetime(&mut parameters, before(now), after(now, CERTIFICATE_LIFETIME));
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(generate(what))?;
        let certificate = parameters.signed_by(&key, &self.issuer).map_err(generate(what))?;
        Ok((certificate, key))
    }

    /// The same certificate for another subject, signed again. rcgen keeps one value for each kind of attribute, and a
    /// user can be in several groups.
    fn with_subject(&self, certificate: &[u8], subject: &[u8], what: &'static str) -> Result<Vec<u8>, Error> {
        const SUBJECT: usize = 5;
        let damaged = || Error::Damaged {
            what: what.to_owned(),
        };
        let mut parts = Elements::new(certificate)
            .expect(SEQUENCE)
            .ok_or_else(damaged)?
            .elements();
        let (body, algorithm) = (
            parts.next().ok_or_else(damaged)?,
            parts.next().ok_or_else(damaged)?,
        );
        let fields: Vec<u8> = body
            .elements()
            .enumerate()
            .flat_map(|(index, field)| if index == SUBJECT { subject } else { field.encoded })
            .copied()
            .collect();
        let body = encode(SEQUENCE, &fields);
        let signature = self.issuer.key().sign(&body).map_err(generate(what))?;
        // A bit string starts with how many bits of its last byte are unused.
        let signature = encode(BIT_STRING, &[&[0], signature.as_slice()].concat());
        Ok(encode(SEQUENCE, &[&body, algorithm.encoded, &signature].concat()))
    }
}

fn parameters(not_before: Timestamp, not_after: Timestamp) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = name(AUTHORITY_NAME);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    set_lifetime(&mut parameters, not_before, not_after);
    parameters
}

fn name(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}

/// A subject with one organization for each group.
fn subject(user: &str, groups: &[String]) -> Vec<u8> {
    let attribute = |kind: &[u8], value: &str| {
        let parts = [
            encode(OBJECT_IDENTIFIER, kind),
            encode(UTF8_STRING, value.as_bytes()),
        ]
        .concat();
        encode(SET, &encode(SEQUENCE, &parts))
    };
    let mut attributes: Vec<u8> = groups
        .iter()
        .flat_map(|group| attribute(super::parsed::ORGANIZATION, group))
        .collect();
    attributes.extend(attribute(super::parsed::COMMON_NAME, user));
    encode(SEQUENCE, &attributes)
}

fn pem(label: &str, der: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    for line in text.as_bytes().chunks(64) {
        // Base64 is ASCII.
        pem.push_str(std::str::from_utf8(line).unwrap_or_default());
        pem.push('\n');
    }
    pem.push_str(&format!("-----END {label}-----\n"));
    pem
}

fn before(now: Timestamp) -> Timestamp {
    now.saturating_sub(CLOCK_SKEW).unwrap_or(now)
}

fn after(now: Timestamp, lifetime: SignedDuration) -> Timestamp {
    now.saturating_add(lifetime).unwrap_or(now)
}

/// Sets the lifetime. rcgen does not re-export its type for times, so this function adds to one it can make.
fn set_lifetime(parameters: &mut CertificateParams, not_before: Timestamp, not_after: Timestamp) {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    // Nothing here is made before 1970.
    let since = |time: Timestamp| Duration::from_secs(u64::try_from(time.as_second()).unwrap_or(0));
    parameters.not_before = epoch + since(not_before);
    parameters.not_after = epoch + since(not_after);
}

fn generate(what: &'static str) -> impl FnOnce(rcgen::Error) -> Error {
    move |source| Error::Generate { what, source }
}
