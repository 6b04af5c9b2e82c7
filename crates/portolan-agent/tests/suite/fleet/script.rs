//! A random history of a fleet: what is wanted, and the changes that lead there one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value, json};

use super::{Fleet, OBJECTS, api, resource};
use crate::world::config_map;

/// Draws that a seed repeats.
pub(super) struct Draws(TestRng);

impl Draws {
    pub(super) fn new(seed: u64) -> Draws {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Draws(TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.next_u32()).unwrap() % bound
    }
}

/// Of every member: three ManifestWorks and a Work.
const WORKS: [(&str, &str); 4] = [
    ("w0", "ManifestWork"),
    ("w1", "ManifestWork"),
    ("w2", "ManifestWork"),
    ("w3", "Work"),
];
/// Always asks for the object that others ask for at times.
const KEEPER: usize = 0;
/// May be deleted.
const GUEST: usize = 2;
/// Hand an object from one to the other, which one of them asks for at any time.
const ROAMED: [usize; 2] = [1, 3];
const EXTRAS: usize = 3;

/// What is wanted of a fleet.
pub(super) struct Script {
    members: Vec<Member>,
    namespace: String,
    template: Template,
    draws: Draws,
    /// Makes every value another one.
    step: usize,
}

struct Member {
    name: String,
    works: Vec<Work>,
    roaming: usize,
    chosen: bool,
}

struct Work {
    there: bool,
    value: usize,
    extras: BTreeSet<usize>,
    shares: bool,
}

struct Template {
    version: usize,
    extra: bool,
}

/// One write by a user.
pub(super) struct Change {
    kind: &'static str,
    namespace: String,
    name: String,
    what: What,
}

enum What {
    /// It is to have this spec, and is made if it is not there.
    Put(Value),
    Merge(Value),
    Delete,
}

impl Script {
    pub(super) fn new(fleet: &Fleet, seed: u64) -> Script {
        let member = |member: &super::Member| Member {
            name: member.name.clone(),
            works: WORKS
                .iter()
                .enumerate()
                .map(|(number, _)| Work::new(number))
                .collect(),
            roaming: ROAMED[0],
            chosen: true,
        };
        Script {
            members: fleet.members.iter().map(member).collect(),
            namespace: fleet.namespace.clone(),
            template: Template {
                version: 0,
                extra: false,
            },
            draws: Draws::new(seed),
            step: 0,
        }
    }

    /// What there is before anything changes.
    pub(super) fn beginning(&self) -> Vec<Change> {
        let tolerant = json!([{ "operator": "Exists" }]);
        let chosen =
            json!({ "requiredClusterSelector": { "labelSelector": { "matchLabels": { "chosen": "yes" } } } });
        let rings = self.members.iter().enumerate().map(|(number, _)| {
            let selector = json!({ "labelSelector": { "matchLabels": { "ring": format!("r{number}") } } });
            json!({ "groupName": format!("r{number}"), "groupClusterSelector": selector })
        });
        let rings = json!({ "groupStrategy": { "decisionGroups": rings.collect::<Vec<_>>() } });
        let placement = json!({
            "clusterSets": [self.namespace], "predicates": [chosen], "tolerations": tolerant, "decisionStrategy": rings,
        });
        let mut changes = vec![
            self.on_the_hub("Placement", "all", What::Put(placement)),
            self.on_the_hub("ManifestWorkReplicaSet", "app", What::Put(self.replica_set(0))),
        ];
        for member in 0..self.members.len() {
            changes.extend((0..WORKS.len()).map(|work| self.put(member, work, &[])));
        }
        changes
    }

    /// The next step: writes that are made in this order.
    pub(super) fn next(&mut self) -> Vec<Change> {
        self.step += 1;
        let step = self.step;
        let member = self.draws.below(self.members.len());
        match self.draws.below(10) {
            0 => self.hand_over(member),
            1 | 2 => self.come_or_go(member),
            3 => {
                let (extra, strategy) = (self.draws.below(2) == 0, self.draws.below(3));
                self.template = Template { version: step, extra };
                let set = What::Put(self.replica_set(strategy));
                vec![self.on_the_hub("ManifestWorkReplicaSet", "app", set)]
            }
            // The others are always chosen.
            4 => {
                let last = self.members.len() - 1;
                let chosen = !self.members[last].chosen;
                self.members[last].chosen = chosen;
                let label =
                    json!({ "metadata": { "labels": { "chosen": if chosen { "yes" } else { "no" } } } });
                vec![Change {
                    kind: "ManagedCluster",
                    namespace: String::new(),
                    name: self.members[last].name.clone(),
                    what: What::Merge(label),
                }]
            }
            _ => {
                let number = self.draws.below(WORKS.len());
                let (extra, shares) = (self.draws.below(EXTRAS), self.draws.below(2) == 0);
                let work = &mut self.members[member].works[number];
                work.value = step;
                work.shares = shares || number == KEEPER;
                if !work.extras.remove(&extra) {
                    work.extras.insert(extra);
                }
                match work.there {
                    true => vec![self.put(member, number, &[])],
                    false => Vec::new(),
                }
            }
        }
    }

    fn hand_over(&mut self, member: usize) -> Vec<Change> {
        let from = self.members[member].roaming;
        let to = if from == ROAMED[0] { ROAMED[1] } else { ROAMED[0] };
        let taken = self.put(member, to, &["roaming"]);
        self.members[member].roaming = to;
        vec![taken, self.put(member, from, &[])]
    }

    fn come_or_go(&mut self, member: usize) -> Vec<Change> {
        let guest = &mut self.members[member].works[GUEST];
        guest.there = !guest.there;
        match guest.there {
            true => vec![self.put(member, GUEST, &[])],
            false => {
                let mut change = self.put(member, GUEST, &[]);
                change.what = What::Delete;
                vec![change]
            }
        }
    }

    fn on_the_hub(&self, kind: &'static str, name: &str, what: What) -> Change {
        Change {
            kind,
            namespace: self.namespace.clone(),
            name: name.to_owned(),
            what,
        }
    }

    fn replica_set(&self, strategy: usize) -> Value {
        let strategy = match strategy {
            0 => json!({ "type": "All", "all": {} }),
            1 => json!({ "type": "Progressive", "progressive": { "maxConcurrency": 1 } }),
            _ => json!({ "type": "ProgressivePerGroup", "progressivePerGroup": {} }),
        };
        let manifests = self.template.objects();
        let manifests: Vec<Value> = manifests
            .iter()
            .map(|(name, value)| config_map(OBJECTS, name, value))
            .collect();
        json!({
            "manifestWorkTemplate": { "workload": { "manifests": manifests } },
            "placementRefs": [{ "name": "all", "rolloutStrategy": strategy }],
        })
    }

    /// The work as it is to be, with more.
    fn put(&self, member: usize, work: usize, more: &[&str]) -> Change {
        let member = &self.members[member];
        let mut objects = member.objects(work);
        objects.extend(more.iter().map(|name| ((*name).to_owned(), (*name).to_owned())));
        let manifests: Vec<Value> = objects
            .iter()
            .map(|(name, value)| config_map(OBJECTS, name, value))
            .collect();
        let (name, kind) = WORKS[work];
        Change {
            kind,
            namespace: member.name.clone(),
            name: name.to_owned(),
            what: What::Put(json!({ "workload": { "manifests": manifests } })),
        }
    }

    /// Names and values of the objects that are to be on a member.
    pub(super) fn wanted(&self, member: usize) -> BTreeMap<String, String> {
        let member = &self.members[member];
        let mut objects = BTreeMap::new();
        for work in (0..WORKS.len()).filter(|work| member.works[*work].there) {
            objects.extend(member.objects(work));
        }
        if member.chosen {
            objects.extend(self.template.objects());
        }
        objects
    }

    /// Names of objects that a member may get for a moment although they are not wanted there: where a member is given up
    /// and the template is changed right after that, a controller may hear of the second first.
    pub(super) fn passing(&self, member: usize) -> BTreeSet<String> {
        match self.members[member].chosen {
            true => BTreeSet::new(),
            false => self.template.objects().into_keys().collect(),
        }
    }

    /// Names of the works that are to be there for a member.
    pub(super) fn works(&self, member: usize) -> BTreeSet<String> {
        let member = &self.members[member];
        let own = WORKS.iter().zip(&member.works).filter(|(_, work)| work.there);
        let mut names: BTreeSet<String> = own.map(|((name, _), _)| (*name).to_owned()).collect();
        if member.chosen {
            names.insert(format!("{}.app", self.namespace));
        }
        names
    }
}

impl Member {
    fn objects(&self, work: usize) -> BTreeMap<String, String> {
        let (name, _) = WORKS[work];
        let wanted = &self.works[work];
        let mut objects = BTreeMap::from([(format!("{name}-keep"), wanted.value.to_string())]);
        for extra in &wanted.extras {
            objects.insert(format!("{name}-{extra}"), wanted.value.to_string());
        }
        // These say the same wherever they are asked for.
        if wanted.shares {
            objects.insert("shared".to_owned(), "shared".to_owned());
        }
        if self.roaming == work {
            objects.insert("roaming".to_owned(), "roaming".to_owned());
        }
        objects
    }
}

impl Work {
    fn new(number: usize) -> Work {
        Work {
            there: true,
            value: 0,
            extras: BTreeSet::new(),
            shares: number == KEEPER,
        }
    }
}

impl Template {
    fn objects(&self) -> BTreeMap<String, String> {
        let value = self.version.to_string();
        let mut objects = BTreeMap::from([("app-keep".to_owned(), value.clone())]);
        if self.extra {
            objects.insert("app-extra".to_owned(), value);
        }
        objects
    }
}

impl Change {
    /// Makes it, as often as it takes until the hub has said yes.
    pub(super) async fn carry_out(&self, hub: &Client) {
        while !self.attempt(hub).await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn attempt(&self, hub: &Client) -> bool {
        let api = api(hub.clone(), self.kind, &self.namespace);
        let patch = match &self.what {
            What::Merge(patch) => patch.clone(),
            What::Delete => {
                return match api.get_opt(&self.name).await {
                    Ok(None) => true,
                    // Of this very version: Kubernetes deletes an object at once that it has seen without finalizers,
                    // though an agent may have added one since, and what that has applied would be left.
                    Ok(Some(object)) => {
                        let preconditions = Preconditions {
                            resource_version: object.metadata.resource_version,
                            uid: object.metadata.uid,
                        };
                        let how = DeleteParams::default().preconditions(preconditions);
                        api.delete(&self.name, &how).await.is_ok()
                    }
                    Err(_) => false,
                };
            }
            What::Put(spec) => match api.get_opt(&self.name).await {
                Ok(None) => {
                    let object = json!({
                        "apiVersion": resource(self.kind).api_version, "kind": self.kind,
                        "metadata": { "name": self.name }, "spec": spec,
                    });
                    let object = serde_json::from_value(object).unwrap();
                    return api.create(&PostParams::default(), &object).await.is_ok();
                }
                // One that is going is waited for.
                Ok(Some(object)) if object.metadata.deletion_timestamp.is_some() => return false,
                Ok(Some(_)) => json!({ "spec": spec }),
                Err(_) => return false,
            },
        };
        let how = PatchParams::default();
        api.patch(&self.name, &how, &Patch::Merge(patch)).await.is_ok()
    }
}
