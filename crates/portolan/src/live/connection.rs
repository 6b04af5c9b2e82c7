//! A hub that is lost while a command follows it: one rule for every command that runs until it is stopped. It says once
//! that the hub is lost, waits, and says once that the hub is back.

use std::time::Duration;

use kube::Client;
use tokio::time::sleep;

use super::error::{is_away, is_of_hub};
use crate::{clock, output};

/// How often a hub that is lost is asked whether it is back.
const RETRY: Duration = Duration::from_secs(1);

/// Whether the hub cannot be reached. A hub that refuses can be.
pub(crate) async fn is_lost(client: &Client) -> bool {
    let answer = client.apiserver_version().await;
    answer.is_err_and(|error| is_away(&error))
}

/// Returns when the hub can be reached: at once, or after it was lost and came back. Says whether it was lost.
pub(crate) async fn outlast(client: &Client) -> bool {
    if !is_lost(client).await {
        return false;
    }
    remark("the connection to the hub is lost; waiting for it to come back");
    while is_lost(client).await {
        sleep(RETRY).await;
    }
    remark("the hub is back");
    true
}

/// The answer of a read that is repeated while the hub is lost. An error of a hub that can be reached is an error, if it
/// comes a second time: the first one may have come just before the hub was back.
pub(crate) async fn outlasting<T>(
    client: &Client,
    read: impl AsyncFn() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    match read().await {
        Err(error) if is_of_hub(&error) => {}
        answer => return answer,
    }
    loop {
        outlast(client).await;
        match read().await {
            Err(error) if is_of_hub(&error) && is_lost(client).await => {}
            answer => return answer,
        }
    }
}

/// A line on standard error that has the time in front, as the lines of what is followed have.
pub(crate) fn remark(text: &str) {
    output::remark(&format!("{}  {text}\n", clock::of_day(clock::now())));
}
