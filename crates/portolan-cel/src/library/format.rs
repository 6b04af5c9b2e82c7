//! Named formats: `format.named("dns1123Label")`, `format.dns1123Label().validate(text)`.

use super::named_formats as rules;
use super::{Function, Outcome, STRING, global, member, mismatch};
use crate::eval::Context;
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

/// A format that text can be checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedFormat {
    Dns1123Label,
    Dns1123Subdomain,
    Dns1035Label,
    Dns1123LabelPrefix,
    Dns1123SubdomainPrefix,
    Dns1035LabelPrefix,
    QualifiedName,
    LabelValue,
    Uri,
    Uuid,
    Byte,
    Date,
    DateTime,
}

impl NamedFormat {
    const ALL: [NamedFormat; 13] = [
        NamedFormat::Dns1123Label,
        NamedFormat::Dns1123Subdomain,
        NamedFormat::Dns1035Label,
        NamedFormat::Dns1123LabelPrefix,
        NamedFormat::Dns1123SubdomainPrefix,
        NamedFormat::Dns1035LabelPrefix,
        NamedFormat::QualifiedName,
        NamedFormat::LabelValue,
        NamedFormat::Uri,
        NamedFormat::Uuid,
        NamedFormat::Byte,
        NamedFormat::Date,
        NamedFormat::DateTime,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            NamedFormat::Dns1123Label => "dns1123Label",
            NamedFormat::Dns1123Subdomain => "dns1123Subdomain",
            NamedFormat::Dns1035Label => "dns1035Label",
            NamedFormat::Dns1123LabelPrefix => "dns1123LabelPrefix",
            NamedFormat::Dns1123SubdomainPrefix => "dns1123SubdomainPrefix",
            NamedFormat::Dns1035LabelPrefix => "dns1035LabelPrefix",
            NamedFormat::QualifiedName => "qualifiedName",
            NamedFormat::LabelValue => "labelValue",
            NamedFormat::Uri => "uri",
            NamedFormat::Uuid => "uuid",
            NamedFormat::Byte => "byte",
            NamedFormat::Date => "date",
            NamedFormat::DateTime => "datetime",
        }
    }

    /// What is wrong with the text; nothing when it has the format.
    fn flaws(self, text: &str) -> Vec<&'static str> {
        match self {
            NamedFormat::Dns1123Label => rules::dns1123_label(text),
            NamedFormat::Dns1123Subdomain => rules::dns1123_subdomain(text),
            NamedFormat::Dns1035Label => rules::dns1035_label(text),
            // A prefix gets something appended, so a dash at its end is fine.
            NamedFormat::Dns1123LabelPrefix => rules::dns1123_label(&rules::completed(text)),
            NamedFormat::Dns1123SubdomainPrefix => rules::dns1123_subdomain(&rules::completed(text)),
            NamedFormat::Dns1035LabelPrefix => rules::dns1035_label(&rules::completed(text)),
            NamedFormat::QualifiedName => rules::qualified_name(text),
            NamedFormat::LabelValue => rules::label_value(text),
            NamedFormat::Uri => rules::uri(text),
            NamedFormat::Uuid => rules::uuid(text),
            NamedFormat::Byte => rules::base64(text),
            NamedFormat::Date => rules::date(text),
            NamedFormat::DateTime => rules::date_time(text),
        }
    }
}

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
