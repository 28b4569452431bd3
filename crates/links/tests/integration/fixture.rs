//! Fixture: nodes that echo, with the outcomes of their requests, and ways to wait for them.
//!
//! A node keeps everything that it is notified of, so that a test finds a second outcome too.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stadium_links::{
    Bounds, Carrier, ClusterId, Endpoint, From, Incarnation, Lane, Letter, Member, NodeName, NotSent,
    Outcome, Outgoing, Receiver, Refused, Reply, Request, Settings, Tag, Target, TlsSettings, Unknown,
};
use stadium_testing::certificates::{Authority, Identity};

/// The longest that anything may take that comes to pass at all.
pub const SOON: Duration = Duration::from_secs(15);

pub const CLUSTER: ClusterId = ClusterId(0xC1);

pub fn name(text: &str) -> NodeName {
    NodeName::new(text).expect("a name")
}

/// What became of a request, to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Became {
    Answer(Vec<u8>),
    Busy,
    NotSent(NotSent),
    Unknown(Unknown),
}

/// What a node does with requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// Answers with the body, on the loop's thread.
    #[default]
    Echo,
    /// Keeps replies until [`Node::release`].
    Hold,
    /// Drops replies.
    Drop,
    /// Answers that there is no room.
    Busy,
}

#[derive(Default)]
struct State {
    manner: Manner,
    /// Outcomes by tag, all of them: a second one is kept too.
    outcomes: HashMap<u64, Vec<Became>>,
    completed: usize,
    requests: Vec<(String, Target, u32, Vec<u8>)>,
    letters: Vec<(String, Lane, Vec<u8>)>,
    held: Vec<(Vec<u8>, Reply)>,
    rooms: Vec<Option<String>>,
    ups: Vec<(String, u64, Lane)>,
    /// The loop's thread waits in its next letter while this is set.
    is_stuck: bool,
}

/// What a node saw.
#[derive(Default)]
pub struct Seen {
    state: Mutex<State>,
    changed: Condvar,
}

impl Seen {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let returned = change(&mut self.state());
        self.changed.notify_all();
        returned
    }

    fn wait(&self, what: &str, mut is_true: impl FnMut(&State) -> bool) {
        let until = Instant::now() + SOON;
        let mut state = self.state();
        while !is_true(&state) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{what} did not come to pass");
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Receiver for Seen {
    fn request(&self, from: From<'_>, request: Request<'_>, reply: Reply) {
        let Request { target, deadline_ms, body } = request;
        let mut reply = Some(reply);
        let manner = self.change(|state| {
            state.requests.push((from.node.to_string(), target, deadline_ms, body.to_vec()));
            if state.manner == Manner::Hold {
                state.held.extend(reply.take().map(|reply| (body.to_vec(), reply)));
            }
            state.manner
        });
        match (manner, reply) {
            (Manner::Echo, Some(reply)) => reply.answer(body),
            (Manner::Busy, Some(reply)) => reply.busy(),
            (Manner::Hold | Manner::Drop, _) | (_, None) => {}
        }
    }

    fn letter(&self, from: From<'_>, letter: Letter<'_>) {
        self.change(|state| {
            state.letters.push((from.node.to_string(), from.lane, letter.body.to_vec()));
        });
        // Not for ever: a test that failed meanwhile ends too.
        let until = Instant::now() + SOON;
        let mut state = self.state();
        while state.is_stuck && Instant::now() < until {
            state = self.changed.wait_timeout(state, SOON).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn completed(&self, tag: Tag, outcome: Outcome<'_>) {
        let became = match outcome {
            Outcome::Answer(body) => Became::Answer(body.to_vec()),
            Outcome::Busy => Became::Busy,
            Outcome::NotSent(why) => Became::NotSent(why),
            Outcome::Unknown(why) => Became::Unknown(why),
        };
        self.change(|state| {
            state.outcomes.entry(tag.0).or_default().push(became);
            state.completed += 1;
        });
    }

    fn room(&self, node: Option<&NodeName>) {
        self.change(|state| state.rooms.push(node.map(ToString::to_string)));
    }

    fn up(&self, node: &NodeName, incarnation: Incarnation, lane: Lane) {
        self.change(|state| state.ups.push((node.to_string(), incarnation.0, lane)));
    }
}

pub fn tls_of(identity: &Identity, authority: &Authority) -> TlsSettings {
    let read = |path: &std::path::Path| std::fs::read(path).expect("the file is there");
    TlsSettings::from_pem(&read(&identity.certificate), &read(&identity.key), &read(&authority.file()))
        .expect("certificates that were just made")
}

pub fn tls(authority: &Authority, node: &str) -> TlsSettings {
    tls_of(&authority.node(node).expect("a certificate"), authority)
}

pub fn settings(authority: &Authority, node: &str) -> Settings {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    Settings::new(CLUSTER, name(node), Incarnation(1), listen, tls(authority, node))
}

/// Settings with little credit.
pub fn small(authority: &Authority, node: &str, credit: Bounds) -> Settings {
    let mut settings = settings(authority, node);
    settings.timing.body_bytes_max = 4_096;
    settings.credit = credit;
    settings
}

/// An endpoint and what it saw.
pub struct Node {
    pub name: NodeName,
    pub endpoint: Endpoint,
    pub seen: Arc<Seen>,
    pub incarnation: Incarnation,
}

impl Node {
    pub fn start(settings: Settings) -> Self {
        let (name, incarnation) = (settings.node.clone(), settings.incarnation);
        let seen = Arc::new(Seen::default());
        let endpoint = Endpoint::start(settings, seen.clone()).expect("it starts");
        Self { name, endpoint, seen, incarnation }
    }

    pub fn member(&self) -> Member {
        Member {
            node: self.name.clone(),
            addresses: vec![self.endpoint.address()],
            incarnation: self.incarnation,
        }
    }

    pub fn knows(&self, other: &Node) {
        self.endpoint.set_member(other.member());
    }

    pub fn behaves(&self, manner: Manner) {
        self.seen.change(|state| state.manner = manner);
    }

    pub fn try_request(&self, to: &Node, tag: u64, within: Duration, body: &[u8]) -> Result<(), Refused> {
        let target = Target { shard: (tag % 7) as u32, generation: 3 };
        self.endpoint.request(&to.name, Lane::Data, within, Tag(tag), Outgoing { target, body })
    }

    pub fn request(&self, to: &Node, tag: u64, within: Duration, body: &[u8]) {
        self.try_request(to, tag, within, body).expect("it is taken");
    }

    pub fn letter(&self, to: &Node, lane: Lane, body: &[u8]) -> Result<(), Refused> {
        self.endpoint.letter(&to.name, lane, Outgoing { target: Target::default(), body })
    }

    /// Waits until each connection that it dials to these nodes is up.
    pub fn reaches(&self, others: &[&Node]) {
        self.eventually("its links are up", || others.iter().all(|other| self.is_linked(&other.name)));
    }

    pub fn is_linked(&self, other: &NodeName) -> bool {
        let figures = self.endpoint.figures();
        let mut links = figures.iter().filter(|link| link.node == *other).peekable();
        links.peek().is_some() && links.all(|link| link.is_up)
    }

    /// Waits for what no event reports.
    pub fn eventually(&self, what: &str, mut is_true: impl FnMut() -> bool) {
        let until = Instant::now() + SOON;
        while !is_true() {
            let figures = self.endpoint.figures();
            assert!(Instant::now() < until, "{what}: {figures:#?} {:?}", self.endpoint.refusals());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for the outcome of a request, which is the only one.
    pub fn outcome(&self, tag: u64) -> Became {
        self.seen.wait("an outcome", |state| state.outcomes.contains_key(&tag));
        let outcomes = self.seen.state().outcomes.remove(&tag).unwrap_or_default();
        assert_eq!(outcomes.len(), 1, "{outcomes:?}");
        outcomes.into_iter().next().expect("there is one")
    }

    /// Waits for as many outcomes, each of another request, and counts them.
    pub fn outcomes(&self, count: usize) -> BTreeMap<String, usize> {
        self.seen.wait("all outcomes", |state| state.completed >= count);
        let mut sums = BTreeMap::new();
        for (tag, outcomes) in &self.seen.state().outcomes {
            assert_eq!(outcomes.len(), 1, "of request {tag}: {outcomes:?}");
            let sort = match &outcomes[0] {
                Became::Answer(_) => "answer".to_owned(),
                other => format!("{other:?}"),
            };
            *sums.entry(sort).or_default() += 1;
        }
        sums
    }

    pub fn waits_for_requests(&self, count: usize) {
        self.seen.wait("the requests", |state| state.requests.len() >= count);
    }

    pub fn requests(&self) -> Vec<(String, Target, u32, Vec<u8>)> {
        self.seen.state().requests.clone()
    }

    pub fn waits_for_letters(&self, count: usize) -> Vec<(String, Lane, Vec<u8>)> {
        self.seen.wait("the letters", |state| state.letters.len() >= count);
        self.seen.state().letters.clone()
    }

    pub fn waits_for_room(&self, of: Option<&str>) {
        let wanted = of.map(str::to_owned);
        self.seen.wait("room", |state| state.rooms.contains(&wanted));
    }

    pub fn waits_for_incarnation(&self, of: &Node) {
        let (node, incarnation) = (of.name.to_string(), of.incarnation.0);
        self.seen.wait("the incarnation", |state| {
            state.ups.iter().any(|up| (&up.0, up.1) == (&node, incarnation))
        });
    }

    /// Answers what was kept.
    pub fn release(&self) {
        let held = self.seen.change(|state| std::mem::take(&mut state.held));
        for (body, reply) in held {
            reply.answer(&body);
        }
    }

    /// Answers one request that was kept with this.
    pub fn answers_with(&self, body: &[u8]) {
        let held = self.seen.change(|state| state.held.pop());
        held.expect("a request is kept").1.answer(body);
    }

    /// Waits until an earlier incarnation of a node, which goes on dialling, was refused.
    pub fn waits_for_incarnation_refusal(&self, earlier: &Node) {
        self.eventually("the earlier incarnation is refused", || self.refusals("CLU-204") > 0);
        earlier.eventually("its links have ended", || !earlier.is_linked(&self.name));
    }

    /// Has the loop's thread wait in its next letter, or go on.
    pub fn is_stuck(&self, is_stuck: bool) {
        self.seen.change(|state| state.is_stuck = is_stuck);
    }

    pub fn refusals(&self, code: &str) -> u64 {
        let refusals = self.endpoint.refusals();
        refusals.iter().find(|(one, _)| *one == code).map_or(0, |(_, count)| *count)
    }
}

/// Nodes that know each other, with their links up.
pub fn cluster(all: Vec<Settings>) -> Vec<Node> {
    let nodes: Vec<Node> = all.into_iter().map(Node::start).collect();
    for one in &nodes {
        nodes.iter().filter(|other| other.name != one.name).for_each(|other| one.knows(other));
    }
    for one in &nodes {
        let others: Vec<&Node> = nodes.iter().filter(|other| other.name != one.name).collect();
        one.reaches(&others);
    }
    nodes
}

pub fn authority() -> Authority {
    Authority::new().expect("an authority")
}

/// Two nodes with links both ways.
pub fn pair(authority: &Authority) -> (Node, Node) {
    let mut nodes = cluster(vec![settings(authority, "a"), settings(authority, "b")]);
    let b = nodes.pop().expect("there are two");
    (nodes.pop().expect("there are two"), b)
}
