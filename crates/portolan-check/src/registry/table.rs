//! The macro that declares the table of checks.

use super::{Actor, Check, Level, Profile, Scope, Wording};

/// Declares the ids and the table together, so that neither can name a check the other lacks.
macro_rules! checks {
    ($($id:ident $number:literal [$($also:literal)*] $level:ident $wording:ident $actor:ident
        [$($profile:ident)*] $scope:ident $source:literal $title:literal $statement:literal;)*) => {
        /// The id of a check.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum CheckId {
            $(#[doc = $statement] $id,)*
        }

        impl CheckId {
            /// The id as reports print it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$id => $number,)*
                }
            }

            /// What is known about the check.
            pub fn check(self) -> &'static Check {
                &CHECKS[self as usize]
            }
        }

        /// Every check, in the order of [`CheckId`].
        pub const CHECKS: &[Check] = &[
            $(Check {
                id: CheckId::$id,
                also: &[$($also),*],
                title: $title,
                statement: $statement,
                level: Level::$level,
                wording: Wording::$wording,
                actor: Actor::$actor,
                profiles: &[$(Profile::$profile),*],
                scope: Scope::$scope,
                source: $source,
            },)*
        ];
    };
}

checks! {
    Rule1 "rule-1" ["C35"] Required Rule Producer [Stable Portolan] Stream "design 4.1, seed 003, ocm#1346"
        "nothing that stays is absent"
        "No cluster that stays selected is absent from the union of its decision's slices at any moment of an update.";
    Rule2 "rule-2" [] Required Rule Producer [Portolan] Pair "design 4.2"
        "never destroy on doubt"
        "A placement that is misconfigured or cannot be evaluated keeps its last decision.";
    Rule3 "rule-3" ["C33" "C39"] Required Rule Producer [Stable Portolan] Pair "design 4.3, KEP lifecycle"
        "unchanged means untouched"
        "When the answer is the same, a resync or a restart writes nothing.";
    Rule4 "rule-4" ["C3"] Required Rule Producer [Core Portolan] Instant "design 4.4, KEP slicing"
        "at most 100 in a slice"
        "No slice ever lists more than 100 clusters.";
    Rule5 "rule-5" [] Required Rule Producer [Portolan] Values "design 4.5"
        "every rejection has a reason"
        "Every rejected cluster has a reason that names the failing expression and the observed value.";
    Rule6 "rule-6" [] Required Rule Producer [Portolan] Values "design 4.6"
        "bad input gets a clear error"
        "An input error names the field, the value and what would be accepted.";
    Rule7 "rule-7" [] Required Rule Producer [Portolan] Values "design 4.7"
        "observed, not assumed"
        "A rollout step counts as succeeded only for the exact generation that was applied.";
    Rule8 "rule-8" [] Required Rule Producer [Portolan] Values "design 4.8, ocm-placement 2.6, 2.7, 3.1"
        "numbers of OCM"
        "Scores, totals, ranks and group sizes are bit for bit those of the reference formulas.";
    C5 "C5" [] Required Fact Api [Core] Instant "KEP API, design 5"
        "entry names one cluster"
        "Every entry names its cluster by exactly one of clusterProfileRef and the first revision's clusterName.";
    C8 "C8" [] Required Must Api [R1] Instant "KEP first revision"
        "profiles in the own namespace"
        "Every referenced profile is in the decision's own namespace.";
    C9 "C9" [] Optional Should Api [Core] Instant "KEP validation"
        "index is a number"
        "decision-index, if set, is an integer of at least 0.";
    C10 "C10" [] Required Must Api [R1] Pair "KEP first revision"
        "first revision's labels are fixed"
        "The labels placement and scheduler are present and never change on a live object.";
    C12 "C12" [] Optional Goal Api [Inventory] Rest "KEP goals"
        "references resolve"
        "Every namespace and name in a decision matches a ClusterProfile.";
    C13 "C13" ["C36" "D7"] Required Must Api [Core Stable Revisioned] Rest "KEP, draft"
        "no cluster twice"
        "No two entries of one decision at rest name the same cluster.";
    C13Member "C13-member" [] Optional Derived Api [Core] Rest "KEP-4322"
        "no member twice"
        "No two profiles of one decision carry the same inventory-member-id.";
    C15 "C15" [] Required Must Producer [Core] Instant "KEP slicing"
        "one key on all slices"
        "A decision of more than one slice has the same decision-key on all of them.";
    C16 "C16" [] Required Must Producer [R1] Instant "KEP first revision"
        "first revision's labels on all slices"
        "Every slice carries the labels placement and scheduler with the values of its decision.";
    C17 "C17" [] Optional Should Producer [] Instant "KEP discovery"
        "slices can be discovered"
        "The slices of a decision share a key, or are named `<base>-<i>`, or both.";
    C18 "C18" ["C19"] Optional Should Producer [Ordered] Rest "KEP slicing, ocm#1552"
        "indexes 0 to n-1"
        "When order matters, or any slice has an index, the indexes at rest are 0 to n-1, each exactly once.";
    C21 "C21" ["D6"] Optional Derived Producer [Revisioned] Instant "KEP labels, draft"
        "one placement-key"
        "placement-key is on all slices of a decision with one non-empty value, or on none.";
    C24 "C24" ["D6"] Optional Derived Producer [Revisioned] Instant "KEP API, draft"
        "one schedulerName"
        "schedulerName is the same on all slices of a decision.";
    C25 "C25" [] Optional Derived Producer [] Instant "Kubernetes labels"
        "label syntax"
        "Every label value fits the label syntax of 63 characters.";
    C26 "C26" [] Required Must Producer [Core] Rest "KEP lifecycle, design 5"
        "as few slices as needed"
        "At rest each group has as many slices as its clusters need at 100 a slice, and no empty one besides.";
    C27 "C27" ["D8"] Optional Derived Producer [Revisioned] Rest "KEP MinItems=0, draft"
        "zero clusters is one empty slice"
        "A decision for no cluster is published as exactly one empty slice.";
    C28 "C28" [] Optional Derived Producer [] Instant "KEP ownership"
        "a key has one owner"
        "Slices of different decisions never share a decision-key in a namespace.";
    C31 "C31" [] Optional May Producer [] Pair "KEP story 2"
        "the key is stable"
        "Rescheduling updates the same keyed decision: no live object changes its decision-key.";
    C32 "C32" [] Required Must Producer [Ordered] Rest "KEP lifecycle"
        "order can be read back"
        "Reading the slices by index yields the order the scheduler decided.";
    C34 "C34" [] Optional Derived Producer [Stable] Pair "KEP lifecycle, design 5"
        "few slices touched"
        "A change of few clusters rewrites the entries of few slices when order does not matter.";
    C37 "C37" [] Optional Should Producer [Revisioned] Pair "KEP discovery, design 5"
        "one revision for the set"
        "decision-revision is on all slices at rest with one value, and changes when more than one slice changes.";
    C38 "C38" [] Required Must Producer [Core] Rest "KEP lifecycle"
        "nothing left behind"
        "When a decision is no longer required, no slice of it is left.";
    C40 "C40" [] Optional Derived Producer [Inventory] Pair "KEP, KEP-4322"
        "a deleted profile leaves"
        "A ClusterProfile that was deleted is in no decision at rest.";
    C41 "C41" [] Required Must Producer [Core] Pair "KEP ownership"
        "foreign objects untouched"
        "Objects of another scheduler are not written.";
    C42 "C42" [] Optional Derived Producer [] Pair "KEP ownership"
        "illegal edits are not adopted"
        "A consumer's edit is reverted or stays alone: no other slice changes because of it.";
    C49 "C49" [] Required Must Consumer [Consumer] Deeds "KEP ownership"
        "consumers only read"
        "A consumer writes no PlacementDecision.";
    C50 "C50" [] Optional May Consumer [Consumer] Deeds "KEP discovery"
        "decisions are found"
        "A decision that has a key or a name to be found by is found.";
    C51 "C51" [] Optional Derived Consumer [Consumer] Deeds "KEP API"
        "acts on what is listed"
        "A consumer acts on the union of the slices; a reference without a namespace means that of the slice.";
    C52 "C52" ["D9"] Optional Should Consumer [Consumer Revisioned] Deeds "KEP discovery, draft, design 5"
        "no act on a mixed set"
        "Where there are revisions a consumer acts on the highest whole one, and otherwise keeps what it has.";
    C53 "C53" [] Optional May Consumer [Consumer] Deeds "KEP slicing"
        "order by number"
        "A consumer that goes by order sorts decision-index as a number and loses nothing to gaps and repetitions.";
    C54 "C54" [] Optional Should Consumer [Consumer] Deeds "KEP lifecycle"
        "deploys where decided"
        "Every decided cluster that is in the inventory has the workload.";
    C55 "C55" [] Optional Should Consumer [Consumer] Deeds "KEP lifecycle"
        "removes where no longer decided"
        "A cluster that was taken from a decision loses the workload.";
    C56 "C56" [] Optional Should Consumer [Consumer] Deeds "KEP lifecycle"
        "follows deleted slices"
        "When a slice is deleted, clusters that no other slice of the decision lists lose the workload.";
    C57 "C57" [] Optional Derived Consumer [Consumer] Deeds "KEP lifecycle, seed 003"
        "a move is nothing"
        "A cluster that moves between slices is not removed and deployed again.";
    C59 "C59" [] Optional Derived Consumer [Consumer] Deeds "KEP API"
        "what cannot be used is reported"
        "An entry that names no known cluster is reported.";
    C60 "C60" [] Optional Derived Consumer [Consumer] Deeds "KEP goals"
        "no scheduler is special"
        "Decisions of one scheduler are read like those of another.";
    C61 "C61" [] Optional Derived Consumer [Consumer] Deeds "KEP MinItems=0"
        "empty is not absent"
        "A decision for no cluster is told from no decision.";
    D1 "D1" [] Optional Draft Producer [Revisioned] Instant "draft"
        "four labels in decimal"
        "Every slice of a revisioned decision has key, revision, slice-count and index; numbers are plain decimals.";
    D2 "D2" [] Optional Draft Producer [Revisioned] Instant "draft"
        "count 1 to 1000, index below"
        "slice-count is 1 to 1000 and the index of a slice is below it.";
    D3 "D3" [] Optional Draft Producer [Revisioned] Pair "draft"
        "slices are immutable"
        "Entries, schedulerName and defined labels of a live slice never change.";
    D4 "D4" [] Optional Draft Producer [Revisioned] Pair "draft, design 5"
        "revisions rise"
        "The first revision of a decision is 0 and the revision never falls.";
    D5 "D5" [] Optional Draft Producer [Revisioned] Stream "draft, design 5"
        "old slices outlive the update"
        "A slice of an older revision is deleted only after a newer one is complete and valid.";
    D10 "D10" [] Optional Draft Consumer [Consumer Revisioned] Deeds "draft"
        "found by more than placement-key"
        "Slices belong together by decision-key: one without a placement-key or with another name is not missed.";
    D12 "D12" [] Optional Draft Producer [Revisioned] Rest "draft"
        "groups all or none"
        "Either every slice of a decision has a group index or none has, and the indexes are contiguous from 0.";
    KepComplete "kep-complete" [] Required Rule Producer [Portolan Revisioned] Rest "design 5"
        "the set at rest is complete"
        "At rest the one revision of a decision is complete: slice-count equals the number of slices.";
    KepSound "kep-sound" [] Required Rule Producer [Portolan Revisioned] Stream "design 5"
        "complete revisions are sound"
        "At every moment the highest complete revision lists only clusters that were or are decided, and all that stay.";
    KepName "kep-name" [] Required Rule Producer [Portolan] Instant "design 5"
        "name carries the index"
        "A slice written by Portolan is named `<placement>-decision-<decision-index>`.";
    OcmNames "ocm-names" [] Required Rule Producer [Portolan] Rest "ocm-placement 3.2"
        "objects numbered from 1"
        "The objects of a placement at rest are `<placement>-decision-<k>` with k from 1 without a hole.";
    OcmLimit "ocm-limit" [] Required Rule Producer [Portolan] Rest "ocm-placement 3.2, seed 003"
        "at most 100 at rest"
        "No object of a placement at rest lists more than 100 clusters.";
    OcmUnique "ocm-unique" [] Required Rule Producer [Portolan] Rest "ocm-placement 3.1"
        "no cluster twice at rest"
        "No cluster is listed twice by the objects of a placement at rest.";
    OcmGroups "ocm-groups" [] Required Rule Producer [Portolan] Rest "ocm-placement 3.1, 5.2"
        "groups contiguous"
        "Group indexes run from 0 without a hole in object order, and a group has one name.";
    OcmStatus "ocm-status" [] Required Rule Producer [Portolan] Rest "ocm-placement 3.2"
        "status tells the groups"
        "Placement.status.decisionGroups names exactly the groups, objects and cluster counts that exist.";
    OcmCount "ocm-count" [] Required Rule Producer [Portolan] Rest "ocm-placement 1.1"
        "status tells the number"
        "Placement.status.numberOfSelectedClusters is the number of clusters in the decision.";
    OcmContent "ocm-content" [] Required Rule Producer [Portolan] Rest "design 5"
        "content hash present and fresh"
        "portolan.dev/content is on all objects of a placement or on none, and differs where group or clusters differ.";
    OcmGroupOrder "ocm-group-order" [] Required Rule Producer [Portolan] Stream "design 5"
        "never in an earlier group"
        "At no moment is a cluster shown in a group earlier than those it is decided for.";
    OcmStatusLast "ocm-status-last" [] Required Rule Producer [Portolan] Stream "design 5"
        "status is written last"
        "When Placement.status is written, the objects it names exist with the clusters it counts.";
    RolloutMandatoryFirst "rollout-mandatory-first" [] Required Rule Consumer [Portolan] Values "seed 002, design 5"
        "mandatory groups first"
        "No cluster outside mandatory groups is started before every mandatory cluster has succeeded.";
    RolloutBudget "rollout-budget" [] Required Rule Consumer [Portolan] Values "seed 002, ocm#327"
        "failure budget"
        "Past the failure budget nothing is started: nowhere for a budget of the fleet, in no later group for one of a group.";
    RolloutSlots "rollout-slots" [] Required Rule Consumer [Portolan] Values "seed 002"
        "concurrency"
        "No more clusters are started than may be under way at once.";
    RolloutReachesAll "rollout-reaches-all" [] Required Rule Consumer [Portolan] Values "seed 002, design 5"
        "nobody is skipped for good"
        "A rollout at rest, with nothing offline and nothing failed, has reached every cluster.";
}
