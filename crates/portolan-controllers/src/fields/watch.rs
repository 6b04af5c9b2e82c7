//! Looks at the definitions, again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client};
use portolan_runtime::logging::Operation;
use tokio::sync::mpsc;

use super::{Field, MissingFields};
use crate::health::Outputs;

/// How long a change of a definition may go unnoticed.
const PAUSE: Duration = Duration::from_secs(10);
/// How soon to ask again when the server did not answer.
const RETRY: Duration = Duration::from_secs(1);

/// Tells what is missing, first of all that nothing is or what, and then whenever that changes. Ends when nobody listens.
pub(crate) async fn watch<M: Send + 'static>(
    client: Client,
    outputs: Outputs,
    sender: mpsc::Sender<M>,
    wrap: impl Fn(MissingFields) -> M,
) {
    let definitions = Api::<CustomResourceDefinition>::all(client);
    let names: BTreeSet<&'static str> = Field::ALL.iter().map(|field| field.definition).collect();
    let mut known: BTreeMap<&'static str, (String, MissingFields)> = BTreeMap::new();
    let mut told: Option<MissingFields> = None;
    loop {
        let mut pause = PAUSE;
        for name in &names {
            match look(
                &definitions,
                name,
                known.get(name).map(|(version, _)| version.as_str()),
            )
            .await
            {
                Ok(news) => {
                    outputs.health.failures().reading_works(DEFINITIONS);
                    if let Some(news) = news {
                        known.insert(name, news);
                    }
                }
                // Without permission to read definitions, nothing can be compared.
                Err(kube::Error::Api(status)) if status.code == 403 => {
                    let note = "customresourcedefinitions.apiextensions.k8s.io: get is forbidden, so Portolan cannot check whether \
                                the server drops fields; grant the verb get";
                    tracing::warn!("{note}");
                    outputs.health.note("fields", vec![note.to_owned()]);
                    let _ = sender.send(wrap(MissingFields::default())).await;
                    return;
                }
                Err(error) => {
                    pause = RETRY;
                    outputs.health.failures().reading_failed(operation(name), &error);
                }
            }
        }
        let complete = pause == PAUSE || known.len() == names.len();
        let mut missing_fields = MissingFields::default();
        known
            .values()
            .for_each(|(_, lacking)| missing_fields.extend(lacking.clone()));
        if complete && told.as_ref() != Some(&missing_fields) {
            say(&outputs, &known, &missing_fields);
            if sender.send(wrap(missing_fields.clone())).await.is_err() {
                return;
            }
            told = Some(missing_fields);
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = sender.closed() => return,
        }
    }
}

const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

fn operation(name: &str) -> Operation<'_> {
    Operation {
        verb: "get",
        resource: DEFINITIONS,
        object: name,
    }
}

/// What a definition lacks, unless it is the one that is known. A definition that is not there lacks nothing: its kind is
/// off as a whole.
async fn look(
    definitions: &Api<CustomResourceDefinition>,
    name: &str,
    known: Option<&str>,
) -> kube::Result<Option<(String, MissingFields)>> {
    let metadata = definitions.get_metadata_opt(name).await?;
    let version = metadata.map(|found| {
        let text = |value: Option<String>| value.unwrap_or_default();
        let generation = found.metadata.generation.unwrap_or_default();
        format!("{} {generation}", text(found.metadata.uid))
    });
    let version = version.unwrap_or_default();
    if known == Some(version.as_str()) {
        return Ok(None);
    }
    let missing_fields = match definitions.get_opt(name).await? {
        Some(definition) => MissingFields::of(&definition),
        None => MissingFields::default(),
    };
    Ok(Some((version, missing_fields)))
}

fn say(
    outputs: &Outputs,
    known: &BTreeMap<&'static str, (String, MissingFields)>,
    missing_fields: &MissingFields,
) {
    for field in Field::ALL {
        let is_known = known
            .get(field.definition)
            .is_some_and(|(version, _)| !version.is_empty());
        if is_known {
            outputs
                .metrics
                .field(field.definition, field.path, !missing_fields.has(field));
        }
    }
    let notes: Vec<String> = missing_fields.iter().map(Field::complaint).collect();
    for note in &notes {
        tracing::warn!("{note}");
    }
    outputs.health.note("fields", notes);
}
