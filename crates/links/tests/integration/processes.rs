//! Nodes as processes: killed, stopped, and going on. The binary of this test is its own node.
//!
//! The first test is the node: it does nothing unless the environment names one.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use stadium_links::{Incarnation, Member, Settings, TlsSettings, Unknown};
use stadium_testing::certificates::Authority;

use crate::fixture::*;

const LONG: Duration = Duration::from_secs(60);
const IS_NODE: &str = "STADIUM_TEST_NODE";

/// Not a test of its own: as a process it is a node that echoes, until its input ends.
#[test]
fn a_node_in_a_process() {
    let Ok(arguments) = std::env::var(IS_NODE) else { return };
    let [name_of, incarnation, folder, peers @ ..] = &arguments.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{arguments:?} name a node")
    };
    let read = |file: String| std::fs::read(Path::new(folder).join(file)).expect("the file is there");
    let tls = TlsSettings::from_pem(
        &read(format!("{name_of}.pem")),
        &read(format!("{name_of}.key")),
        &read("ca.pem".to_owned()),
    );
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let incarnation = Incarnation(incarnation.parse().expect("a number"));
    let tls = tls.expect("certificates");
    let node = Node::start(Settings::new(CLUSTER, name(name_of), incarnation, listen, tls));
    for peer in peers {
        let (peer, address) = peer.split_once('=').expect("name and address");
        let addresses = vec![address.parse().expect("an address")];
        node.endpoint.set_member(Member { node: name(peer), addresses, incarnation: Incarnation(0) });
    }
    println!("\nlistens on {}", node.endpoint.address());
    std::io::stdout().flush().expect("somebody reads");
    std::io::stdin().lines().for_each(drop);
}

/// A process, ended when it is dropped.
struct Process {
    child: Child,
    member: Member,
}

impl Process {
    fn start(authority: &Authority, node: &str, incarnation: u64, peers: &[&Node]) -> Self {
        authority.node(node).expect("a certificate");
        let folder = authority.file();
        let folder = folder.parent().expect("a folder").display();
        let peers: String =
            peers.iter().map(|peer| format!(" {}={}", peer.name, peer.endpoint.address())).collect();
        let this = std::env::current_exe().expect("this test has a path");
        let mut child = Command::new(this)
            .args(["--exact", "processes::a_node_in_a_process", "--nocapture"])
            .env(IS_NODE, format!("{node} {incarnation} {folder}{peers}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let address = output.lines().map_while(Result::ok).find_map(|line| {
            line.strip_prefix("listens on ").map(|address| address.parse().expect("an address"))
        });
        let addresses = vec![address.expect("it listens")];
        let member = Member { node: name(node), addresses, incarnation: Incarnation(incarnation) };
        Self { child, member }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("it runs");
    }

    /// Stops it, and waits until each of its threads has stopped.
    fn stop(&self) {
        self.signal(Signal::STOP);
        let until = Instant::now() + SOON;
        let tasks = format!("/proc/{}/task", self.child.id());
        let is_stopped = |task: std::fs::DirEntry| {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
        };
        while !std::fs::read_dir(&tasks).expect("it runs").flatten().all(is_stopped) {
            assert!(Instant::now() < until, "it does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn is_reached_by(&self, node: &Node) {
        node.eventually("the process is reached", || node.is_linked(&self.member.node));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ask(node: &Node, process: &Process, tag: u64) {
    use stadium_links::{Carrier, Lane, Outgoing, Tag, Target};
    let message = Outgoing { target: Target::default(), body: b"x" };
    node.endpoint.request(&process.member.node, Lane::Data, LONG, Tag(tag), message).expect("it is taken");
}

#[test]
fn a_process_that_is_stopped_is_noticed_and_linked_again_when_it_goes_on() {
    let authority = authority();
    let a = Node::start(settings(&authority, "a"));
    let b = Process::start(&authority, "b", 1, &[&a]);
    let c = Process::start(&authority, "c", 1, &[&a]);
    a.endpoint.set_member(b.member.clone());
    a.endpoint.set_member(c.member.clone());
    b.is_reached_by(&a);
    c.is_reached_by(&a);
    ask(&a, &b, 1);
    assert_eq!(a.outcome(1), Became::Answer(b"x".into()));
    b.stop();
    let stopped = Instant::now();
    ask(&a, &b, 2);
    assert_eq!(a.outcome(2), Became::Unknown(Unknown::LinkEnded));
    let noticed = stopped.elapsed();
    assert!(
        noticed >= Duration::from_millis(1_000) && noticed <= Duration::from_millis(4_000),
        "{noticed:?}"
    );
    ask(&a, &c, 3);
    assert_eq!(a.outcome(3), Became::Answer(b"x".into()), "others are not in the way");
    b.signal(Signal::CONT);
    b.is_reached_by(&a);
    ask(&a, &b, 4);
    assert_eq!(a.outcome(4), Became::Answer(b"x".into()));
}

#[test]
fn a_process_that_is_killed_comes_back_with_a_later_incarnation() {
    let authority = authority();
    let a = Node::start(settings(&authority, "a"));
    let b = Process::start(&authority, "b", 1, &[&a]);
    a.endpoint.set_member(b.member.clone());
    b.is_reached_by(&a);
    b.stop();
    ask(&a, &b, 1);
    b.signal(Signal::KILL);
    let killed = Instant::now();
    assert_eq!(a.outcome(1), Became::Unknown(Unknown::LinkEnded));
    assert!(killed.elapsed() < Duration::from_secs(2), "the system closes its sockets at once");
    let later = Process::start(&authority, "b", 2, &[&a]);
    a.endpoint.set_member(later.member.clone());
    later.is_reached_by(&a);
    ask(&a, &later, 2);
    assert_eq!(a.outcome(2), Became::Answer(b"x".into()));
}
