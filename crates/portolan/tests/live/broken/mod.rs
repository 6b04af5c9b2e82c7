//! Every command, the controllers and the agent against servers that refuse, are gone, or are half broken: what a person
//! reads is one line for a cause, in words, and a script gets exit code 3.

mod check;
mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::hub::Live;
use super::process::get;
use super::support::{Run, Scratch, portolan};
use server::{ALL, Does, Server};

/// How long a command waits for an answer where the server may never answer.
const BRIEFLY: &str = "1s";
/// How long a command waits where the server answers: long enough for a machine that is busy with other tests.
const PATIENTLY: &str = "30s";

/// The commands that talk to a hub and end by themselves. `HUB` is the kubeconfig of the hub.
const COMMANDS: &[&[&str]] = &[
    &["get", "placements", "--kubeconfig", "HUB"],
    &["get", "decisions", "--kubeconfig", "HUB"],
    &["get", "clusters", "--kubeconfig", "HUB"],
    &["watch", "--kubeconfig", "HUB"],
    &["explain", "--placement", "a/b", "--kubeconfig", "HUB"],
    &["simulate", "--kubeconfig", "HUB"],
    &["rollout", "status", "a/b", "--kubeconfig", "HUB"],
    &["rollout", "watch", "a/b", "--kubeconfig", "HUB"],
    &["rollout", "pause", "a/b", "--kubeconfig", "HUB"],
    &["rollout", "resume", "a/b", "--kubeconfig", "HUB"],
    &["rollout", "abort", "a/b", "--kubeconfig", "HUB"],
    &["join", "east", "--hub", "HUB", "-o", "kubeconfig"],
    &["leave", "east", "--hub", "HUB"],
    &["doctor", "--kubeconfig", "HUB"],
    &["rollout", "list", "--kubeconfig", "HUB"],
    &["demo", "fail", "east", "--kubeconfig", "HUB"],
    &["demo", "partition", "east", "--kubeconfig", "HUB"],
    &["demo", "recover", "east", "--kubeconfig", "HUB"],
    &[
        "controller",
        "--metrics-listen",
        "127.0.0.1:0",
        "--kubeconfig",
        "HUB",
    ],
    &["agent", "--hub", "HUB", "--spoke", "HUB", "--cluster", "east"],
];

/// The commands that have no hub to ask, or bring one.
const WITHOUT_A_HUB: &[&str] = &[
    "up",
    "hub",
    "crds",
    "completions",
    "version",
    "help",
    "lint",
    "man",
];

/// Like `portolan`, with this time limit for requests.
fn run(scratch: &Scratch, args: &[&str], kubeconfig: &str, limit: &str) -> Run {
    let args: Vec<&str> = args
        .iter()
        .map(|word| if *word == "HUB" { kubeconfig } else { word })
        .collect();
    let mut command = command(scratch, &args);
    let output = command.env("PORTOLAN_REQUEST_TIMEOUT", limit).output();
    let output = output.expect("the binary ends");
    // Lines are measured, and how long the path of the folder is differs from machine to machine.
    let text = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).expect("the binary prints UTF-8");
        text.replace(kubeconfig, "hub.kubeconfig")
    };
    Run {
        code: output.status.code().expect("the binary exits by itself"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn command(scratch: &Scratch, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portolan"));
    command
        .args(args)
        .current_dir(scratch.path())
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", scratch.path())
        .stdin(Stdio::null());
    command
}

/// What is wrong with `doctor`, whose answer is that the server cannot be used.
fn problems_of_doctor(run: &Run) -> Vec<String> {
    let mut problems = check::problems(&format!("{}{}", run.stdout, run.stderr));
    if run.code != 3 {
        problems.push(format!("exit code {}", run.code));
    }
    let said = [
        "PROBLEM  hub: cannot ",
        "PROBLEM  credentials: the hub cannot be used: ",
    ];
    if !said.iter().any(|words| run.stdout.contains(words)) {
        problems.push(format!("it is not said what cannot be done: {}", run.stdout));
    }
    problems
}

/// What is wrong with a command that was run against a server which cannot be used.
fn problems(run: &Run) -> Vec<String> {
    let mut problems = check::problems(&run.stderr);
    if run.code != 3 {
        problems.push(format!("exit code {}", run.code));
    }
    if !run.stdout.is_empty() {
        problems.push(format!("an answer was printed: {}", run.stdout));
    }
    if !run.stderr.lines().any(|line| line.contains("cannot ")) {
        problems.push(format!("it is not said what cannot be done: {}", run.stderr));
    }
    problems
}

/// Runs all commands against one server; several at once, since most of them wait.
fn all_commands(kubeconfig: &str, what: &str) -> Vec<String> {
    let found = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for args in COMMANDS {
            let found = &found;
            scope.spawn(move || {
                let scratch = Scratch::new();
                let run = run(&scratch, args, kubeconfig, BRIEFLY);
                let problems = match args[0] {
                    "doctor" => problems_of_doctor(&run),
                    _ => problems(&run),
                };
                let named = problems
                    .into_iter()
                    .map(|problem| format!("{what}: {args:?}: {problem}"));
                found.lock().expect("nobody panics here").extend(named);
            });
        }
    });
    found.into_inner().expect("nobody panics here")
}

#[test]
fn every_command_says_in_words_what_a_broken_hub_did_and_exits_with_3() {
    let scratch = Scratch::new();
    let mut servers: Vec<(String, Server)> = ALL
        .into_iter()
        .map(|does| (format!("{does:?}"), Server::new(scratch.path(), does)))
        .collect();
    let gone = Server::new(scratch.path(), Does::Nothing);
    gone.die();
    servers.push(("connection refused".to_owned(), gone));
    let found: Vec<String> = servers
        .iter()
        .flat_map(|(what, server)| all_commands(server.argument(), what))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_command_waits_for_a_hub_that_asks_for_a_moment() {
    let scratch = Scratch::new();
    let answer = |does: Does| {
        let server = Server::new(scratch.path(), does);
        let run = run(
            &scratch,
            &["get", "clusters", "--kubeconfig", "HUB"],
            server.argument(),
            PATIENTLY,
        );
        (run.code, run.stdout)
    };
    assert_eq!(answer(Does::Initializes), answer(Does::Nothing));
}

#[test]
fn a_command_that_may_not_read_one_kind_names_the_kind() {
    let scratch = Scratch::new();
    let server = Server::new(scratch.path(), Does::ForbidsOne("placements"));
    for args in [
        &["get", "placements", "--kubeconfig", "HUB"][..],
        &["simulate", "--kubeconfig", "HUB"],
    ] {
        let run = run(&scratch, args, server.argument(), PATIENTLY);
        assert_eq!(problems(&run), Vec::<String>::new());
        let expected = "cannot list placements.cluster.open-cluster-management.io: ";
        assert!(run.stderr.contains(expected), "{}", run.stderr);
        assert!(run.stderr.contains("403 Forbidden: "), "{}", run.stderr);
    }
}

#[test]
fn a_command_ends_on_a_hub_whose_lists_never_end() {
    let scratch = Scratch::new();
    for does in [Does::Repeats, Does::Continues] {
        let server = Server::new(scratch.path(), does);
        let args = ["get", "placements", "--kubeconfig", "HUB"];
        let run = run(&scratch, &args, server.argument(), PATIENTLY);
        assert_eq!(problems(&run), Vec::<String>::new(), "{does:?}");
        let expected = "says that there is more and gives nothing new";
        assert!(run.stderr.contains(expected), "{does:?}: {}", run.stderr);
    }
}

#[test]
fn a_hub_that_is_lost_is_not_quiet() {
    let scratch = Scratch::new();
    let server = Server::new(scratch.path(), Does::Nothing);
    let args = [
        "watch",
        "ns/p",
        "--until-quiet",
        "2s",
        "--kubeconfig",
        server.argument(),
    ];
    let watch = Running::start(&scratch, &args);
    watch.wait_for("there is no Placement ns/p");
    // Time for its lists; its watches stay open and silent then.
    thread::sleep(Duration::from_secs(1));
    server.die();
    watch.wait_for("the connection to the hub is lost; waiting for it to come back");
}

#[test]
fn every_command_is_run_against_broken_hubs_or_has_none() {
    let scratch = Scratch::new();
    let help = portolan(scratch.path(), &["--help"], "").stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let there: BTreeSet<&str> = commands
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(there.len() > 10, "{help}");
    let tried: BTreeSet<&str> = COMMANDS.iter().map(|args| args[0]).collect();
    let unknown: Vec<&&str> = there
        .iter()
        .filter(|name| !tried.contains(**name) && !WITHOUT_A_HUB.contains(name))
        .collect();
    assert!(
        unknown.is_empty(),
        "add to COMMANDS or WITHOUT_A_HUB: {unknown:?}"
    );
}

/// A process that runs until it is stopped, and the lines that it has logged.
struct Running {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Running {
    fn start(scratch: &Scratch, args: &[&str]) -> Running {
        let mut child = command(scratch, args)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (pipe, seen) = (child.stderr.take().expect("a pipe"), lines.clone());
        thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                seen.lock().expect("nobody panics here").push(line);
            }
        });
        Running { child, lines }
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("nobody panics here").clone()
    }

    /// Waits for a line with this word.
    fn wait_for(&self, word: &str) -> String {
        for _ in 0..600 {
            if let Some(line) = self.lines().into_iter().find(|line| line.contains(word)) {
                return line;
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("no line with {word:?} in a minute: {:#?}", self.lines());
    }

    /// Where probes are answered.
    fn probes(&self) -> String {
        let line = self.wait_for("metrics are served");
        let address = line.split("address=").nth(1).expect("an address");
        address.trim().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How long a process is listened to after its first complaint. Without a limit there are hundreds of lines in this time.
const WINDOW: Duration = Duration::from_secs(8);
/// Lines that a process may need to say what is wrong: one for each kind that it watches, and what it says at its start.
const LINES: usize = 40;

/// What is wrong with the log of a process that runs against a server which does this.
fn log_problems(process: &Running, what: &str) -> Vec<String> {
    let lines = process.lines();
    let mut problems = check::problems(&lines.join("\n"));
    if lines.len() > LINES {
        problems.push(format!("{} lines: {lines:#?}", lines.len()));
    }
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for line in &lines {
        // The first word is the time.
        *times
            .entry(line.split_once(' ').map_or(line, |(_, text)| text))
            .or_default() += 1;
    }
    let repeated = times.into_iter().filter(|(_, times)| *times > 1);
    problems.extend(repeated.map(|(line, times)| format!("{times} times: {line}")));
    problems
        .into_iter()
        .map(|problem| format!("{what}: {problem}"))
        .collect()
}

#[test]
fn controllers_and_agents_log_a_broken_server_once_for_each_cause_and_in_words() {
    let found = Mutex::new(Vec::new());
    thread::scope(|scope| {
        // A server that hangs is noticed only after the limit of the controllers, which is above that of servers. One that
        // knows no path, but its version, lacks the definitions.
        for does in ALL
            .into_iter()
            .filter(|does| ![Does::Hangs, Does::NotFoundPage].contains(does))
        {
            let found = &found;
            scope.spawn(move || {
                let scratch = Scratch::new();
                let broken = Server::with_version(scratch.path(), does);
                let fine = Server::with_version(scratch.path(), Does::Nothing);
                let (broken, fine) = (broken.argument(), fine.argument());
                let controller = [
                    "controller",
                    "--metrics-listen",
                    "127.0.0.1:0",
                    "--kubeconfig",
                    broken,
                ];
                let agent = ["agent", "--hub", broken, "--spoke", fine, "--cluster", "east"];
                let controller = Running::start(&scratch, &[&controller[..], &["--registration"]].concat());
                let agent = Running::start(&scratch, &agent);
                controller.wait_for("cannot ");
                agent.wait_for("cannot ");
                thread::sleep(WINDOW);
                let mut problems = log_problems(&controller, &format!("controller, {does:?}"));
                problems.extend(log_problems(&agent, &format!("agent, {does:?}")));
                found.lock().expect("nobody panics here").extend(problems);
            });
        }
    });
    let found = found.into_inner().expect("nobody panics here");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The answer of `/readyz?verbose` once it has these words.
fn ready_with(address: &str, words: &[&str]) -> String {
    let mut said = String::new();
    for _ in 0..600 {
        said = get(address, "/readyz?verbose").1;
        if words.iter().all(|word| said.contains(word)) {
            return said;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{words:?} are not in: {said}");
}

#[test]
fn readyz_names_the_right_that_is_missing_and_a_hub_that_is_gone() {
    let scratch = Scratch::new();
    let forbids = Does::ForbidsOne("placements");
    let missing = "placements.cluster.open-cluster-management.io: list is forbidden for system:serviceaccount:x:y; grant";
    for (does, words) in [
        (forbids, &[missing][..]),
        (
            Does::Forbidden,
            &[
                missing,
                "managedclusters.cluster.open-cluster-management.io: list is forbidden",
            ],
        ),
        (
            Does::Unauthorized,
            &["does not accept the credentials (401 Unauthorized)"],
        ),
        (
            Does::EmptyError,
            &["list failed: 500 Internal Server Error: the server gave no message"],
        ),
    ] {
        let server = Server::with_version(scratch.path(), does);
        let args = [
            "controller",
            "--metrics-listen",
            "127.0.0.1:0",
            "--kubeconfig",
            server.argument(),
        ];
        let process = Running::start(&scratch, &args);
        let said = ready_with(&process.probes(), words);
        assert!(said.starts_with("not ready:"), "{does:?}: {said}");
        assert_eq!(
            check::problems(&said.replace("not ready:", "")),
            Vec::<String>::new()
        );
    }
    let gone = Server::with_version(scratch.path(), Does::Closes);
    let args = [
        "controller",
        "--metrics-listen",
        "127.0.0.1:0",
        "--kubeconfig",
        gone.argument(),
    ];
    let process = Running::start(&scratch, &args);
    let address = process.probes();
    ready_with(&address, &["placements", "the hub cannot be reached"]);
    gone.die();
    ready_with(
        &address,
        &["placements", "the hub cannot be reached", "Connection refused"],
    );
    assert_eq!(check::problems(&process.lines().join("\n")), Vec::<String>::new());
}

#[test]
fn a_controller_says_when_it_is_ready_and_what_it_decided() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gpu-training");
    live.apply_files(&path);
    let args = [
        "controller",
        "--metrics-listen",
        "127.0.0.1:0",
        "--kubeconfig",
        live.argument(),
    ];
    let process = Running::start(&scratch, &args);
    let line = process.wait_for("ready after");
    assert!(line.contains("1 placement,"), "{line}");
    assert!(line.contains("1 decision changed"), "{line}");
    let cluster = serde_json::json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": "gpu-cluster-east"},
    });
    live.delete(&cluster);
    process.wait_for("-gpu-cluster-east");
    assert_eq!(check::problems(&process.lines().join("\n")), Vec::<String>::new());
    live.stop();
}
