//! Two instances that a real etcd knows, and a client that never hears that one of them left.
//!
//! etcd is the Debian package etcd-server; `cargo xtask test` installs it.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use stadium_discovery::{Backend, Config, Discovery};
use stadium_example_geo::proto::{GeoEvent, geo};
use stadium_rpc::{CallOptions, Client, ClientConfig};

use crate::fixture::{PATIENCE, Service, text, until};

/// An etcd of one member; killed when it goes out of scope.
struct Etcd {
    process: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl Etcd {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (url, peers) = (free_address(), free_address());
        let process = Command::new("etcd")
            .arg("--data-dir")
            .arg(folder.path())
            .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
            .args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers])
            .args(["--initial-cluster", &format!("default={peers}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("etcd starts: apt install etcd-server");
        Self { process, url, _folder: folder }
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    format!("http://{}", listener.local_addr().expect("it is bound"))
}

#[test]
fn calls_go_on_when_one_of_two_instances_leaves() {
    let etcd = Etcd::start();
    let mut leaver = Service::start(&["--etcd", &etcd.url]);
    let stayer = Service::start(&["--etcd", &etcd.url]);
    let backend = Backend::Etcd { endpoints: vec![etcd.url.clone()], user: None, tls: None };
    let discovery = Discovery::start(Config { backend, ..Config::default() }).expect("discovery starts");
    let config = ClientConfig { deadline: PATIENCE, ..ClientConfig::discovered(discovery) };
    let client = Client::start(config).expect("the client starts");

    // Given a caller that stores events of a hundred devices, one after the other, until it is
    // stopped,
    let (stored, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let caller = thread::spawn({
        let (stored, over, service) = (Arc::clone(&stored), Arc::clone(&over), client.service(geo::NAME));
        move || {
            while !over.load(Ordering::Relaxed) {
                let device_id = format!("device-{}", stored.load(Ordering::Relaxed) % 100);
                let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
                let timestamp_ms = u64::try_from(now.as_millis()).expect("it is before the year 500,000,000");
                let event = GeoEvent { device_id, timestamp_ms, ..GeoEvent::default() };
                let options = CallOptions { key: Some(event.device_id.as_bytes()), ..CallOptions::default() };
                service.call_with(&geo::STORE, &event, &options).wait().expect("every event is stored");
                stored.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let devices_of = |service: &Service| text(&service.client(&["--near", "0,0,1"]).stdout).lines().count();
    until("both instances to know devices", || devices_of(&leaver) > 0 && devices_of(&stayer) > 0);

    // when one of the two instances is asked to leave,
    leaver.signal(Signal::TERM);
    assert_eq!(leaver.wait().code(), Some(0));

    // then the other one gets all devices, and no call has failed.
    until("the other instance to know all devices", || caller.is_finished() || devices_of(&stayer) == 100);
    over.store(true, Ordering::Relaxed);
    caller.join().expect("no call failed");
}
