//! A warm request and its answer allocate nothing: on the sender's thread, and on the loops of both
//! ends.
//!
//! The allocator counts for all threads but that of the test itself, whose waiting is not the
//! links' business; what it allocates while it sends is read apart.

#[path = "../../../testing/counting.rs"]
mod counting;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use counting::Counting;
use stadium_links::{
    Carrier, ClusterId, Endpoint, From, Incarnation, Lane, Letter, Member, NodeName, Outcome, Outgoing,
    Receiver, Reply, Request, Settings, Tag, Target, TlsSettings,
};
use stadium_testing::certificates::Authority;

#[global_allocator]
static ALLOCATOR: Counting = Counting::all_threads_but();

/// Echoes, and counts.
#[derive(Default)]
struct Echo {
    answered: AtomicU64,
    letters: AtomicU64,
    up: AtomicU64,
}

impl Receiver for Echo {
    fn request(&self, _from: From<'_>, request: Request<'_>, reply: Reply) {
        reply.answer(request.body);
    }

    fn letter(&self, _from: From<'_>, _letter: Letter<'_>) {
        self.letters.fetch_add(1, Ordering::Release);
    }

    fn completed(&self, _tag: Tag, outcome: Outcome<'_>) {
        assert!(matches!(outcome, Outcome::Answer(_)), "{outcome:?}");
        self.answered.fetch_add(1, Ordering::Release);
    }

    fn up(&self, _node: &NodeName, _incarnation: Incarnation, lane: Lane) {
        self.up.fetch_add(u64::from(lane == Lane::Data), Ordering::Release);
    }
}

fn start(authority: &Authority, node: &str) -> (Endpoint, Arc<Echo>, NodeName) {
    let identity = authority.node(node).expect("a certificate");
    let read = |path: &std::path::Path| std::fs::read(path).expect("the file is there");
    let tls =
        TlsSettings::from_pem(&read(&identity.certificate), &read(&identity.key), &read(&authority.file()));
    let name = NodeName::new(node).expect("a name");
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let tls = tls.expect("certificates");
    let settings = Settings::new(ClusterId(1), name.clone(), Incarnation(1), listen, tls);
    let echo = Arc::new(Echo::default());
    (Endpoint::start(settings, echo.clone()).expect("it starts"), echo, name)
}

fn wait(what: &str, is_true: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !is_true() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn warm_requests_answers_and_letters_allocate_nothing() {
    counting::name(true);
    let authority = Authority::new().expect("an authority");
    let (a, echo, a_name) = start(&authority, "a");
    let (b, other, b_name) = start(&authority, "b");
    let member = |node: &NodeName, endpoint: &Endpoint| Member {
        node: node.clone(),
        addresses: vec![endpoint.address()],
        incarnation: Incarnation(1),
    };
    a.set_member(member(&b_name, &b));
    b.set_member(member(&a_name, &a));
    wait("the links are up", || echo.up.load(Ordering::Acquire) + other.up.load(Ordering::Acquire) == 2);
    let mut sent = 0;
    let mut burst = |count: u64| {
        let message = Outgoing { target: Target::default(), body: &[7; 100] };
        let before = counting::here();
        for _ in 0..count {
            let within = Duration::from_secs(10);
            a.request(&b_name, Lane::Data, within, Tag(sent), message).expect("it is taken");
            a.letter(&b_name, Lane::Data, message).expect("it is taken");
            sent += 1;
        }
        let here = counting::here() - before;
        wait("all are answered", || {
            [&echo.answered, &other.letters].iter().all(|count| count.load(Ordering::Acquire) == sent)
        });
        here
    };
    for round in 0..600 {
        burst(if round % 2 == 0 { 200 } else { 1 });
    }
    let stretches: Vec<(u64, u64)> = (0..20)
        .map(|_| {
            let before = counting::allocations();
            let here: u64 = (0..20).map(|round| burst(1 + round % 4 * 30)).sum();
            (here, counting::allocations() - before)
        })
        .collect();
    // Pings, and a batch that is longer than any before, are no request's cost: a quiet stretch is
    // looked for.
    assert!(stretches.contains(&(0, 0)), "allocations of the sender and of the loops: {stretches:?}");
    let all: u64 = stretches.iter().map(|(here, loops)| here + loops).sum();
    assert!(all < 100, "20 stretches of 920 requests and letters each: {stretches:?}");
}
