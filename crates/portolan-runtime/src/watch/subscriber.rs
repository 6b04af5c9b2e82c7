//! Where the deltas of a watch go.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, ready};
use tokio::sync::{Mutex, mpsc};

use super::Delta;

/// How long a message waits for company that nobody is in a hurry for.
const BATCH_WAIT: Duration = Duration::from_millis(100);
/// Messages that wait at most.
const MAX_BATCH: usize = 64;

/// A listener of a watch. One that is behind slows the watch down; one that is gone ends it.
pub struct Subscriber<K>(Box<dyn Fn(Delta<K>) -> Sending + Send + Sync>);

type Sending = BoxFuture<'static, Result<(), Closed>>;

/// The listener is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

impl<K: Send + Sync + 'static> Subscriber<K> {
    /// Feeds a channel of messages that deltas are turned into.
    pub fn new<M: Send + 'static>(
        sender: mpsc::Sender<M>,
        wrap: impl Fn(Delta<K>) -> M + Send + Sync + 'static,
    ) -> Subscriber<K> {
        Subscriber::filtered(sender, wrap, |_| true)
    }

    /// As [`Subscriber::new`], for a listener that has no use for most of what a watch says: what it is not told wakes nobody.
    pub fn filtered<M: Send + 'static>(
        sender: mpsc::Sender<M>,
        wrap: impl Fn(Delta<K>) -> M + Send + Sync + 'static,
        wanted: impl Fn(&Delta<K>) -> bool + Send + Sync + 'static,
    ) -> Subscriber<K> {
        Subscriber(Box::new(move |delta| {
            if !wanted(&delta) {
                return ready(Ok(())).boxed();
            }
            let (sender, message) = (sender.clone(), wrap(delta));
            async move { sender.send(message).await.map_err(|_| Closed) }.boxed()
        }))
    }

    /// As [`Subscriber::new`], for a listener that wants everything but is in no hurry for some of it: waking up costs more than
    /// what it then does. Messages stay in order.
    pub fn batched<M: Send + 'static>(
        sender: mpsc::Sender<M>,
        wrap: impl Fn(Delta<K>) -> M + Send + Sync + 'static,
        can_wait: impl Fn(&Delta<K>) -> bool + Send + Sync + 'static,
    ) -> Subscriber<K> {
        let room = Arc::new(Batch {
            sender,
            waiting: Mutex::new(Vec::new()),
        });
        Subscriber(Box::new(move |delta| {
            let can_wait = can_wait(&delta);
            let (room, message) = (room.clone(), wrap(delta));
            async move {
                match can_wait {
                    true => room.wait(message).await,
                    false => room.leave_with(message).await,
                }
            }
            .boxed()
        }))
    }

    /// Tells the listener, and waits while it is behind.
    pub fn send(&self, delta: Delta<K>) -> BoxFuture<'static, Result<(), Closed>> {
        (self.0)(delta)
    }
}

/// Messages that wait for one that cannot, or for their time to be up.
struct Batch<M> {
    sender: mpsc::Sender<M>,
    /// Held while messages leave, so that none overtakes them.
    waiting: Mutex<Vec<M>>,
}

impl<M: Send + 'static> Batch<M> {
    async fn wait(self: Arc<Self>, message: M) -> Result<(), Closed> {
        let mut waiting = self.waiting.lock().await;
        waiting.push(message);
        match waiting.len() {
            1 => {
                let room = self.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(BATCH_WAIT).await;
                    // Whether somebody listens the next message tells.
                    let _ = room.leave(&mut *room.waiting.lock().await).await;
                });
                Ok(())
            }
            MAX_BATCH.. => self.leave(&mut waiting).await,
            _ => Ok(()),
        }
    }

    async fn leave_with(&self, message: M) -> Result<(), Closed> {
        let mut waiting = self.waiting.lock().await;
        waiting.push(message);
        self.leave(&mut waiting).await
    }

    async fn leave(&self, waiting: &mut Vec<M>) -> Result<(), Closed> {
        for message in waiting.drain(..) {
            self.sender.send(message).await.map_err(|_| Closed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Key;
    use super::*;

    /// A feed of the names of deleted objects; those of "later" can wait.
    fn names(capacity: usize) -> (Subscriber<()>, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel(capacity);
        let name = |delta: &Delta<()>| match delta {
            Delta::Deleted(key) => key.name.clone(),
            _ => panic!("{delta:?}"),
        };
        let can_wait = move |delta: &Delta<()>| name(delta).starts_with("later");
        (
            Subscriber::batched(sender, move |delta| name(&delta), can_wait),
            receiver,
        )
    }

    fn gone(name: &str) -> Delta<()> {
        Delta::Deleted(Key {
            namespace: String::new(),
            name: name.to_owned(),
            uid: String::new(),
        })
    }

    fn received(receiver: &mut mpsc::Receiver<String>) -> Vec<String> {
        std::iter::from_fn(|| receiver.try_recv().ok()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn what_can_wait_waits_and_goes_before_what_cannot() {
        let (subscriber, mut receiver) = names(8);
        for name in ["later-1", "later-2"] {
            subscriber.send(gone(name)).await.unwrap();
        }
        tokio::time::sleep(BATCH_WAIT / 2).await;
        assert!(received(&mut receiver).is_empty());
        subscriber.send(gone("now")).await.unwrap();
        assert_eq!(received(&mut receiver), ["later-1", "later-2", "now"]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_is_not_kept_for_longer_than_that() {
        let (subscriber, mut receiver) = names(8);
        for round in 0..2 {
            subscriber.send(gone("later")).await.unwrap();
            tokio::time::sleep(BATCH_WAIT * 2).await;
            assert_eq!(received(&mut receiver), ["later"], "round {round}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn not_many_wait_at_once() {
        let (subscriber, mut receiver) = names(2 * MAX_BATCH);
        for _ in 0..MAX_BATCH {
            subscriber.send(gone("later")).await.unwrap();
        }
        assert_eq!(received(&mut receiver).len(), MAX_BATCH);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_overtakes_messages_that_are_leaving() {
        let (subscriber, mut receiver) = names(1);
        for number in 0..3 {
            subscriber.send(gone(&format!("later-{number}"))).await.unwrap();
        }
        // Their time is up, and only one of them finds room.
        tokio::time::sleep(BATCH_WAIT * 2).await;
        let now = tokio::spawn(async move { subscriber.send(gone("now")).await });
        tokio::time::sleep(BATCH_WAIT).await;
        let mut order = Vec::new();
        while order.len() < 4 {
            order.push(receiver.recv().await.unwrap());
        }
        assert_eq!(order, ["later-0", "later-1", "later-2", "now"]);
        assert_eq!(now.await.unwrap(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_that_is_gone_is_noticed() {
        let (subscriber, receiver) = names(1);
        drop(receiver);
        assert_eq!(subscriber.send(gone("later")).await, Ok(()));
        assert_eq!(subscriber.send(gone("now")).await, Err(Closed));
    }
}
