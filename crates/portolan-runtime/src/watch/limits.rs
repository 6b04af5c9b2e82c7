//! Limits how long a request may wait for an answer, and how much is read of it.

use std::time::Duration;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use tower::BoxError;

use super::paging::{PageRequest, PageSize, limit};
use super::size::{ANSWER_BYTES, Answer, Pages, Sizes};
use crate::failure::TooLarge;

/// How long a server may take for an answer, or to begin a watch. Servers give up after a minute themselves.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(70);

/// A client that does not wait forever for a server that has fallen silent, with a limit above that of servers. It does not
/// read for ever what a server sends without an end, either.
pub fn with_timeout(client: Client) -> Client {
    with_limits(client, ANSWER_TIMEOUT, ANSWER_BYTES)
}

/// A client as of [`with_timeout`] for one list at a time: the pages of a list have at most `bytes` together.
pub fn with_list_timeout(client: Client, bytes: u64) -> Client {
    let sizes = Sizes {
        list: Some(Pages::of(bytes)),
        ..Sizes::answers_of(ANSWER_BYTES)
    };
    limited(client, Some(ANSWER_TIMEOUT), sizes)
}

/// A client for callers that have time limits of their own: only what is read of an answer is limited.
pub fn bounded(client: Client) -> Client {
    limited(client, None, Sizes::answers_of(ANSWER_BYTES))
}

/// A client whose requests fail after `time`, and when the answer has more than `bytes`. kube limits the silence of a watch
/// once the watch has begun; the time here is for the beginnings of watches and for all other requests. The client has no
/// namespace of its own.
pub fn with_limits(client: Client, time: Duration, bytes: usize) -> Client {
    limited(client, Some(time), Sizes::answers_of(bytes))
}

pub(super) fn limited(client: Client, time: Option<Duration>, sizes: Sizes) -> Client {
    let page_size = PageSize::default();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, sizes, page_size) = (client.clone(), sizes.clone(), page_size.clone());
        async move {
            let Some(asked) = limit(request.method(), request.uri()) else {
                return in_time(client, request, time, &sizes).await;
            };
            let mut page = PageRequest::of(request, asked, &page_size);
            loop {
                match in_time(client.clone(), page.request(), time, &sizes).await {
                    // Remembered before the next try: the caller may not wait for its end.
                    Err(error) if is_answer_too_large(&error) => {
                        page = page.halved().ok_or(error)?;
                        page_size.too_large(page.objects());
                    }
                    answer => {
                        if answer.as_ref().is_ok_and(|answer| answer.status().is_success()) {
                            page_size.fitted(asked, page.objects());
                        }
                        return answer;
                    }
                }
            }
        }
    });
    Client::new(service, "default")
}

fn is_answer_too_large(error: &BoxError) -> bool {
    matches!(error.downcast_ref(), Some(TooLarge::Answer { .. }))
}

async fn in_time(
    client: Client,
    request: Request<Body>,
    time: Option<Duration>,
    sizes: &Sizes,
) -> Result<Response<Answer>, BoxError> {
    let asked = format!("{} {}", request.method(), request.uri().path());
    let answer = answer(client, request, &asked, sizes);
    match time {
        None => answer.await,
        Some(time) => match tokio::time::timeout(time, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("the server did not answer {asked} within {time:?}").into()),
        },
    }
}

async fn answer(
    client: Client,
    request: Request<Body>,
    asked: &str,
    sizes: &Sizes,
) -> Result<Response<Answer>, BoxError> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let response = client.send(request).await?;
    sizes.read(asked, &query, response).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http_body_util::StreamBody;
    use http_body_util::combinators::UnsyncBoxBody;
    use http_body_util::{BodyExt, Full};
    use k8s_openapi::api::core::v1::ConfigMap;
    use tokio::sync::mpsc;

    use super::*;
    use crate::watch::{Delta, Subscriber, Watch};

    type Answer = UnsyncBoxBody<bytes::Bytes, BoxError>;

    /// What a server does with its first, second, … request; the last for all that follow.
    #[derive(Clone, Copy, Debug)]
    enum Does {
        Nothing,
        AnswerInPart,
        List,
        Watch,
    }

    fn server(script: &'static [Does]) -> (Client, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let service = tower::service_fn(move |_: Request<Body>| {
            let number = count.fetch_add(1, Ordering::SeqCst);
            let does = script[number.min(script.len() - 1)];
            async move {
                let list = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}"#;
                let silence = || StreamBody::new(futures::stream::pending::<Result<_, BoxError>>());
                let body: Answer = match does {
                    Does::Nothing => std::future::pending().await,
                    Does::AnswerInPart | Does::Watch => silence().boxed_unsync(),
                    Does::List => Full::from(list).map_err(|never| match never {}).boxed_unsync(),
                };
                Ok::<_, BoxError>(Response::new(body))
            }
        });
        (Client::new(service, "default"), asked)
    }

    /// Watches until all is known, and then until the server was asked so often.
    async fn survives(script: &'static [Does], requests: usize) {
        let (client, asked) = server(script);
        let (sender, mut deltas) = mpsc::channel(8);
        let source = Watch::<ConfigMap>::new(client, vec![Subscriber::new(sender, |delta| delta)]);
        let watch = tokio::spawn(source.run());
        while !matches!(deltas.recv().await, Some(Delta::Synced)) {}
        while asked.load(Ordering::SeqCst) < requests {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        watch.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn who_waited_in_vain_is_told_for_what() {
        let (client, _) = server(&[Does::Nothing]);
        let maps: kube::Api<ConfigMap> = kube::Api::namespaced(with_timeout(client), "here");
        let kube::Error::Service(error) = maps.get("a").await.unwrap_err() else {
            panic!("it is the service that gave up");
        };
        let said = "the server did not answer GET /api/v1/namespaces/here/configmaps/a within 70s";
        assert_eq!(error.to_string(), said);
    }

    // Time stands still but for those who wait: these end at once, or never.

    #[tokio::test(start_paused = true)]
    async fn a_list_that_is_not_answered_is_asked_for_again() {
        survives(&[Does::Nothing, Does::List, Does::Watch], 3).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_breaks_off_without_a_word_is_asked_for_again() {
        survives(&[Does::AnswerInPart, Does::List, Does::Watch], 3).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_does_not_begin_is_asked_for_again() {
        survives(&[Does::List, Does::Nothing, Does::Watch], 3).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_hangs_without_a_word_is_asked_for_again() {
        survives(&[Does::List, Does::Watch], 4).await;
    }
}
