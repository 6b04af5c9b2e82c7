//! Acting as somebody else, as `kubectl --as` asks for: who may do so is a question for the roles.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::Core;
use super::request::decode;
use super::status::{Answer, Failure};
use crate::access::rbac::Target;
use crate::access::{ANONYMOUS, Identity, UNAUTHENTICATED};
use crate::kinds::names::Rule;

const USER: HeaderName = HeaderName::from_static("impersonate-user");
const GROUP: HeaderName = HeaderName::from_static("impersonate-group");
const UID: HeaderName = HeaderName::from_static("impersonate-uid");
const EXTRA: &str = "impersonate-extra-";
const AUTHENTICATION: &str = "authentication.k8s.io";

impl Core {
    /// The identity that the request is made for: the impersonated user of the headers, or the sender.
    pub(crate) async fn act_as(&self, sender: &Identity, headers: &HeaderMap) -> Answer<Identity> {
        let Some(user) = all(headers, &USER)?.into_iter().next() else {
            let others = headers.contains_key(GROUP)
                || headers.contains_key(UID)
                || headers.keys().any(|name| name.as_str().starts_with(EXTRA));
            return match others {
                true => Err(Failure::bad_request(
                    "requested attributes of a user without impersonating a user: the header Impersonate-User is missing",
                )),
                false => Ok(sender.clone()),
            };
        };
        let may = async |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| {
            let target = Target::Resource {
                group,
                resource,
                subresource,
                namespace,
                name,
            };
            self.authorize_in_turn(sender, sender, "impersonate", target)
                .await
        };
        let account = account(&user);
        match account {
            Some((namespace, name)) => may("", "serviceaccounts", "", namespace, name).await?,
            None => may("", "users", "", "", &user).await?,
        }
        let groups = all(headers, &GROUP)?;
        for group in &groups {
            may("", "groups", "", "", group).await?;
        }
        let mut identity = match account {
            _ if user == ANONYMOUS => Identity::anonymous(),
            Some((namespace, name)) if groups.is_empty() => Identity::service_account(namespace, name),
            _ => Identity::authenticated(user.as_str(), groups.iter().map(String::as_str)),
        };
        if user == ANONYMOUS {
            identity.groups = groups;
            identity.groups.push(UNAUTHENTICATED.to_owned());
        }
        if let Some(uid) = all(headers, &UID)?.into_iter().next() {
            may(AUTHENTICATION, "uids", "", "", &uid).await?;
            identity.uid = uid;
        }
        for name in headers.keys() {
            let Some(key) = name.as_str().strip_prefix(EXTRA) else {
                continue;
            };
            // A key may have characters that the name of a header cannot have.
            let key = decode(key).unwrap_or_else(|_| key.to_owned());
            for value in all(headers, name)? {
                may(AUTHENTICATION, "userextras", &key, "", &value).await?;
                identity.extra.entry(key.clone()).or_default().push(value);
            }
        }
        Ok(identity)
    }
}

/// Whether the request is to be made as another user.
pub(super) fn is_impersonated(headers: &HeaderMap) -> bool {
    headers.contains_key(USER)
}

/// The namespace and name of the service account that a user name stands for. A name that only begins like one is that of a
/// user: the right to act as the accounts of a namespace does not cover it.
fn account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let valid = Rule::Label.check(namespace).is_empty() && Rule::Subdomain.check(name).is_empty();
    valid.then_some((namespace, name))
}

/// The values of a header that are not empty. Names may have any character of UTF-8, as Go clients send them. A header
/// that cannot be read is an error: without it the request would run with the rights of its sender.
fn all(headers: &HeaderMap, name: &HeaderName) -> Answer<Vec<String>> {
    let read = |value: &HeaderValue| match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Failure::bad_request(format!(
            "the value of the header {name} is not UTF-8, so the user to impersonate is not known"
        ))),
    };
    let values: Vec<String> = headers.get_all(name).iter().map(read).collect::<Answer<_>>()?;
    Ok(values.into_iter().filter(|value| !value.is_empty()).collect())
}
