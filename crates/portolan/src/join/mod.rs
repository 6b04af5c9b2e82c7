//! `portolan join`: a cluster becomes part of the fleet, and its agent gets credentials of its own.

mod again;
mod enroll;
pub(crate) mod kubeconfig;
pub(crate) mod objects;
pub(crate) mod tenants;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use portolan_api::cluster::ManagedClusterSet;
use portolan_api::labels::ocm;
use portolan_api::reading::Received;
use portolan_api::structural;

use crate::live::{self, ConnectArgs, Server};
use crate::{clock, output};

pub(crate) use enroll::enroll;
pub(crate) use objects::{EMBEDDED_BY, Newcomer, is_embedded};

const EXAMPLES: &str = "\
Examples:
  # Let a cluster in; its agent's kubeconfig is written to west-1.kubeconfig
  portolan join west-1 --hub hub.kubeconfig --label region=west --set production

  # The kubeconfig on standard output, for a Secret
  portolan join west-1 --hub hub.kubeconfig -o kubeconfig

  # And on the member cluster
  portolan agent --hub west-1.kubeconfig --spoke member.kubeconfig \\
    --install-crds";

/// Let a cluster into the fleet, and give its agent credentials for its own namespace alone
///
/// Makes the ManagedCluster, accepted, its namespace, and an account that may read the cluster's works, report about them
/// and about the cluster, and nothing else. Doing it again gives a new token, accepts the cluster, and sets the labels and the set
/// that are named; other labels stay. What changed is said.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the cluster, and of its namespace on the hub
    #[arg(value_name = "NAME", value_parser = parse_name)]
    name: String,

    /// Kubeconfig of an administrator of the hub [default: $KUBECONFIG, ~/.kube/config, or a pod's service account]
    #[arg(long, visible_alias = "kubeconfig", value_name = "FILE")]
    hub: Option<PathBuf>,

    /// Context in the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Label of the cluster, for placements to select by; may be given more than once
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = parse_label)]
    labels: Vec<(String, String)>,

    /// The exclusive cluster set it belongs to, the same as the label cluster.open-cluster-management.io/clusterset
    /// [default: what it has, or default]
    #[arg(long, value_name = "SET", value_parser = parse_set)]
    set: Option<String>,

    /// How long the token is to be valid; the hub may shorten that
    #[arg(long, value_name = "DURATION", default_value = "8760h", value_parser = parse_valid_for)]
    valid_for: Duration,

    /// File to write the agent's kubeconfig to, readable by you alone [default: NAME.kubeconfig]
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    write: Option<PathBuf>,

    /// What to print; kubeconfig prints it instead of writing a file
    #[arg(short, long, value_enum)]
    output: Option<Format>,
}

const SHORTEST_TOKEN: Duration = Duration::from_secs(600);

/// `-o`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The agent's kubeconfig
    Kubeconfig,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    live::block_on(join(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn join(args: &Args) -> anyhow::Result<()> {
    let connect = ConnectArgs {
        kubeconfig: args.hub.clone(),
        context: args.context.clone(),
    };
    let path = args
        .write
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.kubeconfig", args.name)));
    let (labels, set) = labels_and_set(&args.labels, args.set.as_deref())?;
    // Before the cluster is let in: whoever cannot be given credentials should not be.
    if args.output.is_none() {
        kubeconfig::refuse(&path, &args.name)?;
    }
    connect.name_in_advice();
    let config = connect.config().await?;
    let server = Server::new(config.clone())?;
    let newcomer = Newcomer {
        name: args.name.clone(),
        labels,
        set: set.clone(),
        ..Newcomer::default()
    };
    let before = again::there(&server, &args.name)
        .await
        .map_err(|(doing, error)| explain(&error, &doing, &server.url))?;
    enroll(&server.client, &newcomer, clock::now())
        .await
        .map_err(|(doing, error)| explain(&error, &doing, &server.url))?;
    if let Some(before) = &before {
        output::remark(&again::changes(before, &newcomer));
    }
    if let Some(set) = &set {
        output::remark(&warn_of_missing(&server, set, &connect.kubectl()).await?);
    }
    let seconds = i64::try_from(args.valid_for.as_secs()).unwrap_or(i64::MAX);
    let token = enroll::token(&server.client, &args.name, seconds)
        .await
        .map_err(|error| explain(&error, "ask for the agent's token", &server.url))?;
    let agent = kubeconfig::with_token(&config, &args.name, &token.secret);
    if args.output == Some(Format::Kubeconfig) {
        return output::print(&output::yaml(&agent)?);
    }
    kubeconfig::write(&path, &agent)?;
    let is_part = match before {
        None => "is part",
        Some(_) => "was already part",
    };
    output::say(&format!(
        "{name} {is_part} of the fleet of {url}\n\
         the kubeconfig of its agent is {path}, valid until {expires}; treat it as a secret\n\
         next:\n  portolan agent --hub {path} \\\n    --spoke MEMBER-KUBECONFIG --install-crds\n",
        name = args.name,
        url = server.url,
        path = path.display(),
        expires = token.expires,
    ))
}

/// The labels without the one of the set, and the set that it or `--set` names. Two values for one label are refused: one of
/// them would be dropped without a word.
fn labels_and_set(
    labels: &[(String, String)],
    set: Option<&str>,
) -> anyhow::Result<(BTreeMap<String, String>, Option<String>)> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for (key, value) in labels {
        if let Some(other) = all
            .insert(key.clone(), value.clone())
            .filter(|other| other != value)
        {
            anyhow::bail!("--label gives {key} the value {other} and the value {value}; accepted: one value");
        }
    }
    let Some(label) = all.remove(ocm::CLUSTER_SET) else {
        return Ok((all, set.map(str::to_owned)));
    };
    let label =
        parse_set(&label).map_err(|why| anyhow::anyhow!("--label {}={label}: {why}", ocm::CLUSTER_SET))?;
    match set {
        Some(set) if set != label => anyhow::bail!(
            "--set says {set} and --label {}={label} says {label}; accepted: one of the two, since a cluster is in one \
             exclusive set",
            ocm::CLUSTER_SET
        ),
        _ => Ok((all, Some(label))),
    }
}

/// The name of a ManagedClusterSet, which is also the value of a label.
fn parse_set(text: &str) -> Result<String, String> {
    match structural::is_dns_subdomain(text) && structural::is_label_value(text) {
        true => Ok(text.to_owned()),
        false => Err(
            "accepted: the name of a ManagedClusterSet, at most 63 lowercase letters, digits, '-' and '.', which begins and \
             ends with a letter or digit, such as production"
                .to_owned(),
        ),
    }
}

/// What to say about a cluster set that does not exist: the label is right as soon as somebody makes the set, and says
/// nothing until then.
async fn warn_of_missing(server: &Server, set: &str, kubectl: &str) -> anyhow::Result<String> {
    // Read one by one: a set that cannot be read must not fail the command.
    let api: Api<Received<ManagedClusterSet>> = Api::all(server.client.clone());
    let sets = match api.list(&ListParams::default()).await {
        // Nothing is known of sets that may not be read or are not served.
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => return Ok(String::new()),
        sets => sets.map_err(|error| explain(&error, "list the ManagedClusterSets", &server.url))?,
    };
    if let Some(found) = sets.iter().find(|object| object.name_any() == set) {
        let by_labels = match found {
            Received::Readable(found) => {
                found.spec.cluster_selector.selector_type.as_deref() == Some("LabelSelector")
            }
            Received::Unreadable(_) => false,
        };
        return Ok(if by_labels { selecting(set) } else { String::new() });
    }
    let names: Vec<String> = sets.iter().map(ResourceExt::name_any).collect();
    Ok(missing(set, &names, &server.url, kubectl))
}

/// What to say about a cluster set that finds its clusters by their labels.
fn selecting(set: &str) -> String {
    format!(
        "warning: the ManagedClusterSet {set} selects its clusters by labels (spec.clusterSelector.labelSelector), so that --set \
         does not put the cluster into it; give the cluster these labels instead: --label KEY=VALUE\n"
    )
}

fn missing(set: &str, there: &[String], url: &str, kubectl: &str) -> String {
    let there = match there {
        [] => "there is none".to_owned(),
        names => format!("there are {}", names.join(", ")),
    };
    format!(
        "warning: {url} has no ManagedClusterSet {set}; {there}. The cluster has the label of the set, and belongs to it when \
         the set exists. To make the set:\n  \
         printf '%s\\n' 'apiVersion: cluster.open-cluster-management.io/v1beta2' \\\n    \
         'kind: ManagedClusterSet' 'metadata: {{name: {set}}}' |\n    {kubectl} apply -f -\n"
    )
}

/// The usual causes, and what to do about them.
fn explain(error: &kube::Error, doing: &str, url: &str) -> anyhow::Error {
    match error {
        kube::Error::Api(status) if status.code == 404 && doing.contains("ManagedCluster") => {
            anyhow::anyhow!(
                "cannot {doing}: {url} does not know ManagedClusters; install the definitions first: \
             portolan crds | kubectl apply -f -"
            )
        }
        kube::Error::Api(status) if status.code == 404 && doing.contains("token") => anyhow::anyhow!(
            "cannot {doing}: {url} answered 404: {}; tokens of service accounts need Kubernetes 1.20 or newer, and the \
             account must not be deleted meanwhile",
            status.message
        ),
        kube::Error::Api(status) if status.code == 422 && doing.contains("token") => anyhow::anyhow!(
            "cannot {doing}: {}; --valid-for takes another time, of ten minutes or more",
            status.message
        ),
        kube::Error::Api(status) if status.code == 409 && doing.starts_with("let the cluster") => {
            anyhow::anyhow!("cannot {doing}: {}", status.message)
        }
        _ => live::explain(error, doing, url),
    }
}

fn parse_valid_for(text: &str) -> Result<Duration, String> {
    match clock::parse_duration(text) {
        Ok(duration) if duration < SHORTEST_TOKEN => {
            Err("Kubernetes gives tokens for ten minutes or more".to_owned())
        }
        parsed => parsed,
    }
}

pub(crate) fn parse_name(text: &str) -> Result<String, String> {
    match objects::refuse_name(text) {
        Some(why) => Err(why),
        None => Ok(text.to_owned()),
    }
}

fn parse_label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if structural::is_qualified_name(key) && structural::is_label_value(value) => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err(
            "accepted: KEY=VALUE, such as region=west; the key may have a prefix, as in example.com/region; key and value \
             are at most 63 letters, digits, '-', '_' and '.', and begin and end with a letter or digit"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_that_is_missing_is_named_with_those_that_there_are_and_how_to_make_it() {
        let said = missing(
            "prod",
            &["default".to_owned(), "global".to_owned()],
            "https://hub",
            "kubectl --context hub",
        );
        assert!(
            said.contains("no ManagedClusterSet prod; there are default, global"),
            "{said}"
        );
        assert!(
            said.contains("'metadata: {name: prod}' |\n    kubectl --context hub apply -f -\n"),
            "{said}"
        );
        // The first line is prose, and is wrapped where it is printed.
        let wide = said.lines().skip(1).filter(|line| line.len() > 80);
        assert_eq!(wide.count(), 0, "{said}");
    }

    #[test]
    fn a_set_is_named_by_its_flag_or_its_label_and_both_must_agree() {
        let read = |labels: &[&str], set: Option<&str>| {
            let labels: Vec<_> = labels.iter().map(|label| parse_label(label).unwrap()).collect();
            labels_and_set(&labels, set).map_err(|error| error.to_string())
        };
        let label = "cluster.open-cluster-management.io/clusterset=prod";
        let west = BTreeMap::from([("region".to_owned(), "west".to_owned())]);
        let prod = Some("prod".to_owned());
        assert_eq!(
            read(&["region=west"], Some("prod")),
            Ok((west.clone(), prod.clone()))
        );
        assert_eq!(
            read(&["region=west", label], None),
            Ok((west.clone(), prod.clone()))
        );
        assert_eq!(read(&["region=west", label], Some("prod")), Ok((west, prod)));
        let refused = read(&[label], Some("test")).unwrap_err();
        assert!(
            refused.contains("--set says test") && refused.contains("says prod"),
            "{refused}"
        );
        let refused = read(&["cluster.open-cluster-management.io/clusterset=a_b"], None).unwrap_err();
        assert!(refused.contains("such as production"), "{refused}");
        let refused = read(&["region=west", "region=east"], None).unwrap_err();
        assert!(refused.contains("the value west and the value east"), "{refused}");
    }

    #[test]
    fn a_set_that_cannot_exist_is_refused_before_the_cluster_is_let_in() {
        for name in ["production", "eu-1", "a.b"] {
            assert_eq!(parse_set(name).as_deref(), Ok(name));
        }
        let long = "x".repeat(64);
        for name in ["", "bad set", "Prod", "-a", "a_b", long.as_str()] {
            assert!(
                parse_set(name).unwrap_err().contains("such as production"),
                "{name}"
            );
        }
    }

    #[test]
    fn a_label_that_no_server_accepts_is_refused_before_the_cluster_is_let_in() {
        for text in ["region=west", "example.com/region=", "a.b/c_d=E-1.2"] {
            assert!(parse_label(text).is_ok(), "{text}");
        }
        let long = format!("region={}", "a".repeat(64));
        for text in [
            "region",
            "=west",
            "region=-west",
            "re gion=west",
            "a/b/c=d",
            &long,
        ] {
            assert!(parse_label(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_token_that_no_server_gives_is_refused_before_the_cluster_is_let_in() {
        assert_eq!(parse_valid_for("10m"), Ok(Duration::from_secs(600)));
        assert!(parse_valid_for("599s").unwrap_err().contains("ten minutes"));
        assert!(parse_valid_for("soon").unwrap_err().contains("accepted"));
    }
}
