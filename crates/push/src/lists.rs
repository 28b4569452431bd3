//! The pushes to one device, in two lists for each device: what it is owed, and all that it had.
//!
//! Both are in the order in which the pushes started. Links stand in the pushes, ends beside the app; none of it is saved.

use stadium_table::Table;

use crate::app::{App, Ends};
use crate::single::{Links, NONE, Single};

/// Which of the two lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Owed,
    All,
}

impl List {
    fn links(self, single: &mut Single) -> &mut Links {
        match self {
            List::Owed => &mut single.owed,
            List::All => &mut single.all,
        }
    }

    fn ends(self, ends: &mut Ends) -> &mut (u32, u32) {
        match self {
            List::Owed => &mut ends.owed,
            List::All => &mut ends.all,
        }
    }

    /// Appends a push to the list of a device.
    pub(crate) fn append(self, singles: &mut Table<Single>, app: &mut App, slot: u32, place: u32) {
        let (first, last) = self.ends(app.singles.entry(slot).or_insert(Ends::EMPTY));
        let before = *last;
        *last = place;
        if before == NONE {
            *first = place;
        } else {
            self.links(singles.at_mut(before)).behind = place;
        }
        *self.links(singles.at_mut(place)) = Links { before, behind: NONE };
        if self == List::Owed {
            app.owing.insert(slot);
        }
    }

    /// Takes a push out of the list of a device.
    pub(crate) fn take(self, singles: &mut Table<Single>, app: &mut App, slot: u32, place: u32) {
        let Some(of_device) = app.singles.get_mut(&slot) else { return };
        let Links { before, behind } = std::mem::replace(self.links(singles.at_mut(place)), Links::OUT);
        let ends = self.ends(of_device);
        if before == NONE {
            ends.0 = behind;
        } else {
            self.links(singles.at_mut(before)).behind = behind;
        }
        if behind == NONE {
            ends.1 = before;
        } else {
            self.links(singles.at_mut(behind)).before = before;
        }
        if self == List::Owed && of_device.owed.0 == NONE {
            app.owing.remove(slot);
        }
        if of_device.owed.0 == NONE && of_device.all.0 == NONE {
            app.singles.remove(&slot);
        }
    }
}

/// The places of what a device is owed of pushes to it alone, the oldest first.
pub(crate) fn owed<'a>(
    singles: &'a Table<Single>,
    app: &App,
    slot: u32,
) -> impl Iterator<Item = u32> + use<'a> {
    let mut next = app.singles.get(&slot).map_or(NONE, |ends| ends.owed.0);
    std::iter::from_fn(move || {
        let place = (next != NONE).then_some(next)?;
        next = singles.at(place).owed.behind;
        Some(place)
    })
}

/// The places of all pushes to a device alone, the newest first.
pub(crate) fn newest<'a>(
    singles: &'a Table<Single>,
    app: &App,
    slot: u32,
) -> impl Iterator<Item = u32> + use<'a> {
    let mut next = app.singles.get(&slot).map_or(NONE, |ends| ends.all.1);
    std::iter::from_fn(move || {
        let place = (next != NONE).then_some(next)?;
        next = singles.at(place).all.before;
        Some(place)
    })
}
