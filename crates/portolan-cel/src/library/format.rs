//! Named formats: `format.named("dns1123Label")`, `format.dns1123Label().validate(text)`.

use super::{Function, Outcome, STRING, global, member, mismatch};
use crate::context::Context;
use crate::kubernetes::format::NamedFormat;
use crate::types::{Kind, Shape};
use crate::value::Val;

const FORMAT: Shape = Shape::Is(Kind::Format);
const OPTIONAL_FORMAT: Shape = Shape::Optional(&FORMAT);
const FLAWS: Shape = Shape::Optional(&Shape::List(&STRING));

pub(super) const FUNCTIONS: &[Function] = &[
    global("format.named", &[STRING], OPTIONAL_FORMAT, named),
    member("validate", &[FORMAT, STRING], FLAWS, validate),
    global("format.dns1123Label", &[], FORMAT, |_, _| {
        Ok(Val::Format(NamedFormat::Dns1123Label))
    }),
    global("format.dns1123Subdomain", &[], FORMAT, |_, _| {
        Ok(Val::Format(NamedFormat::Dns1123Subdomain))
    }),
    global("format.dns1035Label", &[], FORMAT, |_, _| {
        Ok(Val::Format(NamedFormat::Dns1035Label))
    }),
    global("format.dns1123LabelPrefix", &[], FORMAT, |_, _| {
        Ok(Val::Format(NamedFormat::Dns1123LabelPrefix))
    }),
    global("format.dns1123SubdomainPrefix", &[], FORMAT, |_, _| {
        Ok(Val::Format(NamedFormat::Dns1123SubdomainPrefix))
    }),
    global("format.dns1035LabelPrefix", &[], FORMAT, |_, _| {
        Ok(Val::Format(NamedFormat::Dns1035LabelPrefix))
    }),
    global("format.qualifiedName", &[], FORMAT, |_, _| {
        Ok(Val::Format(NamedFormat::QualifiedName))
    }),
    global("format.labelValue", &[], FORMAT, |_, _| {
        Ok(Val::Format(NamedFormat::LabelValue))
    }),
    global("format.uri", &[], FORMAT, |_, _| {
        Ok(Val::Format(NamedFormat::Uri))
    }),
    global("format.uuid", &[], FORMAT, |_, _| {
        Ok(Val::Format(NamedFormat::Uuid))
    }),
    global("format.byte", &[], FORMAT, |_, _| {
        Ok(Val::Format(NamedFormat::Byte))
    }),
    global("format.date", &[], FORMAT, |_, _| {
        Ok(Val::Format(NamedFormat::Date))
    }),
    global("format.datetime", &[], FORMAT, |_, _| {
        Ok(Val::Format(NamedFormat::DateTime))
    }),
];

fn named(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(name)] = arguments else {
        return Err(mismatch("format.named", arguments));
    };
    let found = NamedFormat::ALL
        .into_iter()
        .find(|format| format.name() == name.as_ref());
    Ok(found.map_or(Val::NONE, |format| Val::some(Val::Format(format))))
}

fn validate(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::Format(format), Val::String(text)] = arguments else {
        return Err(mismatch("validate", arguments));
    };
    context.meter.charge_text(text.len())?;
    let flaws = format.flaws(text);
    if flaws.is_empty() {
        return Ok(Val::NONE);
    }
    Ok(Val::some(Val::list(flaws.into_iter().map(Val::string).collect())))
}
