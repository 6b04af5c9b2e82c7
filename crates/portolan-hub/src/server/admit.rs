//! Takes writes to those who have a say in them.

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::call::Call;
use super::status::{Answer, Failure};
use super::{Core, metadata};
use crate::access::rbac::Target;
use crate::admission::{AdmissionRequest, Operation, Refusal, User};
use crate::kinds::encoding;
use crate::schema;

impl Core {
    /// Lets everybody change an object before it is looked at. What comes back is pruned again, without a word: the
    /// client did not write it.
    pub(super) async fn mutate(
        &self,
        call: &Call,
        operation: Operation,
        old: Option<&Value>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Answer<()> {
        if self.admission.is_empty() {
            return Ok(());
        }
        let name = metadata::text(object, "name").to_owned();
        let request = request(call, operation, &name, old, call.dry_run()?);
        let admitted = self.admission.mutate(&request, object, warnings).await;
        admitted.map_err(|refusal| failure(call, &name, refusal))?;
        let resource = &call.resource;
        let checked = metadata::check_types(object).and_then(|()| encoding::check(resource, object));
        checked.map_err(|why| {
            let message = format!("admission gave {} that cannot be read: {why}", resource.kind);
            Failure::internal(message)
        })?;
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.as_str().into();
        schema::prune(&resource.schema, object);
        metadata::tidy(object);
        Ok(())
    }

    /// Asks everybody whether what would be stored may be.
    pub(super) async fn admit(
        &self,
        call: &Call,
        operation: Operation,
        old: Option<&Value>,
        object: &Value,
        warnings: &mut Vec<String>,
    ) -> Answer<()> {
        if self.admission.is_empty() {
            return Ok(());
        }
        let name = metadata::text(object, "name");
        let request = request(call, operation, name, old, call.dry_run()?);
        let admitted = self.admission.validate(&request, Some(object), warnings).await;
        admitted.map_err(|refusal| failure(call, name, refusal))?;
        for right in self.admission.rights(&request, object) {
            let target = Target::Resource {
                group: &right.group,
                resource: &right.resource,
                subresource: "",
                namespace: &right.namespace,
                name: &right.name,
            };
            self.authorize(&call.identity, &right.verb, target)?;
        }
        Ok(())
    }

    /// Asks everybody whether an object may be deleted.
    pub(super) async fn admit_deletion(
        &self,
        call: &Call,
        old: &Value,
        dry_run: bool,
        warnings: &mut Vec<String>,
    ) -> Answer<()> {
        if self.admission.is_empty() {
            return Ok(());
        }
        let name = metadata::text(old, "name");
        let request = request(call, Operation::Delete, name, Some(old), dry_run);
        let admitted = self.admission.validate(&request, None, warnings).await;
        admitted.map_err(|refusal| failure(call, name, refusal))
    }
}

fn request(
    call: &Call,
    operation: Operation,
    name: &str,
    old: Option<&Value>,
    dry_run: bool,
) -> AdmissionRequest {
    let (resource, identity) = (&call.resource, &call.identity);
    AdmissionRequest {
        operation,
        group: resource.group.clone(),
        version: resource.version.clone(),
        kind: resource.kind.clone(),
        resource: resource.plural.clone(),
        subresource: call.subresource().to_owned(),
        namespace: call.namespace().to_owned(),
        name: name.to_owned(),
        user: User {
            name: identity.user.clone(),
            groups: identity.groups.clone(),
            uid: identity.uid.clone(),
            extra: identity.extra.clone(),
        },
        old: old.cloned(),
        dry_run,
        options: options(call, operation),
    }
}

/// The options of the request as an object of their kind.
fn options(call: &Call, operation: Operation) -> Value {
    let kind = match operation {
        Operation::Delete => "DeleteOptions",
        Operation::Create if call.method == Method::POST => "CreateOptions",
        _ if call.method == Method::PATCH => "PatchOptions",
        _ => "UpdateOptions",
    };
    let body = match operation {
        Operation::Delete => serde_json::from_slice(&call.body).ok(),
        _ => None,
    };
    let mut options: Map<String, Value> = body.unwrap_or_default();
    for field in ["fieldManager", "fieldValidation", "propagationPolicy"] {
        if let Some(value) = call.query.get(field) {
            options.insert(field.into(), value.into());
        }
    }
    if let Some(value) = call.query.get("dryRun") {
        options.insert("dryRun".into(), json!([value]));
    }
    if call.query.get("force").is_some() {
        options.insert("force".into(), call.query.flag("force").into());
    }
    options.insert("apiVersion".into(), "meta.k8s.io/v1".into());
    options.insert("kind".into(), kind.into());
    options.into()
}

fn failure(call: &Call, name: &str, refusal: Refusal) -> Failure {
    let code = StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::FORBIDDEN);
    // Clients name an invalid object by its kind, and every other one by its resource.
    let is_invalid = refusal.reason == "Invalid";
    let mut failure = Failure::worded(code, refusal.reason, refusal.message).about(&call.resource, name);
    if is_invalid {
        failure = failure.with("kind", call.resource.kind.as_str().into());
    }
    match refusal.causes.as_slice() {
        [] => failure,
        causes => failure.with_causes(causes.into()),
    }
}
