//! The table of a service's instances, and its upkeep when discovery speaks.
//!
//! One [`Balancer`] belongs to one client loop, which alone reads and writes it. What calls teach it is in
//! [`super::feedback`], how it answers "where to?" in [`super::choose`], which instances this client uses at
//! all in [`super::subset`].

use hashbrown::HashMap;

use super::{
    choose::{Keyed, Ready},
    instance::{INSTANCES_MAX, Instance, InstanceId, Known},
    random::Random,
    settings::BalanceSettings,
};

/// The instances of one service and version, and what is known of each.
///
/// The order of a call: [`Balancer::choose`], [`Balancer::began`], then once [`Balancer::ended`]. The order
/// of a connection: [`Balancer::wanted`] names those to keep up, and [`Balancer::connected`],
/// [`Balancer::disconnected`] and [`Balancer::closed`] report how that went.
#[derive(Debug)]
pub struct Balancer {
    pub(crate) settings: BalanceSettings,
    pub(crate) slots: Vec<Slot>,
    by_address: HashMap<Box<str>, u16, foldhash::fast::FixedState>,
    /// Slots without an instance.
    free: Vec<u16>,
    /// The slots of the subset.
    pub(crate) subset: Vec<u16>,
    pub(crate) subset_version: u64,
    /// Ranking space for the subset, kept so that nothing is allocated for it twice.
    pub(crate) ranks: Vec<(f64, u16)>,
    pub(crate) random: Random,
    updates: u64,
    pub(crate) ready: Ready,
    pub(crate) keyed: Keyed,
    /// Where the next turn of round robin starts.
    pub(crate) turn: u16,
    /// When success rates are compared next.
    pub(crate) window_end_us: u64,
    /// Room for the success rates that are compared.
    pub(crate) rates: Vec<f64>,
    pub(crate) ejections: u64,
}

/// A place in the table, and how often it has been given away.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) generation: u16,
    pub(crate) instance: Option<Instance>,
}

impl Slot {
    /// The instance, where it is still the one that `id` names.
    #[inline]
    pub(crate) fn holding(&mut self, id: InstanceId) -> Option<&mut Instance> {
        self.instance.as_mut().filter(|_| self.generation == id.generation())
    }
}

/// What an update changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Updated {
    /// Instances that were not known before.
    pub added: usize,
    /// Instances that are no longer named; their ids are void from now on.
    pub removed: usize,
    /// Instances that did not fit into [`INSTANCES_MAX`].
    pub left_out: usize,
}

impl Balancer {
    /// A balancer that knows no instance yet.
    pub fn new(settings: BalanceSettings) -> Self {
        Self {
            random: Random::seeded(settings.seed),
            settings,
            slots: Vec::new(),
            by_address: HashMap::with_hasher(foldhash::fast::FixedState::default()),
            free: Vec::new(),
            subset: Vec::new(),
            subset_version: 0,
            ranks: Vec::new(),
            updates: 0,
            ready: Ready::default(),
            keyed: Keyed::default(),
            turn: 0,
            window_end_us: 0,
            rates: Vec::new(),
            ejections: 0,
        }
    }

    /// Takes over discovery's list: all instances there are. What is known of those that stay is kept.
    ///
    /// While discovery is away, don't call this: the last list holds. An address named twice counts once,
    /// with the last word.
    pub fn update(&mut self, known: &[Known<'_>], now_us: u64) -> Updated {
        self.updates += 1;
        let mut updated = Updated::default();
        for one in known {
            if let Some(&slot) = self.by_address.get(one.address) {
                if let Some(instance) = self.slots[usize::from(slot)].instance.as_mut() {
                    instance.apply(one);
                    instance.named_in = self.updates;
                }
                continue;
            }
            // Those that go are removed last, so that a full table may have to wait for the next update.
            let Some(slot) = self.free_slot() else {
                updated.left_out += 1;
                continue;
            };
            let mut instance = Instance::new(one);
            instance.named_in = self.updates;
            self.by_address.insert(instance.address.clone(), slot);
            self.slots[usize::from(slot)].instance = Some(instance);
            updated.added += 1;
        }
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let Some(gone) = slot.instance.take_if(|instance| instance.named_in != self.updates) else {
                continue;
            };
            slot.generation = slot.generation.wrapping_add(1);
            self.by_address.remove(&gone.address);
            self.free.push(index as u16);
            updated.removed += 1;
        }
        if self.window_end_us == 0 {
            self.window_end_us = now_us.saturating_add(self.settings.ejection.window_us);
        }
        self.rates.clear();
        self.rates.reserve(self.slots.len());
        self.reselect();
        updated
    }

    /// The instances to keep a connection to: this client's subset, and those of it that are lost for now.
    pub fn wanted(&self) -> impl Iterator<Item = InstanceId> + '_ {
        self.subset.iter().map(|&slot| self.id_of(slot))
    }

    /// Whether `id` is one of [`Balancer::wanted`]. Others are connected only while keys lead there.
    pub fn is_wanted(&self, id: InstanceId) -> bool {
        self.instance(id).is_some_and(|instance| instance.in_subset)
    }

    /// Counts the changes of [`Balancer::wanted`], so that a driver sees at once that nothing has changed.
    pub fn wanted_version(&self) -> u64 {
        self.subset_version
    }

    /// Where `id` listens, `HOST:PORT`; nothing once it has gone.
    pub fn address(&self, id: InstanceId) -> Option<&str> {
        self.instance(id).map(|instance| &*instance.address)
    }

    /// Whether `id` gets no new calls: it has reported that it leaves, or weighs nothing.
    pub fn is_leaving(&self, id: InstanceId) -> bool {
        self.instance(id).is_some_and(Instance::quiescing)
    }

    /// The instance that listens at `address`.
    pub fn find(&self, address: &str) -> Option<InstanceId> {
        self.by_address.get(address).map(|&slot| self.id_of(slot))
    }

    /// All instances that are known.
    pub fn ids(&self) -> impl Iterator<Item = InstanceId> + '_ {
        (0u16..)
            .zip(&self.slots)
            .filter(|(_, place)| place.instance.is_some())
            .map(|(slot, place)| InstanceId::new(slot, place.generation))
    }

    /// Calls to `id` that have begun and not ended.
    pub fn inflight(&self, id: InstanceId) -> u32 {
        self.instance(id).map_or(0, |instance| instance.inflight)
    }

    /// Instances that are known.
    pub fn len(&self) -> usize {
        self.by_address.len()
    }

    /// Whether no instance is known.
    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }

    /// Ejections since the start.
    pub fn ejections(&self) -> u64 {
        self.ejections
    }

    pub(crate) fn instance(&self, id: InstanceId) -> Option<&Instance> {
        let place = self.slots.get(id.slot())?;
        place.instance.as_ref().filter(|_| place.generation == id.generation())
    }

    pub(crate) fn instance_mut(&mut self, id: InstanceId) -> Option<&mut Instance> {
        self.slots.get_mut(id.slot())?.holding(id)
    }

    pub(crate) fn id_of(&self, slot: u16) -> InstanceId {
        InstanceId::new(slot, self.slots[usize::from(slot)].generation)
    }

    /// What has been prepared for choosing is out of date.
    pub(crate) fn spoil(&mut self) {
        self.ready.fresh_until_us = 0;
        self.keyed.fresh_until_us = 0;
    }

    fn free_slot(&mut self) -> Option<u16> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        let next = self.slots.len();
        if next >= INSTANCES_MAX {
            return None;
        }
        self.slots.push(Slot::default());
        Some(next as u16)
    }
}
