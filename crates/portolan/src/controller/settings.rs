//! One flag and one environment variable for each setting of the controllers.

use std::time::Duration;

use clap::ValueEnum;
use portolan_controllers::{Carrying, Clock, Output, Settings};
use portolan_engine::fleet::Inventory;
use portolan_engine::layout::PublishScores;

use crate::clock;

/// The settings of the controllers.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Settings of the controllers")]
pub(crate) struct SettingsArgs {
    /// Which objects are the clusters
    #[arg(
        long,
        env = "PORTOLAN_INVENTORY",
        hide_env_values = true,
        value_enum,
        default_value_t
    )]
    inventory: InventoryArg,

    /// Whether OCM-shaped PlacementDecisions are written
    #[arg(
        long,
        env = "PORTOLAN_OCM_DECISIONS",
        hide_env_values = true,
        value_enum,
        default_value_t
    )]
    ocm_decisions: OutputArg,

    /// Whether PlacementDecision slices of multicluster.x-k8s.io are written
    #[arg(
        long,
        env = "PORTOLAN_SLICES",
        hide_env_values = true,
        value_enum,
        default_value_t
    )]
    slices: OutputArg,

    /// Whether ClusterProfiles are published from ManagedClusters
    #[arg(
        long,
        env = "PORTOLAN_CLUSTER_PROFILES",
        hide_env_values = true,
        value_enum,
        default_value_t
    )]
    cluster_profiles: OutputArg,

    /// The one namespace for published ClusterProfiles [default: each bound namespace that has a Placement]
    #[arg(long, env = "PORTOLAN_PROFILE_NAMESPACE", hide_env_values = true, value_name = "NS", value_parser = parse_namespace)]
    profile_namespace: Option<String>,

    /// Whether works are made from Works with a placement-key, one for each cluster of the decisions with that key
    #[arg(
        long,
        env = "PORTOLAN_WORK_SYNCER",
        hide_env_values = true,
        value_enum,
        default_value_t
    )]
    work_syncer: OutputArg,

    /// Namespaces whose ClusterProfiles the decisions of every namespace may name for works, or `*` [default: that of
    /// --profile-namespace; a decision always reaches the profiles of its own namespace]
    #[arg(long, env = "PORTOLAN_SHARED_PROFILES", hide_env_values = true, value_name = "NS", value_delimiter = ',', value_parser = parse_namespaces)]
    shared_profiles: Vec<String>,

    /// Look after sets, bindings, cluster namespaces, heartbeats and availability taints, where OCM's registration
    /// controllers do not run [default: false; true in `portolan up`]
    #[arg(
        long,
        env = "PORTOLAN_REGISTRATION",
        hide_env_values = true,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    registration: Option<bool>,

    /// Whether Placements are decided; off where another scheduler decides, such as OCM's
    #[arg(
        long,
        env = "PORTOLAN_SCHEDULING",
        hide_env_values = true,
        value_enum,
        default_value_t
    )]
    scheduling: SchedulingArg,

    /// Whether ManifestWorkReplicaSets are carried out; one controller may do it, this one or OCM's
    #[arg(
        long,
        env = "PORTOLAN_REPLICA_SETS",
        hide_env_values = true,
        value_enum,
        default_value_t
    )]
    replica_sets: CarryingArg,

    /// Whether decisions make works only for clusters of the sets that are bound to their namespace
    #[arg(
        long,
        env = "PORTOLAN_REQUIRE_BINDINGS",
        hide_env_values = true,
        value_enum,
        default_value_t
    )]
    require_bindings: CarryingArg,

    /// Whether ManifestWorks are deleted that are complete and have a ttlSecondsAfterFinished
    #[arg(
        long,
        env = "PORTOLAN_FINISHED_WORKS",
        hide_env_values = true,
        value_enum,
        default_value_t
    )]
    finished_works: CarryingArg,

    /// When decisions carry scores
    #[arg(
        long,
        env = "PORTOLAN_PUBLISH_SCORES",
        hide_env_values = true,
        value_enum,
        default_value_t
    )]
    publish_scores: PublishScoresArg,

    /// Writes a second, over the whole hub, that may refresh nothing but scores
    #[arg(
        long,
        env = "PORTOLAN_SCORE_WRITES_PER_SECOND",
        hide_env_values = true,
        value_name = "N",
        default_value_t = 5.0,
        value_parser = parse_rate
    )]
    score_writes_per_second: f64,

    /// Requests that may be under way at the same time
    #[arg(
        long,
        env = "PORTOLAN_PARALLEL_WRITES",
        hide_env_values = true,
        value_name = "N",
        default_value_t = 32,
        value_parser = crate::number::within::<u16>(1..=1024)
    )]
    parallel_writes: u16,

    /// Longest wait between two attempts after errors
    #[arg(
        long,
        env = "PORTOLAN_LONGEST_BACKOFF",
        hide_env_values = true,
        value_name = "DURATION",
        default_value = "30s",
        value_parser = parse_backoff
    )]
    longest_backoff: Duration,

    /// How long objects may be missing after their CustomResourceDefinition was created before they count as deleted
    #[arg(
        long,
        env = "PORTOLAN_RESTORE_GRACE",
        hide_env_values = true,
        value_name = "DURATION",
        default_value = "5m",
        value_parser = crate::clock::parse_duration
    )]
    restore_grace: Duration,

    /// Schedule only Placements with the annotation portolan.dev/scheduler: portolan
    #[arg(
        long,
        env = "PORTOLAN_ONLY_HANDED_OVER",
        hide_env_values = true,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    only_handed_over: bool,
}

/// `--inventory`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum InventoryArg {
    /// ManagedClusters with sets and bindings
    #[default]
    Managedclusters,
    /// The ClusterProfiles of each placement's own namespace
    Clusterprofiles,
}

/// Whether an output is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum OutputArg {
    /// Whenever its CRD is served
    #[default]
    Auto,
    /// Never
    Off,
}

/// `--scheduling`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SchedulingArg {
    /// Placements are decided
    #[default]
    On,
    /// No Placement is decided
    Off,
}

/// Whether a controller runs that OCM has, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum CarryingArg {
    /// Unless --scheduling=off or --only-handed-over says that OCM's controllers run
    #[default]
    Auto,
    /// Always
    On,
    /// Never
    Off,
}

impl From<CarryingArg> for Carrying {
    fn from(carrying: CarryingArg) -> Carrying {
        match carrying {
            CarryingArg::Auto => Carrying::Auto,
            CarryingArg::On => Carrying::On,
            CarryingArg::Off => Carrying::Off,
        }
    }
}

/// `--publish-scores`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum PublishScoresArg {
    /// In every decision
    #[default]
    Always,
    /// In decisions that are sorted by score
    Sorted,
    /// In no decision
    Never,
}

impl From<OutputArg> for Output {
    fn from(output: OutputArg) -> Output {
        match output {
            OutputArg::Auto => Output::Auto,
            OutputArg::Off => Output::Off,
        }
    }
}

impl SettingsArgs {
    /// The settings, with the clock of this machine. Whether registration is on by default depends on who else is there.
    pub(crate) fn settings(&self, registration: bool) -> Settings {
        Settings {
            clock: Clock::new(clock::now),
            inventory: match self.inventory {
                InventoryArg::Managedclusters => Inventory::ManagedClusters,
                InventoryArg::Clusterprofiles => Inventory::ClusterProfiles,
            },
            ocm_decisions: self.ocm_decisions.into(),
            slices: self.slices.into(),
            cluster_profiles: self.cluster_profiles.into(),
            profile_namespace: self.profile_namespace.clone(),
            work_syncer: self.work_syncer.into(),
            shared_profiles: self.shared_profiles.clone(),
            registration: self.registration.unwrap_or(registration),
            scheduling: match self.scheduling {
                SchedulingArg::On => Output::Auto,
                SchedulingArg::Off => Output::Off,
            },
            replica_sets: self.replica_sets.into(),
            require_bindings: self.require_bindings.into(),
            finished_works: self.finished_works.into(),
            publish_scores: match self.publish_scores {
                PublishScoresArg::Always => PublishScores::Always,
                PublishScoresArg::Sorted => PublishScores::Sorted,
                PublishScoresArg::Never => PublishScores::Never,
            },
            score_writes_per_second: self.score_writes_per_second,
            parallel_writes: self.parallel_writes.into(),
            longest_backoff: self.longest_backoff,
            restore_grace: self.restore_grace,
            only_handed_over: self.only_handed_over,
        }
    }
}

fn parse_namespace(text: &str) -> Result<String, String> {
    match portolan_api::structural::is_dns_label(text) {
        true => Ok(text.to_owned()),
        false => Err("accepted: the name of a namespace, such as fleet".to_owned()),
    }
}

fn parse_namespaces(text: &str) -> Result<String, String> {
    match text {
        "*" => Ok(text.to_owned()),
        _ => parse_namespace(text).map_err(|accepted| format!("{accepted}, or * for all")),
    }
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text
        .parse::<f64>()
        .ok()
        .filter(|rate| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "accepted: a number above 0, such as 5 or 0.5".to_owned())
}

fn parse_backoff(text: &str) -> Result<Duration, String> {
    match clock::parse_duration(text)? {
        Duration::ZERO => Err("accepted: more than 0, such as 30s".to_owned()),
        duration => Ok(duration),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        settings: SettingsArgs,
    }

    fn parse(words: &[&str]) -> Result<Settings, clap::Error> {
        let line = Line::try_parse_from(std::iter::once(&"portolan").chain(words))?;
        Ok(line.settings.settings(false))
    }

    #[test]
    fn the_defaults_are_those_of_the_controllers() {
        let (ours, theirs) = (parse(&[]).unwrap(), Settings::new(Clock::new(clock::now)));
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
    }

    #[test]
    fn every_setting_has_a_flag_and_an_environment_variable_of_the_same_name() {
        let command = Line::command();
        let flags: Vec<_> = command
            .get_arguments()
            .filter(|arg| arg.get_id() != "help")
            .collect();
        // One field of the settings is the clock.
        assert_eq!(
            flags.len(),
            format!("{:?}", parse(&[]).unwrap()).matches(": ").count() - 1
        );
        for flag in flags {
            let long = flag.get_long().unwrap();
            let expected = format!("PORTOLAN_{}", long.to_uppercase().replace('-', "_"));
            assert_eq!(
                flag.get_env().unwrap().to_str(),
                Some(expected.as_str()),
                "--{long}"
            );
        }
    }

    #[test]
    fn flags_reach_the_settings() {
        let settings = parse(&[
            "--inventory=clusterprofiles",
            "--slices=off",
            "--replica-sets=off",
            "--require-bindings=on",
            "--profile-namespace=fleet",
            "--shared-profiles=east,west",
            "--registration",
            "--longest-backoff=5s",
            "--restore-grace=1m",
            "--only-handed-over=false",
            "--parallel-writes=4",
        ])
        .unwrap();
        assert_eq!(settings.inventory, Inventory::ClusterProfiles);
        assert_eq!(
            (settings.ocm_decisions, settings.slices, settings.replica_sets),
            (Output::Auto, Output::Off, Carrying::Off)
        );
        assert_eq!(settings.require_bindings, Carrying::On);
        assert_eq!(settings.profile_namespace.as_deref(), Some("fleet"));
        assert_eq!(settings.shared_profiles, ["east", "west"]);
        assert_eq!((settings.registration, settings.only_handed_over), (true, false));
        assert_eq!(
            (settings.longest_backoff, settings.parallel_writes),
            (Duration::from_secs(5), 4)
        );
        assert_eq!(settings.restore_grace, Duration::from_secs(60));
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        for word in [
            "--parallel-writes=0",
            "--score-writes-per-second=-1",
            "--score-writes-per-second=nan",
            "--longest-backoff=0s",
            "--longest-backoff=soon",
            "--profile-namespace=No_Namespace",
            "--slices=maybe",
        ] {
            assert!(parse(&[word]).is_err(), "{word}");
        }
    }
}
