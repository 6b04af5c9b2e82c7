//! A hub that goes away and comes back while somebody watches.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::io::copy;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::hub::Live;
use super::process::Process;
use super::rollout;
use super::support::Scratch;

/// The way to a hub, which can be cut.
struct Way {
    kubeconfig: PathBuf,
    open: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Way {
    fn to(live: &Live, folder: &Path) -> Way {
        let config = std::fs::read_to_string(&live.kubeconfig).unwrap();
        let mut config: Value = serde_saphyr::from_str(&config).unwrap();
        let server = &mut config["clusters"][0]["cluster"]["server"];
        let hub = server.as_str().unwrap().replace("https://", "");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        *server = json!(format!("https://{}", listener.local_addr().unwrap()));
        let kubeconfig = folder.join("way.kubeconfig");
        std::fs::write(&kubeconfig, config.to_string()).unwrap();
        let way = Way {
            kubeconfig,
            open: Arc::new(AtomicBool::new(true)),
            streams: Arc::default(),
        };
        let (open, streams) = (way.open.clone(), way.streams.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // One that comes while the way is cut is closed at once.
                if open.load(Ordering::SeqCst) {
                    let hub = TcpStream::connect(&hub).unwrap();
                    let both = [client.try_clone().unwrap(), hub.try_clone().unwrap()];
                    streams.lock().unwrap().extend(both);
                    carry(client.try_clone().unwrap(), hub.try_clone().unwrap());
                    carry(hub, client);
                }
            }
        });
        way
    }

    fn cut(&self) {
        self.open.store(false, Ordering::SeqCst);
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        self.open.store(true, Ordering::SeqCst);
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        let _ = copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}

fn decision(clusters: &[&str]) -> Value {
    let entries: Vec<Value> = clusters
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
        "metadata": {
            "name": "p-decision-1", "namespace": "shop",
            "labels": {"cluster.open-cluster-management.io/placement": "p"},
        },
        "status": {"decisions": entries},
    })
}

#[test]
fn a_hub_that_is_lost_while_it_is_watched_is_spoken_of_once_and_so_is_its_return() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    live.apply(decision(&["a"]));
    let way = Way::to(&live, scratch.path());
    let kubeconfig = way.kubeconfig.to_str().unwrap();
    let args = ["watch", "--kubeconfig", kubeconfig];
    let mut watch = Process::start(scratch.path(), &args, &BTreeMap::new());
    watch.line_with(&["shop/p", "a"]);
    for (round, cluster) in ["b", "c"].into_iter().enumerate() {
        way.cut();
        let lost = watch.log_with(&[""]);
        assert!(lost.contains("connection to the hub is lost"), "{round}: {lost}");
        way.mend();
        let back = watch.log_with(&[""]);
        assert!(back.contains("the hub is back"), "{round}: {back}");
        live.apply(decision(&[cluster]));
        watch.line_with(&["shop/p", &format!("+{cluster}")]);
    }
    let (code, rest) = watch.stop();
    assert_eq!((code, rest.as_str()), (Some(0), ""));
    live.stop();
}

#[test]
fn a_rollout_that_is_watched_outlasts_its_hub_and_ends_when_it_is_deleted() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    rollout::scene(&live);
    let way = Way::to(&live, scratch.path());
    let kubeconfig = way.kubeconfig.to_str().unwrap();
    let args = [
        "rollout",
        "watch",
        "shop/web",
        "--kubeconfig",
        kubeconfig,
        "--every",
        "100ms",
    ];
    let mut watch = Process::start(scratch.path(), &args, &BTreeMap::new());
    watch.line_with(&["3 of 6 clusters done"]);
    for round in 0..2 {
        way.cut();
        let lost = watch.log_with(&[""]);
        assert!(lost.contains("connection to the hub is lost"), "{round}: {lost}");
        way.mend();
        let back = watch.log_with(&[""]);
        assert!(back.contains("the hub is back"), "{round}: {back}");
    }
    live.apply(rollout::work(
        "c4",
        &[("Applied", "True", "01"), ("Available", "True", "02")],
    ));
    watch.line_with(&["of 6 clusters done"]);
    live.delete(&json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": "web", "namespace": "shop"},
    }));
    let deleted = watch.log_with(&[""]);
    assert!(
        deleted.starts_with("error: the ManifestWorkReplicaSet shop/web on https://")
            && deleted.ends_with(" was deleted"),
        "{deleted}"
    );
    assert_eq!(watch.wait(), Some(2));
    live.stop();
}
