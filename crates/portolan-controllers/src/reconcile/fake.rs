//! A server for tests of keepers: objects by name, versions, merge patches, and watches that lag behind.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use portolan_api::reading::Unreadable;
use portolan_runtime::watch::{Delta, Key};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::Failure;

type Id = (String, String, String);

/// Objects of all kinds. Whatever changes becomes an event for somebody to deliver.
#[derive(Debug, Default)]
pub(crate) struct Server {
    objects: BTreeMap<Id, Value>,
    version: u64,
    /// What watches have not delivered yet.
    pub(crate) events: VecDeque<Event>,
    /// Writes that changed something.
    pub(crate) writes: usize,
}

/// One event of a watch.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) gone: bool,
    pub(crate) object: Value,
}

/// What a patch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Main,
    Status,
}

pub(crate) trait Kind: Resource<DynamicType = ()> + Serialize + DeserializeOwned {}
impl<K: Resource<DynamicType = ()> + Serialize + DeserializeOwned> Kind for K {}

impl Server {
    /// Creates or replaces an object, as a user would.
    pub(crate) fn put<K: Kind>(&mut self, object: &K) {
        let id = id::<K>(
            object.meta().namespace.as_deref(),
            object.meta().name.as_deref().unwrap(),
        );
        self.store(id, serde_json::to_value(object).unwrap());
    }

    pub(crate) fn create<K: Kind>(&mut self, object: &K) -> Result<Arc<K>, Failure> {
        let id = id::<K>(
            object.meta().namespace.as_deref(),
            object.meta().name.as_deref().unwrap(),
        );
        if self.objects.contains_key(&id) {
            return Err(Failure::Conflict);
        }
        let mut object = serde_json::to_value(object).unwrap();
        object.as_object_mut().unwrap().remove("status");
        self.store(id.clone(), object);
        Ok(self.read(&id))
    }

    pub(crate) fn patch<K: Kind>(
        &mut self,
        namespace: &str,
        name: &str,
        part: Part,
        patch: &Value,
    ) -> Result<Arc<K>, Failure> {
        let id = id::<K>(Some(namespace), name);
        let Some(old) = self.objects.get(&id) else {
            return Err(Failure::Missing);
        };
        if patch["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"] {
            return Err(Failure::Conflict);
        }
        let mut new = old.clone();
        let mut patch = patch.clone();
        match part {
            Part::Main => drop(patch.as_object_mut().unwrap().remove("status")),
            Part::Status => patch.as_object_mut().unwrap().retain(|key, _| key == "status"),
        }
        merge(&mut new, &patch);
        if new != *old {
            self.store(id.clone(), new);
        }
        Ok(self.read(&id))
    }

    pub(crate) fn delete<K: Kind>(&mut self, namespace: &str, name: &str) -> bool {
        let Some(object) = self.objects.remove(&id::<K>(Some(namespace), name)) else {
            return false;
        };
        self.version += 1;
        self.writes += 1;
        self.events.push_back(Event {
            kind: K::kind(&()).into_owned(),
            gone: true,
            object,
        });
        true
    }

    pub(crate) fn get<K: Kind>(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        let id = id::<K>(Some(namespace), name);
        self.objects.contains_key(&id).then(|| self.read(&id))
    }

    pub(crate) fn list<K: Kind>(&self) -> Vec<K> {
        let kind = K::kind(&());
        let objects = self.objects.iter().filter(|((of, ..), _)| *of == kind);
        objects
            .map(|(_, object)| serde_json::from_value(object.clone()).unwrap())
            .collect()
    }

    fn store(&mut self, id: Id, mut object: Value) {
        self.version += 1;
        self.writes += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.events.push_back(Event {
            kind: id.0.clone(),
            gone: false,
            object: object.clone(),
        });
        self.objects.insert(id, object);
    }

    fn read<K: Kind>(&self, id: &Id) -> Arc<K> {
        Arc::new(serde_json::from_value(self.objects[id].clone()).unwrap())
    }
}

impl Event {
    /// The event as a watch of its kind says it.
    pub(crate) fn delta<K: Kind>(&self) -> Delta<K> {
        let object: K = serde_json::from_value(self.object.clone()).unwrap();
        match self.gone {
            true => Delta::Deleted(Key::of(object.meta())),
            false => Delta::Applied(Arc::new(object)),
        }
    }
}

fn id<K: Kind>(namespace: Option<&str>, name: &str) -> Id {
    (
        K::kind(&()).into_owned(),
        namespace.unwrap_or_default().to_owned(),
        name.to_owned(),
    )
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let target = target.as_object_mut().unwrap();
    for (key, value) in patch {
        match value {
            Value::Null => drop(target.remove(key)),
            value => merge(target.entry(key.clone()).or_insert(Value::Null), value),
        }
    }
}

/// A point in time, in seconds.
pub(crate) fn second(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap()
}

/// An object that cannot be read.
pub(crate) fn cannot_be_read(namespace: &str, name: &str) -> Arc<Unreadable> {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
        ..ObjectMeta::default()
    };
    Arc::new(Unreadable {
        metadata,
        field: "status".to_owned(),
        problem: "invalid type: integer `3`, expected struct Status".to_owned(),
    })
}

/// Reads an object from JSON.
pub(crate) fn object<K: DeserializeOwned>(json: Value) -> K {
    serde_json::from_value(json).unwrap()
}

/// The embedded hub, for tests of keepers with real watches on paused time.
pub(crate) mod live {
    use std::sync::Arc;
    use std::time::Duration;

    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    use kube::api::PostParams;
    use kube::{Api, Client};
    use portolan_hub::Hub;
    use portolan_runtime::Clock;
    use tokio::sync::Semaphore;
    use tokio::time::{Instant, sleep};

    use crate::health::Outputs;
    use crate::reconcile::RequestContext;
    use crate::settings::Settings;

    /// A hub with all our kinds.
    pub(crate) async fn hub() -> (Hub, Client) {
        let hub = Hub::builder().start().await.unwrap();
        let client = Client::new(hub.service(), "default");
        for definition in portolan_api::crds() {
            install(&client, &definition).await;
        }
        (hub, client)
    }

    pub(crate) async fn install(client: &Client, definition: &CustomResourceDefinition) {
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        definitions
            .create(&PostParams::default(), definition)
            .await
            .unwrap();
    }

    /// A clock that goes with tokio's.
    pub(crate) fn clock() -> Clock {
        let start = Instant::now();
        Clock::new(move || super::second(0) + start.elapsed())
    }

    /// Few requests at a time, so that there is something to wait for.
    pub(crate) fn context(settings: &Settings) -> RequestContext {
        RequestContext::new(settings, Arc::new(Semaphore::new(4)), &Outputs::default())
    }

    /// Long enough for anything that is going to happen to have happened.
    pub(crate) async fn rest() {
        sleep(Duration::from_secs(300)).await;
    }

    /// Waits until something is so. Time is paused, so this is a number of looks and not of seconds.
    pub(crate) async fn eventually(what: &str, is_so: impl AsyncFn() -> bool) {
        for _ in 0..20_000 {
            if is_so().await {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
        panic!("it never happened: {what}");
    }
}
