//! API servers that refuse, hang, or answer nonsense. Plain HTTP, one request for each connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// What a server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// All is well: every list is empty and every watch silent.
    Nothing,
    /// The credentials are not accepted.
    Unauthorized,
    /// Nothing is allowed.
    Forbidden,
    /// Nothing is allowed on this resource.
    ForbidsOne(&'static str),
    TooManyRequests,
    /// Asks to come back in a second, the first time it is asked; all is well after that.
    Initializes,
    /// 500 without a word.
    EmptyError,
    /// 500 with a Status in which nothing is filled in.
    BlankStatus,
    /// An error page of a proxy.
    ErrorPage,
    /// A web server that knows no path of an API.
    NotFoundPage,
    /// JSON that ends in the middle.
    TruncatedJson,
    /// JSON that is no answer of an API server.
    OtherJson,
    /// Text that is no JSON.
    Text,
    /// Half of an answer, and then the connection is closed.
    Closes,
    /// The connection is accepted, and that is all.
    Hangs,
    /// Every page of a list says that there is another page, with one and the same token.
    Repeats,
    /// Every page is empty and says that there is another page, with a token of its own.
    Continues,
}

pub(super) const ALL: [Does; 12] = [
    Does::Unauthorized,
    Does::Forbidden,
    Does::TooManyRequests,
    Does::EmptyError,
    Does::BlankStatus,
    Does::ErrorPage,
    Does::NotFoundPage,
    Does::TruncatedJson,
    Does::OtherJson,
    Does::Text,
    Does::Closes,
    Does::Hangs,
];

const VERSION: &str = r#"{"major":"1","minor":"33","gitVersion":"v1.33.0","gitCommit":"","gitTreeState":"",
    "buildDate":"","goVersion":"","compiler":"","platform":""}"#;

/// A server for as long as it is kept.
pub(super) struct Server {
    pub(super) kubeconfig: PathBuf,
    /// Whether connections are taken.
    open: Arc<AtomicBool>,
    address: std::net::SocketAddr,
}

impl Server {
    /// A server that does this from the first request on.
    pub(super) fn new(folder: &Path, does: Does) -> Server {
        Server::start(folder, does, false)
    }

    /// A server that says which version it is, so that what runs for long begins, and does this otherwise.
    pub(super) fn with_version(folder: &Path, does: Does) -> Server {
        Server::start(folder, does, true)
    }

    fn start(folder: &Path, does: Does, has_version: bool) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let open = Arc::new(AtomicBool::new(true));
        let is_open = open.clone();
        thread::spawn(move || {
            let mut does = does;
            for stream in listener.incoming().map_while(Result::ok) {
                if !is_open.load(Ordering::SeqCst) {
                    return;
                }
                thread::spawn(move || answer(stream, does, has_version));
                if does == Does::Initializes {
                    does = Does::Nothing;
                }
            }
        });
        let kubeconfig = folder.join(format!("{}.kubeconfig", address.port()));
        let text = format!(
            "{{apiVersion: v1, kind: Config, current-context: a, clusters: [{{name: a, cluster: {{server: 'http://{address}'}}}}], \
             users: [{{name: a, user: {{token: x}}}}], contexts: [{{name: a, context: {{cluster: a, user: a}}}}]}}"
        );
        std::fs::write(&kubeconfig, text).expect("a kubeconfig can be written");
        Server {
            kubeconfig,
            open,
            address,
        }
    }

    /// From now on connections are refused.
    pub(super) fn die(&self) {
        self.open.store(false, Ordering::SeqCst);
        // Wakes the thread that holds the port.
        let _ = TcpStream::connect(self.address);
    }

    pub(super) fn argument(&self) -> &str {
        self.kubeconfig.to_str().expect("a path in UTF-8")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.die();
    }
}

/// Answers one request.
fn answer(mut stream: TcpStream, does: Does, has_version: bool) {
    let Some((method, path)) = request(&stream) else {
        return;
    };
    let fine = r#"{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}"#;
    let does = match path.split('?').next().unwrap_or_default() {
        "/version" if has_version => return respond(&mut stream, 200, VERSION),
        "/livez" if has_version => return respond(&mut stream, 200, "ok"),
        path => match does {
            Does::ForbidsOne(resource) if path.split('/').any(|part| part == resource) => Does::Forbidden,
            Does::ForbidsOne(_) => Does::Nothing,
            does => does,
        },
    };
    match does {
        Does::Nothing | Does::ForbidsOne(_) => match path.contains("watch=") {
            true => hang(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
            ),
            false if method == "GET" && !is_object(&path) => respond(&mut stream, 200, fine),
            false => respond(
                &mut stream,
                404,
                &status(404, "NotFound", "there is nothing here"),
            ),
        },
        Does::Unauthorized => respond(&mut stream, 401, &status(401, "Unauthorized", "Unauthorized")),
        Does::Forbidden => respond(&mut stream, 403, &status(403, "Forbidden", &forbidden(&path))),
        Does::TooManyRequests => respond(
            &mut stream,
            429,
            &status(429, "TooManyRequests", "too many requests"),
        ),
        Does::Initializes => {
            let body = status(429, "TooManyRequests", "storage is (re)initializing");
            let head =
                "HTTP/1.1 429 X\r\nRetry-After: 1\r\nContent-Type: application/json\r\nConnection: close";
            let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let _ = stream.write_all(answer.as_bytes());
        }
        Does::EmptyError => respond(&mut stream, 500, ""),
        Does::BlankStatus => respond(&mut stream, 500, "{}"),
        Does::ErrorPage => {
            let page = "<html>\n<head><title>503 Service Unavailable</title></head>\n".repeat(40);
            respond(&mut stream, 503, &page);
        }
        Does::NotFoundPage => respond(
            &mut stream,
            404,
            "<html><head><title>404 Not Found</title></head></html>",
        ),
        Does::TruncatedJson => respond(&mut stream, 200, &fine[..40]),
        Does::OtherJson => respond(&mut stream, 200, r#"{"hello":["world"]}"#),
        Does::Text => respond(&mut stream, 200, "it works!"),
        Does::Closes => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"kind\":");
        }
        Does::Hangs => hang(stream, ""),
        Does::Repeats | Does::Continues => {
            let token = match path.split_once("continue=") {
                Some((_, token)) if does == Does::Continues => token.len() + 1,
                _ => 1,
            };
            let page = serde_json::json!({
                "kind": "List", "apiVersion": "v1", "items": [],
                "metadata": {"resourceVersion": "1", "continue": "x".repeat(token)},
            });
            respond(&mut stream, 200, &page.to_string());
        }
    }
}

/// Method and path of a request that is read to its end.
fn request(stream: &TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(number) = lower.strip_prefix("content-length:") {
            length = number.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    let mut words = head.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.to_owned()))
}

fn respond(stream: &mut TcpStream, code: u16, body: &str) {
    let head = format!(
        "HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // A client that has gone needs no answer.
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body.as_bytes()));
}

/// Sends this and keeps the connection for as long as the client does.
fn hang(mut stream: TcpStream, head: &str) {
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.read(&mut [0; 1]);
}

fn status(code: u16, reason: &str, message: &str) -> String {
    serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code, "reason": reason,
        "message": message,
    })
    .to_string()
}

/// What Kubernetes says.
fn forbidden(path: &str) -> String {
    let (group, resource, _) = parts(path);
    format!(
        "{resource}.{group} is forbidden: User \"system:serviceaccount:x:y\" cannot list resource \"{resource}\" in API \
         group \"{group}\" at the cluster scope"
    )
}

/// Whether a path is that of one object.
fn is_object(path: &str) -> bool {
    parts(path).2
}

/// Group, resource, and whether there is a name.
fn parts(path: &str) -> (String, String, bool) {
    let path = path.split('?').next().unwrap_or_default();
    let mut parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let group = match parts.first() {
        Some(&"apis") => parts.drain(..3.min(parts.len())).nth(1).unwrap_or_default(),
        _ => {
            parts.drain(..2.min(parts.len()));
            ""
        }
    };
    if parts.first() == Some(&"namespaces") && parts.len() > 2 {
        parts.drain(..2);
    }
    let resource = parts.first().copied().unwrap_or_default();
    (group.to_owned(), resource.to_owned(), parts.len() > 1)
}
