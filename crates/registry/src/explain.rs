//! Why a device is not in an audience, and what each clause of one does.
//!
//! Both follow one rule: of the clauses of an `and`, the first one that a device fails keeps it out. So the devices that the clauses keep
//! out are, summed up, those that are not in the audience.

use roaring::RoaringBitmap;

use crate::circle::Round;
use crate::labels::Kind;
use crate::value::date_text;
use crate::{Registry, Selector, Slot, Time};

/// Why a device is not in an audience: the first clause that it fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excluded {
    /// Where the clause stands in the selector: `and[1]`; empty for all of it.
    pub path: String,
    /// What it asks for: `tag "vip"`.
    pub clause: String,
    /// The device's own value, where that is more specific: `it is 5`.
    pub has: Option<String>,
}

impl std::fmt::Display for Excluded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.clause)?;
        self.has.as_ref().map_or(Ok(()), |has| write!(f, " ({has})"))
    }
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
    /// Why a selector does not mean a device; none where it does, or where there is no device.
    pub fn explain(&self, selector: &Selector, slot: Slot, now: Time) -> Option<Excluded> {
        self.stored(slot)?;
        let mut path = String::new();
        let clause = self.fails(selector, slot.0, now, &mut path)?;
        Some(Excluded { path, clause: clause.to_string(), has: self.has_instead(clause, slot, now) })
    }

    /// The first clause that a device fails; `path` names its place.
    fn fails<'a>(
        &self,
        clause: &'a Selector,
        slot: u32,
        now: Time,
        path: &mut String,
    ) -> Option<&'a Selector> {
        let Selector::And(clauses) = clause else {
            return (!self.holds(clause, slot, now)).then_some(clause);
        };
        let length = path.len();
        for (at, clause) in clauses.iter().enumerate() {
            step(path, &format!("and[{at}]"));
            if let Some(failed) = self.fails(clause, slot, now, path) {
                return Some(failed);
            }
            path.truncate(length);
        }
        None
    }

    fn has_instead(&self, clause: &Selector, slot: Slot, now: Time) -> Option<String> {
        let stored = self.stored(slot)?;
        let packed = self.packed(slot)?;
        let field = |kind| {
            let text = packed.field(kind).map(|label| self.labels.text(label));
            Some(text.map_or_else(|| "it has none".into(), |text| format!("it has {text}")))
        };
        let timestamp = |second: u32| date_text(i64::from(second) * 1_000);
        match clause {
            Selector::Attribute { name, .. } => {
                let value = self.attribute(packed, name.as_str());
                Some(value.map_or_else(|| "it has none".into(), |value| format!("it is {value}")))
            }
            Selector::Platform(_) => field(Kind::Platform),
            Selector::Version(_) => field(Kind::Version),
            Selector::Language(_) => field(Kind::Language),
            Selector::Country(_) => field(Kind::Country),
            Selector::TimeZone(_) => field(Kind::Zone),
            Selector::User(_) => {
                Some(packed.user().map_or_else(|| "it has none".into(), |user| format!("it has {user:?}")))
            }
            Selector::LastSeen(_) if stored.seen == 0 => Some("it was never connected".into()),
            Selector::LastSeen(_) => Some(format!("it was connected last at {}", timestamp(stored.seen))),
            Selector::Registered(_) => Some(format!("it was registered at {}", timestamp(stored.registered))),
            Selector::Within(circle) => Some(match packed.location() {
                Some(place) => format!("it is {:.0} m away", Round::new(circle).distance(place)),
                None => "it has no location".into(),
            }),
            Selector::Not(clause) => {
                // The device's value is the forbidden one.
                let _ = now;
                match clause.as_ref() {
                    Selector::And(_) | Selector::Or(_) | Selector::Not(_) => None,
                    clause => self.has_instead(clause, slot, now),
                }
            }
            _ => None,
        }
    }

    /// The effect of each clause, in the order in which they stand.
    pub fn clauses(&self, selector: &Selector, now: Time) -> Vec<ClauseCount> {
        let mut counts = Vec::new();
        let mut path = String::new();
        self.count_clauses(selector, now, Some(self.all.clone()), &mut path, &mut counts);
        counts
    }

    /// Counts a clause and those in it. `reaching` are the devices that failed no clause before it; none where nobody
    /// is kept out by it alone, as by a part of an `or`. Returns those that pass it as well.
    fn count_clauses(
        &self,
        clause: &Selector,
        now: Time,
        reaching: Option<RoaringBitmap>,
        path: &mut String,
        counts: &mut Vec<ClauseCount>,
    ) -> Option<RoaringBitmap> {
        let devices = self.meant(clause, now);
        let matches = devices.len();
        let is_and = matches!(clause, Selector::And(_));
        let keeps_out = match &reaching {
            Some(reaching) if !is_and => reaching.difference_len(&devices),
            _ => 0,
        };
        counts.push(ClauseCount { path: path.clone(), clause: clause.to_string(), matches, keeps_out });
        let length = path.len();
        match clause {
            Selector::And(clauses) => {
                let mut reaching = reaching;
                for (at, clause) in clauses.iter().enumerate() {
                    step(path, &format!("and[{at}]"));
                    reaching = self.count_clauses(clause, now, reaching, path, counts);
                    path.truncate(length);
                }
                return reaching;
            }
            Selector::Or(clauses) => {
                for (at, clause) in clauses.iter().enumerate() {
                    step(path, &format!("or[{at}]"));
                    self.count_clauses(clause, now, None, path, counts);
                    path.truncate(length);
                }
            }
            Selector::Not(clause) => {
                step(path, "not");
                self.count_clauses(clause, now, None, path, counts);
                path.truncate(length);
            }
            _ => {}
        }
        reaching.map(|reaching| reaching & devices.as_ref())
    }
}

/// One step further into a selector.
pub(crate) fn step(path: &mut String, to: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(to);
}
