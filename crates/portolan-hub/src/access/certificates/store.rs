//! The certificates of one hub, kept in memory or in a folder.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Authority, Credential, Error, tls};
use crate::access::files::{create_private_dir, write_private};

/// The names a hub always serves: it listens on loopback unless told otherwise.
const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

const AUTHORITY: &str = "ca";
const SERVING: &str = "serving";

/// Authority and serving certificate of a hub.
#[derive(Debug)]
pub(crate) struct Certificates {
    authority: Authority,
    serving: Credential,
    names: Vec<String>,
    folder: Option<PathBuf>,
}

/// What a renewal changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Renewal {
    /// Nothing was due.
    Unchanged,
    /// The serving certificate is new.
    Serving,
    /// The authority's certificate is new too; its key is the old one. Kubeconfigs should be written again.
    Authority,
}

impl Certificates {
    /// New certificates that live and end with the process. `extra_names` are served beside the loopback names.
    pub(crate) fn in_memory(extra_names: &[String], now: Timestamp) -> Result<Self, Error> {
        let names = all_names(extra_names);
        let authority = Authority::generate(now)?;
        let serving = authority.issue_serving(&names, now)?;
        Ok(Self {
            authority,
            serving,
            names,
            folder: None,
        })
    }

    /// The certificates in a folder; what is missing is made, what is due is renewed. Damaged files are an error: making a
    /// new authority would lock out every client of the old one.
    pub(crate) fn open(folder: &Path, extra_names: &[String], now: Timestamp) -> Result<Self, Error> {
        create_private_dir(folder).map_err(file_error(folder))?;
        let authority = match read(folder, AUTHORITY)? {
            Some(credential) => Authority::load(&credential)?,
            None => {
                let authority = Authority::generate(now)?;
                write(folder, AUTHORITY, &authority.credential())?;
                authority
            }
        };
        let names = all_names(extra_names);
        let serving = match read(folder, SERVING)? {
            // Only clients' trust in the authority is worth keeping; a pair that does not match, as a crash between the
            // two files leaves it, is simply made again.
            Some(credential) if tls::is_usable(&credential) => credential,
            _ => {
                let serving = authority.issue_serving(&names, now)?;
                write(folder, SERVING, &serving)?;
                serving
            }
        };
        let mut certificates = Self {
            authority,
            serving,
            names,
            folder: Some(folder.to_owned()),
        };
        let _ = certificates.renew(now)?;
        Ok(certificates)
    }

    /// Renews what is near its end at `now`, or does not serve the names it should. Call it daily; it is cheap when nothing
    /// is due.
    pub(crate) fn renew(&mut self, now: Timestamp) -> Result<Renewal, Error> {
        let mut renewal = Renewal::Unchanged;
        if is_due(&self.authority.credential(), now) {
            let authority = Authority::load(&self.authority.credential())?.renewed(now)?;
            self.store(AUTHORITY, &authority.credential())?;
            self.authority = authority;
            renewal = Renewal::Authority;
        }
        if is_due(&self.serving, now) || !self.serves_all_names() {
            let serving = self.authority.issue_serving(&self.names, now)?;
            self.store(SERVING, &serving)?;
            self.serving = serving;
            if renewal == Renewal::Unchanged {
                renewal = Renewal::Serving;
            }
        }
        Ok(renewal)
    }

    /// The authority, for client certificates.
    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The serving certificate with its key.
    pub(crate) fn serving(&self) -> &Credential {
        &self.serving
    }

    fn serves_all_names(&self) -> bool {
        self.serving
            .parsed()
            .is_some_and(|parsed| self.names.iter().all(|name| parsed.names.contains(name)))
    }

    fn store(&self, name: &str, credential: &Credential) -> Result<(), Error> {
        match &self.folder {
            Some(folder) => write(folder, name, credential),
            None => Ok(()),
        }
    }
}

/// A certificate that cannot be read is as good as none.
fn is_due(credential: &Credential, now: Timestamp) -> bool {
    credential.parsed().is_none_or(|parsed| parsed.needs_renewal(now))
}

fn all_names(extra_names: &[String]) -> Vec<String> {
    let mut names: Vec<String> = LOOPBACK_NAMES.map(str::to_owned).to_vec();
    for name in extra_names {
        // Addresses are compared as certificates hold them.
        let name = name
            .parse::<std::net::IpAddr>()
            .map_or_else(|_| name.clone(), |address| address.to_string());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn paths(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
    (
        folder.join(format!("{name}.crt")),
        folder.join(format!("{name}.key")),
    )
}

fn read(folder: &Path, name: &str) -> Result<Option<Credential>, Error> {
    let (certificate, key) = paths(folder, name);
    match (read_text(&certificate)?, read_text(&key)?) {
        (Some(certificate_pem), Some(key_pem)) => Ok(Some(Credential {
            certificate_pem,
            key_pem,
        })),
        // The key is written first: without a certificate it was never used.
        (None, _) => Ok(None),
        (Some(_), None) => Err(Error::Damaged {
            what: format!("{} (it is missing)", key.display()),
        }),
    }
}

fn read_text(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(file_error(path)(source)),
    }
}

fn write(folder: &Path, name: &str, credential: &Credential) -> Result<(), Error> {
    let (certificate, key) = paths(folder, name);
    write_private(&key, credential.key_pem.as_bytes()).map_err(file_error(&key))?;
    write_private(&certificate, credential.certificate_pem.as_bytes()).map_err(file_error(&certificate))
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.display().to_string();
    move |source| Error::File { path, source }
}
