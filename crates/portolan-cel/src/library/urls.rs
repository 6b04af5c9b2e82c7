//! URLs, read the way Go reads the target of a request: an absolute URI or an absolute path, no fragment.

use std::borrow::Cow;
use std::sync::Arc;

use super::{BOOL, Function, Outcome, STRING, global, member, mismatch};
use crate::error::EvalError;
use crate::eval::Context;
use crate::types::{Kind, Shape};
use crate::value::{Key, Map, Val};

const URL: Shape = Shape::Is(Kind::Url);
const QUERY: Shape = Shape::Map(&STRING, &Shape::List(&STRING));

pub(super) const FUNCTIONS: &[Function] = &[
    global("url", &[STRING], URL, url),
    global("isURL", &[STRING], BOOL, is_url),
    member("getScheme", &[URL], STRING, |context, arguments| {
        part(context, "getScheme", arguments, |url| &url.scheme)
    }),
    member("getHost", &[URL], STRING, |context, arguments| {
        part(context, "getHost", arguments, |url| &url.host)
    }),
    member("getHostname", &[URL], STRING, |context, arguments| {
        part(context, "getHostname", arguments, |url| split_port(&url.host).0)
    }),
    member("getPort", &[URL], STRING, |context, arguments| {
        part(context, "getPort", arguments, |url| split_port(&url.host).1)
    }),
    member("getEscapedPath", &[URL], STRING, |context, arguments| {
        part(context, "getEscapedPath", arguments, |url| &url.path)
    }),
    member("getQuery", &[URL], QUERY, get_query),
];

/// The parts of a URL. The path is escaped, the host is not.
#[derive(Debug)]
pub(crate) struct Url {
    text: String,
    scheme: String,
    host: String,
    path: String,
    query: String,
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Plus {
    Literal,
    Space,
}

/// Decodes `%xx`; `None` when an escape is malformed. Bytes that are not UTF-8 are replaced.
fn unescape(text: &str, plus: Plus) -> Option<Cow<'_, str>> {
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
fn split_port(host: &str) -> (&str, &str) {
    if let Some(inner) = host.strip_prefix('[') {
        let (name, after) = inner.split_once(']').unwrap_or((inner, ""));
        return (name, after.strip_prefix(':').unwrap_or(""));
    }
    host.rsplit_once(':').unwrap_or((host, ""))
}

fn url(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("url", arguments));
    };
    context.meter.charge_text(text.len())?;
    let parsed = Url::parse(text).map_err(|reason| EvalError::invalid("url", text, reason))?;
    Ok(Val::Url(Arc::new(parsed)))
}

fn is_url(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("isURL", arguments));
    };
    context.meter.charge_text(text.len())?;
    Ok(Val::Bool(Url::parse(text).is_ok()))
}

fn part(
    context: &mut Context<'_, '_>,
    function: &'static str,
    arguments: &[Val],
    part: fn(&Url) -> &str,
) -> Outcome {
    let [Val::Url(url)] = arguments else {
        return Err(mismatch(function, arguments));
    };
    let part = part(url);
    context.meter.charge_text(part.len())?;
    Ok(Val::string(part))
}

/// Every name with its values in order; pairs that cannot be decoded are left out.
fn get_query(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::Url(url)] = arguments else {
        return Err(mismatch("getQuery", arguments));
    };
    context.meter.charge_text(url.query.len())?;
    let mut pairs: Vec<(Cow<'_, str>, Cow<'_, str>)> = Vec::new();
    for pair in url
        .query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
    {
        context.meter.charge(1)?;
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Some(name), Some(value)) = (unescape(name, Plus::Space), unescape(value, Plus::Space)) {
            pairs.push((name, value));
        }
    }
    // The sort is stable, so the values of a name keep their order.
    pairs.sort_by(|left, right| left.0.cmp(&right.0));
    let groups = pairs.chunk_by(|left, right| left.0 == right.0).map(|group| {
        let values = group
            .iter()
            .map(|(_, value)| Val::string(value.as_ref()))
            .collect();
        (Key::String(group[0].0.as_ref().into()), Val::list(values))
    });
    Ok(Val::Map(Arc::new(Map::last_wins(groups.collect()))))
}
