//! Formats that have a name.

use super::named_formats as rules;

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
    pub(crate) const ALL: [NamedFormat; 13] = [
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
    pub(crate) fn flaws(self, text: &str) -> Vec<&'static str> {
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
