//! URLs, read the way Go reads the target of a request: an absolute URI or an absolute path, no fragment.

use std::borrow::Cow;

/// The parts of a URL. The path is escaped, the host is not.
#[derive(Debug)]
pub(crate) struct Url {
    text: String,
    pub(crate) scheme: String,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) query: String,
}

impl Url {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn parse(text: &str) -> Result<Url, &'static str> {
        if text.is_empty() {
            return Err("empty");
        }
        if text == "*" {
            return Ok(Url::new(text, "", "", "*", ""));
        }
        if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return Err("control character");
        }
        let (scheme, rest) = split_scheme(text)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if !rest.starts_with('/') {
            // `mailto:x` is an opaque URI; without a scheme only absolute paths are accepted.
            if scheme.is_empty() {
                return Err("neither an absolute URI nor an absolute path");
            }
            return Ok(Url::new(text, scheme, "", "", query));
        }
        let (authority, path) = match rest.strip_prefix("//") {
            // Without a scheme, as in the request line of HTTP, two slashes only start a path.
            Some(after) if !scheme.is_empty() => after.split_at(after.find('/').unwrap_or(after.len())),
            _ => ("", rest),
        };
        let host = read_host(authority)?;
        let path = escape_path(path)?;
        Ok(Url::new(text, scheme, &host, &path, query))
    }

    fn new(text: &str, scheme: &str, host: &str, path: &str, query: &str) -> Url {
        Url {
            text: text.to_owned(),
            scheme: scheme.to_ascii_lowercase(),
            host: host.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
        }
    }
}

fn split_scheme(text: &str) -> Result<(&str, &str), &'static str> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing scheme"),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

/// Host and port without user information.
fn read_host(authority: &str) -> Result<Cow<'_, str>, &'static str> {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (_, after) = match host.strip_prefix('[') {
        Some(inner) => inner.split_once(']').ok_or("missing ] in host")?,
        None => host
            .split_once(':')
            .map_or((host, ""), |(name, _)| (name, &host[name.len()..])),
    };
    let port_valid = after.is_empty()
        || after
            .strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    if !port_valid {
        return Err("invalid port");
    }
    let allowed =
        |byte: u8| byte >= 0x80 || byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&byte);
    if !host.bytes().all(allowed) {
        return Err("invalid character in host");
    }
    unescape(host, Plus::Literal).ok_or("invalid escape in host")
}

/// The path as Go prints it: valid escapes stay, what must be escaped is.
fn escape_path(path: &str) -> Result<String, &'static str> {
    unescape(path, Plus::Literal).ok_or("invalid escape in path")?;
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@%!'()*[]".contains(&byte);
    let mut escaped = String::with_capacity(path.len());
    for byte in path.bytes() {
        if keep(byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(escaped)
}

/// What a plus sign stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plus {
    Literal,
    Space,
}

/// Decodes `%xx`; `None` when an escape is malformed. Bytes that are not UTF-8 are replaced.
pub(crate) fn unescape(text: &str, plus: Plus) -> Option<Cow<'_, str>> {
    if !text.contains('%') && (plus == Plus::Literal || !text.contains('+')) {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let high = char::from(bytes.next()?).to_digit(16)?;
                let low = char::from(bytes.next()?).to_digit(16)?;
                u8::try_from(high * 16 + low).ok()?
            }
            b'+' if plus == Plus::Space => b' ',
            other => other,
        });
    }
    Some(Cow::Owned(String::from_utf8_lossy(&decoded).into_owned()))
}

/// Name and port; brackets around an IPv6 address are dropped.
pub(crate) fn split_port(host: &str) -> (&str, &str) {
    if let Some(inner) = host.strip_prefix('[') {
        let (name, after) = inner.split_once(']').unwrap_or((inner, ""));
        return (name, after.strip_prefix(':').unwrap_or(""));
    }
    host.rsplit_once(':').unwrap_or((host, ""))
}
