//! What the suites of discovery share: real backends as processes, a way to them that can be cut, and a watcher
//! that remembers.
//!
//! Ports are free ones of 127.0.0.1, data lies in temporary folders, and every process ends with its owner.

// Each suite uses a part of it.
#![allow(dead_code)]

pub mod etcd;
pub mod proxy;
pub mod registry;
pub mod stories;
pub mod zookeeper;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rustix::process::{Pid, Signal, kill_process};
use stadium_discovery::{
    Backend, Config, Discovery, Freshness, Instance, Registered, Registration, Snapshot, Value, Versions,
    Watch,
};

/// How long to wait for what should come soon; generous, because the machine may be busy with a build.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The life of registrations in the suites: short, yet enough for a busy machine.
pub const TTL: Duration = Duration::from_secs(3);

/// Where [`register`] puts an instance of `geo` at port 7800.
pub const GEO: &str = "/services/geo/1/127.0.0.1:7800";

/// Settings with the suites' periods and default bounds.
pub fn config(backend: Backend) -> Config {
    Config { backend, session_ttl: TTL, retry_delay_max: Duration::from_secs(1), ..Config::default() }
}

/// Discovery with these settings.
pub fn discover(backend: Backend) -> Discovery {
    Discovery::start(config(backend)).expect("discovery")
}

/// Waits until `look` finds something.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until `holds`.
#[track_caller]
pub fn until_true(what: &str, mut holds: impl FnMut() -> bool) {
    until(what, || holds().then_some(()));
}

/// A free port, from below the range that outgoing connections use.
pub fn free_port() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = std::process::id().wrapping_mul(613) % 18_000;
    until("a free port", || {
        let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(13_000 + (start + step) % 18_000).expect("below 31,000");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        TcpListener::bind(address).is_ok().then_some(address)
    })
}

/// A command whose process the kernel ends with the thread that starts it, should the suite be killed.
pub fn mortal(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", program]);
    command
}

/// A process that ends with its owner.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    pub fn start(command: &mut Command) -> Self {
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self(spawned.unwrap_or_else(|why| panic!("cannot start {command:?}: {why}")))
    }

    /// Stops it where it stands; its connections stay open and silent.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("our own child, which is not waited for yet");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().expect("our own child");
        self.0.wait().expect("our own child");
    }
}

/// A watcher that remembers all it was told.
pub struct Seen {
    told: Arc<(Mutex<Vec<Snapshot>>, Condvar)>,
    _watch: Watch,
}

impl Seen {
    pub fn watch(discovery: &Discovery, name: &str) -> Self {
        let told = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let teller = told.clone();
        let tell = move |snapshot| {
            teller.0.lock().push(snapshot);
            teller.1.notify_all();
        };
        let watch = discovery.watch(name, Versions::Any, tell).expect("a good name");
        Self { told, _watch: watch }
    }

    /// Waits until the newest snapshot is as wanted.
    #[track_caller]
    pub fn until(&self, what: &str, wanted: impl Fn(&Snapshot) -> bool) -> Snapshot {
        let deadline = Instant::now() + PATIENCE;
        let mut told = self.told.0.lock();
        loop {
            if let Some(last) = told.last().filter(|last| wanted(last)) {
                return last.clone();
            }
            let late = self.told.1.wait_until(&mut told, deadline).timed_out();
            assert!(!late, "waited {PATIENCE:?} for {what}; last told: {:?}", told.last());
        }
    }

    /// Waits until exactly `ports` are known and the list is live.
    #[track_caller]
    pub fn until_live(&self, ports: &[u16]) -> Snapshot {
        let what = format!("a live list of {ports:?}");
        self.until(&what, |snapshot| snapshot.freshness == Freshness::Live && knows(snapshot, ports))
    }

    /// Waits until the list is stale.
    #[track_caller]
    pub fn until_stale(&self) -> Snapshot {
        self.until("a stale list", |snapshot| matches!(snapshot.freshness, Freshness::Stale { .. }))
    }

    /// The first that was told, which comes with the watch.
    #[track_caller]
    pub fn first(&self) -> Snapshot {
        self.until("the first snapshot", |_| true);
        self.told.0.lock()[0].clone()
    }

    /// How many snapshots were told so far.
    pub fn count(&self) -> usize {
        self.told.0.lock().len()
    }

    /// Asserts that every snapshot after the first `from` knew exactly `ports`.
    #[track_caller]
    pub fn always_knew(&self, ports: &[u16], from: usize) {
        for snapshot in &self.told.0.lock()[from..] {
            assert!(knows(snapshot, ports), "a watcher was told {snapshot:?}");
        }
    }
}

fn knows(snapshot: &Snapshot, ports: &[u16]) -> bool {
    snapshot.instances.iter().map(|instance: &Instance| instance.address.port()).eq(ports.iter().copied())
}

/// Registers version 1 of `name` at 127.0.0.1 and `port`.
pub fn register(discovery: &Discovery, name: &str, port: u16) -> Registered {
    let address = (Ipv4Addr::LOCALHOST, port).into();
    let (name, version) = (name.to_owned(), "1".to_owned());
    discovery
        .register(Registration { name, version, address, value: Value::default() })
        .expect("a good registration")
}

/// An instance of `geo` at port 7800, and a watcher that has seen it come.
pub struct Stage {
    pub discovery: Discovery,
    pub seen: Seen,
    pub registered: Registered,
    /// What the watcher had been told by then.
    from: usize,
}

impl Stage {
    #[track_caller]
    pub fn set(backend: Backend) -> Self {
        Self::with(config(backend))
    }

    #[track_caller]
    pub fn with(config: Config) -> Self {
        let discovery = Discovery::start(config).expect("discovery");
        let seen = Seen::watch(&discovery, "geo");
        let registered = register(&discovery, "geo", 7800);
        seen.until_live(&[7800]);
        let from = seen.count();
        Self { discovery, seen, registered, from }
    }

    /// Waits until the instance has an entry again, and is all that is known.
    #[track_caller]
    pub fn until_registered_again(&self) {
        assert!(self.registered.wait(PATIENCE), "{:?}", self.discovery.status());
        self.seen.until_live(&[7800]);
    }

    /// Asserts that the watcher was never told anything but this instance.
    #[track_caller]
    pub fn always_knew_it(&self) {
        self.seen.always_knew(&[7800], self.from);
    }

    /// Asserts that the watcher was told something since.
    #[track_caller]
    pub fn was_told_more(&self) {
        assert!(self.seen.count() > self.from);
    }
}
