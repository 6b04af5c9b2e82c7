//! What the hub reads of a certificate: whose it is, for which names, and until when.

use std::net::IpAddr;

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;

use super::der::{self, Element, Elements, OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE, SET};
use crate::access::identity::Identity;

pub(super) const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
pub(super) const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];
const SUBJECT_ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];

/// The parts of a certificate that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// The common name of the subject.
    pub(crate) common_name: Option<String>,
    /// The organizations of the subject, in order.
    pub(crate) organizations: Vec<String>,
    /// DNS names and addresses it serves, as text.
    pub(crate) names: Vec<String>,
    /// When it becomes valid.
    pub(crate) not_before: Timestamp,
    /// When it ends.
    pub(crate) not_after: Timestamp,
}

impl Parsed {
    /// Reads a certificate; `None` where it is none. This verifies nothing.
    pub(crate) fn from_der(certificate: &[u8]) -> Option<Self> {
        let (validity, subject, extensions) = sections(certificate)?;
        let mut times = validity.elements();
        let mut parsed = Self {
            common_name: None,
            organizations: Vec::new(),
            names: names(extensions),
            not_before: der::time(&times.next()?)?,
            not_after: der::time(&times.next()?)?,
        };
        for attribute in subject
            .elements()
            .filter(|set| set.tag == SET)
            .flat_map(|set| set.elements())
        {
            let mut parts = attribute.elements();
            let (kind, value) = (parts.expect(OBJECT_IDENTIFIER)?, parts.next()?);
            let Ok(text) = std::str::from_utf8(value.content) else {
                continue;
            };
            match kind.content {
                COMMON_NAME => parsed.common_name = Some(text.to_owned()),
                ORGANIZATION => parsed.organizations.push(text.to_owned()),
                _ => {}
            }
        }
        Some(parsed)
    }

    /// Whether so little of the lifetime is left that a new one should be made: a third, which leaves months to notice
    /// when renewing fails.
    pub(crate) fn needs_renewal(&self, now: Timestamp) -> bool {
        let lifetime = self.not_after.duration_since(self.not_before);
        now >= self
            .not_after
            .saturating_sub(lifetime / 3)
            .unwrap_or(self.not_after)
            || now < self.not_before
    }
}

/// The user of a client certificate that TLS has verified: the common name, with the organizations as groups. `None`
/// without a common name, as in Kubernetes; such a client is anonymous.
pub(crate) fn identity(certificate: &CertificateDer<'_>) -> Option<Identity> {
    let parsed = Parsed::from_der(certificate)?;
    let user = parsed.common_name.filter(|name| !name.is_empty())?;
    Some(Identity::authenticated(user, parsed.organizations))
}

/// Validity, subject and extensions of a certificate.
fn sections(certificate: &[u8]) -> Option<(Element<'_>, Element<'_>, Option<Element<'_>>)> {
    const VERSION: u8 = 0xa0;
    const EXTENSIONS: u8 = 0xa3;
    let whole = Elements::new(certificate).expect(SEQUENCE)?;
    let mut fields = whole.elements().expect(SEQUENCE)?.elements().peekable();
    fields.next_if(|field| field.tag == VERSION);
    // Serial number, signature algorithm, issuer.
    let mut fields = fields.skip(3);
    let (validity, subject) = (fields.next()?, fields.next()?);
    Some((validity, subject, fields.find(|field| field.tag == EXTENSIONS)))
}

fn names(extensions: Option<Element<'_>>) -> Vec<String> {
    let extensions = extensions.and_then(|extensions| extensions.elements().expect(SEQUENCE));
    let mut entries = extensions.into_iter().flat_map(|list| list.elements());
    let found = entries.find_map(|extension| {
        let mut parts = extension.elements();
        let kind = parts.expect(OBJECT_IDENTIFIER)?;
        (kind.content == SUBJECT_ALTERNATIVE_NAME).then(|| parts.find(|part| part.tag == OCTET_STRING))?
    });
    let list = found.and_then(|value| Elements::new(value.content).expect(SEQUENCE));
    list.into_iter()
        .flat_map(|list| list.elements())
        .filter_map(|name| name_text(&name))
        .collect()
}

fn name_text(name: &Element<'_>) -> Option<String> {
    const DNS: u8 = 0x82;
    const ADDRESS: u8 = 0x87;
    match name.tag {
        DNS => String::from_utf8(name.content.to_vec()).ok(),
        ADDRESS => {
            let address = <[u8; 4]>::try_from(name.content)
                .map(IpAddr::from)
                .or_else(|_| <[u8; 16]>::try_from(name.content).map(IpAddr::from));
            Some(address.ok()?.to_string())
        }
        _ => None,
    }
}
