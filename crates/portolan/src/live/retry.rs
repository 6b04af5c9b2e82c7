//! Requests that a server asks to send again: 429 with `Retry-After`.
//!
//! A real server answers so for a moment after a CustomResourceDefinition was made ("storage is (re)initializing"), and
//! when it sheds load. It has not begun with the request, so every verb may be repeated.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use tower::BoxError;

/// How often a request is sent at most.
const ATTEMPTS: usize = 6;
/// A server that asks for a longer wait is not waited for: the command ends and says so.
const LONGEST: Duration = Duration::from_secs(5);

/// A client that waits and repeats a request when the server asks for it. The client has no namespace of its own.
pub(super) fn with_retries(client: Client) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| answer(client.clone(), request));
    Client::new(service, "default")
}

async fn answer(client: Client, request: Request<Body>) -> Result<Response<Body>, BoxError> {
    let (head, body) = request.into_parts();
    let body = body.collect_bytes().await?;
    let mut attempt = 1;
    loop {
        let request = Request::from_parts(head.clone(), Body::from(body.clone()));
        let response = client.send(request).await?;
        match wait(&response).filter(|_| attempt < ATTEMPTS) {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return Ok(response),
        }
        attempt += 1;
    }
}

/// How long the server asks to wait, if that is not too long.
fn wait(response: &Response<Body>) -> Option<Duration> {
    if response.status() != StatusCode::TOO_MANY_REQUESTS {
        return None;
    }
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    let wait = Duration::from_secs(seconds.trim().parse().ok()?);
    (wait <= LONGEST).then_some(wait)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::Method;

    use super::*;

    /// A server that asks so many times to come back later, then answers with the method and the body of the request. And
    /// how often it was asked.
    fn server(busy: usize, retry_after: Option<&'static str>) -> (Client, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let number = count.fetch_add(1, Ordering::SeqCst);
            async move {
                if number < busy {
                    let mut answer = Response::builder().status(429);
                    if let Some(text) = retry_after {
                        answer = answer.header(RETRY_AFTER, text);
                    }
                    let body = Body::from(b"storage is (re)initializing".to_vec());
                    return Ok::<_, Infallible>(answer.body(body).unwrap());
                }
                let said = request.method().to_string();
                let body = request.into_body().collect_bytes().await.unwrap();
                let said = [said.as_bytes(), b" ", body.as_ref()].concat();
                Ok(Response::new(Body::from(said)))
            }
        });
        (with_retries(Client::new(service, "default")), asked)
    }

    async fn send(client: &Client, method: Method) -> kube::Result<String> {
        let request = Request::builder().method(method).uri("/x").body(b"body".to_vec());
        client.request_text(request.unwrap()).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_of_any_verb_is_sent_again_with_its_body_when_the_server_asks_for_it() {
        for method in [
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ] {
            let (client, asked) = server(2, Some("1"));
            let said = send(&client, method.clone()).await.unwrap();
            assert_eq!(said, format!("{method} body"));
            assert_eq!(asked.load(Ordering::SeqCst), 3);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_takes_the_request_is_given_up() {
        let (client, asked) = server(usize::MAX, Some("1"));
        let error = send(&client, Method::POST).await.unwrap_err();
        assert!(
            matches!(&error, kube::Error::Api(status) if status.code == 429),
            "{error}"
        );
        assert_eq!(asked.load(Ordering::SeqCst), ATTEMPTS);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_names_no_time_or_a_long_one_is_not_waited_for() {
        for retry_after in [None, Some("3600"), Some("Wed, 21 Oct 2026 07:28:00 GMT")] {
            let (client, asked) = server(usize::MAX, retry_after);
            assert!(send(&client, Method::GET).await.is_err());
            assert_eq!(asked.load(Ordering::SeqCst), 1, "{retry_after:?}");
        }
    }
}
