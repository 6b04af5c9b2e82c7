//! Tokens of service accounts: signed statements with an end, as `kubectl create token` asks for. Nothing about them is
//! stored but one key, so they stay valid over a restart.
//!
//! They are JSON Web Tokens signed with HMAC-SHA256. Only the hub that signed one can verify it; there is no public key to
//! publish.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use ring::hmac;
use serde_json::{Value, json};

use super::files::write_private;
use super::identity::{Identity, service_account_user};
use super::random::{NoRandomness, random};

/// What Kubernetes gives without a wish, and the bounds it keeps wishes in.
const DEFAULT_LIFETIME: i64 = 60 * 60;
const MINIMUM_LIFETIME: i64 = 10 * 60;
const MAXIMUM_LIFETIME: i64 = 1 << 32;

/// Longer ones are none of ours; bounds the work spent on a stranger.
const MAX_LENGTH: usize = 8192;

/// Signs and verifies the tokens of one hub.
pub(crate) struct AccountTokens {
    issuer: String,
    key: hmac::Key,
}

impl fmt::Debug for AccountTokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AccountTokens")
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

/// A service account as a token names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// Its uid: a token of an account that was deleted and made again is not valid for the new one. Who holds the store
    /// should compare it.
    pub(crate) uid: String,
}

impl Account {
    /// The user this account is.
    pub(crate) fn identity(&self) -> Identity {
        Identity {
            uid: self.uid.clone(),
            ..Identity::service_account(&self.namespace, &self.name)
        }
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The key file cannot be read or written.
    #[error("cannot access {path}")]
    File {
        /// The file.
        path: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The key file holds no key.
    #[error("{path} does not hold a key of 32 bytes")]
    Damaged {
        /// The file.
        path: String,
    },
    /// There is no new key.
    #[error("cannot make a key")]
    Random(#[from] NoRandomness),
    /// The token is to end with an object.
    #[error(
        "spec.boundObjectRef: Forbidden: tokens of this hub end with their service account and by their time alone; leave the field \
         out"
    )]
    Bound,
    /// The requested lifetime is out of bounds.
    #[error("spec.expirationSeconds: Invalid value: {seconds}: may not specify a duration {bound}")]
    Lifetime {
        /// What was asked for.
        seconds: i64,
        /// The bound it breaks.
        bound: &'static str,
    },
}

impl AccountTokens {
    /// Tokens that end with the process.
    pub(crate) fn in_memory(issuer: &str) -> Result<Self, Error> {
        Ok(Self::new(issuer, &random()?))
    }

    /// Tokens signed with the key in a file, which is made if it is missing.
    pub(crate) fn open(issuer: &str, path: &Path) -> Result<Self, Error> {
        let file_error = |source| Error::File {
            path: path.display().to_string(),
            source,
        };
        let key = match std::fs::read(path) {
            Ok(bytes) => <[u8; 32]>::try_from(bytes).map_err(|_| Error::Damaged {
                path: path.display().to_string(),
            })?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let key = random()?;
                write_private(path, &key).map_err(file_error)?;
                key
            }
            Err(error) => return Err(file_error(error)),
        };
        Ok(Self::new(issuer, &key))
    }

    fn new(issuer: &str, key: &[u8; 32]) -> Self {
        Self {
            issuer: issuer.to_owned(),
            key: hmac::Key::new(hmac::HMAC_SHA256, key),
        }
    }

    /// Answers a TokenRequest for an account: the same object with its status.
    pub(crate) fn answer(&self, account: &Account, request: &Value, now: Timestamp) -> Result<Value, Error> {
        // A token that outlives the object which it was to end with would be a surprise.
        if request
            .pointer("/spec/boundObjectRef")
            .is_some_and(|bound| !bound.is_null())
        {
            return Err(Error::Bound);
        }
        let wish = request.pointer("/spec/expirationSeconds").and_then(Value::as_i64);
        let seconds = wish.unwrap_or(DEFAULT_LIFETIME);
        let bound = |bound| Error::Lifetime { seconds, bound };
        if seconds < MINIMUM_LIFETIME {
            return Err(bound("less than 10 minutes"));
        }
        if seconds > MAXIMUM_LIFETIME {
            return Err(bound("larger than 2^32 seconds"));
        }
        let audiences = match request.pointer("/spec/audiences").and_then(Value::as_array) {
            Some(audiences) if !audiences.is_empty() => json!(audiences),
            _ => json!([self.issuer]),
        };
        let expires = now
            .saturating_add(SignedDuration::from_secs(seconds))
            .unwrap_or(now);
        let token = self.sign(&json!({
            "iss": self.issuer,
            "sub": service_account_user(&account.namespace, &account.name),
            "aud": audiences,
            "iat": now.as_second(),
            "nbf": now.as_second(),
            "exp": expires.as_second(),
            "kubernetes.io": {
                "namespace": account.namespace,
                "serviceaccount": {"name": account.name, "uid": account.uid},
            },
        }));
        Ok(json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {"name": account.name, "namespace": account.namespace},
            "spec": {"audiences": audiences, "expirationSeconds": seconds},
            "status": {"token": token, "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()},
        }))
    }

    /// The account of a token that this hub signed for itself and that is valid at `now`.
    pub(crate) fn verify(&self, token: &str, now: Timestamp) -> Option<Account> {
        if token.len() > MAX_LENGTH {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        // Before anything in it is looked at; takes the same time wherever a signature differs.
        hmac::verify(&self.key, signed.as_bytes(), &signature).ok()?;
        let (header, claims) = signed.split_once('.')?;
        let read = |part: &str| serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(part).ok()?).ok();
        let (header, claims) = (read(header)?, read(claims)?);
        let for_us = claims["aud"]
            .as_array()?
            .iter()
            .any(|audience| *audience == self.issuer);
        let in_time =
            claims["nbf"].as_i64()? <= now.as_second() && now.as_second() < claims["exp"].as_i64()?;
        if header["alg"] != "HS256" || claims["iss"] != self.issuer || !for_us || !in_time {
            return None;
        }
        let text = |pointer: &str| claims.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Some(Account {
            namespace: text("/kubernetes.io/namespace")?,
            name: text("/kubernetes.io/serviceaccount/name")?,
            uid: text("/kubernetes.io/serviceaccount/uid")?,
        })
    }

    fn sign(&self, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!(
            "{}.{}",
            part(&json!({"alg": "HS256", "typ": "JWT"})),
            part(claims)
        );
        let signature = hmac::sign(&self.key, signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access::tokens::{Tokens, authenticate};

    const HUB: &str = "https://hub";

    fn now() -> Timestamp {
        "2026-11-15T00:00:00Z".parse().unwrap()
    }

    fn robot() -> Account {
        Account {
            namespace: "ns".to_owned(),
            name: "robot".to_owned(),
            uid: "u-1".to_owned(),
        }
    }

    fn token(tokens: &AccountTokens, spec: Value) -> String {
        let answer = tokens.answer(&robot(), &json!({"spec": spec}), now()).unwrap();
        answer["status"]["token"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_token_is_its_account_until_it_ends() {
        let tokens = AccountTokens::in_memory(HUB).unwrap();
        let token = token(&tokens, json!({"expirationSeconds": 600}));
        for (seconds, valid) in [(-1, false), (0, true), (599, true), (600, false)] {
            let then = now() + SignedDuration::from_secs(seconds);
            assert_eq!(tokens.verify(&token, then), valid.then(robot), "{seconds}");
        }
        let header = format!("Bearer {token}");
        let identity = authenticate(Some(&header), None, &Tokens::default(), Some(&tokens), now()).unwrap();
        assert_eq!(identity.user, "system:serviceaccount:ns:robot");
        assert!(identity.is_in("system:serviceaccounts:ns") && identity.is_in("system:authenticated"));
        assert!(
            authenticate(
                Some("Bearer a.b.c"),
                None,
                &Tokens::default(),
                Some(&tokens),
                now()
            )
            .is_err()
        );
    }

    #[test]
    fn the_answer_says_what_was_given() {
        let tokens = AccountTokens::in_memory(HUB).unwrap();
        let answer = tokens.answer(&robot(), &json!({}), now()).unwrap();
        assert_eq!(
            answer["spec"],
            json!({"audiences": [HUB], "expirationSeconds": 3600})
        );
        assert_eq!(answer["status"]["expirationTimestamp"], "2026-11-15T01:00:00Z");
        for (seconds, says) in [
            (599, "less than 10 minutes"),
            (i64::MAX, "larger than 2^32 seconds"),
            (-1, "less than"),
        ] {
            let error = tokens
                .answer(&robot(), &json!({"spec": {"expirationSeconds": seconds}}), now())
                .unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
        }
        let bound = json!({"spec": {"boundObjectRef": {"kind": "Secret", "name": "s"}}});
        let error = tokens.answer(&robot(), &bound, now()).unwrap_err();
        assert!(
            error.to_string().starts_with("spec.boundObjectRef: Forbidden"),
            "{error}"
        );
    }

    #[test]
    fn tokens_of_others_and_for_others_are_not_valid() {
        let tokens = AccountTokens::in_memory(HUB).unwrap();
        let other = AccountTokens::in_memory(HUB).unwrap();
        let unsigned = format!(
            "{}.{}.",
            URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#),
            URL_SAFE_NO_PAD.encode("{}")
        );
        for (what, token) in [
            ("another key", token(&other, json!({}))),
            (
                "another audience",
                token(&tokens, json!({"audiences": ["vault"]})),
            ),
            ("no signature", unsigned),
            ("another algorithm", {
                let good = token(&tokens, json!({}));
                format!(
                    "{}.{}",
                    URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#),
                    good.split_once('.').unwrap().1
                )
            }),
            ("nothing", String::new()),
            ("too much", "a.".repeat(5000)),
        ] {
            assert_eq!(tokens.verify(&token, now()), None, "{what}");
        }
    }

    #[test]
    fn the_key_survives_a_restart_and_damage_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounts.key");
        let token = token(&AccountTokens::open(HUB, &path).unwrap(), json!({}));
        assert_eq!(
            AccountTokens::open(HUB, &path).unwrap().verify(&token, now()),
            Some(robot())
        );
        std::fs::write(&path, "short").unwrap();
        assert!(
            AccountTokens::open(HUB, &path)
                .unwrap_err()
                .to_string()
                .ends_with("does not hold a key of 32 bytes")
        );
    }

    proptest! {
        #[test]
        fn garbage_is_never_valid(token in "[A-Za-z0-9_.=-]{0,80}", any in any::<String>()) {
            let tokens = AccountTokens::new(HUB, &[7; 32]);
            prop_assert_eq!(tokens.verify(&token, now()), None);
            prop_assert_eq!(tokens.verify(&any, now()), None);
        }
    }
}
