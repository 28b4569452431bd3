//! Which devices a selector means.
//!
//! Most clauses are a bitmap that is there already; a comparison reads a column. `and` begins with the bitmaps, takes what `not`
//! excludes out, and asks comparisons last: of few devices one by one.

use std::borrow::Cow;

use roaring::{MultiOps as _, RoaringBitmap};
use stadium_table::Paged;

use crate::circle::Round;
use crate::columns::Cell as _;
use crate::labels::Kind;
use crate::packed::Cell;
use crate::registry::{find_name, find_text, from_spot, seconds};
use crate::{Comparison, Edge, Registry, Selector, Slot, Span, Time, Value};

/// Of so many devices, one may be left for comparisons to be asked one by one.
const ASKED_SINGLY: u64 = 32;

impl Registry {
    /// The devices that a selector means.
    pub fn evaluate(&self, selector: &Selector, now: Time) -> RoaringBitmap {
        self.meant(selector, now).into_owned()
    }

    /// How many devices a selector means.
    pub fn count(&self, selector: &Selector, now: Time) -> u64 {
        match selector {
            Selector::Not(clause) => self.all.len() - self.count(clause, now),
            Selector::And(clauses) if !clauses.iter().any(is_scan) => {
                let (mut wanted, mut unwanted) = self.sides(clauses, now);
                wanted.sort_unstable_by_key(|devices| std::cmp::Reverse(devices.len()));
                let smallest = wanted.pop().unwrap_or(Cow::Borrowed(&self.all));
                let (last_wanted, last_unwanted) = match unwanted.pop() {
                    Some(last) => (None, Some(last)),
                    None if wanted.is_empty() => (None, None),
                    None => (Some(wanted.remove(0)), None),
                };
                let rest = self.narrowed(smallest, &wanted, &unwanted);
                match (last_wanted, last_unwanted) {
                    (Some(last), _) => rest.intersection_len(&last),
                    (_, Some(last)) => rest.difference_len(&last),
                    (None, None) => rest.len(),
                }
            }
            Selector::Or(clauses) => {
                let mut sides: Vec<_> = clauses.iter().map(|clause| self.meant(clause, now)).collect();
                let Some(last) = sides.pop() else { return 0 };
                match sides.as_slice() {
                    [] => last.len(),
                    [one] => one.union_len(&last),
                    many => many.iter().map(AsRef::as_ref).union().union_len(&last),
                }
            }
            _ => self.meant(selector, now).len(),
        }
    }

    /// Bitmaps of the clauses of an `and`: those that must be, and those that must not.
    fn sides<'a>(
        &'a self,
        clauses: &[Selector],
        now: Time,
    ) -> (Vec<Cow<'a, RoaringBitmap>>, Vec<Cow<'a, RoaringBitmap>>) {
        let (mut wanted, mut unwanted) = (Vec::new(), Vec::new());
        for clause in clauses.iter().filter(|clause| !is_scan(clause)) {
            match clause {
                Selector::Not(clause) => unwanted.push(self.meant(clause, now)),
                clause => wanted.push(self.meant(clause, now)),
            }
        }
        (wanted, unwanted)
    }

    fn narrowed<'a>(
        &self,
        first: Cow<'a, RoaringBitmap>,
        wanted: &[Cow<'_, RoaringBitmap>],
        unwanted: &[Cow<'_, RoaringBitmap>],
    ) -> Cow<'a, RoaringBitmap> {
        let mut left = first;
        for devices in wanted {
            left = Cow::Owned(match left {
                Cow::Borrowed(left) => left & devices.as_ref(),
                Cow::Owned(left) => left & devices.as_ref(),
            });
        }
        for devices in unwanted {
            left = Cow::Owned(match left {
                Cow::Borrowed(left) => left - devices.as_ref(),
                Cow::Owned(left) => left - devices.as_ref(),
            });
        }
        left
    }

    pub(crate) fn meant(&self, selector: &Selector, now: Time) -> Cow<'_, RoaringBitmap> {
        match selector {
            Selector::All => Cow::Borrowed(&self.all),
            Selector::Tag(tag) => self.labelled(Kind::Tag, tag.group(), tag.name.as_str()),
            Selector::List(list) => self.labelled(Kind::Tag, crate::Tag::LIST, list.as_str()),
            Selector::Platform(platform) => self.labelled(Kind::Platform, "", platform.as_str()),
            Selector::Country(country) => self.labelled(Kind::Country, "", country.as_str()),
            Selector::TimeZone(zone) => self.labelled(Kind::Zone, "", zone.as_str()),
            Selector::Language(wanted) => {
                self.labelled_any(Kind::Language, |language| is_language(wanted.as_str(), language))
            }
            Selector::Version(range) => self.labelled_any(Kind::Version, |version| range.contains(version)),
            Selector::User(user) => Cow::Owned(self.devices_of(user)),
            Selector::Device(device) => {
                Cow::Owned(self.find(device).map(|slot| slot.0).into_iter().collect())
            }
            Selector::Devices(devices) => {
                let mut slots: Vec<u32> =
                    devices.iter().filter_map(|device| self.find(device)).map(|slot| slot.0).collect();
                slots.sort_unstable();
                Cow::Owned(slots.into_iter().collect())
            }
            Selector::OptedIn(true) => Cow::Borrowed(&self.opted_in),
            Selector::OptedIn(false) => Cow::Owned(&self.all - &self.opted_in),
            Selector::Attribute { name, is } => Cow::Owned(self.compared(name.as_str(), is, now)),
            Selector::LastSeen(span) => {
                Cow::Owned(self.scanned(|device| device.seen != 0 && contains(*span, device.seen, now)))
            }
            Selector::Registered(span) => {
                Cow::Owned(self.scanned(|device| contains(*span, device.registered, now)))
            }
            Selector::Within(circle) => {
                let round = Round::new(circle);
                let is_within = |spot: i64| !spot.is_absent() && round.contains(from_spot(spot));
                Cow::Owned(self.locations.scan(is_within))
            }
            Selector::And(clauses) => self.all_of(clauses, now),
            Selector::Or(clauses) => {
                let sides: Vec<_> = clauses.iter().map(|clause| self.meant(clause, now)).collect();
                Cow::Owned(sides.iter().map(AsRef::as_ref).union())
            }
            Selector::Not(clause) => Cow::Owned(&self.all - self.meant(clause, now).as_ref()),
        }
    }

    fn all_of(&self, clauses: &[Selector], now: Time) -> Cow<'_, RoaringBitmap> {
        let (mut wanted, unwanted) = self.sides(clauses, now);
        wanted.sort_unstable_by_key(|devices| std::cmp::Reverse(devices.len()));
        let smallest = wanted.pop().unwrap_or(Cow::Borrowed(&self.all));
        let mut left = self.narrowed(smallest, &wanted, &unwanted);
        for clause in clauses.iter().filter(|clause| is_scan(clause)) {
            if left.len() < self.all.len() / ASKED_SINGLY {
                let kept = left.iter().filter(|&slot| self.holds(clause, slot, now)).collect();
                left = Cow::Owned(kept);
            } else {
                left = Cow::Owned(left.as_ref() & self.meant(clause, now).as_ref());
            }
        }
        left
    }

    fn labelled(&self, kind: Kind, group: &str, text: &str) -> Cow<'_, RoaringBitmap> {
        let label = self.labels.find(kind, group, text);
        Cow::Borrowed(label.map_or(&self.nobody, |label| self.labels.devices(label)))
    }

    fn labelled_any(&self, kind: Kind, is: impl Fn(&str) -> bool) -> Cow<'_, RoaringBitmap> {
        let labelled = self.labels.of_kind(kind).filter(|&(_, text, _)| is(text));
        Cow::Owned(labelled.map(|(_, _, devices)| devices).union())
    }

    /// Devices whose entry in the table passes.
    fn scanned(&self, passes: impl Fn(&crate::registry::Stored) -> bool) -> RoaringBitmap {
        let places = self.devices.len() as u32;
        let mut bits = vec![0_u8; (places as usize).div_ceil(8)];
        for slot in 0..places {
            let device = self.devices.at(slot);
            let passed = !device.is_free() && passes(device);
            bits[slot as usize / 8] |= u8::from(passed) << (slot % 8);
        }
        RoaringBitmap::from_lsb0_bytes(0, &bits)
    }

    fn compared(&self, name: &str, is: &Comparison, now: Time) -> RoaringBitmap {
        let Some(name) = find_name(&self.names, name) else {
            return if *is == Comparison::Exists(false) { self.all.clone() } else { RoaringBitmap::new() };
        };
        let columns = &self.columns[name];
        let texts = |passes: &dyn Fn(&str) -> bool| {
            // Each different text is asked once at most: the result is kept by its number.
            let mut results: Paged<u8> = Paged::new();
            let results = std::cell::RefCell::new(&mut results);
            columns.texts.scan(|text: u32| {
                if text.is_absent() {
                    return false;
                }
                let mut results = results.borrow_mut();
                results.reach(text);
                if results[text] == 0 {
                    results[text] = 1 + u8::from(passes(&self.texts.at(text).0));
                }
                results[text] == 2
            })
        };
        match is {
            Comparison::Exists(exists) => {
                let there = columns.texts.scan(|text| !text.is_absent())
                    | columns.numbers.scan(|number| !number.is_absent())
                    | columns.dates.scan(|date| !date.is_absent());
                if *exists { there } else { &self.all - there }
            }
            Comparison::Equals(Value::Text(text)) => match find_text(&self.texts, text) {
                Some(wanted) => columns.texts.scan(|text| text == wanted),
                None => RoaringBitmap::new(),
            },
            Comparison::Equals(Value::Number(wanted)) => columns.numbers.scan(|number| number == *wanted),
            Comparison::Equals(Value::Date(wanted)) => {
                columns.dates.scan(|date| date == *wanted && !date.is_absent())
            }
            Comparison::NotEquals(value) => {
                let there = self.compared_name(name, &Comparison::Exists(true), now);
                there - self.compared_name(name, &Comparison::Equals(value.clone()), now)
            }
            Comparison::Range { from, to } => match range(from.as_ref(), to.as_ref()) {
                Range::Numbers(from, to) => columns.numbers.scan(|number| number >= from && number <= to),
                Range::Dates(from, to) => columns.dates.scan(|date| date >= from && date <= to),
                Range::Nothing => RoaringBitmap::new(),
            },
            Comparison::Contains(wanted) => texts(&|text| text.contains(wanted.as_str())),
            Comparison::WithinSeconds(seconds) => {
                let (from, to) = last(*seconds, now);
                columns.dates.scan(|date| date >= from && date <= to)
            }
        }
    }

    fn compared_name(&self, name: u32, is: &Comparison, now: Time) -> RoaringBitmap {
        self.compared(&self.names.at(name).0, is, now)
    }

    /// Whether a selector means a device.
    pub fn matches(&self, selector: &Selector, slot: Slot, now: Time) -> bool {
        self.stored(slot).is_some() && self.holds(selector, slot.0, now)
    }

    /// Whether a selector means the device in a slot that has one.
    pub(crate) fn holds(&self, selector: &Selector, slot: u32, now: Time) -> bool {
        let packed = self.at(slot);
        let labelled = |kind, group, text: &str| {
            self.labels.find(kind, group, text).is_some_and(|label| self.labels.devices(label).contains(slot))
        };
        let field = |kind, is: &dyn Fn(&str) -> bool| {
            packed.field(kind).is_some_and(|label| is(self.labels.text(label)))
        };
        match selector {
            Selector::All => true,
            Selector::Tag(tag) => labelled(Kind::Tag, tag.group(), tag.name.as_str()),
            Selector::List(list) => labelled(Kind::Tag, crate::Tag::LIST, list.as_str()),
            Selector::Platform(platform) => field(Kind::Platform, &|text| text == platform.as_str()),
            Selector::Country(country) => field(Kind::Country, &|text| text == country.as_str()),
            Selector::TimeZone(zone) => field(Kind::Zone, &|text| text == zone.as_str()),
            Selector::Language(wanted) => field(Kind::Language, &|text| is_language(wanted.as_str(), text)),
            Selector::Version(range) => field(Kind::Version, &|text| range.contains(text)),
            Selector::User(user) => packed.user() == Some(user.as_str()),
            Selector::Device(device) => packed.id_bytes() == device.as_str().as_bytes(),
            Selector::Devices(devices) => {
                devices.iter().any(|device| packed.id_bytes() == device.as_str().as_bytes())
            }
            Selector::OptedIn(wanted) => packed.opted_out() != *wanted,
            Selector::Attribute { name, is } => {
                let name = find_name(&self.names, name.as_str());
                self.is_so(name.and_then(|name| packed.attribute(name)), is, now)
            }
            Selector::LastSeen(span) => {
                let seen = self.devices.at(slot).seen;
                seen != 0 && contains(*span, seen, now)
            }
            Selector::Registered(span) => contains(*span, self.devices.at(slot).registered, now),
            Selector::Within(circle) => {
                packed.location().is_some_and(|place| Round::new(circle).contains(place))
            }
            Selector::And(clauses) => clauses.iter().all(|clause| self.holds(clause, slot, now)),
            Selector::Or(clauses) => clauses.iter().any(|clause| self.holds(clause, slot, now)),
            Selector::Not(clause) => !self.holds(clause, slot, now),
        }
    }

    /// Whether the value of an attribute is as it must be.
    fn is_so(&self, cell: Option<Cell>, is: &Comparison, now: Time) -> bool {
        let Some(cell) = cell else { return *is == Comparison::Exists(false) };
        let equals = |value: &Value| match (cell, value) {
            (Cell::Text(text), Value::Text(wanted)) => self.texts.at(text).0 == *wanted,
            (Cell::Number(number), Value::Number(wanted)) => number == *wanted,
            (Cell::Date(at), Value::Date(wanted)) => at == *wanted,
            _ => false,
        };
        match (is, cell) {
            (Comparison::Exists(exists), _) => *exists,
            (Comparison::Equals(value), _) => equals(value),
            (Comparison::NotEquals(value), _) => !equals(value),
            (Comparison::Range { from, to }, _) => match (range(from.as_ref(), to.as_ref()), cell) {
                (Range::Numbers(from, to), Cell::Number(number)) => number >= from && number <= to,
                (Range::Dates(from, to), Cell::Date(at)) => at >= from && at <= to,
                _ => false,
            },
            (Comparison::Contains(wanted), Cell::Text(text)) => {
                self.texts.at(text).0.contains(wanted.as_str())
            }
            (Comparison::WithinSeconds(seconds), Cell::Date(at)) => {
                let (from, to) = last(*seconds, now);
                at >= from && at <= to
            }
            _ => false,
        }
    }
}

/// Whether a clause reads a column rather than a bitmap that is there.
fn is_scan(clause: &Selector) -> bool {
    match clause {
        Selector::Attribute { .. }
        | Selector::LastSeen(_)
        | Selector::Registered(_)
        | Selector::Within(_) => true,
        Selector::And(clauses) | Selector::Or(clauses) => clauses.iter().any(is_scan),
        Selector::Not(clause) => is_scan(clause),
        _ => false,
    }
}

/// `de` means `de` and `de-AT`.
fn is_language(wanted: &str, language: &str) -> bool {
    language.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// A range with both edges in it.
enum Range {
    Numbers(f64, f64),
    Dates(i64, i64),
    Nothing,
}

fn range(from: Option<&Edge>, to: Option<&Edge>) -> Range {
    match (from.map(|edge| (&edge.value, edge.included)), to.map(|edge| (&edge.value, edge.included))) {
        (None | Some((Value::Number(_), _)), Some((Value::Number(to), included))) => {
            let from = from.map_or(f64::NEG_INFINITY, number_from);
            Range::Numbers(from, if included { *to } else { to.next_down() })
        }
        (Some((Value::Number(_), _)), None) => Range::Numbers(from.map_or(0.0, number_from), f64::INFINITY),
        (None | Some((Value::Date(_), _)), Some((Value::Date(to), included))) => {
            let to = if included { Some(*to) } else { to.checked_sub(1) };
            match (from.map_or(Some(i64::MIN + 1), date_from), to) {
                (Some(from), Some(to)) => Range::Dates(from, to),
                _ => Range::Nothing,
            }
        }
        (Some((Value::Date(_), _)), None) => {
            from.and_then(date_from).map_or(Range::Nothing, |from| Range::Dates(from, i64::MAX))
        }
        _ => Range::Nothing,
    }
}

fn number_from(edge: &Edge) -> f64 {
    match (&edge.value, edge.included) {
        (Value::Number(from), true) => *from,
        (Value::Number(from), false) => from.next_up(),
        _ => f64::INFINITY,
    }
}

fn date_from(edge: &Edge) -> Option<i64> {
    match (&edge.value, edge.included) {
        (Value::Date(from), true) => Some((*from).max(i64::MIN + 1)),
        (Value::Date(from), false) => from.checked_add(1),
        _ => None,
    }
}

/// The last so many seconds, both ends in it.
fn last(seconds: u64, now: Time) -> (i64, i64) {
    let to = i64::try_from(now.0).unwrap_or(i64::MAX);
    let span = i64::try_from(seconds.saturating_mul(1_000)).unwrap_or(i64::MAX);
    (to.saturating_sub(span).max(i64::MIN + 1), to)
}

fn contains(span: Span, second: u32, now: Time) -> bool {
    match span {
        // A time behind now is there where a clock was set back: it is within any span.
        Span::WithinSeconds(within) => u64::from(second).saturating_add(within) >= u64::from(seconds(now)),
        Span::Between { from, to } => {
            let second = u64::from(second);
            from.is_none_or(|from| second >= from) && to.is_none_or(|to| second < to)
        }
    }
}
