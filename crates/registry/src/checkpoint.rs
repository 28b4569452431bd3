//! The state saved while it goes on changing, and taken back in.
//!
//! A slice is a byte that names a table, then a slice of that table's own format; the first one
//! holds the version. The dictionaries come first, the devices last. Derived data (bitmaps,
//! columns, indexes, the order) are in none.

use stadium_state_machine::encoding::{corrupt, number};
use stadium_table::{Order, Restored};

use crate::apply::heap_bytes;
use crate::labels::Kind;
use crate::packed::{Knows, NONE, Packed, check};
use crate::registry::spot;
use crate::{Corrupt, Registry};

/// What the first slice has: the version of what follows.
const VERSION: u64 = 1;

const META: u8 = 0;
const LABELS: u8 = 1;
/// Behind the last table.
const END: u8 = 5;

/// How far a checkpoint got.
pub(crate) struct Progress {
    /// The table that comes next; [`END`] where none is left.
    table: u8,
    /// Tables that a restore has whole: bit n is table n.
    restored: u8,
}

impl Default for Progress {
    fn default() -> Self {
        Self { table: END, restored: 0 }
    }
}

macro_rules! with_table {
    ($registry:expr, $number:expr, |$table:ident| $body:expr) => {
        match $number {
            1 => Some({
                let $table = &mut $registry.labels.dictionary.table;
                $body
            }),
            2 => Some({
                let $table = &mut $registry.names.table;
                $body
            }),
            3 => Some({
                let $table = &mut $registry.texts.table;
                $body
            }),
            4 => Some({
                let $table = &mut $registry.devices;
                $body
            }),
            _ => None,
        }
    };
}

impl Registry {
    /// Begins a checkpoint of the state as it is now.
    pub fn checkpoint_begin(&mut self) {
        for number in LABELS..END {
            with_table!(self, number, |table| table.checkpoint_begin());
        }
        self.checkpoint = Progress { table: META, restored: 0 };
    }

    /// Appends about `bytes_max` more bytes of the checkpoint, one slice. Returns whether there is more.
    pub fn checkpoint_next(&mut self, out: &mut Vec<u8>, bytes_max: usize) -> bool {
        let table = self.checkpoint.table;
        if table >= END {
            return false;
        }
        out.push(table);
        if table == META {
            number(out, VERSION);
            self.checkpoint.table = LABELS;
            return true;
        }
        let more = with_table!(self, table, |table| table.checkpoint_next(out, bytes_max));
        if more != Some(true) {
            self.checkpoint.table += 1;
        }
        self.checkpoint.table < END
    }

    /// Drops a running checkpoint.
    pub fn checkpoint_abort(&mut self) {
        for number in LABELS..END {
            with_table!(self, number, |table| table.checkpoint_abort());
        }
        self.checkpoint = Progress::default();
    }

    /// Takes in one slice of a checkpoint, in their order, into a new registry.
    ///
    /// # Errors
    ///
    /// A slice that no checkpoint of this format has.
    pub fn restore(&mut self, slice: &[u8]) -> Result<(), Corrupt> {
        let (&table, rest) = slice.split_first().ok_or_else(|| corrupt("an empty slice of devices"))?;
        if table == META {
            if rest != [VERSION as u8] {
                return Err(corrupt("a version of the devices' checkpoint that this one does not read"));
            }
            self.checkpoint.restored |= 1 << META;
            return Ok(());
        }
        let restored = with_table!(self, table, |table| table.restore(rest))
            .ok_or_else(|| {
                corrupt(format!("devices' table {table}, which is none: a newer version wrote it"))
            })?
            .map_err(|damaged| corrupt(format!("devices' table {table}: {damaged}")))?;
        if restored == Restored::Complete {
            self.checkpoint.restored |= 1 << table;
        }
        Ok(())
    }

    /// All slices are in: builds the derived data. A registry that never had a checkpoint has them
    /// without this.
    ///
    /// # Errors
    ///
    /// A checkpoint that is not whole, or contradicts itself.
    pub fn restore_finish(&mut self) -> Result<(), Corrupt> {
        if self.checkpoint.restored != (1 << END) - 1 {
            return Err(corrupt("the checkpoint of the devices is not whole"));
        }
        self.checkpoint = Progress::default();
        if !self.labels.rebuild() || !self.names.rebuild() || !self.texts.rebuild() {
            return Err(corrupt("a dictionary of the devices has an entry twice"));
        }
        let names: Vec<u32> = self.names.table.iter().map(|(name, _)| name).collect();
        names.into_iter().for_each(|name| self.reach_columns(name));
        self.text_bytes = self.texts.table.iter().map(|(_, text)| heap_bytes(&text.0)).sum();
        for slot in 0..self.devices.len() as u32 {
            let device = self.devices.get(slot).ok_or_else(|| corrupt("a gap between devices"))?;
            if device.is_free() {
                self.free.insert(slot);
                continue;
            }
            check(&device.packed, &*self)
                .ok_or_else(|| corrupt(format!("the device in slot {slot} is none")))?;
            self.rebuild_device(slot)?;
        }
        if !self.labels.dictionary.all_used() || !self.names.all_used() || !self.texts.all_used() {
            return Err(corrupt("a dictionary of the devices has an entry that no device has"));
        }
        self.order = Order::from_sorted(&self.sorted());
        Ok(())
    }

    fn rebuild_device(&mut self, slot: u32) -> Result<(), Corrupt> {
        let packed = self.at(slot);
        if self.find_bytes(packed.id_bytes()).is_some() {
            return Err(corrupt(format!("the device {:?} occurs twice", packed.id())));
        }
        let parts = packed.unpack();
        self.packed_bytes += self.devices.at(slot).packed.len();
        self.all.insert(slot);
        if !parts.opted_out {
            self.opted_in.insert(slot);
        }
        if parts.revoked {
            self.revoked.insert(slot);
        }
        if parts.fields[Kind::Zone as usize] != NONE {
            self.zoned.insert(slot);
        }
        for &label in parts.fields.iter().filter(|&&label| label != NONE).chain(&parts.tags) {
            self.labels.join(label, slot);
        }
        for &(name, cell) in &parts.attributes {
            self.names.used(name);
            self.join_cell(slot, name, cell);
        }
        if let Some(location) = parts.location {
            self.locations.set(slot, spot(location));
        }
        if parts.user.is_some() {
            self.index_user(slot);
        }
        self.index_id(slot);
        Ok(())
    }

    /// All slots in the order of their ids. The ids' common prefix is skipped, and the sixteen
    /// bytes behind it decide most.
    fn sorted(&self) -> Vec<u32> {
        let mut ids = self.all.iter().map(|slot| self.at(slot).id_bytes());
        let first = ids.next().unwrap_or_default();
        let common = ids.fold(first.len(), |common, id| {
            first[..common].iter().zip(id).take_while(|(one, other)| one == other).count()
        });
        let key = |slot: u32| {
            let mut key = [0; 16];
            let rest = &self.at(slot).id_bytes()[common..];
            let length = rest.len().min(key.len());
            key[..length].copy_from_slice(&rest[..length]);
            u128::from_be_bytes(key)
        };
        let mut keyed: Vec<(u128, u32)> = self.all.iter().map(|slot| (key(slot), slot)).collect();
        keyed.sort_unstable_by(|&(one, slot), &(other, another)| {
            one.cmp(&other).then_with(|| Packed::id_bytes(self.at(slot)).cmp(self.at(another).id_bytes()))
        });
        keyed.into_iter().map(|(_, slot)| slot).collect()
    }
}

impl Knows for Registry {
    fn label(&self, label: u32) -> Option<Kind> {
        self.labels.dictionary.table.get(label).map(|label| label.kind)
    }

    fn name(&self, name: u32) -> bool {
        self.names.table.contains(name)
    }

    fn text(&self, text: u32) -> bool {
        self.texts.table.contains(text)
    }
}
