//! The devices of one app on one shard.

use std::borrow::Cow;

use roaring::RoaringBitmap;

use crate::{Changes, Corrupt, Device, DeviceId, Limits, Mistake, Refusal, Selector, Tag, Time, UserName};

/// A device's place in its registry. Given out again after the device was removed, the lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// Devices of an app on this shard, and what finds them.
pub struct Registry {
    limits: Limits,
}

/// Which devices a page lists. All that is said must be so.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Whose id begins so.
    pub prefix: String,
    /// Of this user.
    pub user: Option<UserName>,
    /// With this tag.
    pub tag: Option<Tag>,
}

/// Why a device is not in an audience: the first clause that it fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excluded {
    /// Where the clause stands in the selector: `and[1]`; empty for all of it.
    pub path: String,
    /// What it asks for: `tag "vip"`.
    pub clause: String,
    /// What the device has instead, where that says more: `it is 5`.
    pub has: Option<String>,
}

/// What a clause does in an audience.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClauseCount {
    /// Where it stands in the selector: `and[1]`; empty for all of it.
    pub path: String,
    /// What it asks for: `tag "vip"`.
    pub clause: String,
    /// Devices that it means by itself.
    pub matches: u64,
    /// Devices for which it is the first clause that they fail. The sum over all clauses is what is excluded.
    pub keeps_out: u64,
}

impl Registry {
    /// An empty one. The seed keeps who chooses ids from choosing them so that they collide; it may differ at each start.
    pub fn new(limits: Limits, hash_seed: u64) -> Self {
        let _ = hash_seed;
        Self { limits }
    }

    /// Whether the changes are within the bounds.
    ///
    /// # Errors
    ///
    /// What is too much.
    pub fn check(&self, device: &DeviceId, changes: &Changes) -> Result<(), Refusal> {
        let _ = (device, changes, self.limits);
        unimplemented!()
    }

    /// Changes a device, which is registered where it is new. The caller has checked.
    pub fn apply(&mut self, at: Time, device: &DeviceId, changes: &Changes) -> Slot {
        let _ = (at, device, changes);
        unimplemented!()
    }

    /// Forgets a device, and says where it was: its slot will be another one's.
    pub fn remove(&mut self, device: &DeviceId) -> Option<Slot> {
        let _ = device;
        unimplemented!()
    }

    /// Where a device is.
    pub fn find(&self, device: &DeviceId) -> Option<Slot> {
        let _ = device;
        unimplemented!()
    }

    /// Whose slot it is.
    pub fn id(&self, slot: Slot) -> Option<&str> {
        let _ = slot;
        unimplemented!()
    }

    /// All that is known about a device.
    pub fn device(&self, slot: Slot) -> Option<Device> {
        let _ = slot;
        unimplemented!()
    }

    /// The device was connected then.
    pub fn seen(&mut self, slot: Slot, at: Time) {
        let _ = (slot, at);
        unimplemented!()
    }

    /// Devices of a user, in the order of slots.
    pub fn devices_of(&self, user: &UserName) -> RoaringBitmap {
        let _ = user;
        unimplemented!()
    }

    /// A page of devices in the order of their ids, behind `after`.
    pub fn list(&self, filter: &Filter, after: Option<&DeviceId>, at_most: usize) -> Vec<Device> {
        let _ = (filter, after, at_most);
        unimplemented!()
    }

    /// Different tags in their order behind `after`, with how many devices carry each.
    pub fn tags(&self, after: Option<&Tag>, at_most: usize) -> Vec<(Tag, u64)> {
        let _ = (after, at_most);
        unimplemented!()
    }

    /// All devices.
    pub fn devices(&self) -> &RoaringBitmap {
        unimplemented!()
    }

    /// Those that want pushes.
    pub fn opted_in(&self) -> &RoaringBitmap {
        unimplemented!()
    }

    /// Those that may not connect.
    pub fn revoked(&self) -> &RoaringBitmap {
        unimplemented!()
    }

    /// Whether the secret with this SHA-256 is the device's, in constant time. None where it has none.
    pub fn credential_fits(&self, slot: Slot, hash: &[u8; 32]) -> Option<bool> {
        let _ = (slot, hash);
        unimplemented!()
    }

    /// Time zones and their devices.
    pub fn time_zones(&self) -> impl Iterator<Item = (&str, &RoaringBitmap)> {
        std::iter::empty()
    }

    /// Devices without a time zone.
    pub fn without_time_zone(&self) -> RoaringBitmap {
        unimplemented!()
    }

    /// Devices that are in their quiet hours, in groups, with the moment when these end. By their time zone, UTC where they have none.
    pub fn quiet_groups(&self, at: Time) -> Vec<(RoaringBitmap, Time)> {
        let _ = at;
        unimplemented!()
    }

    /// Devices that are in their quiet hours, and when these end.
    pub fn in_quiet_hours(&self, at: Time) -> impl Iterator<Item = (Slot, Time)> {
        self.quiet_groups(at)
            .into_iter()
            .flat_map(|(devices, end)| devices.into_iter().map(move |slot| (Slot(slot), end)))
    }

    /// When the quiet hours end that a device is in; none where it is in none.
    pub fn quiet_until(&self, slot: Slot, at: Time) -> Option<Time> {
        let _ = (slot, at);
        unimplemented!()
    }

    /// The devices that a selector means.
    pub fn evaluate(&self, selector: &Selector, now: Time) -> RoaringBitmap {
        let _ = (selector, now);
        unimplemented!()
    }

    /// How many devices a selector means.
    pub fn count(&self, selector: &Selector, now: Time) -> u64 {
        let _ = (selector, now);
        unimplemented!()
    }

    /// Whether a selector means a device.
    pub fn matches(&self, selector: &Selector, slot: Slot, now: Time) -> bool {
        let _ = (selector, slot, now);
        unimplemented!()
    }

    /// Why a selector does not mean a device; none where it does, or where there is no device.
    pub fn explain(&self, selector: &Selector, slot: Slot, now: Time) -> Option<Excluded> {
        let _ = (selector, slot, now);
        unimplemented!()
    }

    /// What each clause does, in the order in which they stand.
    pub fn clauses(&self, selector: &Selector, now: Time) -> Vec<ClauseCount> {
        let _ = (selector, now);
        unimplemented!()
    }

    /// An attribute, or where there is none of that name a field (`device`, `platform`, `app_version`, `language`, `country`,
    /// `time_zone`, `named_user`), as text.
    pub fn value(&self, slot: Slot, name: &str) -> Option<Cow<'_, str>> {
        let _ = (slot, name);
        unimplemented!()
    }

    /// A device's platform; empty where it has none.
    pub fn platform(&self, slot: Slot) -> &str {
        let _ = slot;
        unimplemented!()
    }

    /// A device's language; empty where it has none.
    pub fn language(&self, slot: Slot) -> &str {
        let _ = slot;
        unimplemented!()
    }

    /// Devices.
    pub fn len(&self) -> usize {
        unimplemented!()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that it takes, to about a tenth.
    pub fn bytes(&self) -> usize {
        unimplemented!()
    }

    /// Begins a checkpoint of the state as it is now.
    pub fn checkpoint_begin(&mut self) {
        unimplemented!()
    }

    /// Appends about `bytes_max` more bytes of the checkpoint, one slice. Returns whether there is more.
    pub fn checkpoint_next(&mut self, out: &mut Vec<u8>, bytes_max: usize) -> bool {
        let _ = (out, bytes_max);
        unimplemented!()
    }

    /// Drops a running checkpoint.
    pub fn checkpoint_abort(&mut self) {
        unimplemented!()
    }

    /// Takes in one slice of a checkpoint, in their order, into a new registry.
    ///
    /// # Errors
    ///
    /// A slice that no checkpoint of this format has.
    pub fn restore(&mut self, slice: &[u8]) -> Result<(), Corrupt> {
        let _ = slice;
        unimplemented!()
    }

    /// All slices are in: builds what is not saved.
    ///
    /// # Errors
    ///
    /// A checkpoint that is not whole, or contradicts itself.
    pub fn restore_finish(&mut self) -> Result<(), Corrupt> {
        unimplemented!()
    }
}

impl Selector {
    /// The selector that a JSON value is.
    ///
    /// # Errors
    ///
    /// Where the mistake is and what is allowed there.
    pub fn parse(json: &serde_json::Value) -> Result<Self, Mistake> {
        let _ = json;
        unimplemented!()
    }

    /// The selector that a JSON text is.
    ///
    /// # Errors
    ///
    /// Where the mistake is and what is allowed there.
    pub fn parse_text(json: &str) -> Result<Self, Mistake> {
        let _ = json;
        unimplemented!()
    }

    /// It as JSON, as [`Self::parse`] reads it.
    pub fn to_json(&self) -> serde_json::Value {
        unimplemented!()
    }

    /// Appends it to an event.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let _ = out;
        unimplemented!()
    }

    /// Reads it from an event.
    ///
    /// # Errors
    ///
    /// Bytes that [`Self::encode`] did not write.
    pub fn decode(input: &mut stadium_machine::encoding::Reader<'_>) -> Result<Self, Corrupt> {
        let _ = input;
        unimplemented!()
    }
}

impl Changes {
    /// The changes that a JSON value is.
    ///
    /// # Errors
    ///
    /// Where the mistake is and what is allowed there.
    pub fn parse(json: &serde_json::Value) -> Result<Self, Mistake> {
        let _ = json;
        unimplemented!()
    }

    /// They as JSON, as [`Self::parse`] reads it; without the credential.
    pub fn to_json(&self) -> serde_json::Value {
        unimplemented!()
    }

    /// Appends them to an event.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let _ = out;
        unimplemented!()
    }

    /// Reads them from an event.
    ///
    /// # Errors
    ///
    /// Bytes that [`Self::encode`] did not write.
    pub fn decode(input: &mut stadium_machine::encoding::Reader<'_>) -> Result<Self, Corrupt> {
        let _ = input;
        unimplemented!()
    }
}

impl Device {
    /// It as JSON: the fields of changes, `device`, `registered_at`, `last_seen`, and whether it has a credential.
    pub fn to_json(&self) -> serde_json::Value {
        unimplemented!()
    }
}
