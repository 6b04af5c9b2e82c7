use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::settings::Settings;

/// An agent, running.
#[derive(Debug)]
pub struct Agent {
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Agent {
    /// Starts it on the current runtime: `hub` is where the works are, `spoke` the member cluster.
    pub fn start(hub: Client, spoke: Client, settings: Settings) -> Agent {
        let (stop, _) = watch::channel(false);
        let _ = (hub, spoke, settings);
        Agent {
            stop,
            tasks: Vec::new(),
        }
    }

    /// Finishes the work that is under way, and returns. What is applied stays applied.
    pub async fn stop(self) {
        // Nobody to tell means that they have ended already.
        let _ = self.stop.send(true);
        for task in self.tasks {
            let _ = task.await;
        }
    }

    /// Ends at once, in the middle of whatever is under way: what a crash does. Only tests want that.
    pub fn kill(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
