//! Transfers as the journals hold them, to be compared with something outside.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Event, Moved};
use crate::reconcile::Booking;
use crate::source::Source;
use crate::walk::{Seen, Walk};
use crate::{Error, Progress, id};

/// Which transfers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Only those that this wallet gave or got.
    pub wallet: Option<String>,
    /// Only those of this asset.
    pub asset: Option<String>,
    /// Only those that were booked at or after, milliseconds since 1970.
    pub from: Option<u64>,
    /// Only those that were booked before.
    pub to: Option<u64>,
}

/// The names that numbers stand for on one shard.
#[derive(Default)]
pub(crate) struct Names {
    /// Code and scale, by number.
    pub(crate) assets: Vec<(String, u8)>,
    /// Wallet, and the asset's number, by number.
    accounts: Vec<(String, u32)>,
}

impl Names {
    pub(crate) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Asset { scale, code, .. } => self.assets.push(((*code).to_owned(), *scale)),
            Event::Opened { asset, wallet, .. } => self.accounts.push(((*wallet).to_owned(), *asset)),
            _ => {}
        }
    }

    fn booking(&self, moved: &Moved<'_>, at: u64) -> Option<Booking> {
        let (debit, asset) = self.accounts.get(moved.debit as usize)?;
        let (credit, _) = self.accounts.get(moved.credit as usize)?;
        let truly = |wallet: &String| match moved.more.other {
            Some(other) if wallet == crate::books::TRANSIT => other.to_owned(),
            _ => wallet.clone(),
        };
        Some(Booking {
            transfer: id::show(moved.id),
            reference: moved.more.reference.to_owned(),
            asset: self.assets.get(*asset as usize)?.0.clone(),
            amount: moved.amount,
            debit: truly(debit),
            credit: truly(credit),
            at,
        })
    }
}

impl Selection {
    fn takes(&self, booking: &Booking) -> bool {
        let wallet = |wallet: &String| *wallet == booking.debit || *wallet == booking.credit;
        self.wallet.as_ref().is_none_or(wallet)
            && self.asset.as_ref().is_none_or(|asset| *asset == booking.asset)
            && self.from.is_none_or(|from| booking.at >= from)
            && self.to.is_none_or(|to| booking.at < to)
    }
}

/// Transfers that moved an amount, in the order of shards and of booking. One between shards comes once.
///
/// # Errors
///
/// A directory or a journal that cannot be read, or that is damaged: transfers missing here would
/// seem to be missing in the books.
pub fn bookings(
    source: impl Into<Source>,
    selection: &Selection,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Booking>, Error> {
    let mut bookings = Vec::new();
    // One between shards stands in the journal of each.
    let mut reported = BTreeSet::new();
    each(source, progress, &mut |names, event, time| {
        if let Event::Transfer(moved) = event
            && let Some(booking) = names.booking(moved, time)
            && selection.takes(&booking)
            && (!moved.of_group || reported.insert(moved.id))
        {
            bookings.push(booking);
        }
    })?;
    Ok(bookings)
}

/// Digits behind each asset's point.
///
/// # Errors
///
/// As for [`bookings`].
pub fn scales(
    source: impl Into<Source>,
    progress: &mut dyn FnMut(Progress),
) -> Result<BTreeMap<String, u8>, Error> {
    let mut scales = BTreeMap::new();
    each(source, progress, &mut |_, event, _| {
        if let Event::Asset { scale, code, .. } = event {
            scales.insert((*code).to_owned(), *scale);
        }
    })?;
    Ok(scales)
}

fn each(
    source: impl Into<Source>,
    progress: &mut dyn FnMut(Progress),
    each: &mut dyn FnMut(&Names, &Event<'_>, u64),
) -> Result<(), Error> {
    let mut walk = Walk::open(&source.into())?;
    for shard in walk.shards() {
        let mut names = Names::default();
        let mut broken = None;
        walk.shard(shard, progress, &mut |seen| match seen {
            Seen::Problem(problem) => drop(broken.get_or_insert(problem)),
            Seen::Record { spot, section, .. } => {
                for event in &section.events {
                    match Event::parse(event, section.time) {
                        Ok(event) => {
                            names.event(&event);
                            each(&names, &event, section.time);
                        }
                        Err(what) => drop(broken.get_or_insert(spot.problem(crate::Kind::Unreadable, what))),
                    }
                }
            }
        })?;
        broken.map_or(Ok(()), |problem| Err(Error::Broken(problem)))?;
    }
    Ok(())
}
