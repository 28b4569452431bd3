//! A simulated node: a process that may stop, with a view that lags and messages under way.

use std::collections::{BTreeMap, VecDeque};

use stadium_membership::{
    BootTime, Incarnation, Lease, NodeName, Planner, Rule, Settings, Shard, ShardSet, Succession, View, Write,
};

use std::time::Duration;

/// A message to etcd.
#[derive(Clone, Debug)]
pub enum Message {
    KeepAlive {
        incarnation: Incarnation,
        sent: BootTime,
    },
    /// The node registers, with another lease.
    Register {
        incarnation: Incarnation,
        sent: BootTime,
    },
    Announce {
        incarnation: Incarnation,
        in_step: ShardSet,
    },
    Write {
        incarnation: Incarnation,
        write: Write,
        by_planner: bool,
    },
    Campaign {
        incarnation: Incarnation,
    },
}

/// An answer of etcd.
#[derive(Clone, Debug)]
pub enum Answer {
    Confirmed { incarnation: Incarnation, sent: BootTime },
    Gone { incarnation: Incarnation },
}

/// What a node does on its shards' logs, one thing after the other.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// Append the fence and read up to it.
    Fence(Shard, u64),
    /// The fence counts, if no other came behind it.
    Claimed(Shard, u64),
    /// Append the farewell.
    Farewell(Shard),
}

pub struct Node<R> {
    pub name: NodeName,
    pub runs: bool,
    /// It is stopped until then.
    pub stopped_until: BootTime,
    /// Its messages to etcd do not arrive until then, and neither do events.
    pub cut_until: BootTime,
    pub incarnation: Incarnation,
    pub registered: bool,
    pub lease: Lease,
    pub view: View,
    /// How much of the history it has seen.
    pub seen: usize,
    pub succession: Succession<R>,
    pub planner: Option<Planner>,
    pub to_etcd: VecDeque<Message>,
    pub from_etcd: VecDeque<Answer>,
    pub tasks: VecDeque<Task>,
    /// The last epoch that it claimed, and the value that it has applied.
    pub shards: BTreeMap<Shard, (u64, u64)>,
    /// Shards that it serves although nothing allows it yet.
    pub hasty: Vec<Shard>,
    pub announced: ShardSet,
    pub sent_keep_alive: BootTime,
}

/// Periods short enough that a run sees moves and replacements.
pub const SETTINGS: Settings = Settings {
    standbys: 1,
    moves_max: 4,
    grace: Duration::from_secs(8),
    settle: Duration::from_millis(500),
    patience: Duration::from_secs(20),
};

impl<R: Rule> Node<R> {
    pub fn new(name: NodeName) -> Self {
        let nobody = Incarnation(0);
        Self {
            succession: Succession::new(name.clone(), nobody),
            name,
            runs: true,
            stopped_until: BootTime::default(),
            cut_until: BootTime::default(),
            incarnation: nobody,
            registered: false,
            lease: Lease::default(),
            view: View::default(),
            seen: 0,
            planner: None,
            to_etcd: VecDeque::new(),
            from_etcd: VecDeque::new(),
            tasks: VecDeque::new(),
            shards: BTreeMap::new(),
            hasty: Vec::new(),
            announced: ShardSet::EMPTY,
            sent_keep_alive: BootTime::default(),
        }
    }

    /// Whether its process takes steps now.
    pub fn is_awake(&self, now: BootTime) -> bool {
        self.runs && now >= self.stopped_until
    }

    /// Registers with a lease of its own, as after a start or a lost lease.
    pub fn register(&mut self, incarnation: Incarnation, now: BootTime) {
        self.incarnation = incarnation;
        self.registered = false;
        self.lease.end();
        self.planner = None;
        self.announced = ShardSet::EMPTY;
        self.succession.registered(incarnation);
        self.to_etcd.push_back(Message::Register { incarnation, sent: now });
        self.sent_keep_alive = now;
    }
}
