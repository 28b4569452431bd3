//! Where a call goes: power of two choices for most, rendezvous for keys, probes for those on probation.
//!
//! What can be prepared between changes is kept in [`Ready`] and [`Keyed`], each valid until something
//! changes or a time passes; a choice then costs two draws and two multiplications. An instance that is
//! excluded, quiescing or unreachable is never chosen; one that is busy, ejected or outside the subset only
//! when nothing better is left, in that order.

use super::{
    balancer::Balancer,
    ejection::Standing,
    instance::{Instance, InstanceId},
    random::Random,
    rendezvous::{KeyHash, Node, PARTITIONS},
    settings::Policy,
};

/// What a call asks of its instance.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice<'a> {
    /// The call's key: it goes to the instance that owns the key, also outside the subset and also when that
    /// one is busy, because its state lives there.
    pub key: Option<KeyHash>,
    /// Instances that must not be chosen: those that have failed this call already.
    pub exclude: &'a [InstanceId],
}

/// Where a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The instance.
    pub id: InstanceId,
    /// Why this one.
    pub why: Why,
    /// Whether a connection is up, or the driver has to open one first.
    pub connected: bool,
}

/// Why an instance was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It costs less than the other candidate.
    LowerCost,
    /// No other came into question.
    OnlyOne,
    /// It owns the key, or is next in the key's order while the owner is away.
    Key,
    /// It is on probation, and this call is its probe.
    Probe,
    /// It was its turn.
    RoundRobin,
    /// No instance of the subset is connected yet; this one is worth connecting to.
    NotConnected,
    /// All instances of the subset have answered BUSY.
    AllBusy,
    /// No instance of the subset is left.
    OutsideSubset,
    /// All are ejected, so none is: better a doubtful instance than a failure that is sure.
    Panic,
}

/// How good an instance is to choose; the first is the best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Ready,
    Unconnected,
    Busy,
    Outside,
    #[default]
    Doubtful,
}

impl Tier {
    fn why(self) -> Why {
        match self {
            Self::Ready => Why::LowerCost,
            Self::Unconnected => Why::NotConnected,
            Self::Busy => Why::AllBusy,
            Self::Outside => Why::OutsideSubset,
            Self::Doubtful => Why::Panic,
        }
    }
}

/// The slots to draw from, prepared until something changes.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    /// Until when this holds; 0 when something has changed.
    pub(crate) fresh_until_us: u64,
    tier: Tier,
    pick: Vec<u16>,
    /// Those on probation that wait for a probe.
    probes: Vec<u16>,
    /// What an instance without an answer yet is thought to cost: the median of the others.
    latency_default_us: f64,
    latencies: Vec<f64>,
}

/// The nodes of rendezvous hashing, prepared until something changes.
#[derive(Debug, Default)]
pub(crate) struct Keyed {
    /// Until when this holds; 0 when something has changed.
    pub(crate) fresh_until_us: u64,
    nodes: Vec<(Node, u16)>,
    /// The nodes that `owners` was found with.
    nodes_before: Vec<(Node, u16)>,
    /// The slot that owns each partition, or [`UNKNOWN`]; empty until a key is used.
    owners: Vec<u16>,
}

/// A partition whose owner is still to be found; no slot, as those are below `INSTANCES_MAX`.
const UNKNOWN: u16 = u16::MAX;

/// One draw: the candidates, and which of them it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    pub(crate) slot: u16,
    pub(crate) why: Why,
    pub(crate) candidates: [Option<u16>; 2],
}

impl Balancer {
    /// The instance that a call should go to; nothing when none may be chosen.
    ///
    /// Without one the driver may wait for a connection as long as the call's deadline allows.
    #[inline]
    pub fn choose(&mut self, now_us: u64, choice: Choice<'_>) -> Option<Chosen> {
        if let Some(key) = choice.key
            && self.settings.policy == Policy::PeakEwma
        {
            return self.choose_by_key(now_us, key, choice);
        }
        if now_us >= self.ready.fresh_until_us {
            let mut ready = std::mem::take(&mut self.ready);
            self.prepare(&mut ready, now_us);
            self.ready = ready;
        }
        let mut random = self.random;
        let draw = self.draw(&self.ready, &self.keyed, now_us, choice, &mut random)?;
        self.random = random;
        self.turn = draw.slot.wrapping_add(1);
        Some(self.chosen(draw.slot, draw.why))
    }

    /// The owner of the key's partition, found once and then remembered.
    #[inline]
    fn choose_by_key(&mut self, now_us: u64, key: KeyHash, choice: Choice<'_>) -> Option<Chosen> {
        if now_us >= self.keyed.fresh_until_us {
            let mut keyed = std::mem::take(&mut self.keyed);
            self.prepare_keyed(&mut keyed, now_us);
            keyed.forget_owners_of_other_nodes();
            self.keyed = keyed;
        }
        if choice.exclude.is_empty() {
            let slot = self.keyed.owners[key.partition()];
            if slot != UNKNOWN {
                return Some(self.chosen(slot, Why::Key));
            }
        }
        let draw = self.owner(&self.keyed, key, choice.exclude)?;
        if choice.exclude.is_empty() {
            self.keyed.owners[key.partition()] = draw.slot;
        }
        Some(self.chosen(draw.slot, draw.why))
    }

    #[inline]
    fn chosen(&self, slot: u16, why: Why) -> Chosen {
        let place = &self.slots[usize::from(slot)];
        let connected = place.instance.as_ref().is_some_and(Instance::connected);
        Chosen { id: InstanceId::new(slot, place.generation), why, connected }
    }

    /// What [`Balancer::choose`] does, on what has been prepared.
    #[inline]
    pub(crate) fn draw(
        &self,
        ready: &Ready,
        keyed: &Keyed,
        now_us: u64,
        choice: Choice<'_>,
        random: &mut Random,
    ) -> Option<Draw> {
        if self.settings.policy == Policy::RoundRobin {
            return self.next_in_turn(now_us, choice);
        }
        if let Some(key) = choice.key {
            return self.owner(keyed, key, choice.exclude);
        }
        if !choice.exclude.is_empty() {
            return self.draw_elsewhere(ready, now_us, choice.exclude, random);
        }
        // Only a first try is a probe: a retry has seen trouble enough.
        if let Some(&slot) = ready.probes.first() {
            return Some(Draw { slot, why: Why::Probe, candidates: [None; 2] });
        }
        let pick = &ready.pick;
        let (first, second) = match pick.len() {
            0 => return None,
            1 => return Some(self.settle(ready, now_us, pick[0], None)),
            many => {
                let first = random.below(many as u32);
                let other = random.below(many as u32 - 1);
                (first, other + u32::from(other >= first))
            }
        };
        Some(self.settle(ready, now_us, pick[first as usize], Some(pick[second as usize])))
    }

    /// The cheaper of two candidates.
    #[inline]
    fn settle(&self, ready: &Ready, now_us: u64, first: u16, second: Option<u16>) -> Draw {
        let Some(second) = second else {
            let why = if ready.tier == Tier::Ready { Why::OnlyOne } else { ready.tier.why() };
            return Draw { slot: first, why, candidates: [Some(first), None] };
        };
        let is_cheaper = self.cost(ready, second, now_us) < self.cost(ready, first, now_us);
        let slot = if is_cheaper { second } else { first };
        Draw { slot, why: ready.tier.why(), candidates: [Some(first), Some(second)] }
    }

    /// What one more call there costs: microseconds, by calls under way, load and weight.
    #[inline]
    pub(crate) fn cost(&self, ready: &Ready, slot: u16, now_us: u64) -> f64 {
        let Some(instance) = &self.slots[usize::from(slot)].instance else { return f64::INFINITY };
        let latency = instance.latency.at(now_us, self.settings.decay_us).unwrap_or(ready.latency_default_us);
        latency * (f64::from(instance.inflight) + 1.0) * instance.cost_factor
    }

    /// Two candidates without those excluded, drawn in one pass over the best tier that has any.
    #[cold]
    fn draw_elsewhere(
        &self,
        ready: &Ready,
        now_us: u64,
        exclude: &[InstanceId],
        random: &mut Random,
    ) -> Option<Draw> {
        let mut best: Option<Tier> = None;
        let (mut seen, mut pair) = (0u32, [0u16; 2]);
        for slot in (0u16..).take(self.slots.len()) {
            if exclude.contains(&self.id_of(slot)) {
                continue;
            }
            let Some(tier) = self.tier(slot, now_us) else { continue };
            if best.is_none_or(|best| tier < best) {
                (best, seen) = (Some(tier), 0);
            }
            if best == Some(tier) {
                // Reservoir sampling: each pair is as likely as any other.
                seen += 1;
                if seen <= 2 {
                    pair[seen as usize - 1] = slot;
                } else if let place @ 0..2 = random.below(seen) {
                    pair[place as usize] = slot;
                }
            }
        }
        let tier = best?;
        let mut draw = self.settle(ready, now_us, pair[0], (seen > 1).then_some(pair[1]));
        draw.why = if tier == Tier::Ready && seen == 1 { Why::OnlyOne } else { tier.why() };
        Some(draw)
    }

    /// The first instance in the key's order that is not excluded.
    #[inline]
    fn owner(&self, keyed: &Keyed, key: KeyHash, exclude: &[InstanceId]) -> Option<Draw> {
        let mut best = (None, f64::INFINITY);
        for (node, slot) in &keyed.nodes {
            if let Some(score) = node.score_below(key.partition() as u64, best.1)
                && (exclude.is_empty() || !exclude.contains(&self.id_of(*slot)))
            {
                best = (Some(*slot), score);
            }
        }
        best.0.map(|slot| Draw { slot, why: Why::Key, candidates: [None; 2] })
    }

    /// Round robin: the next slot that is connected, or else worth connecting to.
    fn next_in_turn(&self, now_us: u64, choice: Choice<'_>) -> Option<Draw> {
        let mut worth_connecting = None;
        let len = self.slots.len();
        for step in 0..len {
            let slot = ((usize::from(self.turn) + step) % len) as u16;
            let Some(instance) = &self.slots[usize::from(slot)].instance else { continue };
            if instance.quiescing() || choice.exclude.contains(&self.id_of(slot)) {
                continue;
            }
            if instance.connected() {
                return Some(Draw { slot, why: Why::RoundRobin, candidates: [None; 2] });
            }
            if instance.reachable(now_us) {
                worth_connecting = worth_connecting.or(Some(slot));
            }
        }
        worth_connecting.map(|slot| Draw { slot, why: Why::NotConnected, candidates: [None; 2] })
    }

    /// How good the instance in `slot` is to choose; nothing if it must not be.
    fn tier(&self, slot: u16, now_us: u64) -> Option<Tier> {
        let instance = self.slots[usize::from(slot)].instance.as_ref()?;
        if instance.quiescing() || !instance.reachable(now_us) {
            return None;
        }
        Some(if instance.health.standing(now_us) != Standing::Serving {
            Tier::Doubtful
        } else if !instance.in_subset {
            Tier::Outside
        } else if !instance.connected() {
            Tier::Unconnected
        } else if now_us < instance.busy_until_us {
            Tier::Busy
        } else {
            Tier::Ready
        })
    }

    /// Fills `ready` with what there is to draw from at `now_us`.
    pub(crate) fn prepare(&self, ready: &mut Ready, now_us: u64) {
        for list in [&mut ready.pick, &mut ready.probes] {
            list.clear();
            // Room for everyone at once, so that nothing is allocated in the midst of trouble.
            list.reserve(self.slots.len());
        }
        ready.tier = Tier::Doubtful;
        ready.fresh_until_us = u64::MAX;
        for &slot in &self.subset {
            self.sort_in(ready, slot, now_us);
        }
        if ready.pick.is_empty() || ready.tier > Tier::Busy {
            // The subset has nobody to offer: ask everyone. This is rare, and a few thousand at most.
            ready.probes.clear();
            ready.pick.clear();
            ready.tier = Tier::Doubtful;
            for slot in (0u16..).take(self.slots.len()) {
                self.sort_in(ready, slot, now_us);
            }
        }
        self.guess_latency(ready, now_us);
    }

    fn sort_in(&self, ready: &mut Ready, slot: u16, now_us: u64) {
        let Some(instance) = &self.slots[usize::from(slot)].instance else { return };
        for time_us in instance.changes_at(now_us).into_iter().flatten() {
            ready.fresh_until_us = ready.fresh_until_us.min(time_us);
        }
        let Some(tier) = self.tier(slot, now_us) else { return };
        if tier < ready.tier {
            ready.tier = tier;
            ready.pick.clear();
        }
        if tier == ready.tier {
            ready.pick.push(slot);
        }
        if instance.wants_probe(now_us) && instance.connected() {
            ready.probes.push(slot);
        }
    }

    /// A stranger is thought to be like most: too good a guess would drown it, too bad a one starve it.
    fn guess_latency(&self, ready: &mut Ready, now_us: u64) {
        ready.latency_default_us = self.settings.latency_default_us as f64;
        let average = |slot: &u16| {
            self.slots[usize::from(*slot)].instance.as_ref()?.latency.at(now_us, self.settings.decay_us)
        };
        ready.latencies.clear();
        ready.latencies.reserve(self.slots.len());
        ready.latencies.extend(ready.pick.iter().filter_map(average));
        if !ready.latencies.is_empty() && ready.latencies.len() < ready.pick.len() {
            let middle = ready.latencies.len() / 2;
            ready.latency_default_us = *ready.latencies.select_nth_unstable_by(middle, f64::total_cmp).1;
            ready.fresh_until_us = ready.fresh_until_us.min(now_us.saturating_add(GUESS_HOLDS_US));
        }
    }

    /// Fills `keyed` with the instances that may own keys at `now_us`.
    pub(crate) fn prepare_keyed(&self, keyed: &mut Keyed, now_us: u64) {
        keyed.nodes.clear();
        keyed.nodes.reserve(self.slots.len());
        keyed.fresh_until_us = u64::MAX;
        // First those that are trusted; when that is nobody, all that can be reached.
        for panic in [false, true] {
            for (slot, place) in (0u16..).zip(&self.slots) {
                let Some(instance) = &place.instance else { continue };
                if instance.quiescing() {
                    continue;
                }
                let [_busy, ejected, lost] = instance.changes_at(now_us);
                for time_us in [ejected, lost].into_iter().flatten() {
                    keyed.fresh_until_us = keyed.fresh_until_us.min(time_us);
                }
                let trusted =
                    instance.health.standing(now_us) == Standing::Serving || instance.wants_probe(now_us);
                if instance.reachable(now_us) && (trusted || panic) {
                    keyed.nodes.push((instance.node, slot));
                }
            }
            if !keyed.nodes.is_empty() {
                break;
            }
        }
    }
}

/// How long a guess about strangers holds, in microseconds.
const GUESS_HOLDS_US: u64 = 1_000_000;

impl Keyed {
    /// Forgets what was found with other nodes than those there are now.
    fn forget_owners_of_other_nodes(&mut self) {
        if self.owners.is_empty() || self.nodes != self.nodes_before {
            self.owners.clear();
            self.owners.resize(PARTITIONS, UNKNOWN);
            self.nodes_before.clear();
            self.nodes_before.reserve(self.nodes.capacity());
            self.nodes_before.extend_from_slice(&self.nodes);
        }
    }
}

impl Instance {
    /// On probation, with no probe under way.
    pub(crate) fn wants_probe(&self, now_us: u64) -> bool {
        matches!(self.health.standing(now_us), Standing::Probation { probing: false, .. })
            && !self.quiescing()
            && self.reachable(now_us)
    }

    /// The times after `now_us` at which it will stand otherwise by itself.
    fn changes_at(&self, now_us: u64) -> [Option<u64>; 3] {
        let busy = Some(self.busy_until_us);
        let ejected = match self.health.standing(now_us) {
            Standing::Ejected { until_us } => Some(until_us),
            _ => None,
        };
        let lost = match self.link {
            super::instance::Link::Lost { retry_at_us } => Some(retry_at_us),
            _ => None,
        };
        [busy, ejected, lost].map(|time| time.filter(|&time_us| time_us > now_us))
    }
}
