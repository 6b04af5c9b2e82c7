use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::settings::Settings;
use crate::works;

/// An agent, running.
#[derive(Debug)]
pub struct Agent {
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
    watches: Vec<JoinHandle<()>>,
}

impl Agent {
    /// Starts it on the current runtime: `hub` is where the works are, `spoke` the member cluster.
    pub fn start(hub: Client, spoke: Client, settings: Settings) -> Agent {
        let (stop, stopped) = watch::channel(false);
        let (works, watches) = works::start(hub, spoke, &settings, stopped);
        Agent {
            stop,
            tasks: vec![works],
            watches,
        }
    }

    /// Finishes the work that is under way, and returns. What is applied stays applied.
    pub async fn stop(self) {
        // Nobody to tell means that they have ended already.
        let _ = self.stop.send(true);
        for task in self.tasks {
            let _ = task.await;
        }
        self.watches.iter().for_each(JoinHandle::abort);
    }

    /// Ends at once, in the middle of whatever is under way: what a crash does. Only tests want that.
    pub fn kill(self) {
        self.tasks.iter().chain(&self.watches).for_each(JoinHandle::abort);
    }
}
