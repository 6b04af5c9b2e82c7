//! The index: roles by name, bindings by subject.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use rpds::{HashTrieMapSync, RedBlackTreeMapSync, RedBlackTreeSetSync};
use serde_json::Value;

use super::aggregate::{ClusterRole, effective};
use super::binding::{Binding, text};
use super::request::{Decision, Denial, Reason, Request, Target};
use super::rule::PolicyRule;
use crate::access::identity::{Identity, MASTERS};

/// The four kinds the index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A role of one namespace.
    Role,
    /// A role of all namespaces.
    ClusterRole,
    /// Gives a role in one namespace.
    RoleBinding,
    /// Gives a ClusterRole everywhere.
    ClusterRoleBinding,
}

impl Kind {
    /// The kind of that name, if it is one of the four.
    pub(crate) fn from_name(kind: &str) -> Option<Self> {
        Some(match kind {
            "Role" => Kind::Role,
            "ClusterRole" => Kind::ClusterRole,
            "RoleBinding" => Kind::RoleBinding,
            "ClusterRoleBinding" => Kind::ClusterRoleBinding,
            _ => return None,
        })
    }

    /// The kind whose objects are under that name in the API.
    pub(crate) fn from_plural(plural: &str) -> Option<Self> {
        Some(match plural {
            "roles" => Kind::Role,
            "clusterroles" => Kind::ClusterRole,
            "rolebindings" => Kind::RoleBinding,
            "clusterrolebindings" => Kind::ClusterRoleBinding,
            _ => return None,
        })
    }
}

/// Roles that a refusal names because they do not exist. A tenant can write any number of bindings to them.
const MOST_NAMED: usize = 100;

/// Roles and bindings, indexed. Cheap to keep current: one object in, one object out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rbac {
    cluster_roles: RedBlackTreeMapSync<String, ClusterRole>,
    /// By namespace, then name.
    roles: ByNamespace<Arc<[PolicyRule]>>,
    /// By namespace, empty for cluster-wide, then name.
    bindings: ByNamespace<Arc<Binding>>,
    /// By the namespace of the bindings, then the name of the subject.
    users: ByNamespace<Bound>,
    groups: ByNamespace<Bound>,
}

/// A copy shares everything with its original but for what changes afterwards: requests hold copies while others change the
/// index, and tenants choose how large it is.
type Names<V> = HashTrieMapSync<String, V>;
type ByNamespace<V> = Names<Names<V>>;
/// The names of the bindings that a subject has. Sorted, so that the reason given is always the same; names alone, so that a binding
/// can change without a change for each of its subjects.
type Bound = RedBlackTreeSetSync<Arc<str>>;

/// Changes the names of one namespace, and leaves nothing empty behind.
fn change<V>(all: &mut ByNamespace<V>, namespace: &str, change: impl FnOnce(&mut Names<V>)) {
    let mut names = all.get(namespace).cloned().unwrap_or_default();
    // The only copy is changed in place.
    all.remove_mut(namespace);
    change(&mut names);
    if !names.is_empty() {
        all.insert_mut(namespace.to_owned(), names);
    }
}

impl Rbac {
    /// An index over a set of objects; those of other kinds are passed over. Each object is let go before the next one is taken.
    pub(crate) fn of(objects: impl IntoIterator<Item = impl Borrow<Value>>) -> Self {
        let mut index = Self::default();
        for object in objects {
            index.insert(object.borrow());
        }
        // Once for all instead of once for every ClusterRole.
        index.aggregate();
        index
    }

    /// Adds an object or replaces the one of its kind and name.
    pub(crate) fn apply(&mut self, object: &Value) {
        if self.insert(object) == Some(Kind::ClusterRole) {
            self.aggregate();
        }
    }

    /// Takes an object out.
    pub(crate) fn remove(&mut self, kind: Kind, namespace: &str, name: &str) {
        match kind {
            Kind::ClusterRole => {
                self.cluster_roles.remove_mut(name);
                self.aggregate();
            }
            Kind::Role => change(&mut self.roles, namespace, |roles| {
                roles.remove_mut(name);
            }),
            Kind::RoleBinding => self.unbind(namespace, name),
            Kind::ClusterRoleBinding => self.unbind("", name),
        }
    }

    /// Answers one request.
    pub(crate) fn decide<'r>(&'r self, request: &Request<'r>) -> Decision<'r> {
        if request.identity.is_in(MASTERS) {
            return Decision::Allowed(Reason::Masters);
        }
        // Many bindings can give the same role; its rules are then the same in memory, and do not allow it the second time either.
        let mut refused = HashSet::new();
        for namespace in scopes(&request.target) {
            for binding in self.bindings_of(request.identity, namespace) {
                let rules = self.rules_of(binding).unwrap_or_default();
                if rules.is_empty() || refused.contains(&rules.as_ptr()) {
                    continue;
                }
                let mut each = rules.iter();
                if !each.any(|rule| rule.allows(request.verb, &request.target)) {
                    refused.insert(rules.as_ptr());
                    continue;
                }
                let identity = request.identity;
                return Decision::Allowed(Reason::Binding { binding, identity });
            }
        }
        Decision::Denied(self.denial(request))
    }

    /// How many bindings are looked at to decide a request.
    pub(crate) fn bindings_for(&self, request: &Request<'_>) -> usize {
        let of = |all: &ByNamespace<Bound>, namespace: &str, subject: &str| {
            let bound = all.get(namespace).and_then(|names| names.get(subject));
            bound.map_or(0, Bound::size)
        };
        let identity = request.identity;
        let in_scope = |namespace: &str| {
            let groups = identity
                .groups
                .iter()
                .map(|group| of(&self.groups, namespace, group));
            of(&self.users, namespace, &identity.user) + groups.sum::<usize>()
        };
        scopes(&request.target).map(in_scope).sum()
    }

    /// All rules a user has in a namespace, each once, cluster-wide ones first; in no namespace only those.
    pub(crate) fn rules_for(&self, identity: &Identity, namespace: &str) -> Vec<&PolicyRule> {
        let scopes = if namespace.is_empty() {
            &[""][..]
        } else {
            &["", namespace]
        };
        let bindings = scopes.iter().flat_map(|scope| self.bindings_of(identity, scope));
        // Many bindings can give the same role; its rules are then the same in memory.
        let (mut roles, mut seen) = (HashSet::new(), HashSet::new());
        bindings
            .filter_map(|binding| self.rules_of(binding))
            .filter(|rules| roles.insert(rules.as_ptr()))
            .flatten()
            .filter(|rule| seen.insert(*rule))
            .collect()
    }

    /// The ClusterRoles that gather rules of others, and what they gather, for who writes that into the objects.
    pub(crate) fn aggregated(&self) -> impl Iterator<Item = (&str, Vec<Value>)> {
        let roles = self.cluster_roles.iter().filter(|(_, role)| role.is_aggregated());
        roles.map(|(name, role)| {
            let rules = role.effective.iter().map(PolicyRule::to_json);
            (name.as_str(), rules.collect())
        })
    }

    /// The rules of a role a binding in `namespace` can refer to.
    pub(super) fn role(&self, kind: &str, namespace: &str, name: &str) -> Option<&[PolicyRule]> {
        match kind {
            "ClusterRole" => self.cluster_roles.get(name).map(|role| &*role.effective),
            "Role" => self.roles.get(namespace)?.get(name).map(|rules| &**rules),
            _ => None,
        }
    }

    fn rules_of(&self, binding: &Binding) -> Option<&[PolicyRule]> {
        self.role(&binding.role_kind, &binding.namespace, &binding.role_name)
    }

    fn bindings_of<'s, 'i>(
        &'s self,
        identity: &'i Identity,
        namespace: &'i str,
    ) -> impl Iterator<Item = &'s Binding> + use<'s, 'i> {
        let user = self
            .users
            .get(namespace)
            .and_then(|users| users.get(&identity.user));
        let groups = self.groups.get(namespace);
        let groups = groups.map(|groups| identity.groups.iter().filter_map(|group| groups.get(group)));
        let names = user.into_iter().chain(groups.into_iter().flatten()).flatten();
        let bindings = self.bindings.get(namespace);
        names.filter_map(move |name| bindings?.get(&**name).map(|binding| &**binding))
    }

    fn denial(&self, request: &Request<'_>) -> Denial {
        let missing = scopes(&request.target).flat_map(|scope| self.missing_roles(request.identity, scope));
        let describe = |(kind, name): (&str, &str)| {
            format!("{}.{} {name:?} not found", kind.to_lowercase(), super::GROUP)
        };
        Denial {
            missing_roles: missing
                .take(MOST_NAMED)
                .map(describe)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
        }
    }

    /// The same for the rules of a user in a namespace; Kubernetes words it differently there.
    pub(super) fn unresolved(&self, identity: &Identity, namespace: &str) -> Vec<String> {
        let scopes = if namespace.is_empty() {
            &[""][..]
        } else {
            &["", namespace]
        };
        let missing = scopes
            .iter()
            .flat_map(|scope| self.missing_roles(identity, scope));
        let describe = |(kind, name): (&str, &str)| {
            format!("{}s.{} {name:?} not found", kind.to_lowercase(), super::GROUP)
        };
        missing
            .map(describe)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// Kind and name of the roles that bindings of a user name but that do not exist.
    fn missing_roles<'s, 'i>(
        &'s self,
        identity: &'i Identity,
        namespace: &'i str,
    ) -> impl Iterator<Item = (&'s str, &'s str)> + use<'s, 'i> {
        let missing = self
            .bindings_of(identity, namespace)
            .filter(|binding| self.rules_of(binding).is_none());
        missing.map(|binding| (binding.role_kind.as_str(), binding.role_name.as_str()))
    }

    fn insert(&mut self, object: &Value) -> Option<Kind> {
        let kind = Kind::from_name(object.get("kind")?.as_str()?)?;
        let (namespace, name) = (
            text(object, "/metadata/namespace"),
            text(object, "/metadata/name"),
        );
        match kind {
            Kind::ClusterRole => {
                self.cluster_roles
                    .insert_mut(name.to_owned(), ClusterRole::from_json(object));
            }
            Kind::Role => {
                let rules = PolicyRule::all_of(object);
                change(&mut self.roles, namespace, |roles| {
                    roles.insert_mut(name.to_owned(), rules);
                });
            }
            Kind::RoleBinding => self.bind(Binding::from_json(object, namespace)),
            Kind::ClusterRoleBinding => self.bind(Binding::from_json(object, "")),
        }
        Some(kind)
    }

    fn aggregate(&mut self) {
        let gathering = self.cluster_roles.iter().filter(|(_, role)| role.is_aggregated());
        let names: Vec<String> = gathering.map(|(name, _)| name.clone()).collect();
        for name in names {
            let rules = effective(&name, &self.cluster_roles);
            if let Some(role) = self.cluster_roles.get_mut(&name) {
                role.effective = rules;
            }
        }
    }

    fn bind(&mut self, binding: Binding) {
        let namespace = binding.namespace.clone();
        let bound = self.bindings.get(&namespace);
        let before = bound.and_then(|names| names.get(&binding.name)).cloned();
        // Labels of bindings change, too.
        if before.as_deref() == Some(&binding) {
            return;
        }
        let name: Arc<str> = binding.name.as_str().into();
        let before = before.map(|before| before.users_and_groups()).unwrap_or_default();
        self.regrant(&namespace, &name, before, binding.users_and_groups());
        change(&mut self.bindings, &namespace, |bindings| {
            bindings.insert_mut(binding.name.clone(), Arc::new(binding));
        });
    }

    fn unbind(&mut self, namespace: &str, name: &str) {
        let bound = self.bindings.get(namespace).and_then(|names| names.get(name));
        let Some(binding) = bound.cloned() else { return };
        change(&mut self.bindings, namespace, |names| {
            names.remove_mut(name);
        });
        let subjects = binding.users_and_groups();
        self.regrant(namespace, &name.into(), subjects, Default::default());
    }

    /// The users and groups of a binding were these and are those.
    fn regrant(&mut self, namespace: &str, name: &Arc<str>, before: UsersAndGroups, after: UsersAndGroups) {
        let users = (&mut self.users, before.0, after.0);
        let groups = (&mut self.groups, before.1, after.1);
        for (all, before, after) in [users, groups] {
            let (before, after): (BTreeSet<_>, BTreeSet<_>) =
                (before.iter().collect(), after.iter().collect());
            change(all, namespace, |names| {
                for subject in before.difference(&after) {
                    release(names, subject, name);
                }
                for subject in after.difference(&before) {
                    grant(names, subject, name);
                }
            });
        }
    }
}

type UsersAndGroups = (Vec<String>, Vec<String>);

/// Gives a binding to a subject.
fn grant(names: &mut Names<Bound>, subject: &str, binding: &Arc<str>) {
    let bound = names.get(subject).cloned().unwrap_or_default();
    names.insert_mut(subject.to_owned(), bound.insert(binding.clone()));
}

/// Takes a binding away from a subject.
fn release(names: &mut Names<Bound>, subject: &str, binding: &Arc<str>) {
    let Some(bound) = names.get(subject) else { return };
    let left = bound.remove(binding);
    if left.is_empty() {
        names.remove_mut(subject);
    } else {
        names.insert_mut(subject.to_owned(), left);
    }
}

/// Where to look for bindings: everywhere, then in the namespace of the request.
fn scopes<'t>(target: &Target<'t>) -> impl Iterator<Item = &'t str> + use<'t> {
    let namespace = match *target {
        Target::Resource { namespace, .. } => namespace,
        Target::Path(_) => "",
    };
    std::iter::once("").chain((!namespace.is_empty()).then_some(namespace))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A tenant may have bindings with very many subjects, and change them as often as it likes.
    #[test]
    fn a_binding_that_gives_nothing_else_changes_nothing_in_the_index() {
        let binding = |label: &str, users: &[&str]| {
            let subjects: Vec<_> = users
                .iter()
                .map(|user| json!({"kind": "User", "name": user}))
                .collect();
            json!({
                "kind": "RoleBinding",
                "metadata": {"name": "b", "namespace": "ns", "labels": {"l": label}},
                "roleRef": {"kind": "Role", "name": "r"}, "subjects": subjects,
            })
        };
        let held = |index: &Rbac| Arc::clone(&index.bindings.get("ns").unwrap()["b"]);
        let mut index = Rbac::default();
        index.apply(&binding("x", &["ann", "bob"]));
        let before = held(&index);
        index.apply(&binding("y", &["ann", "bob"]));
        assert!(Arc::ptr_eq(&before, &held(&index)));
        index.apply(&binding("y", &["ann", "eve"]));
        let users = index.users.get("ns").unwrap();
        assert!(users.contains_key("ann") && users.contains_key("eve") && !users.contains_key("bob"));
    }
}
