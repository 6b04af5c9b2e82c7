//! Fields that hold bytes as base64. Typed clients cannot read an object, nor a list with it, where one of them is broken.

use serde_json::Value;

use super::Resource;

/// Whether the fields with bytes can be decoded; the answer has the words of Go's decoder.
pub(crate) fn check(resource: &Resource, object: &Value) -> Result<(), String> {
    let field = match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Secret") => "data",
        ("", "ConfigMap") => "binaryData",
        _ => return Ok(()),
    };
    let fields = object.get(field).and_then(Value::as_object);
    let texts = fields
        .into_iter()
        .flatten()
        .filter_map(|(_, value)| value.as_str());
    match texts.filter_map(illegal_byte).next() {
        Some(at) => Err(format!("illegal base64 data at input byte {at}")),
        None => Ok(()),
    }
}

/// Where a text stops being base64 with padding. Ends of lines are passed over.
fn illegal_byte(text: &str) -> Option<usize> {
    let mut bytes = text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| !b"\r\n".contains(byte));
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    let mut in_group = 0;
    while let Some((at, byte)) = bytes.next() {
        if is_letter(byte) {
            in_group = (in_group + 1) % 4;
            continue;
        }
        // Padding fills the last group of two or three letters, and nothing follows it.
        let padding = match (byte, in_group) {
            (b'=', 2) => match bytes.next() {
                Some((_, b'=')) => true,
                Some((at, _)) => return Some(at),
                None => return Some(text.len()),
            },
            (b'=', 3) => true,
            _ => false,
        };
        return if padding {
            bytes.next().map(|(at, _)| at)
        } else {
            Some(at)
        };
    }
    (in_group != 0).then(|| text.len() - in_group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_base64_is_found_where_it_breaks() {
        for (text, at) in [
            ("", None),
            ("YQ==", None),
            ("YWI=", None),
            ("YWJj", None),
            ("YW\nJj\r\n", None),
            ("not base64!", Some(3)),
            ("!", Some(0)),
            ("YQ", Some(0)),
            ("YWJjYQ", Some(4)),
            ("YQ=", Some(3)),
            ("=", Some(0)),
            ("YWI=YWI=", Some(4)),
            ("YW-j", Some(2)),
        ] {
            assert_eq!(illegal_byte(text), at, "{text:?}");
        }
    }
}
