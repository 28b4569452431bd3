//! What a seed decides about MQTT: loops, devices, topics, bounds.
//!
//! Later additions have random numbers of their own, so that the rest of a seed stays as it was.

use fastrand::Rng;
use stadium_mqtt::packet::Version;

use super::groups::GroupPlan;

/// Bounds of an edge. Other ones at each start.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Deliveries for a session whose client is away.
    pub messages_max: usize,
    /// Deliveries that wait for a slow client.
    pub queued_max: u32,
    /// Topics with a retained message.
    pub retained_max: usize,
    /// Topics whose retained message one device set.
    pub owner_max: usize,
}

/// A device.
#[derive(Debug, Clone)]
pub struct DevicePlan {
    pub id: String,
    pub version: Version,
    /// How long its session outlives its connection, seconds; none in 3.1.1.
    pub expiry_s: u32,
    /// One in so many connections begins anew.
    pub clean_one_in: u32,
    /// One in so many connections has a will; 0 for none.
    pub will_one_in: u32,
    /// In one of so many of its chances it comes back.
    pub back_one_in: u32,
}

#[derive(Debug, Clone)]
pub struct MqttPlan {
    pub devices: Vec<DevicePlan>,
    /// Topics with subscribers.
    pub topics: u32,
    /// Topics with retained messages.
    pub retained_topics: u32,
    /// So many retained messages that expire at one time; 0 for none.
    pub burst: u32,
    /// Bursts in a run, at most.
    pub bursts_max: u32,
    /// They follow each other: one is over, a checkpoint begins while its messages are removed, the next one begins.
    pub has_many_bursts: bool,
    /// Loops at each start, at most.
    pub loops_max: usize,
    /// Actions of devices in a step, at most.
    pub actions_max: u32,
    /// Of a hundred actions, so many publish.
    pub publishes: u8,
    /// One in so many publishes is retained; 0 for none.
    pub retained_one_in: u32,
    /// All retained messages of MQTT 5.0 are over after seconds.
    pub retained_briefly: bool,
    /// One in so many connections ends in a step.
    pub leaves: u32,
    /// How slowly devices acknowledge: one in so many steps.
    pub slow: u32,
    /// Choices of the bound of deliveries of a session.
    pub messages_max: Vec<usize>,
    pub retained_max: usize,
    /// The quota of a device; no will is retained where it is small.
    pub owner_max: usize,
    /// Bytes of the messages that sessions of a shard are owed.
    pub message_bytes_max: u64,
    /// Once in so many steps somebody sets the clock right by hours or days; 0 for never.
    pub jump: u32,
    /// Once in so many steps an operator has a session forgotten; 0 for never.
    pub forgets: u32,
    /// Shared subscriptions; none in half of the runs.
    pub groups: Vec<GroupPlan>,
}

/// Bytes of messages that a shard keeps where it keeps few: about ten messages.
const LITTLE_BYTES: u64 = 300;

impl MqttPlan {
    pub fn new(random: &mut Rng) -> MqttPlan {
        let choose = |random: &mut Rng, choices: &[u32]| choices[random.usize(..choices.len())];
        let devices = (0..random.usize(2..8)).map(|at| {
            let version = if random.u8(..3) == 0 { Version::V311 } else { Version::V5 };
            let expiry_s = match version {
                Version::V311 => u32::MAX,
                Version::V5 => choose(random, &[0, 30, 3_600, 3_600, 86_400, u32::MAX]),
            };
            DevicePlan {
                id: format!("device{at}"),
                version,
                expiry_s,
                clean_one_in: choose(random, &[0, 0, 4, 20]),
                will_one_in: choose(random, &[0, 0, 2]),
                back_one_in: 1,
            }
        });
        let mut devices: Vec<DevicePlan> = devices.collect();
        let burst = choose(random, &[0, 0, 0, 400, 700]);
        let few = random.u8(..3) == 0 && burst == 0;
        let little_room = random.u8(..4) == 0;
        if little_room {
            for device in &mut devices {
                // Nobody hears that there is no room for a will.
                device.will_one_in = 0;
                // A 3.1.1 client that is refused is cut off, and sends all of it again for ever.
                if device.version == Version::V311 {
                    (device.version, device.expiry_s) = (Version::V5, 86_400);
                }
            }
        }
        MqttPlan {
            devices,
            topics: random.u32(1..5),
            retained_topics: random.u32(2..14),
            burst,
            bursts_max: 3,
            has_many_bursts: false,
            loops_max: [1, 2, 4, 4][random.usize(..4)],
            actions_max: choose(random, &[3, 8, 16]),
            publishes: [30, 60, 80][random.usize(..3)],
            retained_one_in: choose(random, &[0, 2, 5]),
            retained_briefly: false,
            leaves: choose(random, &[10, 40, 100]),
            slow: choose(random, &[1, 2, 8]),
            messages_max: [vec![1_000], vec![3], vec![3, 10, 1_000], vec![10]][random.usize(..4)].clone(),
            retained_max: if few { 6 } else { 100_000 },
            owner_max: 100_000,
            message_bytes_max: if little_room { LITTLE_BYTES } else { u64::MAX },
            jump: choose(random, &[0, 0, 60]),
            forgets: 0,
            groups: Vec::new(),
        }
    }

    /// Half of all runs have shared subscriptions. With random numbers of its own: what else a seed does depends on nothing here.
    pub fn with_groups(self, random: &mut Rng) -> MqttPlan {
        if random.bool() {
            return self;
        }
        let groups = (0..random.u32(1..=3)).map(|at| {
            let filter = ["s/0", "s/1", "s/+"][random.usize(..3)];
            GroupPlan {
                text: format!("$share/g{at}/{filter}"),
                filter: filter.into(),
                is_kept: random.bool(),
            }
        });
        let groups = groups.collect();
        MqttPlan { groups, ..self }
    }

    /// Some devices are away for long, so that servers start and bounds change meanwhile. If few
    /// messages may be retained, in half of the runs they are retained only briefly. Bursts follow
    /// each other in half of the runs that have some.
    pub fn with_absences(mut self, random: &mut Rng) -> MqttPlan {
        for device in &mut self.devices {
            let back_one_in = [1, 1, 1, 30][random.usize(..4)];
            // A publisher that was away for long repeats its publish. A member that has left its
            // group and joined it again meanwhile may then get it twice at QoS 2.
            device.back_one_in = if self.groups.is_empty() { back_one_in } else { 1 };
        }
        if self.retained_max < 100 && random.bool() {
            // More topics than may have a message, of which many are over.
            (self.retained_topics, self.retained_one_in, self.retained_briefly) = (14, 2, true);
        }
        if self.burst > 0 && random.bool() {
            // Three pages of the table of retained messages: places in two of them would be taken
            // in the same order after a recovery.
            (self.burst, self.bursts_max, self.has_many_bursts) = (700, 20, true);
        }
        self
    }

    /// In a quarter of the runs without bursts each device may retain few messages, and publishes
    /// many to be retained.
    pub fn with_quotas(mut self, random: &mut Rng) -> MqttPlan {
        if self.burst == 0 && random.u8(..4) == 0 {
            self.owner_max = random.usize(1..4);
            (self.retained_topics, self.retained_one_in) = (14, 2);
        }
        self
    }

    /// In half of the runs without groups an operator has sessions forgotten. A member that joins
    /// its group again could get a publish that is repeated twice at QoS 2.
    pub fn with_forgets(mut self, random: &mut Rng) -> MqttPlan {
        if self.groups.is_empty() && random.bool() {
            self.forgets = [10, 40, 200][random.usize(..3)];
        }
        self
    }

    /// Whether few messages may be retained: of all devices, or of one.
    pub fn retains_few(&self) -> bool {
        self.retained_max.min(self.owner_max) < 100
    }

    /// Whether a shard may have no room for a message.
    pub fn has_little_room(&self) -> bool {
        self.message_bytes_max <= LITTLE_BYTES
    }

    /// The bounds of the next start.
    pub fn limits(&self, random: &mut Rng) -> Limits {
        Limits {
            messages_max: self.messages_max[random.usize(..self.messages_max.len())],
            queued_max: 100_000,
            retained_max: self.retained_max,
            owner_max: self.owner_max,
        }
    }
}
