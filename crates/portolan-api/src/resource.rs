//! `kube::Resource` and serialisation for the kinds whose shape the derive cannot express: those without a
//! `spec`, and those whose `spec` may be missing in a manifest.

/// Implements [`kube::Resource`] for a struct with a `metadata` field, and a `Serialize` that adds
/// `apiVersion` and `kind` in front of the listed fields. A field marked `optional` is left out when it is `None`.
macro_rules! plain_kind {
    ($kind:ident, $scope:ident, $group:expr, $version:expr, $plural:expr, { $($field:ident as $json:literal $($optional:ident)?),* $(,)? }) => {
        impl kube::Resource for $kind {
            type DynamicType = ();
            type Scope = kube::core::$scope;

            fn kind(_: &()) -> std::borrow::Cow<'_, str> {
                stringify!($kind).into()
            }

            fn group(_: &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }

            fn version(_: &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }

            fn plural(_: &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }

        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut object = serializer.serialize_map(None)?;
                object.serialize_entry("apiVersion", &<Self as kube::Resource>::api_version(&()))?;
                object.serialize_entry("kind", stringify!($kind))?;
                object.serialize_entry("metadata", &self.metadata)?;
                $($crate::resource::entry!(object, self.$field, $json $(, $optional)?);)*
                object.end()
            }
        }
    };
}

macro_rules! entry {
    ($object:ident, $value:expr, $json:literal) => {
        $object.serialize_entry($json, &$value)?;
    };
    ($object:ident, $value:expr, $json:literal, optional) => {
        if let Some(value) = &$value {
            $object.serialize_entry($json, value)?;
        }
    };
}

pub(crate) use {entry, plain_kind};
