//! Whether one set of rules holds everything another one grants.

use std::collections::{BTreeMap, HashMap};

use super::rule::{PolicyRule, path_covers};

/// How many single permissions a role may grant that is compared with those of its author. Comparing takes memory and time in
/// proportion; Kubernetes' own roles grant some hundreds.
pub(super) const MAX_PERMISSIONS: usize = 100_000;

/// How many entries of held rules may be looked at for all wanted permissions together. Larger, and one request could keep a
/// core busy for more than a second; smaller, and authors with some thousand rules could not write roles of some thousand
/// permissions.
pub(super) const MAX_STEPS: usize = 10_000_000;

/// The number of single permissions that rules grant together: the product of what each rule lists.
pub(super) fn permissions(rules: &[PolicyRule]) -> usize {
    let of = |rule: &PolicyRule| {
        let names = rule.resource_names.len().max(1);
        let lists = [
            rule.api_groups.len(),
            rule.resources.len(),
            rule.verbs.len(),
            names,
        ];
        let resources = lists.into_iter().fold(1, usize::saturating_mul);
        resources.saturating_add(rule.non_resource_urls.len().saturating_mul(rule.verbs.len()))
    };
    rules.iter().map(of).fold(0, usize::saturating_add)
}

/// The comparison would take more than [`MAX_STEPS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManySteps;

/// The smallest rules of `wanted` that no single rule of `held` covers, put together again where only verbs differ.
pub(super) fn missing(held: &[&PolicyRule], wanted: &[PolicyRule]) -> Result<Vec<PolicyRule>, TooManySteps> {
    let mut held = Held::of(held);
    let mut by_resource: BTreeMap<(&str, &str, Option<&str>), PolicyRule> = BTreeMap::new();
    let mut missing = Vec::new();
    for permission in wanted.iter().flat_map(permissions_of) {
        if held.covers(permission)? {
            continue;
        }
        let verbs = vec![permission.verb.to_owned()];
        match permission.on {
            Object::Path(path) => missing.push(PolicyRule {
                verbs,
                non_resource_urls: vec![path.to_owned()],
                ..PolicyRule::default()
            }),
            Object::Resource {
                group,
                resource,
                name,
            } => {
                let rule = by_resource
                    .entry((group, resource, name))
                    .or_insert_with(|| PolicyRule {
                        api_groups: vec![group.to_owned()],
                        resources: vec![resource.to_owned()],
                        resource_names: name.map(str::to_owned).into_iter().collect(),
                        ..PolicyRule::default()
                    });
                rule.verbs.extend(verbs);
            }
        }
    }
    missing.extend(by_resource.into_values());
    Ok(missing)
}

/// One verb on one resource or path.
#[derive(Clone, Copy)]
struct Permission<'r> {
    verb: &'r str,
    on: Object<'r>,
}

#[derive(Clone, Copy)]
enum Object<'r> {
    Resource {
        group: &'r str,
        resource: &'r str,
        name: Option<&'r str>,
    },
    Path(&'r str),
}

/// The single permissions that together are what `rule` grants.
fn permissions_of(rule: &PolicyRule) -> impl Iterator<Item = Permission<'_>> {
    let all_names = rule.resource_names.is_empty().then_some(None);
    let names = move || {
        rule.resource_names
            .iter()
            .map(|name| Some(name.as_str()))
            .chain(all_names)
    };
    let resources = rule.api_groups.iter().flat_map(move |group| {
        let verbs = move |resource| rule.verbs.iter().map(move |verb| (resource, verb));
        let each = rule.resources.iter().flat_map(verbs);
        each.flat_map(move |(resource, verb): (&String, &String)| {
            names().map(move |name| Permission {
                verb,
                on: Object::Resource {
                    group,
                    resource,
                    name,
                },
            })
        })
    });
    let paths = rule.non_resource_urls.iter().flat_map(|path| {
        let on = Object::Path(path);
        rule.verbs.iter().map(move |verb| Permission { verb, on })
    });
    resources.chain(paths)
}

/// The rules of an author, by verb, and how many of their entries were looked at.
struct Held<'r> {
    by_verb: HashMap<&'r str, Vec<&'r PolicyRule>>,
    steps: usize,
}

impl<'r> Held<'r> {
    fn of(rules: &[&'r PolicyRule]) -> Self {
        let mut by_verb: HashMap<&str, Vec<&PolicyRule>> = HashMap::new();
        for rule in rules {
            for verb in &rule.verbs {
                by_verb.entry(verb).or_default().push(rule);
            }
        }
        // The search ends at the first that covers, and those for all resources cover most.
        for rules in by_verb.values_mut() {
            rules.sort_by_key(|rule| !rule.resources.iter().any(|resource| resource == "*"));
        }
        Self { by_verb, steps: 0 }
    }

    fn covers(&mut self, permission: Permission<'_>) -> Result<bool, TooManySteps> {
        for verb in ["*", permission.verb] {
            for rule in self.by_verb.get(verb).into_iter().flatten() {
                self.steps += 1
                    + rule.api_groups.len()
                    + rule.resources.len()
                    + rule.resource_names.len()
                    + rule.non_resource_urls.len();
                if self.steps > MAX_STEPS {
                    return Err(TooManySteps);
                }
                if covers(rule, permission.on) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Whether a rule grants its verbs on an object.
fn covers(held: &PolicyRule, wanted: Object<'_>) -> bool {
    match wanted {
        Object::Path(path) => {
            held.resource_names.is_empty() && held.non_resource_urls.iter().any(|url| path_covers(url, path))
        }
        Object::Resource {
            group,
            resource,
            name,
        } => {
            held.api_groups.iter().any(|held| held == "*" || held == group)
                && covers_resource(&held.resources, resource)
                // A rule for named objects covers no rule for all of them.
                && (held.resource_names.is_empty()
                    || name.is_some_and(|name| held.resource_names.iter().any(|held| held == name)))
        }
    }
}

fn covers_resource(held: &[String], resource: &str) -> bool {
    let subresource = resource.split_once('/').map(|(_, subresource)| subresource);
    held.iter().any(|held| {
        held == "*"
            || held == resource
            || subresource.is_some_and(|wanted| held.strip_prefix("*/").is_some_and(|held| held == wanted))
    })
}
