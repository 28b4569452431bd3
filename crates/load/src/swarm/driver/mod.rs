//! What one loop does for its devices: the client's half of MQTT, and the clockwork behind it.
//!
//! [`connect`] brings devices up and back, [`receive`] takes what brokers send, [`publish`] sends what devices
//! say, [`answer`] what they say when asked, [`habits`] does what their profiles say, [`severed`] keeps connections
//! that are dead without a word, [`storm`] cuts many at once, [`schedule`] does each thing at its time. All of it runs
//! on the loop's thread and tells the rest of the swarm four times a second by a [`Tally`](super::tally::Tally).

mod answer;
mod connect;
mod counts;
mod habits;
mod publish;
mod receive;
mod schedule;
mod severed;
mod storm;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use serde::{Deserialize, Serialize};
use stadium_reactor::{CloseReason, ConnectionId, Handler};

use super::broadcast::Following;
use super::collect::Event;
use super::device::{Device, Ending, Phase};
use super::habit::Habit;
use super::memory::anonymous_bytes;
use super::plan::Plan;
use super::tally::{Latencies, Now, Storm, Sums};
use super::time::Dice;
use crate::clock::monotonic_ns;
use crate::share::Share;
use counts::Counts;
use publish::Flight;
use receive::LateAck;
use severed::Left;
use storm::Cut;

/// A driver's loop.
pub(crate) type Io = stadium_reactor::Io<Order>;

/// What a driver is told from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// The first device's time, in [`crate::clock::monotonic_ns`].
    Start {
        /// That time.
        epoch_ns: u64,
    },
    /// Begin to broadcast.
    Broadcast {
        /// Tells this run's messages from others'.
        stream: u32,
    },
    /// Cut connections; their devices come back.
    Cut {
        /// Counts storms from 1.
        number: u32,
        /// When the swarm decided it.
        at_ns: u64,
        /// Of a million devices, so many.
        share_ppm: u32,
        /// The last one so long after the first, in milliseconds.
        over_ms: u64,
    },
    /// Say goodbye and end.
    Stop,
}

/// One loop's devices.
pub(crate) struct Driver {
    plan: Arc<Plan>,
    share: Share,
    /// The broadcaster, on the loop that has one, is the last.
    devices: Vec<Device>,
    broadcaster: Option<u32>,
    /// What devices go through, by device; empty where there are no profiles.
    habits: Vec<Habit>,
    dice: Dice,
    /// Severed connections that their devices have left, oldest first. At most the plan's `left_max`.
    left: VecDeque<Left>,
    /// Device of each connection, by the connection's index.
    device_of: Vec<u32>,
    /// Connections that have not been reported as closed.
    open: u32,
    now: Now,
    handshakes_max: u32,
    random: fastrand::Rng,

    // Schedule.
    /// When loop time began, in [`crate::clock::monotonic_ns`].
    loop_began_ns: u64,
    epoch_ns: Option<u64>,
    /// The next device whose time will come.
    next: u32,
    /// Devices that are away, by the time of their next attempt.
    away: BinaryHeap<Reverse<(u64, u32)>>,
    /// Until when the limit of handshakes held devices back.
    held_ns: u64,
    /// Uplinks whose time has passed, over all devices.
    uplinks_due: u64,
    broadcast_from_ns: Option<u64>,
    broadcasts_due: u64,
    tally_ns: u64,
    stopping: bool,

    // Messages.
    /// The stream that windows follow: the first one heard.
    stream: u32,
    own_stream: u32,
    following: Following,
    /// Acknowledgements that wait for their time. As many as brokers let be in flight, 65,535 a device.
    late_acks: VecDeque<LateAck>,
    /// Packet ids received with QoS 2 and not released, by device.
    unreleased: HashMap<u32, Vec<u16>>,
    /// Messages that devices published and nobody acknowledged yet, by device and packet id.
    flights: HashMap<(u32, u16), Flight>,

    // Figures.
    sums: Sums,
    latencies: Latencies,
    counts: Counts,
    storms: BTreeMap<u32, Storm>,
    /// The storm that is under way or was last, and when it was decided.
    storm: u32,
    storm_ns: u64,
    /// Devices that it has still to cut, with their times, the next one last.
    to_cut: Vec<(u64, u32)>,
    /// Anonymous memory of the process before it had devices, on the loop that tells of it.
    memory_before: Option<u64>,
    last_up_ns: u64,
    out: Sender<Event>,

    // Space for texts and payloads, used again and again.
    text: Texts,
    payload: Vec<u8>,
}

/// Space for a packet's texts.
#[derive(Debug, Default)]
struct Texts {
    id: String,
    username: String,
    password: String,
    topic: String,
    respond_to: String,
}

impl Driver {
    pub(crate) fn new(plan: Arc<Plan>, share: Share, out: Sender<Event>) -> Self {
        let own = share.part(plan.config.devices);
        let targets = plan.options.len();
        let mut devices: Vec<Device> = Vec::with_capacity(own as usize + 1);
        devices.extend((0..own).map(|slot| Device::new((share.nth(slot) as usize % targets) as u16)));
        let broadcaster = (share.index == 0 && plan.config.broadcast.is_some()).then(|| {
            devices.push(Device::new(0));
            own
        });
        let mut driver = Driver {
            share,
            devices,
            broadcaster,
            habits: Vec::new(),
            dice: Dice { seed: 0 },
            left: VecDeque::new(),
            device_of: Vec::new(),
            open: 0,
            now: Now { waiting: own, ..Now::default() },
            handshakes_max: share.part(plan.config.connect.in_flight_max).max(1),
            random: fastrand::Rng::new(),
            loop_began_ns: 0,
            epoch_ns: None,
            next: 0,
            away: BinaryHeap::new(),
            held_ns: 0,
            uplinks_due: 0,
            broadcast_from_ns: None,
            broadcasts_due: 0,
            tally_ns: 0,
            stopping: false,
            stream: 0,
            own_stream: 0,
            following: Following::default(),
            late_acks: VecDeque::new(),
            unreleased: HashMap::new(),
            flights: HashMap::new(),
            sums: Sums::default(),
            latencies: Latencies::default(),
            counts: Counts::default(),
            storms: BTreeMap::new(),
            storm: 0,
            storm_ns: 0,
            to_cut: Vec::new(),
            memory_before: None,
            last_up_ns: 0,
            out,
            text: Texts::default(),
            payload: Vec::new(),
            plan,
        };
        driver.make_habits();
        driver
    }

    /// Notes what the process needs without devices; called before the first of them comes.
    fn note_memory(&mut self) {
        let loops = self.plan.config.loops;
        if !(self.share.index as usize).is_multiple_of(loops) {
            return;
        }
        // The tables of devices are there already, on each loop of the process.
        let tables = self.devices.len() * size_of::<Device>() + self.habits.len() * size_of::<Habit>();
        self.memory_before = anonymous_bytes().map(|bytes| bytes.saturating_sub((tables * loops) as u64));
    }

    /// The device of a connection; `None` where the connection is not its device's any more.
    fn slot_of(&self, id: ConnectionId) -> Option<u32> {
        let slot = *self.device_of.get(id.index as usize)?;
        (self.devices.get(slot as usize)?.connection == id).then_some(slot)
    }

    fn device(&mut self, slot: u32) -> &mut Device {
        &mut self.devices[slot as usize]
    }

    fn is_broadcaster(&self, slot: u32) -> bool {
        self.broadcaster == Some(slot)
    }

    /// Moves a device to another phase, and the counts with it. The broadcaster is none of the fleet.
    fn enter(&mut self, slot: u32, phase: Phase) {
        let before = std::mem::replace(&mut self.device(slot).phase, phase);
        if self.is_broadcaster(slot) {
            return;
        }
        *self.now_of(before) -= 1;
        *self.now_of(phase) += 1;
    }

    fn now_of(&mut self, phase: Phase) -> &mut u32 {
        match phase {
            Phase::Waiting => &mut self.now.waiting,
            Phase::Opening | Phase::Greeting | Phase::Subscribing => &mut self.now.handshakes,
            Phase::Up => &mut self.now.up,
            Phase::Away => &mut self.now.away,
            Phase::GivenUp => &mut self.now.given_up,
        }
    }

    /// Notes that a device sends a packet, for its keep-alive.
    fn touch(&mut self, io: &Io, slot: u32) {
        self.device(slot).sent_ms = io.now() as u32;
    }

    /// Ends a device's connection from our side.
    fn abort(&mut self, io: &mut Io, slot: u32, ending: Ending) {
        let device = self.device(slot);
        device.ending = ending;
        io.abort(device.connection);
    }
}

impl Handler for Driver {
    type Message = Order;

    fn connected(&mut self, io: &mut Io, id: ConnectionId, _tag: u64) {
        if let Some(slot) = self.slot_of(id) {
            self.greet(io, slot);
        }
    }

    fn received(&mut self, io: &mut Io, id: ConnectionId, bytes: &[u8]) -> usize {
        match self.slot_of(id) {
            Some(slot) => self.read(io, slot, bytes),
            None => bytes.len(),
        }
    }

    fn timeout(&mut self, io: &mut Io, id: ConnectionId) {
        let Some(slot) = self.slot_of(id) else { return };
        let phase = self.device(slot).phase;
        match phase {
            Phase::Up if self.has_habit(slot) => self.live(io, slot),
            Phase::Up => self.keep_alive(io, slot),
            _ => self.abort(io, slot, Ending::Timeout),
        }
    }

    fn closed(&mut self, io: &mut Io, id: ConnectionId, reason: CloseReason) {
        self.open = self.open.saturating_sub(1);
        if let Some(slot) = self.slot_of(id) {
            self.ended(io, slot, reason);
        }
    }

    fn message(&mut self, io: &mut Io, order: Order) {
        match order {
            Order::Start { epoch_ns } => {
                self.epoch_ns = Some(epoch_ns);
                self.loop_began_ns = monotonic_ns() - io.read_clock_us() * 1_000;
                self.note_memory();
                self.tally_ns = monotonic_ns();
            }
            Order::Broadcast { stream } => {
                self.own_stream = stream;
                self.begin_broadcast();
            }
            Order::Cut { number, at_ns, share_ppm, over_ms } => {
                self.begin_storm(io, Cut { number, at_ns, share_ppm, over_ms });
            }
            Order::Stop => self.say_goodbye(io),
        }
    }

    fn alarm(&mut self, _io: &mut Io) {
        // What is due is done when the turn ends.
    }

    fn turn_ended(&mut self, io: &mut Io) {
        self.advance(io);
    }
}
