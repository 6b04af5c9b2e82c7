//! Property names as identifiers, by Kubernetes' rules.

/// The identifier that rules use for a property, or `None` if they cannot name it.
pub(super) fn escape(name: &str) -> Option<String> {
    if portolan_cel::is_reserved(name) {
        return Some(format!("__{name}__"));
    }
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '_' if rest.next_if_eq(&'_').is_some() => escaped.push_str("__underscores__"),
            '.' => escaped.push_str("__dot__"),
            '-' => escaped.push_str("__dash__"),
            '/' => escaped.push_str("__slash__"),
            '_' | 'a'..='z' | 'A'..='Z' | '0'..='9' => escaped.push(character),
            _ => return None,
        }
    }
    Some(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers_as_kubernetes_documents_it() {
        let table = [
            ("replicas", Some("replicas")),
            ("a_b", Some("a_b")),
            ("x__y", Some("x__underscores__y")),
            ("x___y", Some("x__underscores___y")),
            ("my-prop", Some("my__dash__prop")),
            ("a.b/c", Some("a__dot__b__slash__c")),
            ("namespace", Some("__namespace__")),
            ("in", Some("__in__")),
            ("int", Some("int")),
            ("1st", None),
            ("", None),
            ("naïve", None),
            ("a b", None),
        ];
        for (name, escaped) in table {
            assert_eq!(escape(name).as_deref(), escaped, "{name}");
        }
    }
}
