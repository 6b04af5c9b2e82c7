//! Controllers at work, with somebody who answers for them.

use std::sync::Arc;

use kube::Client;
use portolan_controllers::{Controllers, Health, Metrics, Settings};
use tokio::task::JoinHandle;

use super::probes::{Probed, Probes};

/// Running controllers and their probes.
pub(crate) struct Running {
    controllers: Controllers,
    probes: JoinHandle<()>,
}

struct Answers {
    health: Health,
    metrics: Metrics,
}

impl Probed for Answers {
    fn metrics(&self) -> String {
        self.metrics.text()
    }

    fn why_not_alive(&self) -> Option<String> {
        self.health.why_not_alive()
    }

    fn why_not_ready(&self) -> Vec<String> {
        self.health.why_not_ready()
    }

    fn notes(&self) -> Vec<String> {
        self.health.notes()
    }
}

impl Running {
    /// Starts both on the current runtime.
    pub(crate) fn start(client: Client, settings: Settings, probes: Probes) -> Running {
        let controllers = Controllers::start(client, settings);
        let answers = Answers {
            health: controllers.health(),
            metrics: controllers.metrics(),
        };
        let probes = tokio::spawn(probes.serve(Arc::new(answers)));
        Running { controllers, probes }
    }

    /// Waits until the controllers no longer do their work. Returns why, as the error that the process ends with.
    pub(crate) async fn failed(&self) -> anyhow::Error {
        let why = self.controllers.failed().await;
        anyhow::anyhow!("the controllers stop because they cannot go on: {why}; start them again")
    }

    /// Finishes the writes that are under way. Probes answer until then.
    pub(crate) async fn stop(self) {
        self.controllers.stop().await;
        self.probes.abort();
    }
}
