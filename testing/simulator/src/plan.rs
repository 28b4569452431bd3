//! What a seed decides before anything runs: sizes, queues, which commands come how often, which faults.
//!
//! Each seed leaves some commands and faults out and has much of others: a run in which everything
//! happens all the time finds less than many runs that each do something else.

use fastrand::Rng;
use stadium_queue::{Backoff, DeadLetter, Limit, QueueName, QueueSettings};

use crate::mqtt::MqttPlan;
use crate::place::{Dead, QueueNumber, Rules};
use crate::push::PushPlan;
use crate::wallet::WalletPlan;

/// What a run does.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// Shards.
    pub shards: u16,
    /// Steps: each hands in commands, lets time pass, or lets something go wrong.
    pub steps: u32,
    /// The queues and their settings.
    pub queues: Vec<(QueueName, QueueSettings, Rules)>,
    /// How often each command comes.
    pub weights: Vec<(Kind, u32)>,
    /// What goes wrong.
    pub faults: Faults,
    /// Bytes of a segment.
    pub segment_bytes: u64,
    /// The journal can only be trimmed, as one without segments.
    pub can_only_trim: bool,
    /// Bytes of journal between checkpoints.
    pub checkpoint_bytes: u64,
    /// Bytes of a checkpoint encoded in a turn.
    pub checkpoint_slice_bytes: usize,
    /// Commands that a turn takes.
    pub turn_commands_max: usize,
    /// Events of time that a turn takes.
    pub turn_events_max: u32,
    /// Each shard has a standby, which becomes the owner after each crash.
    pub has_standby: bool,
    /// Once in so many turns a shard is compared with what a recovery of its disks gives.
    pub compare: u32,
    /// Bytes of most payloads, at most.
    pub payload_bytes: usize,
    /// One in so many payloads has kilobytes.
    pub big_one_in: u32,
    /// Steps of the journal's own work that a turn is followed by, at most: few make commits slow.
    pub disk_steps_max: u32,
    /// Keys that jobs have.
    pub keys: u8,
    /// A counter on each shard, where there are some.
    pub counters: Option<CounterPlan>,
    /// The wallets, where there are some.
    pub wallets: Option<WalletPlan>,
    /// The push platform, where there is one.
    pub pushes: Option<PushPlan>,
    /// MQTT sessions and retained messages, where there are some.
    pub mqtt: Option<MqttPlan>,
}

/// How often something is asked of the counters.
#[derive(Debug, Clone)]
pub struct CounterPlan {
    /// Commands of a step, at most.
    pub commands_max: u32,
    /// One in so many messages between shards comes late or twice.
    pub messages: u32,
}

/// A kind of command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Put,
    Reserve,
    Settle,
    Release,
    Extend,
    Bury,
    Forward,
    Delete,
    Edit,
    Kick,
    Redrive,
    Purge,
    Pause,
    Resume,
    Schedule,
    Find,
    History,
    Declare,
}

/// How often something goes wrong: once in so many steps on the average, 0 for never.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// Power fails, at any operation of the disk.
    pub power: u32,
    /// The process is killed: written bytes stay, synced or not.
    pub kill: u32,
    /// A sync fails.
    pub sync: u32,
    /// A write fails.
    pub write: u32,
    /// The disk is full for some time.
    pub full: u32,
    /// The clock goes forward by seconds to hours.
    pub forward: u32,
    /// The clock is set back.
    pub back: u32,
    /// A consumer goes away.
    pub vanish: u32,
    /// A bit of an acknowledged byte flips at the end.
    pub flip: bool,
    /// An operation on names fails: a create, a rename, a removal, a sync of the folder.
    pub names: u32,
    /// The process has no free descriptor for some time.
    pub descriptors: u32,
    /// One in so many recoveries meets a read that fails once.
    pub reads: u32,
    /// In one of so many crashes the newest checkpoint is damaged, or cannot be read any more.
    pub checkpoints: u32,
    /// Changes of names that were not synced survive in any order.
    pub any_order: bool,
    /// A turn of a shard panics.
    pub panics: u32,
    /// In one of so many crashes a bit of a journal's control flips.
    pub controls: u32,
    /// A journal commits nothing for some time.
    pub away: u32,
    /// All nodes are stopped, others take their shards over, and those that were stopped go on.
    pub stops: u32,
}

impl Plan {
    /// The plan of a seed.
    pub fn new(seed: u64) -> Plan {
        let mut random = Rng::with_seed(seed);
        let shards = if random.u8(..4) == 0 { many(seed, &[2, 2, 2, 4, 8]) } else { 1 };
        let often = |random: &mut Rng, choices: &[u32]| choices[random.usize(..choices.len())];
        let faults = Faults {
            power: often(&mut random, &[0, 60, 120, 240]),
            kill: often(&mut random, &[0, 0, 100, 200]),
            sync: often(&mut random, &[0, 0, 0, 150]),
            write: often(&mut random, &[0, 0, 0, 150]),
            full: often(&mut random, &[0, 0, 0, 100]),
            forward: often(&mut random, &[0, 40, 100]),
            back: often(&mut random, &[0, 0, 100]),
            vanish: often(&mut random, &[0, 0, 30]),
            flip: random.u8(..6) == 0,
            ..Faults::default()
        };
        // With two shards the checker cannot know yet when a job that a consumer left is released.
        let faults = if shards == 1 { faults } else { Faults { vanish: 0, ..faults } };
        let queues = queues(&mut random, shards);
        let weights = ALL.iter().map(|&(kind, usual)| {
            let factor = match kind {
                Kind::Put | Kind::Reserve | Kind::Settle => often(&mut random, &[1, 1, 2]),
                _ => often(&mut random, &[0, 1, 1, 3]),
            };
            (kind, usual * factor)
        });
        let weights = weights.collect();
        Plan {
            seed,
            shards,
            steps: random.u32(100..260),
            queues,
            weights,
            faults,
            segment_bytes: [96 << 10, 96 << 10, 192 << 10][random.usize(..3)],
            can_only_trim: many(seed ^ 0x7472_696d, &[0, 0, 0, 1]) == 1,
            checkpoint_bytes: [4 << 10, 16 << 10, 64 << 10, 1 << 20][random.usize(..4)],
            checkpoint_slice_bytes: [256, 1 << 10, 16 << 10][random.usize(..3)],
            turn_commands_max: [2, 16, 1_024][random.usize(..3)],
            payload_bytes: [40, 200, 900][random.usize(..3)],
            big_one_in: [0, 0, 20, 6][random.usize(..4)],
            disk_steps_max: [3, 8, 40, 200][random.usize(..4)],
            keys: [0, 1, 3, 8][random.usize(..4)],
            turn_events_max: 32,
            compare: 25,
            has_standby: Rng::with_seed(seed ^ 0x0073_7461_6e64_6279).u8(..4) == 0,
            counters: None,
            wallets: None,
            pushes: None,
            mqtt: None,
        }
        .with_wallets()
        .with_pushes()
        .with_mqtt()
        .with_counters()
        .with_replays()
    }

    /// A fifth of all seeds has MQTT, and nothing else.
    fn with_mqtt(self) -> Plan {
        if self.seed % 5 != 3 {
            return self;
        }
        // With numbers of its own, as the wallets.
        let mut random = Rng::with_seed(self.seed ^ 0x6d71_7474);
        let shards = [1, 1, 2, 3, 5, 8][random.usize(..6)];
        let faults = Faults { flip: false, ..self.faults };
        let mut groups = Rng::with_seed(self.seed ^ 0x7368_6172_6564);
        let mut absences = Rng::with_seed(self.seed ^ 0x6177_6179);
        let mut quotas = Rng::with_seed(self.seed ^ 0x7175_6f74_6173);
        let mut forgets = Rng::with_seed(self.seed ^ 0x6572_6173_6573);
        let mqtt = MqttPlan::new(&mut random)
            .with_groups(&mut groups)
            .with_absences(&mut absences)
            .with_quotas(&mut quotas)
            .with_forgets(&mut forgets);
        let has_many_bursts = mqtt.has_many_bursts;
        let (queues, mqtt) = (Vec::new(), Some(mqtt));
        let plan = Plan { shards, queues, wallets: None, pushes: None, mqtt, faults, ..self };
        if !has_many_bursts {
            return plan;
        }
        Plan {
            shards: 1,
            // Checkpoints come between bursts, not for the bytes of one, and are soon whole.
            checkpoint_bytes: 1 << 20,
            checkpoint_slice_bytes: 16 << 10,
            ..plan
        }
    }

    /// How little a turn does at once.
    fn with_replays(self) -> Plan {
        // With numbers of its own, as the wallets.
        let mut random = Rng::with_seed(self.seed ^ 0x7265_706c_6179);
        let turn_events_max = [1, 3, 32, 32][random.usize(..4)];
        let often = |random: &mut Rng, choices: &[u32]| choices[random.usize(..choices.len())];
        let mut broken = Rng::with_seed(self.seed ^ 0x7061_6e69_6373);
        let controls = often(&mut broken, &[0, 3]);
        // The edge's side of an unknown outcome is its own: batches and progress are not repeated with an id.
        let panics = match self.pushes.is_none() && self.mqtt.is_none() {
            true => often(&mut broken, &[0, 0, 30, 100]),
            false => 0,
        };
        let mut late = Rng::with_seed(self.seed ^ 0x6c61_7465);
        let away = match self.pushes.is_none() && self.mqtt.is_none() {
            true => often(&mut late, &[0, 0, 0, 40]),
            false => 0,
        };
        let mut stopped = Rng::with_seed(self.seed ^ 0x7374_6f70_7065_6421);
        // The checker holds answers of old owners against the queues' record.
        let stops = match self.pushes.is_none() && self.mqtt.is_none() && !self.queues.is_empty() {
            true => often(&mut stopped, &[0, 0, 30]),
            false => 0,
        };
        let faults = Faults {
            names: often(&mut random, &[0, 0, 30, 100]),
            // Queues and wallets answer with a refusal that the checker does not know where a payload cannot be opened for now.
            descriptors: match self.queues.is_empty() && self.wallets.is_none() {
                true => often(&mut random, &[0, 0, 15, 60]),
                false => 0,
            },
            reads: often(&mut random, &[0, 0, 3]),
            checkpoints: often(&mut random, &[0, 0, 2]),
            any_order: random.bool(),
            panics,
            controls,
            away,
            stops,
            ..self.faults
        };
        let compare = [10, 25, 60][random.usize(..3)];
        // Some messages of a burst are removed, and the rest is not yet.
        let (turn_events_max, compare) = match self.mqtt.as_ref().is_some_and(|mqtt| mqtt.has_many_bursts) {
            true => (32, 4),
            false => (turn_events_max, compare),
        };
        // Few bytes are written there: small segments need a new file more often.
        let segment_bytes = if faults.descriptors > 0 { 64 << 10 } else { self.segment_bytes };
        Plan { faults, turn_events_max, compare, segment_bytes, ..self }
    }

    /// A quarter of all seeds has counters beside what else there is.
    fn with_counters(self) -> Plan {
        // With numbers of its own, as the wallets.
        let mut random = Rng::with_seed(self.seed ^ 0x0063_6f75_6e74);
        let counters = (random.u8(..4) == 0)
            .then(|| CounterPlan { commands_max: random.u32(1..5), messages: [0, 3, 10][random.usize(..3)] });
        Plan { counters, ..self }
    }

    /// A third of all seeds has wallets beside queues, another third only wallets.
    fn with_wallets(self) -> Plan {
        // With numbers of its own: the queues of a seed do not depend on decisions made here.
        let mut random = Rng::with_seed(self.seed ^ 0x7761_6c6c_6574);
        match self.seed % 3 {
            0 => self,
            1 => {
                let wallets = Some(WalletPlan::new(&mut random, self.shards, true));
                Plan { wallets, steps: self.steps / 2, ..self }
            }
            _ => {
                let shards = [1, 2, 2, many(self.seed, &[3, 3, 5, 8])][random.usize(..4)];
                let wallets = Some(WalletPlan::new(&mut random, shards, false));
                Plan { shards, queues: Vec::new(), wallets, steps: self.steps * 2 / 3, ..self }
            }
        }
    }
}

impl Plan {
    /// A quarter of all seeds has pushes beside what else there is, another quarter only pushes.
    fn with_pushes(self) -> Plan {
        // With numbers of its own, as the wallets.
        let mut random = Rng::with_seed(self.seed ^ 0x7075_7368_6573);
        match self.seed % 4 {
            0 => {
                let pushes = Some(PushPlan::new(&mut random, self.shards, false));
                Plan { pushes, steps: self.steps * 2 / 3, ..self }
            }
            1 => {
                let shards = [1, 2, 2, many(self.seed, &[3, 3, 5, 8])][random.usize(..4)];
                let pushes = Some(PushPlan::new(&mut random, shards, true));
                let faults = Faults { flip: false, ..self.faults };
                let (queues, wallets) = (Vec::new(), None);
                Plan { shards, queues, wallets, pushes, faults, steps: self.steps * 2 / 3, ..self }
            }
            _ => self,
        }
    }
}

/// A number of shards where there are several, with numbers of its own.
fn many(seed: u64, choices: &[u16]) -> u16 {
    choices[Rng::with_seed(seed ^ 0x7368_6172_6473).usize(..choices.len())]
}

/// The longest delay between two attempts in any queue of a simulation.
const BACKOFF_MAX: u64 = 4_000;

fn queues(random: &mut Rng, shards: u16) -> Vec<(QueueName, QueueSettings, Rules)> {
    let count = random.usize(2..5);
    let name = |at: usize| QueueName::new(&format!("q{at}")).expect("a name");
    (0..count)
        .map(|at| {
            let dead = match random.u8(..4) {
                0 => Dead::Discarded,
                1 if at + 1 < count => Dead::Moved(QueueNumber(at + 1)),
                _ => Dead::Kept,
            };
            let limit = (random.u8(..8) == 0).then_some(Limit { rate: 20.0, burst: 3 });
            let key_limit = (random.u8(..8) == 0).then_some(Limit { rate: 5.0, burst: 2 });
            let attempts_max = random.u16(1..5);
            let settings = QueueSettings {
                attempts_max,
                backoff: Backoff { first: 200, factor: 2.0, max: BACKOFF_MAX, jitter: 0.5 },
                dead_letter: match dead {
                    Dead::Kept => DeadLetter::Keep,
                    Dead::Moved(queue) => DeadLetter::Queue(name(queue.0)),
                    Dead::Discarded => DeadLetter::Discard,
                },
                limit,
                key_limit,
                ..QueueSettings::default()
            };
            let shard = stadium_queue::Place::home(&name(at), shards);
            let rules = Rules { shard, dead, attempts_max, backoff_max: BACKOFF_MAX };
            (name(at), settings, rules)
        })
        .collect()
}

/// All kinds, with how often each usually comes.
const ALL: &[(Kind, u32)] = &[
    (Kind::Put, 40),
    (Kind::Reserve, 30),
    (Kind::Settle, 24),
    (Kind::Release, 8),
    (Kind::Extend, 3),
    (Kind::Bury, 3),
    (Kind::Forward, 6),
    (Kind::Delete, 3),
    (Kind::Edit, 4),
    (Kind::Kick, 2),
    (Kind::Redrive, 2),
    (Kind::Purge, 1),
    (Kind::Pause, 1),
    (Kind::Resume, 3),
    (Kind::Schedule, 1),
    (Kind::Find, 3),
    (Kind::History, 2),
    (Kind::Declare, 1),
];
