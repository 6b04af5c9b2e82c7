//! `fieldPath` of a rule: a path of fields below its node, such as `.a.b['c.d']`.

use super::super::Schema;

/// The path as errors show it, or `None` if it does not name a field that the schema declares.
pub(super) fn normalize(path: &str, schema: &Schema) -> Option<String> {
    let mut normal = String::new();
    let mut node = schema;
    let mut rest = path;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (name, after) = step(rest)?;
        rest = after;
        if let Some(field) = node.properties.get(&name) {
            if !normal.is_empty() {
                normal.push('.');
            }
            normal.push_str(&name);
            node = field;
        } else {
            node = node.values().filter(|_| node.properties.is_empty())?;
            normal.push_str(&format!("[{name}]"));
        }
    }
    Some(normal)
}

/// The next name, and what follows it.
fn step(rest: &str) -> Option<(String, &str)> {
    if let Some(name) = rest.strip_prefix('.') {
        let end = name.find(['.', '[', ']']).unwrap_or(name.len());
        return (end > 0).then(|| (name[..end].to_owned(), &name[end..]));
    }
    let mut name = String::new();
    let mut characters = rest.strip_prefix("['")?.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => name.push(match characters.next()?.1 {
                'a' => '\u{7}',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\u{b}',
                same @ ('\'' | '\\') => same,
                _ => return None,
            }),
            '\'' => {
                let after = rest["['".len() + at + 1..].strip_prefix(']')?;
                return Some((name, after));
            }
            other => name.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::compile;
    use super::*;

    #[test]
    fn a_path_names_declared_fields_and_entries_of_maps() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "string"}, "c.d": {"type": "string"}}},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
            "l": {"type": "array", "items": {"type": "string"}},
        }});
        let schema = compile(&schema, "").unwrap();
        let table = [
            (".a", Some("a")),
            (".a.b", Some("a.b")),
            (".a['b']", Some("a.b")),
            (".a['c.d']", Some("a.c.d")),
            (".m.key", Some("m[key]")),
            (r".m['it\'s']", Some("m[it's]")),
            (".nope", None),
            (".a.nope", None),
            (".l[0]", None),
            ("a", None),
            (".a.", None),
            (".a['b", None),
            ("", None),
        ];
        for (path, normal) in table {
            assert_eq!(normalize(path, &schema).as_deref(), normal, "{path}");
        }
    }
}
