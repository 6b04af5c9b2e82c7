//! Starts an agent and stops it.

use kube::Client;
use portolan_runtime::watch::with_timeout;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::monitor::Monitor;
use crate::settings::Settings;
use crate::{heartbeat, works};

/// An agent, running. One that is dropped stops when it has finished what is under way.
#[derive(Debug)]
pub struct Agent {
    monitor: Monitor,
    stop: watch::Sender<bool>,
    works: JoinHandle<()>,
    /// Watches and heartbeat, which can be ended at any moment.
    others: Vec<JoinHandle<()>>,
}

impl Agent {
    /// Starts it on the current runtime: `hub` is where the works are, `spoke` the member cluster.
    pub fn start(hub: Client, spoke: Client, settings: Settings) -> Agent {
        let (hub, spoke) = (with_timeout(hub), with_timeout(spoke));
        let (stop, stopped) = watch::channel(false);
        let monitor = Monitor::of(&settings.cluster);
        let servers = (hub.clone(), spoke.clone());
        let heartbeat = settings
            .heartbeat
            .then(|| heartbeat::beat(servers, settings.clone(), monitor.clone(), stopped.clone()));
        let (works, mut others) = works::start(hub, spoke, &settings, &monitor, stopped);
        others.extend(heartbeat.map(|heartbeat| monitor.tasks.spawn("heartbeat", heartbeat)));
        others.push(match cfg!(test) {
            true => monitor.tasks.watch_on(&tokio::runtime::Handle::current()),
            false => monitor.tasks.watch(),
        });
        Agent {
            monitor,
            stop,
            works,
            others,
        }
    }

    /// Whether it does its work, and what it counted.
    pub fn monitor(&self) -> Monitor {
        self.monitor.clone()
    }

    /// Waits until a task has died or a loop stands still, and says which. The agent renews its Lease no more: it is to be
    /// stopped and started again.
    pub async fn failed(&self) -> String {
        self.monitor.tasks.failed().await
    }

    /// Finishes the work that is under way, and returns. What is applied stays applied.
    pub async fn stop(mut self) {
        self.monitor.tasks.stopping();
        // A closed channel means that the task has ended already.
        let _ = self.stop.send(true);
        let _ = (&mut self.works).await;
        self.others.iter().for_each(JoinHandle::abort);
    }

    /// Ends it when it has finished the work that is under way, and does not wait for that. Its cluster is not one of the
    /// hub's any more, and there is nothing left to watch or to tell.
    pub fn dismiss(&self) {
        self.monitor.tasks.stopping();
        let _ = self.stop.send(true);
        self.others.iter().for_each(JoinHandle::abort);
    }

    /// Ends at once, in the middle of whatever is under way: what a crash does. Only tests want that.
    pub fn kill(self) {
        self.monitor.tasks.stopping();
        self.others
            .iter()
            .chain([&self.works])
            .for_each(JoinHandle::abort);
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.monitor.tasks.stopping();
    }
}
