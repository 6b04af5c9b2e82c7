//! Which objects of a work an option means.

use std::fmt;

use super::ResourceIdentifier;

impl ResourceIdentifier {
    /// Whether it names this object. Name and namespace may have `*` in them.
    pub fn names(&self, group: &str, resource: &str, namespace: &str, name: &str) -> bool {
        self.group == group
            && self.resource == resource
            && fits(&self.name, name)
            && fits(&self.namespace, namespace)
    }
}

/// As in a manifest: `{group: apps, resource: deployments, namespace: default, name: web}`.
impl fmt::Display for ResourceIdentifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            group,
            resource,
            name,
            namespace,
        } = self;
        let fields = [
            ("group", group),
            ("resource", resource),
            ("namespace", namespace),
            ("name", name),
        ];
        let fields = fields.iter().filter(|(_, text)| !text.is_empty());
        let fields: Vec<String> = fields.map(|(field, text)| format!("{field}: {text}")).collect();
        write!(formatter, "{{{}}}", fields.join(", "))
    }
}

/// Whether the text has the parts of the pattern in order, with anything where it has a `*`.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    // The first place of each part is the best one, so that the text is read once: nothing is tried again.
    for part in parts.filter(|part| !part.is_empty()) {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text, expected) in [
            ("web", "web", true),
            ("web", "web-1", false),
            ("*", "", true),
            ("web-*", "web-1", true),
            ("*-a-*", "x-a-b", true),
            ("a*a", "a", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "acb", false),
            ("a**c", "abc", true),
            ("*a*a*a*", "aa", false),
            ("*aab*", "aaab", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn an_identifier_is_written_as_in_a_manifest() {
        let identifier = ResourceIdentifier {
            resource: "configmaps".to_owned(),
            name: "a".to_owned(),
            ..ResourceIdentifier::default()
        };
        assert_eq!(identifier.to_string(), "{resource: configmaps, name: a}");
    }
}
