//! One instance of a service as a client sees it.
//!
//! An instance is known by its address for as long as discovery names it; what was learnt about it stays
//! through every update. How it is judged is in [`super::ejection`], how it is chosen in
//! [`super::choose`].

use super::{ejection::Health, latency::PeakEwma, rendezvous};

/// Instances that a [`super::Balancer`] keeps for one service.
///
/// Four thousand is four times the largest fleet that one client is meant to see, at about 200 bytes each.
/// Further ones are left out, and counted in [`super::Updated::left_out`].
pub const INSTANCES_MAX: usize = 4_096;

/// Names one instance within one [`super::Balancer`]: a slot and its generation.
///
/// The id of an instance that has gone stays invalid until its slot has been reused 65,536 times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceId(pub(crate) u32);

impl InstanceId {
    pub(crate) const fn new(slot: u16, generation: u16) -> Self {
        Self((generation as u32) << 16 | slot as u32)
    }

    /// The slot, below [`INSTANCES_MAX`]: two live instances never share one, so that a driver may keep
    /// what it holds for an instance in a table.
    pub const fn slot(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    pub(crate) const fn generation(self) -> u16 {
        (self.0 >> 16) as u16
    }
}

/// The report of discovery about an instance.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// `HOST:PORT`; what makes it this instance and no other.
    pub address: &'a str,
    /// The load factor it last published: 0 is idle, 1 is full.
    pub load: f32,
    /// Where it stands; empty when unknown.
    pub zone: &'a str,
    /// Its share of the calls beside the others', 100 being usual. With 0 it gets none.
    pub weight: u32,
    /// The version of the service it runs.
    pub version: &'a str,
    /// It has reported that it is leaving, and gets no new calls.
    pub quiescing: bool,
}

/// The connection to an instance, as far as the driver reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Nobody has tried, or it was closed on purpose.
    Idle,
    /// It is up.
    Connected,
    /// It failed or broke; worth another try from that time on, in microseconds.
    Lost { retry_at_us: u64 },
}

/// Everything known about one instance.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) address: Box<str>,
    pub(crate) zone: Box<str>,
    pub(crate) version: Box<str>,
    pub(crate) weight: u32,
    /// From discovery, until the instance itself reports more on its connection.
    pub(crate) load: f32,
    /// The connection has reported a load, which is fresher than discovery's.
    pub(crate) load_reported: bool,
    /// Discovery reports that it is leaving.
    pub(crate) leaving: bool,
    /// The connection reports that it is leaving.
    pub(crate) leaving_reported: bool,
    pub(crate) link: Link,
    /// One of those that this client spreads its calls over.
    pub(crate) in_subset: bool,
    /// Calls that have begun and not ended.
    pub(crate) inflight: u32,
    /// It asked to be left alone until then.
    pub(crate) busy_until_us: u64,
    pub(crate) latency: PeakEwma,
    pub(crate) health: Health,
    /// What its load and weight make of a cost.
    pub(crate) cost_factor: f64,
    /// Its place in rendezvous hashing; depends on address and weight only.
    pub(crate) node: rendezvous::Node,
    /// The update that last named it.
    pub(crate) named_in: u64,
}

impl Instance {
    pub(crate) fn new(known: &Known<'_>) -> Self {
        let mut instance = Self {
            address: known.address.into(),
            zone: "".into(),
            version: "".into(),
            weight: 0,
            load: 0.0,
            load_reported: false,
            leaving: false,
            leaving_reported: false,
            link: Link::Idle,
            in_subset: false,
            inflight: 0,
            busy_until_us: 0,
            latency: PeakEwma::default(),
            health: Health::default(),
            cost_factor: 1.0,
            node: rendezvous::Node {
                hash: rendezvous::scramble(rendezvous::fnv(known.address.as_bytes())),
                inverse_weight: 1.0,
            },
            named_in: 0,
        };
        instance.apply(known);
        instance
    }

    /// Takes over what discovery reports now, and keeps what was learnt.
    pub(crate) fn apply(&mut self, known: &Known<'_>) {
        if *self.zone != *known.zone {
            self.zone = known.zone.into();
        }
        if *self.version != *known.version {
            self.version = known.version.into();
        }
        self.weight = known.weight;
        self.leaving = known.quiescing;
        if !self.load_reported {
            self.load = sane(known.load);
        }
        self.node.inverse_weight = 1.0 / f64::from(known.weight.max(1));
        self.weigh();
    }

    /// Notes a load factor that the instance reported on its connection.
    pub(crate) fn report_load(&mut self, load: f32) {
        self.load = sane(load);
        self.load_reported = true;
        self.weigh();
    }

    fn weigh(&mut self) {
        // Half loaded costs a quarter more, full twice, threefold overload ten times.
        let load = f64::from(self.load);
        self.cost_factor = (1.0 + load * load) * 100.0 / f64::from(self.weight.max(1));
    }

    /// It gets no new calls: it is leaving, or weighs nothing.
    pub(crate) fn quiescing(&self) -> bool {
        self.leaving || self.leaving_reported || self.weight == 0
    }

    pub(crate) fn connected(&self) -> bool {
        self.link == Link::Connected
    }

    /// A call may be sent, or a connection tried for it.
    pub(crate) fn reachable(&self, now_us: u64) -> bool {
        match self.link {
            Link::Idle | Link::Connected => true,
            Link::Lost { retry_at_us } => retry_at_us <= now_us,
        }
    }
}

/// A load factor that arithmetic can bear, from any input of the network.
fn sane(load: f32) -> f32 {
    if load.is_finite() { load.clamp(0.0, 100.0) } else { 0.0 }
}
