//! Functions of URLs.

use std::borrow::Cow;
use std::sync::Arc;

use super::{BOOL, Function, Outcome, STRING, global, member, mismatch};
use crate::context::Context;
use crate::error::EvalError;
use crate::kubernetes::url::{Plus, Url, split_port, unescape};
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
