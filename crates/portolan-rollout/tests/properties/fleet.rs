//! A fleet whose clusters take the workload up, fail, go away and come back, driven by generated turns.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use portolan_api::work::{
    MandatoryDecisionGroup, RolloutConfig, RolloutProgressive, RolloutProgressivePerGroup, RolloutStrategy,
    RolloutType,
};
use portolan_check::rollout::{Budget, Member, Moment, Progress};
use portolan_rollout::{Existing, GroupKey, Groups, Input, Plan, Status, Strategy, plan};
use proptest::prelude::{Just, Strategy as Generate};
use proptest::prop_oneof;

/// Seconds between two turns.
const TURN: i64 = 10;

/// A strategy, in numbers.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) kind: RolloutType,
    pub(crate) slots: Option<usize>,
    pub(crate) failures: usize,
    pub(crate) soak: i64,
    pub(crate) deadline: Option<i64>,
    pub(crate) mandatory: Option<i32>,
}

impl Setting {
    pub(crate) fn per_group(failures: usize) -> Setting {
        Setting {
            kind: RolloutType::ProgressivePerGroup,
            slots: None,
            failures,
            soak: 0,
            deadline: None,
            mandatory: None,
        }
    }

    pub(crate) fn strategy(&self) -> Strategy {
        let config = RolloutConfig {
            min_success_time: Some(format!("{}s", self.soak)),
            progress_deadline: Some(
                self.deadline
                    .map_or("None".to_owned(), |limit| format!("{limit}s")),
            ),
            max_failures: Some(number(self.failures)),
            timeout: None,
        };
        let mandatory: Vec<MandatoryDecisionGroup> = self
            .mandatory
            .iter()
            .map(|index| MandatoryDecisionGroup {
                group_name: None,
                group_index: Some(*index),
            })
            .collect();
        let strategy = RolloutStrategy {
            r#type: Some(self.kind),
            all: None,
            progressive: Some(RolloutProgressive {
                config: config.clone(),
                mandatory_decision_groups: mandatory.clone(),
                max_concurrency: self.slots.map(number),
            }),
            progressive_per_group: Some(RolloutProgressivePerGroup {
                config,
                mandatory_decision_groups: mandatory,
            }),
        };
        Strategy::new(&strategy, "strategy").expect("numbers are accepted")
    }

    fn is_mandatory(&self, group: i32) -> bool {
        self.kind != RolloutType::All && self.mandatory == Some(group)
    }
}

fn number(number: usize) -> IntOrString {
    IntOrString::Int(i32::try_from(number).expect("a small number"))
}

pub(crate) fn settings() -> impl Generate<Value = Setting> {
    let kind = prop_oneof![
        1 => Just(RolloutType::All),
        4 => Just(RolloutType::Progressive),
        4 => Just(RolloutType::ProgressivePerGroup),
    ];
    let deadline = proptest::option::of(prop_oneof![Just(0i64), Just(20), Just(60)]);
    let mandatory = proptest::option::of(0i32..3);
    (
        kind,
        proptest::option::of(0usize..6),
        0usize..4,
        prop_oneof![Just(0i64), Just(15)],
        deadline,
        mandatory,
    )
        .prop_map(|(kind, slots, failures, soak, deadline, mandatory)| Setting {
            kind,
            slots,
            failures,
            soak,
            deadline,
            mandatory,
        })
}

/// What the workload does on a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    /// It works after so many turns.
    Succeeds(u8),
    /// It fails at once and stays so.
    Fails,
    /// It is never taken up.
    Hangs,
}

pub(crate) fn fates() -> impl Generate<Value = Vec<Fate>> {
    let fate = prop_oneof![
        5 => (0u8..4).prop_map(Fate::Succeeds),
        1 => Just(Fate::Fails),
        1 => Just(Fate::Hangs),
    ];
    proptest::collection::vec(fate, 12)
}

/// What happens between two looks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    Wait,
    /// A cluster joins a group, or moves to it.
    Join(usize, i32),
    Leave(usize),
    /// Every cluster moves on by one group.
    Regroup,
    Offline(usize),
    Back(usize),
}

pub(crate) fn turns() -> impl Generate<Value = Vec<Turn>> {
    let turn = prop_oneof![
        5 => Just(Turn::Wait),
        2 => (0usize..12, 0i32..4).prop_map(|(cluster, group)| Turn::Join(cluster, group)),
        1 => (0usize..12).prop_map(Turn::Leave),
        1 => Just(Turn::Regroup),
        1 => (0usize..12).prop_map(Turn::Offline),
        1 => (0usize..12).prop_map(Turn::Back),
    ];
    proptest::collection::vec(turn, 0..40)
}

/// What a cluster has.
#[derive(Clone, Debug)]
struct Work {
    status: Status,
    since: i64,
    group: i32,
    turns: u8,
}

/// The clusters, their groups and their works.
#[derive(Debug)]
pub(crate) struct Fleet {
    setting: Setting,
    strategy: Strategy,
    fates: BTreeMap<String, Fate>,
    groups: BTreeMap<String, i32>,
    works: BTreeMap<String, Work>,
    offline: BTreeSet<String>,
    now: i64,
}

fn name(number: usize) -> String {
    format!("c{number:02}")
}

impl Fleet {
    pub(crate) fn new(setting: Setting, fates: &[Fate]) -> Fleet {
        let names = || (0..fates.len()).map(name);
        Fleet {
            strategy: setting.strategy(),
            setting,
            fates: names().zip(fates.iter().copied()).collect(),
            groups: names()
                .take(9)
                .enumerate()
                .map(|(at, name)| (name, i32::try_from(at / 3).expect("a small number")))
                .collect(),
            works: BTreeMap::new(),
            offline: BTreeSet::new(),
            now: 1_000,
        }
    }

    /// Everybody can be reached again.
    pub(crate) fn recover(&mut self) {
        self.offline.clear();
    }

    pub(crate) fn is_done(&self) -> bool {
        self.groups.keys().all(|name| {
            self.works
                .get(name)
                .is_some_and(|work| work.status == Status::Succeeded)
        })
    }

    pub(crate) fn run(&mut self, turns: &[Turn]) -> Vec<Moment> {
        turns.iter().map(|turn| self.turn(*turn)).collect()
    }

    fn turn(&mut self, turn: Turn) -> Moment {
        match turn {
            Turn::Wait => {}
            Turn::Join(cluster, group) => drop(self.groups.insert(name(cluster), group)),
            Turn::Leave(cluster) => drop(self.groups.remove(&name(cluster))),
            Turn::Regroup => self
                .groups
                .values_mut()
                .for_each(|group| *group = (*group + 1) % 4),
            Turn::Offline(cluster) => drop(self.offline.insert(name(cluster))),
            Turn::Back(cluster) => drop(self.offline.remove(&name(cluster))),
        }
        self.now += TURN;
        self.progress();
        let answer = self.ask();
        let moment = self.moment(&answer);
        self.carry_out(&answer);
        moment
    }

    /// Clusters that can be reached go on.
    fn progress(&mut self) {
        for (name, work) in self
            .works
            .iter_mut()
            .filter(|(name, _)| !self.offline.contains(*name))
        {
            work.turns = work.turns.saturating_add(1);
            let status = match self.fates[name] {
                Fate::Succeeds(after) if work.turns > after => Status::Succeeded,
                Fate::Succeeds(_) => Status::Progressing,
                Fate::Fails => Status::Failed,
                Fate::Hangs => Status::ToApply,
            };
            if status != work.status {
                (work.status, work.since) = (status, self.now);
            }
        }
    }

    fn groups(&self) -> Groups {
        let mut groups = Groups::new();
        for (name, group) in &self.groups {
            groups.add(GroupKey::new("", *group), [name.clone()]);
        }
        groups
    }

    fn ask(&self) -> Plan {
        let existing: Vec<Existing> = self
            .works
            .iter()
            .map(|(name, work)| Existing {
                cluster_name: name.clone(),
                group_key: Some(GroupKey::new("", work.group)),
                status: work.status,
                last_transition_time: Timestamp::from_second(work.since).ok(),
                first_report_time: None,
            })
            .collect();
        let input = Input {
            groups: &self.groups(),
            existing: &existing,
            unreachable: &self.offline,
            now: Timestamp::from_second(self.now).expect("a time"),
        };
        plan(&self.strategy, &input).expect("indexes are accepted")
    }

    fn carry_out(&mut self, answer: &Plan) {
        for removed in &answer.clusters_removed {
            self.works.remove(&removed.cluster_name);
        }
        for name in self.started(answer) {
            let group = self.groups[&name];
            let work = Work {
                status: Status::ToApply,
                since: self.now,
                group,
                turns: 0,
            };
            self.works.insert(name, work);
        }
    }

    fn started(&self, answer: &Plan) -> BTreeSet<String> {
        let names = answer
            .clusters_to_rollout
            .iter()
            .map(|cluster| cluster.cluster_name.clone());
        names.filter(|name| !self.works.contains_key(name)).collect()
    }

    fn moment(&self, answer: &Plan) -> Moment {
        let members = self.groups.iter().map(|(name, group)| {
            let member = Member {
                group: *group,
                is_mandatory: self.setting.is_mandatory(*group),
                progress: self
                    .works
                    .get(name)
                    .map_or(Progress::Without, |work| self.judge(work)),
                is_reachable: !self.offline.contains(name),
            };
            (name.clone(), member)
        });
        let size = |group: i32| self.groups.values().filter(|other| **other == group).count();
        let outside = self
            .groups
            .values()
            .filter(|group| !self.setting.is_mandatory(**group))
            .count();
        let limit = |total: usize| self.setting.failures.min(total);
        let (slots, budget) = match self.setting.kind {
            RolloutType::All => (None, Budget::Unlimited),
            RolloutType::Progressive => {
                let slots = self.setting.slots.filter(|slots| *slots > 0).unwrap_or(outside);
                (Some(slots.min(outside)), Budget::Fleet(limit(self.groups.len())))
            }
            RolloutType::ProgressivePerGroup => {
                let budgets = self
                    .groups
                    .values()
                    .map(|group| (*group, limit(size(*group))))
                    .collect();
                (None, Budget::PerGroup(budgets))
            }
        };
        Moment {
            members: members.collect(),
            started: self.started(answer),
            slots,
            budget,
        }
    }

    /// Deadlines and soak times, judged a second time.
    fn judge(&self, work: &Work) -> Progress {
        let late = self
            .setting
            .deadline
            .is_some_and(|deadline| self.now >= work.since + deadline);
        match work.status {
            Status::Succeeded
                if self.setting.kind != RolloutType::All && self.now < work.since + self.setting.soak =>
            {
                Progress::UnderWay
            }
            Status::Succeeded => Progress::Succeeded,
            _ if late => Progress::GivenUp,
            Status::Failed => Progress::Failing,
            _ => Progress::UnderWay,
        }
    }
}

/// Any input whatever.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) setting: Setting,
    pub(crate) groups: Vec<(i32, Vec<String>)>,
    pub(crate) existing: Vec<Existing>,
    pub(crate) unreachable: BTreeSet<String>,
    pub(crate) seconds: i64,
}

impl Question {
    pub(crate) fn ask(&self) -> Plan {
        let mut groups = Groups::new();
        for (index, members) in &self.groups {
            groups.add(GroupKey::new("", *index), members.iter().cloned());
        }
        let input = Input {
            groups: &groups,
            existing: &self.existing,
            unreachable: &self.unreachable,
            now: Timestamp::from_second(self.seconds).expect("a time"),
        };
        plan(&self.setting.strategy(), &input).expect("indexes are accepted")
    }
}

fn statuses() -> impl Generate<Value = Status> {
    prop_oneof![
        Just(Status::ToApply),
        Just(Status::Progressing),
        Just(Status::Succeeded),
        Just(Status::Failed),
        Just(Status::TimeOut),
        Just(Status::Skip),
        Just(Status::Unknown),
    ]
}

fn existing() -> impl Generate<Value = Vec<Existing>> {
    let one = (
        statuses(),
        proptest::option::of(900i64..1_100),
        proptest::option::of(0i32..4),
    );
    proptest::collection::btree_map(0usize..12, one, 0..10).prop_map(|clusters| {
        let one = |(cluster, (status, since, group)): (usize, (Status, Option<i64>, Option<i32>))| Existing {
            cluster_name: name(cluster),
            group_key: group.map(|group| GroupKey::new("", group)),
            status,
            last_transition_time: since.and_then(|since| Timestamp::from_second(since).ok()),
            first_report_time: None,
        };
        clusters.into_iter().map(one).collect()
    })
}

pub(crate) fn questions() -> impl Generate<Value = Question> {
    let groups = proptest::collection::vec(
        (
            0i32..5,
            proptest::collection::vec((0usize..12).prop_map(name), 0..5),
        ),
        0..5,
    );
    let offline = proptest::collection::btree_set((0usize..12).prop_map(name), 0..4);
    (settings(), groups, existing(), offline).prop_map(|(setting, groups, existing, unreachable)| Question {
        setting,
        groups,
        existing,
        unreachable,
        seconds: 1_000,
    })
}

/// What the reference formula covers: one group, nobody offline, and no state that it never times out.
pub(crate) fn plain_questions() -> impl Generate<Value = Question> {
    let members = proptest::collection::btree_set((0usize..12).prop_map(name), 1..12);
    (settings(), members, existing()).prop_map(|(setting, members, mut existing)| {
        for cluster in existing
            .iter_mut()
            .filter(|cluster| cluster.status == Status::ToApply)
        {
            cluster.last_transition_time = None;
        }
        Question {
            setting: Setting {
                kind: RolloutType::Progressive,
                mandatory: None,
                ..setting
            },
            groups: vec![(0, members.into_iter().collect())],
            existing,
            unreachable: BTreeSet::new(),
            seconds: 1_000,
        }
    })
}
