//! The state of a device, as the checker sees it: a few fields that clients change, and the
//! audiences that they match.
//!
//! While an answer is outstanding, or lost, a device may be one thing or another; the checker keeps all of them.

use stadium_registry::{AttributeName, Changes, Device, QuietHours, Selector, Tag, Value, ZoneName};

/// Tags that devices have.
pub const TAGS: [&str; 3] = ["red", "green", "blue"];

/// Zones that devices live in.
pub const ZONES: [&str; 3] = ["UTC", "Europe/Vienna", "Asia/Tokyo"];

/// The attribute that texts ask for.
pub const NAME: &str = "first_name";

/// The quiet hours that some devices have: the first quarter of an hour of the day, where a run begins.
const QUIET: (u16, u16) = (0, 15);

/// A device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// Whether the registry has it; the rest is as by default where it has not.
    pub registered: bool,
    pub opted_in: bool,
    pub revoked: bool,
    pub tags: [bool; 3],
    /// Its name.
    pub name: Option<u8>,
    /// Its zone.
    pub zone: usize,
    pub quiet: bool,
}

/// What a client changes about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    pub opted_in: Option<bool>,
    pub revoked: Option<bool>,
    /// A tag that it gets or loses.
    pub tag: Option<(usize, bool)>,
    pub name: Option<Option<u8>>,
    pub zone: Option<usize>,
    pub quiet: Option<bool>,
}

impl Facts {
    /// A device that was registered just now.
    pub fn new() -> Facts {
        Facts { registered: true, opted_in: true, ..Facts::default() }
    }

    /// Its state where it was there; a new one where not.
    #[must_use]
    pub fn registered(self) -> Facts {
        if self.registered { self } else { Facts::new() }
    }

    /// It after a change.
    #[must_use]
    pub fn changed(self, change: &Change) -> Facts {
        let mut facts = self.registered();
        facts.opted_in = change.opted_in.unwrap_or(facts.opted_in);
        facts.revoked = change.revoked.unwrap_or(facts.revoked);
        if let Some((tag, has)) = change.tag {
            facts.tags[tag] = has;
        }
        facts.name = change.name.unwrap_or(facts.name);
        facts.zone = change.zone.unwrap_or(facts.zone);
        facts.quiet = change.quiet.unwrap_or(facts.quiet);
        facts
    }

    /// The registry's entry of one device; none where it contains data that nobody ever sent.
    pub fn of(device: Option<&Device>) -> Option<Facts> {
        let Some(device) = device else { return Some(Facts::default()) };
        let mut facts =
            Facts { registered: true, opted_in: device.opt_in, revoked: device.revoked, ..Facts::default() };
        for tag in &device.tags {
            let at = TAGS.iter().position(|name| *name == tag.name.as_str())?;
            facts.tags[at] = true;
        }
        for (name, value) in &device.attributes {
            let Value::Text(text) = value else { return None };
            facts.name = Some((name.as_str() == NAME).then(|| text.strip_prefix('n')?.parse().ok())??);
        }
        if let Some(zone) = &device.time_zone {
            facts.zone = ZONES.iter().position(|name| *name == zone.as_str())?;
        }
        facts.quiet = match device.quiet_hours {
            None => false,
            Some(hours) if (hours.from(), hours.to()) == QUIET => true,
            Some(_) => return None,
        };
        Some(facts)
    }

    /// Whether a selector means it.
    pub fn is_meant(&self, selector: &Selector) -> bool {
        self.registered
            && match selector {
                Selector::All => true,
                Selector::Tag(tag) => {
                    TAGS.iter().position(|name| *name == tag.name.as_str()).is_some_and(|at| self.tags[at])
                }
                Selector::OptedIn(is) => self.opted_in == *is,
                Selector::And(all) => all.iter().all(|one| self.is_meant(one)),
                Selector::Or(any) => any.iter().any(|one| self.is_meant(one)),
                Selector::Not(other) => !self.is_meant(other),
                other => unreachable!("no client here asks for {other:?}"),
            }
    }
}

impl Change {
    /// As the platform gets it.
    pub fn changes(&self) -> Changes {
        let tags = |has| {
            let tag = self.tag.filter(|(_, gets)| *gets == has);
            tag.map(|(at, _)| Tag::new("", TAGS[at]).expect("a tag")).into_iter().collect()
        };
        let quiet = || QuietHours::new(QUIET.0, QUIET.1);
        Changes {
            opt_in: self.opted_in,
            revoked: self.revoked,
            tags_added: tags(true),
            tags_removed: tags(false),
            attributes: self.name.map(|name| (attribute(), name.map(name_value))).into_iter().collect(),
            time_zone: self.zone.map(|at| Some(ZoneName::new(ZONES[at]).expect("a zone"))),
            quiet_hours: self.quiet.map(|is| if is { quiet() } else { None }),
            ..Changes::default()
        }
    }
}

fn attribute() -> AttributeName {
    AttributeName::new(NAME).expect("a name")
}

fn name_value(name: u8) -> Value {
    Value::Text(format!("n{name}").into())
}
