//! A user may grant only rights that the user has: checks before a role or a binding is written.

use serde_json::Value;

use super::GROUP;
use super::binding::text;
use super::covers::{MAX_PERMISSIONS, MAX_STEPS, TooManySteps, missing, permissions};
use super::index::{Kind, Rbac};
use super::request::{Request, Target, forbidden};
use super::rule::{PolicyRule, quoted};
use crate::access::identity::{Identity, MASTERS};

/// Why a role or binding may not be written by this user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Escalation {
    /// It grants what the user does not have.
    #[error(
        "user {user:?} (groups={groups}) is attempting to grant RBAC permissions not currently held:\n{missing}{errors}",
        groups = quoted(groups),
        errors = resolution_errors(unresolved)
    )]
    NotHeld {
        /// The user name.
        user: String,
        /// Its groups.
        groups: Vec<String>,
        /// The rules that are missing, one a line.
        missing: String,
        /// Roles the user's bindings name but that do not exist; they may be why something is missing.
        unresolved: Vec<String>,
    },
    /// It lists more than can be compared.
    #[error(
        "the rules grant {granted} single permissions (groups × resources × verbs × names); at most {MAX_PERMISSIONS} are \
         compared with the permissions of user {user:?}; use fewer names or \"*\""
    )]
    TooMany {
        /// The user name.
        user: String,
        /// How many permissions the rules grant.
        granted: usize,
    },
    /// The comparison takes too long.
    #[error(
        "the {granted} single permissions of the rules cannot be compared with the {held} rules of user {user:?} in \
         {MAX_STEPS} steps; grant fewer permissions in one role, or give the user fewer rules"
    )]
    TooManySteps {
        /// The user name.
        user: String,
        /// How many permissions the rules grant.
        granted: usize,
        /// How many rules the user has.
        held: usize,
    },
    /// An aggregation rule can gather anything, so only those who may do everything can write one.
    #[error("must have cluster-admin privileges to use the aggregationRule")]
    Aggregation,
    /// The binding refers to a role that does not exist, so what it grants cannot be known.
    #[error("{resource}.{GROUP} {name:?} not found")]
    RoleNotFound {
        /// `roles` or `clusterroles`.
        resource: &'static str,
        /// The name of the role.
        name: String,
    },
}

impl Escalation {
    /// The Status to answer with when `resource` (`roles`, `clusterrolebindings`, …) named `name` is refused.
    pub(crate) fn status(&self, resource: &str, name: &str) -> Value {
        match self {
            Escalation::RoleNotFound { resource, name } => serde_json::json!({
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": self.to_string(),
                "reason": "NotFound",
                "details": {"name": name, "group": GROUP, "kind": resource},
                "code": 404,
            }),
            _ => forbidden(GROUP, resource, name, &self.to_string()),
        }
    }
}

impl Rbac {
    /// Whether a user may write this Role or ClusterRole; `old` is the stored one on updates.
    pub(crate) fn check_role(
        &self,
        identity: &Identity,
        kind: Kind,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<(), Escalation> {
        let namespace = match kind {
            Kind::Role => text(new, "/metadata/namespace"),
            _ => "",
        };
        let resource = if kind == Kind::Role {
            "roles"
        } else {
            "clusterroles"
        };
        // A create names no object in its path, so `escalate` limited to names does not reach it.
        let name = old.map_or("", |old| text(old, "/metadata/name"));
        if identity.is_in(MASTERS)
            || self.may(identity, "escalate", resource, namespace, name)
            || old.is_some_and(|old| changes_only_ownership(old, new))
        {
            return Ok(());
        }
        let rules = PolicyRule::all_of(new);
        self.check_grant(identity, namespace, &rules)?;
        let gathers = |role: &Value| {
            role.pointer("/aggregationRule/clusterRoleSelectors")
                .and_then(Value::as_array)
                .is_some_and(|all| !all.is_empty())
        };
        if kind == Kind::ClusterRole && (gathers(new) || old.is_some_and(gathers)) {
            self.check_grant(identity, "", &everything())
                .map_err(|_| Escalation::Aggregation)?;
        }
        Ok(())
    }

    /// Whether a user may write this RoleBinding or ClusterRoleBinding; `old` is the stored one on updates.
    pub(crate) fn check_binding(
        &self,
        identity: &Identity,
        kind: Kind,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<(), Escalation> {
        let namespace = match kind {
            Kind::RoleBinding => text(new, "/metadata/namespace"),
            _ => "",
        };
        let (role_kind, role_name) = (text(new, "/roleRef/kind"), text(new, "/roleRef/name"));
        let resource = if role_kind == "Role" {
            "roles"
        } else {
            "clusterroles"
        };
        if identity.is_in(MASTERS)
            || old.is_some_and(|old| changes_only_ownership(old, new))
            || self.may(identity, "bind", resource, namespace, role_name)
        {
            return Ok(());
        }
        let rules = self
            .role(role_kind, namespace, role_name)
            .ok_or_else(|| Escalation::RoleNotFound {
                resource,
                name: role_name.to_owned(),
            })?;
        self.check_grant(identity, namespace, rules)
    }

    fn may(&self, identity: &Identity, verb: &str, resource: &str, namespace: &str, name: &str) -> bool {
        let target = Target::Resource {
            group: GROUP,
            resource,
            subresource: "",
            namespace,
            name,
        };
        self.decide(&Request {
            identity,
            verb,
            target,
        })
        .is_allowed()
    }

    fn check_grant(
        &self,
        identity: &Identity,
        namespace: &str,
        rules: &[PolicyRule],
    ) -> Result<(), Escalation> {
        let granted = permissions(rules);
        if granted > MAX_PERMISSIONS {
            let user = identity.user.clone();
            return Err(Escalation::TooMany { user, granted });
        }
        let held = self.rules_for(identity, namespace);
        let missing = missing(&held, rules).map_err(|TooManySteps| Escalation::TooManySteps {
            user: identity.user.clone(),
            granted,
            held: held.len(),
        })?;
        if missing.is_empty() {
            return Ok(());
        }
        let mut lines: Vec<String> = missing.iter().map(PolicyRule::to_string).collect();
        lines.sort_unstable();
        lines.dedup();
        Err(Escalation::NotHeld {
            user: identity.user.clone(),
            groups: identity.groups.clone(),
            missing: lines.join("\n"),
            unresolved: self.unresolved(identity, namespace),
        })
    }
}

fn resolution_errors(unresolved: &[String]) -> String {
    match unresolved {
        [] => String::new(),
        [one] => format!("; resolution errors: [{one}]"),
        several => format!("; resolution errors: [[{}]]", several.join(", ")),
    }
}

fn everything() -> [PolicyRule; 2] {
    let all = || vec!["*".to_owned()];
    [
        PolicyRule {
            verbs: all(),
            api_groups: all(),
            resources: all(),
            ..PolicyRule::default()
        },
        PolicyRule {
            verbs: all(),
            non_resource_urls: all(),
            ..PolicyRule::default()
        },
    ]
}

/// Whether an update touches only what garbage collection needs; that must work for roles of any strength.
fn changes_only_ownership(old: &Value, new: &Value) -> bool {
    let stripped = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for key in ["ownerReferences", "finalizers", "managedFields"] {
                metadata.remove(key);
            }
        }
        object
    };
    stripped(old) == stripped(new)
}
