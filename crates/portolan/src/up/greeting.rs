//! What `up` says when it is up.

use std::net::SocketAddr;
use std::path::Path;

use portolan_api::count::counted;

use super::load::Fleet;
use super::spokes::{Spokes, StoppedMembers};
use crate::{shell, version};

/// Where everything is and what to try.
pub(super) struct Greeting<'a> {
    pub(super) url: &'a str,
    pub(super) kubeconfig: &'a Path,
    pub(super) metrics: SocketAddr,
    pub(super) kept: String,
    /// Outputs that are not written.
    pub(super) off: Vec<&'static str>,
    pub(super) fleet: Option<&'a Fleet>,
    pub(super) spokes: Option<&'a Spokes>,
    /// Members that do not run.
    pub(super) former: &'a StoppedMembers,
}

impl std::fmt::Display for Greeting<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let config = self.kubeconfig.display();
        writeln!(f, "portolan {} is up", version::NUMBER)?;
        writeln!(f, "  API          {}", self.url)?;
        writeln!(f, "  kubeconfig   {config}")?;
        writeln!(f, "  metrics      http://{}/metrics", self.metrics)?;
        writeln!(f, "  data         {}", self.kept)?;
        if !self.off.is_empty() {
            writeln!(f, "  off          {}", self.off.join(", "))?;
        }
        if let Some(fleet) = self.fleet {
            writeln!(f, "  demo         {fleet}")?;
        }
        if let Some(spokes) = self.spokes {
            writeln!(
                f,
                "  members      {}, in memory, with simulated workloads",
                counted(spokes.number(), "embedded cluster")
            )?;
            writeln!(
                f,
                "               a context for each in {}",
                spokes.kubeconfig().display()
            )?;
        }
        if !self.former.is_empty() {
            let former = self.former;
            let (members, them) = match former.is_one() {
                true => ("an embedded member", "it"),
                false => ("embedded members", "them"),
            };
            writeln!(f, "  not running  {former}: {members} of an earlier start")?;
            writeln!(
                f,
                "               --spokes {} starts {them} again, --forget-members removes {them}",
                former.enough()
            )?;
        }
        let portolan = shell::program();
        writeln!(f, "\nIn another terminal:")?;
        writeln!(f, "  export KUBECONFIG={}", shell::path(self.kubeconfig))?;
        if let Some(spokes) = self.spokes {
            let members = shell::path(spokes.kubeconfig());
            writeln!(f, "  kubectl get managedclusters")?;
            write!(f, "{}", of_first_member(&members))?;
            writeln!(f, "  {portolan} demo fail member-1")?;
        }
        match self.fleet {
            Some(fleet) => {
                writeln!(f, "  kubectl get placements -A")?;
                writeln!(f, "  {portolan} get decisions ml/training")?;
                writeln!(f, "  {portolan} explain --placement payments/ledger")?;
                if let Some(command) = fleet.try_this() {
                    writeln!(f, "  {command}")?;
                }
            }
            None if self.spokes.is_some() => {}
            None => {
                writeln!(f, "  {portolan} demo manifests | kubectl apply -f -")?;
                writeln!(f, "  {portolan} get placements")?;
                writeln!(f, "  {portolan} rollout status shop/web")?;
            }
        }
        writeln!(f, "Ctrl-C stops it. Decisions as they change:\n")
    }
}

/// The command that shows what runs on the first member. The path alone may take most of a line.
fn of_first_member(kubeconfig: &str) -> String {
    format!("  kubectl --context member-1 get deployments,jobs -A \\\n    --kubeconfig {kubeconfig}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_for_members_fits_a_terminal_with_the_usual_path() {
        let command = of_first_member("/home/somebody/.local/share/portolan/hub/members.kubeconfig");
        assert!(command.lines().all(|line| line.len() <= 80), "{command}");
    }
}
