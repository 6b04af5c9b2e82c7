//! What objects may be called.

/// The rule a kind's names follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// DNS subdomain: the usual one.
    Subdomain,
    /// DNS label.
    Label,
    /// DNS label that starts with a letter.
    LabelFromLetter,
    /// Anything that can be one part of a path.
    PathSegment,
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
    and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LETTER: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

impl Rule {
    /// Everything that is wrong with `name`, in Kubernetes' words.
    pub(crate) fn check(self, name: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        let most = if self == Rule::Subdomain { 253 } else { 63 };
        if self != Rule::PathSegment && name.len() > most {
            wrong.push(format!("must be no more than {most} bytes"));
        }
        match self {
            Rule::Subdomain if !name.split('.').all(is_label) => wrong.push(SUBDOMAIN.into()),
            Rule::Label if !is_label(name) => wrong.push(LABEL.into()),
            Rule::LabelFromLetter if !is_label(name) || name.starts_with(|c: char| c.is_ascii_digit()) => {
                wrong.push(LETTER.into());
            }
            Rule::PathSegment => {
                if name == "." || name == ".." {
                    wrong.push(format!("may not be '{name}'"));
                }
                wrong.extend(
                    ['/', '%']
                        .iter()
                        .filter(|c| name.contains(**c))
                        .map(|c| format!("may not contain '{c}'")),
                );
            }
            _ => {}
        }
        wrong
    }
}

/// A lowercase RFC 1123 label, of any length.
pub(crate) fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// The key of a label or annotation: an optional prefix and a name.
pub(crate) fn is_qualified(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    prefix.is_none_or(|prefix| prefix.len() <= 253 && prefix.split('.').all(is_label))
        && !name.is_empty()
        && is_label_value(name)
}

/// The value of a label: empty, or up to 63 characters.
pub(crate) fn is_label_value(value: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    value.len() <= 63
        && value.chars().all(inner)
        && edge(value.chars().next())
        && edge(value.chars().next_back())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_takes_its_names() {
        assert!(Rule::Subdomain.check("a.b-c.d").is_empty());
        assert!(!Rule::Subdomain.check("a..b").is_empty());
        assert!(!Rule::Subdomain.check("A").is_empty());
        assert!(!Rule::Label.check("a.b").is_empty());
        assert!(!Rule::LabelFromLetter.check("1a").is_empty());
        assert!(Rule::PathSegment.check("system:node").is_empty());
        assert_eq!(Rule::Label.check(&"a".repeat(64)).len(), 1);
        assert!(is_qualified("example.com/name") && !is_qualified("/name") && !is_qualified("a/b/c"));
    }
}
