//! Bearer tokens, and who a request comes from.

use std::collections::HashMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::account_tokens::AccountTokens;
use super::identity::Identity;
use super::random::{NoRandomness, random};

/// 256 bits cannot be guessed.
const TOKEN_BYTES: usize = 32;

/// The request shows a credential that is not valid; it must not pass as anonymous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Unauthorized")]
pub(crate) struct Unauthorized;

impl Unauthorized {
    /// The Status to answer with, code 401.
    pub(crate) fn status(&self) -> Value {
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "Unauthorized",
            "reason": "Unauthorized",
            "code": 401,
        })
    }
}

/// A secret, shown once to whom it belongs. It prints as nothing.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

impl Token {
    /// A new token of 256 random bits.
    pub(crate) fn generate() -> Result<Self, NoRandomness> {
        Ok(Self(URL_SAFE_NO_PAD.encode(random::<TOKEN_BYTES>()?)))
    }

    /// The secret itself.
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

/// The tokens that are valid. Only digests are kept, so neither memory nor a backup of it holds a usable token.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tokens {
    by_digest: HashMap<[u8; 32], Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    identity: Identity,
    expires: Option<Timestamp>,
}

impl Tokens {
    /// Makes a token for a user valid, until `expires` if given.
    pub(crate) fn add(&mut self, token: &str, identity: Identity, expires: Option<Timestamp>) {
        self.by_digest.insert(digest(token), Entry { identity, expires });
    }

    /// The user of a token, if it is valid at `now`.
    pub(crate) fn identity(&self, token: &str, now: Timestamp) -> Option<&Identity> {
        let wanted = digest(token);
        // Looking up by digest tells an attacker nothing about a token; the comparison that counts takes the same time
        // wherever the two differ.
        let (known, entry) = self.by_digest.get_key_value(&wanted)?;
        let valid = equal(known, &wanted) && entry.expires.is_none_or(|expires| now < expires);
        valid.then_some(&entry.identity)
    }
}

/// The sender of a request: the user of its client certificate, else of its bearer token, else the anonymous user. As in
/// Kubernetes a header of another scheme, or an empty token, is no credential; a token that is not valid is refused.
pub(crate) fn authenticate(
    authorization: Option<&str>,
    client_certificate: Option<Identity>,
    tokens: &Tokens,
    accounts: Option<&AccountTokens>,
    now: Timestamp,
) -> Result<Identity, Unauthorized> {
    if let Some(identity) = client_certificate {
        return Ok(identity);
    }
    let Some(token) = authorization.and_then(bearer_token) else {
        return Ok(Identity::anonymous());
    };
    if let Some(identity) = tokens.identity(token, now) {
        return Ok(identity.clone());
    }
    accounts
        .and_then(|accounts| accounts.verify(token, now))
        .map(|account| account.identity())
        .ok_or(Unauthorized)
}

/// The token in an `Authorization` header, if it has one.
pub(crate) fn bearer_token(header: &str) -> Option<&str> {
    let mut words = header.trim().split(' ');
    let (scheme, token) = (words.next()?, words.next()?);
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Compares all bytes, whatever the first ones say.
fn equal(left: &[u8; 32], right: &[u8; 32]) -> bool {
    let difference = left
        .iter()
        .zip(right)
        .fold(0, |difference, (left, right)| difference | (left ^ right));
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-11-15T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn what_a_request_shows_decides_who_it_comes_from() {
        let mut tokens = Tokens::default();
        let soon = "2026-11-15T00:00:01Z".parse().unwrap();
        tokens.add("s3cret", Identity::authenticated("ann", ["devs"]), None);
        tokens.add("short", Identity::authenticated("sue", [""; 0]), Some(soon));
        tokens.add("expired", Identity::authenticated("old", [""; 0]), Some(now()));
        for (header, expected) in [
            (None, Ok("system:anonymous")),
            (Some(""), Ok("system:anonymous")),
            (Some("Basic YTpi"), Ok("system:anonymous")),
            (Some("Bearer"), Ok("system:anonymous")),
            (Some("Bearer "), Ok("system:anonymous")),
            (Some("Bearer s3cret"), Ok("ann")),
            (Some("bearer s3cret"), Ok("ann")),
            (Some(" BEARER s3cret  "), Ok("ann")),
            (Some("Bearer short"), Ok("sue")),
            (Some("Bearer S3cret"), Err(Unauthorized)),
            (Some("Bearer s3cre"), Err(Unauthorized)),
            (Some("Bearer expired"), Err(Unauthorized)),
            (Some("Bearer \u{fffd}"), Err(Unauthorized)),
        ] {
            let identity = authenticate(header, None, &tokens, None, now());
            assert_eq!(
                identity.as_ref().map(|identity| identity.user.as_str()),
                expected.as_ref().copied(),
                "{header:?}"
            );
        }
        let certificate = Some(Identity::authenticated("cert", [""; 0]));
        assert_eq!(
            authenticate(Some("Bearer wrong"), certificate, &tokens, None, now())
                .unwrap()
                .user,
            "cert"
        );
        assert_eq!(Unauthorized.status()["code"], 401);
    }

    #[test]
    fn the_groups_of_an_identity_say_whether_it_showed_a_credential() {
        assert_eq!(Identity::anonymous().groups, ["system:unauthenticated"]);
        assert_eq!(
            Identity::authenticated("ann", ["devs"]).groups,
            ["devs", "system:authenticated"]
        );
        assert_eq!(
            Identity::authenticated("ann", ["system:authenticated"]).groups,
            ["system:authenticated"]
        );
    }

    #[test]
    fn tokens_are_long_random_and_silent() {
        let (one, two) = (Token::generate().unwrap(), Token::generate().unwrap());
        assert_ne!(one, two);
        assert_eq!(one.secret().len(), 43);
        assert!(!format!("{one:?}").contains(one.secret()));
    }
}
