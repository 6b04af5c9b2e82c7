//! Whether one set of rules holds everything another one grants.

use std::collections::BTreeMap;

use super::rule::{PolicyRule, path_covers};

/// How many single permissions a role may grant that is compared with those of its author. Comparing takes memory and time in
/// proportion, while other requests wait for the roles; Kubernetes' own roles grant some hundreds.
pub(super) const MAX_PERMISSIONS: usize = 100_000;

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

/// The smallest rules of `wanted` that no single rule of `held` covers, put together again where only verbs differ.
pub(super) fn missing(held: &[&PolicyRule], wanted: &[PolicyRule]) -> Vec<PolicyRule> {
    let mut by_resource: BTreeMap<(String, String, Option<String>), PolicyRule> = BTreeMap::new();
    let mut missing = Vec::new();
    for atom in wanted.iter().flat_map(atoms) {
        if held.iter().any(|rule| covers(rule, &atom)) {
            continue;
        }
        let (Some(group), Some(resource)) = (atom.api_groups.first(), atom.resources.first()) else {
            missing.push(atom);
            continue;
        };
        let key = (
            group.clone(),
            resource.clone(),
            atom.resource_names.first().cloned(),
        );
        match by_resource.get_mut(&key) {
            Some(rule) => rule.verbs.extend(atom.verbs),
            None => {
                by_resource.insert(key, atom);
            }
        }
    }
    missing.extend(by_resource.into_values());
    missing
}

/// Rules with one verb on one resource or path each, which together grant what `rule` grants.
fn atoms(rule: &PolicyRule) -> Vec<PolicyRule> {
    let mut atoms = Vec::new();
    let names: Vec<Vec<String>> = match rule.resource_names.is_empty() {
        true => vec![Vec::new()],
        false => rule
            .resource_names
            .iter()
            .map(|name| vec![name.clone()])
            .collect(),
    };
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                for resource_names in &names {
                    atoms.push(PolicyRule {
                        verbs: vec![verb.clone()],
                        api_groups: vec![group.clone()],
                        resources: vec![resource.clone()],
                        resource_names: resource_names.clone(),
                        non_resource_urls: Vec::new(),
                    });
                }
            }
        }
    }
    for url in &rule.non_resource_urls {
        for verb in &rule.verbs {
            atoms.push(PolicyRule {
                verbs: vec![verb.clone()],
                non_resource_urls: vec![url.clone()],
                ..PolicyRule::default()
            });
        }
    }
    atoms
}

fn covers(held: &PolicyRule, atom: &PolicyRule) -> bool {
    let has = |values: &[String], wanted: &[String]| {
        wanted
            .iter()
            .all(|wanted| values.iter().any(|value| value == "*" || value == wanted))
    };
    has(&held.verbs, &atom.verbs)
        && has(&held.api_groups, &atom.api_groups)
        && atom.resources.iter().all(|resource| covers_resource(&held.resources, resource))
        && atom.non_resource_urls.iter().all(|path| held.non_resource_urls.iter().any(|url| path_covers(url, path)))
        // A rule for named objects covers no rule for all of them.
        && (held.resource_names.is_empty()
            || (!atom.resource_names.is_empty()
                && atom.resource_names.iter().all(|name| held.resource_names.contains(name))))
}

fn covers_resource(held: &[String], resource: &str) -> bool {
    let subresource = resource.split_once('/').map(|(_, subresource)| subresource);
    held.iter().any(|held| {
        held == "*"
            || held == resource
            || subresource.is_some_and(|wanted| held.strip_prefix("*/").is_some_and(|held| held == wanted))
    })
}
