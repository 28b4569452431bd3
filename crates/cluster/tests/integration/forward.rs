//! Commands through any node: three nodes in one process, with links over TLS, a real etcd, and logs in
//! memory.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use stadium_cluster::{ClusterNode, LinkSettings, NodeSettings};
use stadium_journal_log::Topic;
use stadium_journal_replicated::memory::MemoryTopic;
use stadium_links::TlsSettings;
use stadium_membership::{Cluster, ClusterId, Formats, Node as About, Settings as Planner, Versions};
use stadium_membership_etcd::{Access, Config, create};
use stadium_queue::{
    Answer, Command, Dedup, Key, NewJob, QueueName, QueueSettings, Refusal, Reserved, Spread,
};
use stadium_shard::{LOG_AWAY, Settings, Shards};
use stadium_state_machine::home;
use stadium_testing::certificates::Authority;
use stadium_testing::etcd;
use stadium_testing::ports;
use stadium_wallet::{
    Answer as WalletAnswer, AssetCode, Command as Wallet, Kind, NewAccount, NewTransfer, Overdraft,
    TransferId, WalletName,
};

use crate::fixture::{LONG, options, until};

const SHARDS: u16 = 6;

/// A node of the test.
struct Node {
    shards: Shards,
    node: Option<ClusterNode>,
    _folder: tempfile::TempDir,
}

/// Three nodes, and what they share.
struct Trio {
    nodes: Vec<Node>,
    logs: MemoryTopic,
    _etcd: etcd::Cluster,
    _authority: Authority,
}

impl Trio {
    fn start() -> Self {
        let etcd = etcd::Cluster::start(1);
        let access = || Access { endpoints: etcd.endpoints(), user: None, tls: None };
        let formats = Formats { log: 1, checkpoint: 1 };
        let cluster = Cluster { id: ClusterId(7), shards: SHARDS.into(), formats, feature_level: 1 };
        create(access(), "forward", &cluster).expect("a cluster");
        let authority = Authority::new().expect("an authority");
        let logs = MemoryTopic::new(SHARDS.into());
        let topic: Arc<dyn Topic> = Arc::new(logs.clone());
        let start = |name: &str| {
            let folder = tempfile::tempdir().expect("a temporary directory");
            let mut settings = Settings::in_directory(folder.path().join("data"), SHARDS);
            settings.journal = options();
            let shards = Shards::open_none(settings).expect("its threads start");
            let identity = authority.node(name).expect("a certificate");
            let read = |file| std::fs::read(file).expect("a file");
            let tls = TlsSettings::from_pem(
                &read(identity.certificate),
                &read(identity.key),
                &read(authority.file()),
            );
            let listen = ports::free().expect("a port");
            let tracer = stadium_telemetry::Tracer::off();
            let links = LinkSettings { listen, tls: tls.expect("they fit"), loops: 1, tracer };
            let membership = Config {
                etcd: access(),
                cluster: "forward".to_owned(),
                expected: Some(cluster.clone()),
                node: name.parse().expect("a good name"),
                about: About::new(
                    BTreeMap::from([("links".to_owned(), listen.to_string())]),
                    None,
                    Versions { program: "test".to_owned(), level_min: 1, level_max: 1 },
                ),
                planner: Planner { settle: Duration::from_secs(1), ..Planner::default() },
            };
            let settings = NodeSettings {
                membership,
                folder: folder.path().join("replicas"),
                mirror: options(),
                archive: None,
                links: Some(links),
            };
            let node = ClusterNode::start(settings, &shards, Arc::clone(&topic)).expect("a node");
            Node { shards, node: Some(node), _folder: folder }
        };
        let nodes: Vec<Node> = ["a", "b", "c"].into_iter().map(start).collect();
        let trio = Self { nodes, logs, _etcd: etcd, _authority: authority };
        let spread_over = |nodes: &[Node]| nodes.iter().all(|node| node.served().len() == 2);
        until("each node serves two shards", || spread_over(&trio.nodes));
        trio
    }

    /// Waits until each shard is served by one node.
    fn until_served(&self) {
        until("all shards are served", || {
            let served: BTreeSet<u16> = self.nodes.iter().flat_map(Node::served).collect();
            served.len() == usize::from(SHARDS)
        });
    }
}

impl Node {
    fn served(&self) -> Vec<u16> {
        (0..SHARDS).filter(|shard| self.shards.is_served(*shard)).collect()
    }

    fn ask(&self, command: Command) -> Result<Answer<Bytes>, Refusal> {
        self.shards.submit(command).wait(LONG).expect("it is answered")
    }

    fn put(&self, queue: &QueueName, payload: &str) -> Result<Answer<Bytes>, Refusal> {
        self.ask(put(queue, payload, None))
    }

    fn reserve(&self, queue: &QueueName, jobs_max: u32, wait: u64) -> Vec<Reserved<Bytes>> {
        match self.ask(reserve(queue, jobs_max, wait)) {
            Ok(Answer::Reserved(jobs)) => jobs,
            other => panic!("{other:?}"),
        }
    }

    fn wallet(&self, command: Wallet) -> WalletAnswer {
        self.shards.submit_wallet(command).wait(LONG).expect("it is answered").expect("it is done")
    }
}

fn put(queue: &QueueName, payload: &str, id: Option<&str>) -> Command {
    let dedup = id.map(|id| Dedup { id: Key::new(id).expect("an id"), window: None });
    let payload = Bytes::copy_from_slice(payload.as_bytes());
    let jobs = vec![NewJob { payload, dedup, ..NewJob::default() }];
    Command::Put { queue: queue.clone(), jobs, principal: None }
}

fn reserve(queue: &QueueName, jobs_max: u32, wait: u64) -> Command {
    Command::Reserve { queue: queue.clone(), jobs_max, lease: None, wait, worker: None }
}

fn settle(jobs: &[Reserved<Bytes>]) -> Command {
    let leases = jobs.iter().map(|job| job.lease).collect();
    Command::Settle { leases }
}

/// A queue of a shard.
fn queue_of(shard: u16) -> QueueName {
    let names = (0..).map(|number| format!("queue-{number}"));
    let name = names.into_iter().find(|name| home(name.as_bytes(), SHARDS) == shard).expect("one of many");
    QueueName::new(&name).expect("a name")
}

fn payloads(jobs: &[Reserved<Bytes>]) -> Vec<String> {
    jobs.iter().map(|job| String::from_utf8_lossy(&job.payload).into_owned()).collect()
}

#[test]
fn every_node_reaches_every_shard() {
    let trio = Trio::start();
    queues(&trio);
    a_reserve_waits_for_a_job_of_another_node(&trio);
    spread_queues(&trio);
    wallets(&trio);
    moves(trio);
}

/// Jobs are put, reserved and settled through three nodes.
fn queues(trio: &Trio) {
    let [a, b, c] = &trio.nodes[..] else { panic!("three nodes") };
    for shard in 0..SHARDS {
        let queue = queue_of(shard);
        a.put(&queue, "one").expect("it is put");
        b.put(&queue, "two").expect("it is put");
        let answer = c.put(&queue, "three").expect("it is put");
        let Answer::Placed(placed) = answer else { panic!("{answer:?}") };
        assert!(!placed[0].duplicate && placed[0].job.shard() == shard, "{placed:?}");
        let jobs = c.reserve(&queue, 10, 0);
        assert_eq!(payloads(&jobs), ["one", "two", "three"], "shard {shard}");
        assert!(
            matches!(a.ask(settle(&jobs)), Ok(Answer::Given(outcomes)) if outcomes.iter().all(Result::is_ok))
        );
        assert_eq!(b.reserve(&queue, 10, 0), []);
    }
    let figures: Vec<_> =
        trio.nodes.iter().filter_map(|node| node.node.as_ref()).map(ClusterNode::forward_figures).collect();
    assert!(
        figures.iter().all(|figures| figures.asked > 0 && figures.served > 0 && figures.pending == 0),
        "{figures:?}"
    );
}

fn a_reserve_waits_for_a_job_of_another_node(trio: &Trio) {
    let [a, b, _] = &trio.nodes[..] else { panic!("three nodes") };
    let shard = b.served()[0];
    let queue = queue_of(shard);
    let gone = a.shards.submit(reserve(&queue, 1, 60_000));
    let waiting = a.shards.submit(reserve(&queue, 1, 60_000));
    until("both wait", || b.shards.metrics()[usize::from(shard)].waiting_consumers == 2);
    // One whose caller has gone takes no job.
    drop(gone);
    until("one waits", || b.shards.metrics()[usize::from(shard)].waiting_consumers == 1);
    b.put(&queue, "late").expect("it is put");
    let answer = waiting.wait(LONG).expect("it is answered").expect("it has a job");
    let Answer::Reserved(jobs) = answer else { panic!("{answer:?}") };
    assert_eq!(payloads(&jobs), ["late"]);
    b.ask(settle(&jobs)).expect("it is settled");
}

fn spread_queues(trio: &Trio) {
    let [a, b, c] = &trio.nodes[..] else { panic!("three nodes") };
    let queue = QueueName::new("wide").expect("a name");
    let settings = QueueSettings { spread: Spread::AllShards, ..QueueSettings::default() };
    a.ask(Command::Declare { queue: queue.clone(), settings }).expect("it is declared");
    until("all nodes know that it is spread", || {
        let knows = |node: &Node| (0..SHARDS).all(|shard| node.shards.spread_queues(shard).contains(&queue));
        trio.nodes.iter().all(knows)
    });
    let mut shards = BTreeSet::new();
    for number in 0..30 {
        let answer = c.put(&queue, &number.to_string()).expect("it is put");
        let Answer::Placed(placed) = answer else { panic!("{answer:?}") };
        shards.insert(placed[0].job.shard());
    }
    assert_eq!(shards.len(), usize::from(SHARDS), "jobs go to all shards");
    let mut found = BTreeSet::new();
    while found.len() < 30 {
        let jobs = b.reserve(&queue, 5, 0);
        assert!(!jobs.is_empty(), "{found:?}");
        found.extend(payloads(&jobs));
        b.ask(settle(&jobs)).expect("they are settled");
    }
    assert_eq!(a.reserve(&queue, 1, 0), []);
    // One that waits at all nodes gets a job from any of them, once.
    for shard in 0..SHARDS {
        let waiting = b.shards.submit(reserve(&queue, 1, 60_000));
        std::thread::sleep(Duration::from_millis(20));
        let key = (0..).map(|number| format!("key-{number}"));
        let key = key.into_iter().find(|key| home(key.as_bytes(), SHARDS) == shard).expect("one of many");
        let job = NewJob { key: Some(Key::new(&key).expect("a key")), ..NewJob::default() };
        let put = Command::Put { queue: queue.clone(), jobs: vec![job], principal: None };
        a.ask(put).expect("it is put");
        let answer = waiting.wait(LONG).expect("it is answered").expect("it has a job");
        let Answer::Reserved(jobs) = answer else { panic!("{answer:?}") };
        assert_eq!(jobs.len(), 1);
        c.ask(settle(&jobs)).expect("it is settled");
    }
}

/// Amounts between wallets of all shards, through all nodes: none is lost or made.
fn wallets(trio: &Trio) {
    let asset = AssetCode::new("VOTE").expect("an asset");
    trio.nodes[0].wallet(Wallet::Declare { asset: asset.clone(), scale: 0 });
    let name = |number: u64| WalletName::new(&format!("user-{number}")).expect("a name");
    let house = WalletName::new("house").expect("a name");
    let account =
        |wallet: WalletName, overdraft| NewAccount { wallet, asset: asset.clone(), overdraft, ceiling: None };
    trio.nodes[1].wallet(Wallet::Open { accounts: vec![account(house.clone(), Overdraft::Allowed)] });
    for number in 0..12 {
        trio.nodes[2].wallet(Wallet::Open { accounts: vec![account(name(number), Overdraft::Never)] });
    }
    let transfer = |id: u128, debit: &WalletName, credit: &WalletName, amount| {
        let kind = Kind::Post { debit: debit.clone(), credit: credit.clone(), asset: asset.clone(), amount };
        let transfer = NewTransfer {
            id: TransferId(id),
            kind,
            reference: String::new(),
            metadata: Bytes::new(),
            effective: None,
        };
        Wallet::Transfer { transfers: vec![transfer], linked: false, principal: None }
    };
    for number in 0..12 {
        let node = &trio.nodes[number as usize % 3];
        node.wallet(transfer(1_000 + u128::from(number), &house, &name(number), 100));
    }
    for round in 0..36_u64 {
        let node = &trio.nodes[round as usize % 3];
        let answer = node.wallet(transfer(
            2_000 + u128::from(round),
            &name(round % 12),
            &name((round * 5 + 1) % 12),
            7,
        ));
        assert!(
            matches!(&answer, WalletAnswer::Booked(booked) if booked.iter().all(Result::is_ok)),
            "{answer:?}"
        );
    }
    let balance = |number: u64| -> i128 {
        let answer = trio.nodes[(number as usize + 1) % 3].wallet(Wallet::Wallet { wallet: name(number) });
        let WalletAnswer::Accounts(accounts) = answer else { panic!("{answer:?}") };
        accounts.iter().map(|account| i128::from(account.balance.posted)).sum()
    };
    until("the books balance", || (0..12).map(balance).sum::<i128>() == 1_200);
}

/// A node drains while jobs are put through another one: each put is done, once.
fn moves(mut trio: Trio) {
    let stops = Arc::new(AtomicBool::new(false));
    let putter = {
        let (shards, stops) = (trio.nodes[0].shards.clone(), Arc::clone(&stops));
        std::thread::spawn(move || {
            let (mut put_ids, mut longest) = (Vec::new(), Duration::ZERO);
            for number in 0.. {
                if stops.load(Ordering::SeqCst) {
                    break;
                }
                let queue = queue_of(number % SHARDS);
                let id = format!("move-{number}");
                let begun = Instant::now();
                // Every second one has no id of its own.
                let own = number.is_multiple_of(2).then_some(id.as_str());
                let answer = shards.submit(put(&queue, &id, own)).wait(LONG).expect("it is answered");
                longest = longest.max(begun.elapsed());
                answer.unwrap_or_else(|refusal| panic!("{id}: {refusal}"));
                put_ids.push(id);
                std::thread::sleep(Duration::from_millis(1));
            }
            (put_ids, longest)
        })
    };
    std::thread::sleep(Duration::from_millis(300));
    let drained = trio.nodes[2].node.take().expect("it runs").drain(LONG);
    assert!(drained, "it has handed over all of its shards");
    trio.until_served();
    std::thread::sleep(Duration::from_millis(300));
    stops.store(true, Ordering::SeqCst);
    let (put_ids, longest) = putter.join().expect("it does not panic");
    println!("{} puts, the longest took {longest:?}", put_ids.len());
    let mut there = jobs_of(&trio.nodes[0], &(0..SHARDS).collect::<Vec<_>>());
    there.sort();
    let mut expected = put_ids;
    expected.sort();
    assert_eq!(there, expected, "each acknowledged job is there, once");
    trio.nodes.iter().for_each(|node| _ = node.shards.stop(LONG));
}

/// A claim is made again after this long.
const AGAIN: Duration = Duration::from_millis(200);

/// The puts that callers of one node have under way at once.
const UNDER_WAY: usize = 8;

/// The puts of a [`Load`].
#[derive(Default)]
struct Done {
    accepted: Vec<String>,
    /// Codes of refusals.
    refused: BTreeSet<&'static str>,
    longest: Duration,
}

/// Puts through one node, to some shards, that go on until [`Load::end`].
struct Load {
    stops: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Done>,
}

impl Load {
    /// Every second put has no id of its own.
    fn start(node: &Node, shards: &[u16], name: &'static str) -> Self {
        let stops = Arc::new(AtomicBool::new(false));
        let (shards, queues, stopped) = (
            node.shards.clone(),
            shards.iter().map(|shard| queue_of(*shard)).collect::<Vec<_>>(),
            Arc::clone(&stops),
        );
        let thread = std::thread::spawn(move || {
            let mut done = Done::default();
            let mut under_way = VecDeque::new();
            let mut numbers = 0..;
            loop {
                while under_way.len() < UNDER_WAY && !stopped.load(Ordering::SeqCst) {
                    let number: usize = numbers.next().expect("numbers do not end");
                    let id = format!("{name}-{number}");
                    let own = number.is_multiple_of(2).then_some(id.as_str());
                    // Both kinds go to each of the queues.
                    let queue = &queues[number / 2 % queues.len()];
                    let ticket = shards.submit(put(queue, &id, own));
                    under_way.push_back((id, Instant::now(), ticket));
                }
                let Some((id, begun, ticket)) = under_way.pop_front() else { break };
                match ticket.wait(LONG).expect("it is answered") {
                    Ok(Answer::Placed(placed)) => {
                        assert!(!placed[0].duplicate || is_own(&id), "{id}");
                        done.accepted.push(id);
                    }
                    // Nothing happened.
                    Err(Refusal::Busy { code, .. }) => _ = done.refused.insert(code),
                    other => panic!("{id}: {other:?}"),
                }
                done.longest = done.longest.max(begun.elapsed());
                std::thread::sleep(Duration::from_millis(1));
            }
            done
        });
        Self { stops, thread }
    }

    /// Returns the puts that were accepted, once all are answered. Others had these refusals only.
    fn end(self, may_refuse: &[&str]) -> Vec<String> {
        self.stops.store(true, Ordering::SeqCst);
        let Done { accepted, refused, longest } = self.thread.join().expect("each put is answered");
        println!("{} puts, the longest took {longest:?}; refused with {refused:?}", accepted.len());
        assert!(refused.iter().all(|code| may_refuse.contains(code)), "{refused:?}");
        accepted
    }
}

/// Whether a put of [`Load`] had an id of its own: only such a one may be called a duplicate.
fn is_own(id: &str) -> bool {
    id.rsplit('-').next().and_then(|number| number.parse::<usize>().ok()).is_some_and(|it| it % 2 == 0)
}

#[test]
fn callers_of_an_owner_see_a_pause_while_it_loses_its_shards() {
    let trio = Trio::start();
    let [a, b, _] = &trio.nodes[..] else { panic!("three nodes") };
    let owned = a.served();
    let serves = |node: &Node| owned.iter().all(|shard| node.shards.is_served(*shard));
    let mut done = Vec::new();

    let load = Load::start(a, &owned, "handed-over");
    std::thread::sleep(Duration::from_millis(100));
    owned.iter().for_each(|shard| a.shards.hand_over(*shard));
    until("nobody serves them", || !owned.iter().any(|shard| a.shards.is_served(*shard)));
    until("it serves again: it still is the owner", || serves(a));
    std::thread::sleep(Duration::from_millis(100));
    done.extend(load.end(&[]));

    let again = || {
        let figures = a.node.as_ref().expect("it runs").forward_figures();
        figures.given_back + figures.asked
    };
    let before = again();
    let load = Load::start(a, &owned, "fenced");
    std::thread::sleep(Duration::from_millis(100));
    // A node has its replicas follow where it is not the owner, which may end a claim before it is written.
    let mut claimed = Instant::now() - AGAIN;
    until("some are asked again", || {
        if claimed.elapsed() >= AGAIN {
            owned.iter().for_each(|shard| b.shards.claim(*shard, u64::MAX));
            claimed = Instant::now();
        }
        again() > before
    });
    trio.until_served();
    std::thread::sleep(Duration::from_millis(100));
    done.extend(load.end(&[]));

    // Answers of the log are lost, late and out of order, so that outcomes are unknown. A log that is
    // silent for too long, or fails, is Busy for those that come next.
    let load = Load::start(a, &owned, "unknown");
    std::thread::sleep(Duration::from_millis(100));
    let mut random = fastrand::Rng::with_seed(7);
    trio.logs.set_faults(Some(Box::new(move |choices| random.usize(..choices))));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(1) {
        if !trio.logs.step() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    trio.logs.set_faults(None);
    while trio.logs.step() {}
    trio.until_served();
    done.extend(load.end(&[LOG_AWAY, "SHARD-003"]));

    let load = Load::start(a, &owned, "drained");
    std::thread::sleep(Duration::from_millis(100));
    assert!(a.node.as_ref().expect("it runs").drain(LONG), "it has handed over all of its shards");
    std::thread::sleep(Duration::from_millis(100));
    done.extend(load.end(&[]));
    assert!(a.served().is_empty(), "{:?}", a.served());

    let figures = a.node.as_ref().expect("it runs").forward_figures();
    assert!(figures.given_back > 0 && figures.unknown == 0 && figures.pending == 0, "{figures:?}");
    let mut there = jobs_of(a, &owned);
    there.sort();
    done.sort();
    assert_eq!(there, done, "each job is there, once");
    trio.nodes.iter().for_each(|node| _ = node.shards.stop(LONG));
}

/// Takes all jobs of shards.
fn jobs_of(node: &Node, shards: &[u16]) -> Vec<String> {
    let mut there = Vec::new();
    for shard in shards {
        loop {
            let jobs = node.reserve(&queue_of(*shard), 1_000, 0);
            if jobs.is_empty() {
                break;
            }
            there.extend(payloads(&jobs));
        }
    }
    there
}
