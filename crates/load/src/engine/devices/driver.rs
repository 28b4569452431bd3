//! The devices of one loop: a dense table of them, and tables of properties that only some have.
//!
//! A device is an index into the table, 64 bytes, and 44 more where it has a profile. Texts and
//! packets are made when they are sent and are nobody's.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use stadium_reactor::ConnectionId;

use super::behaviour::Behaviour;
use super::counts::Counts;
use super::device::{Device, Ending, Phase};
use super::flight::{Flight, LateAck};
use super::left::Left;
use super::plan::Plan;
use crate::engine::event::Event;
use crate::engine::order::Io;
use crate::engine::protocol::mqtt::rules::Unreleased;
use crate::share::Share;
use crate::swarm::broadcast::Following;
use crate::swarm::memory::anonymous_bytes;
use crate::swarm::tally::{Latencies, Now, Storm, Sums};
use crate::swarm::time::Dice;

/// One loop's devices.
pub(crate) struct Driver {
    pub(super) plan: Arc<Plan>,
    pub(super) share: Share,
    /// The broadcaster, on the loop that has one, is the last.
    pub(super) devices: Vec<Device>,
    pub(super) broadcaster: Option<u32>,
    /// The behaviours of devices, by device; empty where there are no profiles.
    pub(super) behaviours: Vec<Behaviour>,
    pub(super) dice: Dice,
    /// Severed connections that their devices have left, oldest first. At most the plan's
    /// `left_max`.
    pub(super) left: VecDeque<Left>,
    /// Device of each connection, by the connection's index.
    pub(super) device_of: Vec<u32>,
    /// Connections that have not been reported as closed.
    pub(super) open: u32,
    pub(super) now: Now,
    pub(super) handshakes_max: u32,
    pub(super) random: fastrand::Rng,

    // Schedule.
    /// When loop time began, in [`crate::clock::monotonic_ns`].
    pub(super) loop_began_ns: u64,
    pub(super) epoch_ns: Option<u64>,
    /// The next device whose time will come.
    pub(super) next: u32,
    /// Devices that are away, by the time of their next attempt.
    pub(super) away: BinaryHeap<Reverse<(u64, u32)>>,
    /// Until when the limit of handshakes held devices back.
    pub(super) held_ns: u64,
    /// Uplinks that have been due, over all devices.
    pub(super) uplinks_due: u64,
    pub(super) broadcast_from_ns: Option<u64>,
    pub(super) broadcasts_due: u64,
    pub(super) tally_ns: u64,
    pub(super) stopping: bool,

    // Messages.
    /// The stream that windows follow: the first one heard.
    pub(super) stream: u32,
    pub(super) own_stream: u32,
    pub(super) following: Following,
    /// Acknowledgements that wait for their time. As many as brokers let be in flight, 65,535 a
    /// device.
    pub(super) late_acks: VecDeque<LateAck>,
    /// Packet ids received with QoS 2 and not released, by device.
    pub(super) unreleased: HashMap<u32, Unreleased>,
    /// Messages that devices published and nobody acknowledged yet, by device and packet id.
    pub(super) flights: HashMap<(u32, u16), Flight>,

    // Figures.
    pub(super) sums: Sums,
    pub(super) latencies: Latencies,
    pub(super) counts: Counts,
    pub(super) storms: BTreeMap<u32, Storm>,
    /// The storm that is under way or was last, and when it was decided.
    pub(super) storm: u32,
    pub(super) storm_ns: u64,
    /// Devices that it has still to cut, with their times, the next one last.
    pub(super) to_cut: Vec<(u64, u32)>,
    /// Anonymous memory of the process before it had devices, on the loop that reports it.
    pub(super) memory_before: Option<u64>,
    pub(super) memory_noted: bool,
    pub(super) last_up_ns: u64,
    pub(super) out: Sender<Event>,

    // Space for texts and payloads, used again and again.
    pub(super) text: Texts,
    pub(super) payload: Vec<u8>,
}

/// Space for a packet's texts.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) id: String,
    pub(super) username: String,
    pub(super) password: String,
    pub(super) topic: String,
    pub(super) respond_to: String,
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
            behaviours: Vec::new(),
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
            memory_noted: false,
            last_up_ns: 0,
            out,
            text: Texts::default(),
            payload: Vec::new(),
            plan,
        };
        driver.make_behaviours();
        driver
    }

    /// Notes what the process needs without devices; called before the first of them comes.
    pub(super) fn note_memory(&mut self) {
        self.memory_noted = true;
        let loops = self.plan.config.loops;
        if !(self.share.index as usize).is_multiple_of(loops) {
            return;
        }
        // The tables of devices are there already, on each loop of the process.
        let tables =
            self.devices.len() * size_of::<Device>() + self.behaviours.len() * size_of::<Behaviour>();
        self.memory_before = anonymous_bytes().map(|bytes| bytes.saturating_sub((tables * loops) as u64));
    }

    /// The device of a connection; `None` where the connection is not its device's any more.
    pub(super) fn slot_of(&self, id: ConnectionId) -> Option<u32> {
        let slot = *self.device_of.get(id.index as usize)?;
        (self.devices.get(slot as usize)?.connection == id).then_some(slot)
    }

    pub(super) fn device(&mut self, slot: u32) -> &mut Device {
        &mut self.devices[slot as usize]
    }

    pub(super) fn is_broadcaster(&self, slot: u32) -> bool {
        self.broadcaster == Some(slot)
    }

    /// Moves a device to another phase, and the counts with it. The broadcaster is none of the
    /// fleet.
    pub(super) fn enter(&mut self, slot: u32, phase: Phase) {
        let before = std::mem::replace(&mut self.device(slot).phase, phase);
        if self.is_broadcaster(slot) {
            return;
        }
        *self.now_of(before) -= 1;
        *self.now_of(phase) += 1;
    }

    pub(super) fn now_of(&mut self, phase: Phase) -> &mut u32 {
        match phase {
            Phase::Waiting => &mut self.now.waiting,
            Phase::Opening | Phase::Greeting | Phase::Subscribing => &mut self.now.handshakes,
            Phase::Up => &mut self.now.up,
            Phase::Away => &mut self.now.away,
            Phase::GivenUp => &mut self.now.given_up,
        }
    }

    /// Notes that a device sends a packet, for its keep-alive.
    pub(super) fn touch(&mut self, io: &Io, slot: u32) {
        self.device(slot).sent_ms = io.now() as u32;
    }

    /// Ends a device's connection from our side.
    pub(super) fn abort(&mut self, io: &mut Io, slot: u32, ending: Ending) {
        let device = self.device(slot);
        device.ending = ending;
        io.abort(device.connection);
    }
}
