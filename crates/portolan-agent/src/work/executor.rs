//! In whose name a work is applied.

use serde_json::Value;

/// In whose name a work is applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Executor {
    /// In the agent's own.
    #[default]
    Agent,
    /// In that of a service account of the member cluster.
    Account(Account),
    /// In nobody's: what the work says about it is not whole, in words.
    Invalid(String),
}

/// A service account of the member cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Account {
    /// The user that the member cluster knows it as.
    pub(crate) fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// The groups that the member cluster counts it among.
    pub(crate) fn groups(&self) -> [String; 3] {
        [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{}", self.namespace),
            "system:authenticated".to_owned(),
        ]
    }
}

impl Executor {
    /// Reads `spec.executor`. Whoever sets one means to confine the work, so what is not understood is nobody and never
    /// the agent.
    pub(crate) fn read(value: &Value) -> Executor {
        if value.is_null() {
            return Executor::Agent;
        }
        match account(value) {
            Ok(account) => Executor::Account(account),
            Err(why) => Executor::Invalid(why),
        }
    }

    /// The account, if it is one.
    pub(crate) fn account(&self) -> Option<&Account> {
        match self {
            Executor::Account(account) => Some(account),
            Executor::Agent | Executor::Invalid(_) => None,
        }
    }
}

const KIND: &str = "ServiceAccount";

fn account(executor: &Value) -> Result<Account, String> {
    let Some(subject) = executor.get("subject").filter(|subject| !subject.is_null()) else {
        return Err(
            "spec.executor has no subject; accepted: a subject of the type ServiceAccount".to_owned(),
        );
    };
    let kind = subject.get("type").and_then(Value::as_str).unwrap_or_default();
    if kind != KIND {
        return Err(format!(
            "spec.executor.subject.type is {kind:?}; accepted: {KIND}"
        ));
    }
    let part = |field: &str| {
        let text = subject
            .get("serviceAccount")
            .and_then(|account| account.get(field));
        let text = text.and_then(Value::as_str).unwrap_or_default();
        // A colon would make it another account's name.
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
        match !text.is_empty() && text.chars().all(is_name) {
            true => Ok(text.to_owned()),
            false => Err(format!(
                "spec.executor.subject.serviceAccount.{field} is {text:?}; accepted: the {field} of a service account of \
                 the member cluster"
            )),
        }
    };
    Ok(Account {
        namespace: part("namespace")?,
        name: part("name")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_executor_is_the_user_of_its_service_account() {
        let executor = Executor::read(&json!({ "subject": {
            "type": "ServiceAccount", "serviceAccount": { "namespace": "shop", "name": "deployer" },
        } }));
        let account = executor.account().unwrap();
        assert_eq!(account.user(), "system:serviceaccount:shop:deployer");
        assert_eq!(account.groups()[1], "system:serviceaccounts:shop");
        assert_eq!(Executor::read(&Value::Null), Executor::Agent);
    }

    #[test]
    fn half_an_executor_is_nobody_and_never_the_agent() {
        for (executor, word) in [
            (json!({}), "no subject"),
            (json!({ "subject": null }), "no subject"),
            (json!({ "subject": {} }), "subject.type"),
            (json!({ "subject": { "type": "User" } }), "\"User\""),
            (
                json!({ "subject": { "type": "ServiceAccount" } }),
                "serviceAccount.namespace",
            ),
            (
                json!({ "subject": { "type": "ServiceAccount", "serviceAccount": { "namespace": "shop" } } }),
                "serviceAccount.name",
            ),
            (
                json!({ "subject": { "type": "ServiceAccount",
                    "serviceAccount": { "namespace": "shop", "name": "a:b" } } }),
                "\"a:b\"",
            ),
            (json!("deployer"), "no subject"),
        ] {
            match Executor::read(&executor) {
                Executor::Invalid(why) => assert!(why.contains(word) && why.contains("accepted"), "{why}"),
                other => panic!("{executor} is {other:?}"),
            }
        }
    }
}
