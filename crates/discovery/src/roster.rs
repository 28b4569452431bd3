//! What is known of one service: who is confirmed, who is in doubt, and when a doubt ends.
//!
//! The rule that everything here serves: **an instance is forgotten when it said goodbye, or when the backend has been
//! there for a while and does not know it. Never because the backend was away.**
//!
//! No I/O and no clock: the time is an argument.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::instance::{Instance, State};
use crate::name::Place;
use crate::snapshot::{Freshness, Snapshot, Versions};

/// Instances of one service, all versions together.
///
/// Far beyond what one client can spread calls over, and about 2 MB. Those that come later are not listed, and are
/// counted as unreadable.
pub(crate) const INSTANCES_MAX: usize = 10_000;

/// How long doubts last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// After a removal without goodbye. Long enough that instances which all lost the backend at
    /// one time, and whose leases expire one after the other, are all in doubt before the first is
    /// forgotten.
    pub(crate) settle: Duration,
    /// After an outage, and when no instance is confirmed any more.
    pub(crate) grace: Duration,
}

impl Patience {
    /// What fits registrations that outlive their process by `session_ttl`.
    pub(crate) fn new(session_ttl: Duration) -> Self {
        Self { settle: session_ttl / 2, grace: session_ttl * 2 }
    }
}

/// What watchers must hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Nothing,
    /// Load factors only: soon is early enough.
    Loads,
    /// Who is there, or how far to trust it: at once.
    Members,
}

/// How a list came to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The backend, or our way to it, was gone before.
    Outage,
    /// It was there all the time.
    Contact,
}

/// The known instances of one service.
///
/// ```text
///              goodbye (quiescing, then removed)
///  confirmed ────────────────────────────────────▶ forgotten
///      │ ▲                                             ▲
///      │ └───────── announced or listed again ───┐     │ the doubt's end, while the backend is there
///      ▼                                         │     │
///  in doubt ─────────────────────────────────────┴─────┘
///      removed without goodbye   ──▶ for `settle`
///      ... and none is confirmed ──▶ for `grace`: more likely that they lost the backend than that all died at once
///      missing after an outage   ──▶ for `grace`: time to register again
/// ```
#[derive(Debug)]
pub(crate) struct Roster {
    patience: Patience,
    entries: BTreeMap<Place, Held>,
    heard: bool,
    /// Since when the backend is away, and why.
    away: Option<(Instant, String)>,
    /// Since when some instance is in doubt.
    doubting: Option<Instant>,
    revision: u64,
    refused: u64,
}

#[derive(Debug)]
struct Held {
    instance: Instance,
    /// When it will be forgotten unless it comes back; `None` while confirmed.
    doubted_until: Option<Instant>,
}

impl Roster {
    /// Knows nothing, and waits for the backend since `now`.
    pub(crate) fn new(patience: Patience, now: Instant, why: &str) -> Self {
        Self {
            patience,
            entries: BTreeMap::new(),
            heard: false,
            away: Some((now, why.to_owned())),
            doubting: None,
            revision: 0,
            refused: 0,
        }
    }

    /// The backend listed everything it knows.
    pub(crate) fn listed(&mut self, found: Vec<Instance>, after: After, now: Instant) -> Change {
        let live = self.heard && self.away.is_none();
        (self.heard, self.away) = (true, None);
        let mut change = if live { Change::Nothing } else { self.changed(Change::Members, now) };
        let mut missing: BTreeSet<Place> = self.entries.keys().cloned().collect();
        for instance in found {
            missing.remove(&place(&instance));
            change = change.max(self.announced(instance, now));
        }
        for place in missing {
            change = change.max(match after {
                After::Contact => self.removed(&place, now),
                After::Outage => self.missed(&place, now),
            });
        }
        change
    }

    /// The backend reports that an instance is there, or its current value.
    pub(crate) fn announced(&mut self, instance: Instance, now: Instant) -> Change {
        let place = place(&instance);
        let Some(held) = self.entries.get_mut(&place) else {
            if self.entries.len() >= INSTANCES_MAX {
                self.refused += 1;
                return Change::Nothing;
            }
            self.entries.insert(place, Held { instance, doubted_until: None });
            return self.changed(Change::Members, now);
        };
        let confirmed_again = held.doubted_until.take().is_some();
        let change = match &held.instance {
            known if *known == instance && !confirmed_again => return Change::Nothing,
            known => {
                let same_but_load = Instance { load: known.load, ..instance.clone() } == *known;
                if same_but_load && !confirmed_again { Change::Loads } else { Change::Members }
            }
        };
        held.instance = instance;
        self.changed(change, now)
    }

    /// The backend reports that an entry was removed.
    pub(crate) fn removed(&mut self, place: &Place, now: Instant) -> Change {
        let Some(held) = self.entries.get_mut(place) else { return Change::Nothing };
        if held.instance.state == State::Quiescing {
            return self.left(place, now);
        }
        let news = held.doubted_until.is_none();
        held.doubted_until.get_or_insert(now + self.patience.settle);
        let version = |other: &Place| other.version == place.version;
        let of_version = || self.entries.iter().filter(|(place, _)| version(place));
        if of_version().all(|(_, held)| held.doubted_until.is_some()) {
            let until = now + self.patience.grace;
            for (_, held) in self.entries.iter_mut().filter(|(place, _)| version(place)) {
                held.doubted_until = held.doubted_until.max(Some(until));
            }
        }
        if news { self.changed(Change::Members, now) } else { Change::Nothing }
    }

    /// An instance said goodbye: it is forgotten at once.
    pub(crate) fn left(&mut self, place: &Place, now: Instant) -> Change {
        match self.entries.remove(place) {
            Some(_) => self.changed(Change::Members, now),
            None => Change::Nothing,
        }
    }

    /// An entry is not in the first list after an outage.
    fn missed(&mut self, place: &Place, now: Instant) -> Change {
        let Some(held) = self.entries.get_mut(place) else { return Change::Nothing };
        if held.instance.state == State::Quiescing {
            return self.left(place, now);
        }
        held.doubted_until = Some(now + self.patience.grace);
        self.changed(Change::Members, now)
    }

    /// The backend is away: from now on nothing is forgotten.
    pub(crate) fn lost(&mut self, since: Instant, why: &str) -> Change {
        if let Some((_, known)) = &mut self.away {
            why.clone_into(known);
            return Change::Nothing;
        }
        self.away = Some((since, why.to_owned()));
        self.changed(Change::Members, since)
    }

    /// When to call [`Roster::expire`] next; `None` while the backend is away or nothing is in doubt.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        if self.away.is_some() {
            return None;
        }
        self.entries.values().filter_map(|held| held.doubted_until).min()
    }

    /// Forgets those whose doubt has lasted long enough.
    pub(crate) fn expire(&mut self, now: Instant) -> Change {
        if self.away.is_some() {
            return Change::Nothing;
        }
        let before = self.entries.len();
        self.entries.retain(|_, held| held.doubted_until.is_none_or(|until| until > now));
        if self.entries.len() == before { Change::Nothing } else { self.changed(Change::Members, now) }
    }

    /// The snapshot that a watcher of `versions` gets.
    pub(crate) fn snapshot(&self, versions: &Versions) -> Snapshot {
        let wanted = self.entries.iter().filter(|(place, _)| versions.include(&place.version));
        let mut doubted = 0;
        let instances = wanted.map(|(_, held)| {
            doubted += usize::from(held.doubted_until.is_some());
            held.instance.clone()
        });
        let instances: Vec<Instance> = instances.collect();
        let freshness = match (&self.away, self.doubting) {
            (Some((since, why)), _) => Freshness::Stale { since: *since, why: why.clone() },
            (None, Some(since)) if doubted > 0 => {
                let why = format!("{doubted} of {} have not registered again", instances.len());
                Freshness::Stale { since, why }
            }
            _ => Freshness::Live,
        };
        Snapshot {
            instances: instances.into(),
            freshness,
            revision: if self.heard { self.revision.max(1) } else { 0 },
        }
    }

    /// Instances refused since this was last asked, for being too many.
    pub(crate) fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }

    fn changed(&mut self, change: Change, now: Instant) -> Change {
        self.revision += 1;
        let any = change == Change::Members && self.entries.values().any(|held| held.doubted_until.is_some());
        match change {
            Change::Members if any => _ = self.doubting.get_or_insert(now),
            Change::Members => self.doubting = None,
            Change::Loads | Change::Nothing => {}
        }
        change
    }
}

fn place(instance: &Instance) -> Place {
    Place { version: instance.version.clone(), address: instance.address }
}

#[cfg(test)]
mod tests;
