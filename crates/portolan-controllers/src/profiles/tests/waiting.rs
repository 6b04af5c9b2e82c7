use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use portolan_runtime::watch::Delta;

use super::fixture::{Hub, cluster, foreign, placement};
use crate::moment::tests::instant;
use crate::profiles::Profiles;
use crate::profiles::message::{Input, Outcome, Write};
use crate::reconcile::fake::second;
use crate::reconcile::{Failure, Reconciler};

/// Whether the wait is over at once, as often as it is asked.
fn at_once(future: impl Future<Output = ()>) -> bool {
    pin!(future).poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_when_every_profile_is_there() {
    let mut hub = Hub::new();
    for name in ["a", "b"] {
        hub.server.put(&cluster(name, "prod"));
    }
    hub.deliver();
    let due = hub.state.due(second(0).into(), usize::MAX);
    let mut wait = pin!(hub.published_profiles.clone().published_owned("team", ["a", "b"]));
    assert!(futures::poll!(&mut wait).is_pending());
    for (write, is_last) in due.iter().zip([false, true]) {
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(
            futures::poll!(&mut wait).is_pending(),
            "what is expected is waited for as long as it takes"
        );
        let endings = hub.carry_out(write);
        hub.state.handle(Input::Ended {
            at: instant(second(0)),
            endings,
        });
        assert_eq!(futures::poll!(&mut wait).is_ready(), is_last);
    }
    assert!(at_once(hub.published_profiles.published("team", &["b", "a"])));
    assert!(at_once(hub.published_profiles.published("team", &[""; 0])));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_while_publishing_is_off_or_the_kind_is_not_served() {
    assert!(at_once(Profiles::off().published("team", &["a"])));
    let mut hub = Hub::new();
    assert!(!at_once(hub.published_profiles.published("team", &["a"])));
    hub.state.handle(Input::Profile(Delta::NotServed));
    assert!(at_once(hub.published_profiles.published("team", &["a"])));
    hub.state.handle(Input::Profile(Delta::Synced));
    assert!(!at_once(hub.published_profiles.published("team", &["a"])));
}

#[tokio::test(start_paused = true)]
async fn a_profile_of_somebody_else_counts() {
    let mut hub = Hub::new();
    hub.server.put(&cluster("a", "prod"));
    hub.server.put(&foreign("team", "a"));
    hub.deliver();
    assert!(at_once(hub.published_profiles.published("team", &["a"])));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_the_publisher_is_about_to_know_is_waited_for_and_no_other() {
    let mut hub = Hub::new();
    hub.settle(second(0));
    let mut soon = pin!(hub.published_profiles.clone().published_owned("new", ["a", "a"]));
    assert!(futures::poll!(&mut soon).is_pending());
    hub.server.put(&cluster("a", "prod"));
    hub.server.put(&super::fixture::binding("new", "prod"));
    hub.server.put(&placement("new", "web"));
    hub.settle(second(0));
    assert!(futures::poll!(&mut soon).is_ready());

    let never = hub.published_profiles.published("team", &["never", "neither"]);
    assert!(tokio::time::timeout(Duration::from_secs(10), never).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_what_the_server_refuses() {
    for failure in [Failure::Forbidden, Failure::Missing, Failure::Invalid] {
        let mut hub = Hub::new();
        hub.server.put(&cluster("a", "prod"));
        hub.deliver();
        let due = hub.state.due(second(0).into(), usize::MAX);
        let [Write::Create { key, .. }] = due.as_slice() else {
            panic!("{due:?}")
        };
        assert!(!at_once(hub.published_profiles.published("team", &["a"])));
        let endings = vec![(key.clone(), Outcome::Failed(failure))];
        hub.state.handle(Input::Ended {
            at: instant(second(0)),
            endings,
        });
        assert!(
            at_once(hub.published_profiles.published("team", &["a"])),
            "{failure:?}"
        );
    }
}

impl Profiles {
    async fn published_owned<const N: usize>(self, namespace: &'static str, clusters: [&'static str; N]) {
        self.published(namespace, &clusters).await;
    }
}
