//! What is known of the names in a list: their addresses, which cannot be found, and when to look each up again.
//!
//! No I/O and no clock: the time is an argument. A name is looked up at the start, when somebody asks because a connection
//! failed, and in any case after a while; never twice within [`EVERY_MIN`], never twice at once. What was found last holds
//! while a look-up fails. The threads that look up are in [`crate::resolver`].

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::host_port::HostPort;

/// Between the beginnings of two look-ups of one name.
pub(crate) const EVERY_MIN: Duration = Duration::from_secs(1);
/// How long the names that were looked up wait for the others, so that a list usually comes as a whole.
const TOGETHER: Duration = Duration::from_millis(250);

/// What is known of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The place.
    pub place: HostPort,
    /// Its addresses as they were found last, in order, each once.
    pub addresses: Vec<SocketAddr>,
    /// Since when it is not found, and why; also until the first look-up is over.
    pub trouble: Option<(Instant, String)>,
    /// Whether a look-up was ever over, found or not. An address needs none.
    pub is_looked_up: bool,
}

impl Lookup {
    fn new(place: HostPort, now: Instant) -> Self {
        match place.address() {
            Some(address) => Self { place, addresses: vec![address], trouble: None, is_looked_up: true },
            None => {
                let trouble = Some((now, format!("{place} is being looked up")));
                Self { place, addresses: Vec::new(), trouble, is_looked_up: false }
            }
        }
    }

    /// Takes over the outcome of a look-up.
    fn learn(&mut self, found: std::io::Result<Vec<SocketAddr>>, now: Instant) {
        let place = &self.place;
        let missing_since = self.trouble.take().filter(|_| self.is_looked_up).map(|(since, _)| since);
        self.is_looked_up = true;
        let why = match found {
            Ok(mut addresses) if !addresses.is_empty() => {
                addresses.sort_unstable();
                addresses.dedup();
                self.addresses = addresses;
                if missing_since.is_some() {
                    tracing::info!(name = %place, "The name of an instance is found again");
                }
                return;
            }
            Ok(_) => "it has no address".to_owned(),
            Err(error) => error.to_string(),
        };
        if missing_since.is_none() {
            tracing::warn!(name = %place, error = why, "The name of an instance is not found");
        }
        self.trouble = Some((missing_since.unwrap_or(now), format!("{place} is not found: {why}")));
    }
}

/// All places of a list.
#[derive(Debug)]
pub(crate) struct Lookups {
    known: Vec<Lookup>,
    timing: Vec<Timing>,
    /// When to report what changed.
    report_at: Option<Instant>,
}

/// When a place is looked up.
#[derive(Debug)]
struct Timing {
    /// When next; `None` for an address, which is never looked up, and while a look-up is under way.
    due_at: Option<Instant>,
    /// When the last look-up began.
    began_at: Instant,
    /// Whether somebody asked while it was under way.
    asked: bool,
}

impl Lookups {
    /// Knows no name yet; all of them are due.
    pub(crate) fn new(places: Vec<HostPort>, now: Instant) -> Self {
        let known: Vec<Lookup> = places.into_iter().map(|place| Lookup::new(place, now)).collect();
        let timing = known.iter().map(|one| Timing {
            due_at: (!one.is_looked_up).then_some(now),
            began_at: now,
            asked: false,
        });
        let timing: Vec<Timing> = timing.collect();
        let report_at = timing.iter().all(|one| one.due_at.is_none()).then_some(now);
        Self { known, timing, report_at }
    }

    /// Begins a look-up that is due: the place's number and what to look up.
    pub(crate) fn begin(&mut self, now: Instant) -> Option<(usize, String)> {
        let index = self.timing.iter().position(|one| one.due_at.is_some_and(|at| at <= now))?;
        let one = &mut self.timing[index];
        (one.due_at, one.began_at, one.asked) = (None, now, false);
        Some((index, self.known[index].place.to_string()))
    }

    /// A connection failed: addresses may have moved.
    pub(crate) fn ask(&mut self) {
        for one in &mut self.timing {
            let soonest = one.began_at + EVERY_MIN;
            match &mut one.due_at {
                Some(at) => *at = soonest.min(*at),
                None => one.asked = true,
            }
        }
    }

    /// A look-up is over. One that was found is looked up again after `every`.
    pub(crate) fn end(
        &mut self,
        index: usize,
        found: std::io::Result<Vec<SocketAddr>>,
        every: Duration,
        now: Instant,
    ) {
        let before = self.known[index].clone();
        self.known[index].learn(found, now);
        let one = &mut self.timing[index];
        let soon = one.asked || self.known[index].trouble.is_some();
        one.due_at = Some(one.began_at + if soon { EVERY_MIN } else { every.max(EVERY_MIN) });
        if before != self.known[index] {
            self.report_at.get_or_insert(now + TOGETHER);
        }
        let is_under_way =
            |(one, timing): (&Lookup, &Timing)| timing.due_at.is_none() && one.place.address().is_none();
        if self.report_at.is_some() && !self.known.iter().zip(&self.timing).any(is_under_way) {
            self.report_at = Some(now);
        }
    }

    /// The look-ups of all places, in their order, if one changed and is to be reported now.
    pub(crate) fn news(&mut self, now: Instant) -> Option<&[Lookup]> {
        self.report_at.take_if(|at| *at <= now)?;
        Some(&self.known)
    }

    /// When there is something to do next.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.timing.iter().filter_map(|one| one.due_at).chain(self.report_at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_secs(60);

    fn second(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn lookups(places: &[&str]) -> (Lookups, Instant) {
        let now = Instant::now();
        let places = places.iter().map(|place| place.parse().expect("a place")).collect();
        (Lookups::new(places, now), now)
    }

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().expect("an address")).collect()
    }

    fn missing() -> std::io::Result<Vec<SocketAddr>> {
        Err(std::io::Error::other("no such host"))
    }

    /// Begins all that is due.
    fn begun(lookups: &mut Lookups, now: Instant) -> Vec<String> {
        std::iter::from_fn(|| lookups.begin(now).map(|(_, name)| name)).collect()
    }

    #[test]
    fn a_found_name_is_looked_up_again_after_a_while_and_sooner_when_asked() {
        let (mut lookups, start) = lookups(&["geo.internal:1"]);
        assert_eq!(begun(&mut lookups, start), ["geo.internal:1"]);
        lookups.end(0, Ok(addresses(&["10.0.0.2:1", "10.0.0.1:1", "10.0.0.2:1"])), EVERY, start);
        let news = lookups.news(start).expect("it was found");
        assert_eq!(news[0].addresses, addresses(&["10.0.0.1:1", "10.0.0.2:1"]), "in order, each once");
        assert_eq!(lookups.next_at(), Some(start + EVERY));
        lookups.ask();
        lookups.ask();
        assert_eq!(lookups.next_at(), Some(start + EVERY_MIN), "not more often than once a second");
        assert_eq!(begun(&mut lookups, start + EVERY_MIN).len(), 1);
        lookups.ask();
        assert_eq!(begun(&mut lookups, start + EVERY), [""; 0], "never twice at once");
        lookups.end(0, Ok(addresses(&["10.0.0.1:1", "10.0.0.2:1"])), EVERY, start + second(5));
        assert_eq!(lookups.next_at(), Some(start + second(2)), "somebody asked meanwhile");
        assert_eq!(lookups.news(start + EVERY), None, "nothing changed");
    }

    #[test]
    fn a_name_that_is_missing_keeps_its_addresses_and_is_tried_each_second() {
        let (mut lookups, start) = lookups(&["geo.internal:1"]);
        begun(&mut lookups, start);
        lookups.end(0, Ok(addresses(&["10.0.0.1:1"])), EVERY, start);
        lookups.news(start).expect("it was found");
        begun(&mut lookups, start + EVERY);
        lookups.end(0, missing(), EVERY, start + EVERY);
        let news = lookups.news(start + EVERY).expect("it went missing");
        assert_eq!(news[0].addresses, addresses(&["10.0.0.1:1"]));
        let why = "geo.internal:1 is not found: no such host".to_owned();
        assert_eq!(news[0].trouble, Some((start + EVERY, why)));
        let again = start + EVERY + EVERY_MIN;
        assert_eq!(begun(&mut lookups, again).len(), 1);
        lookups.end(0, missing(), EVERY, again);
        assert_eq!(lookups.news(again), None, "it is missing since the same time for the same reason");
        begun(&mut lookups, again + EVERY_MIN);
        lookups.end(0, Ok(Vec::new()), EVERY, again + EVERY_MIN);
        let news = lookups.news(again + EVERY_MIN).expect("another reason");
        assert_eq!(news[0].trouble.as_ref().map(|(since, _)| *since), Some(start + EVERY));
    }

    #[test]
    fn a_name_that_takes_long_holds_up_the_others_only_briefly() {
        let (mut lookups, start) = lookups(&["slow.internal:1", "127.0.0.1:1", "fast.internal:1"]);
        assert_eq!(begun(&mut lookups, start), ["slow.internal:1", "fast.internal:1"]);
        lookups.end(2, Ok(addresses(&["10.0.0.1:1"])), EVERY, start);
        assert_eq!(lookups.news(start), None, "it waits for the other");
        assert_eq!(lookups.next_at(), Some(start + TOGETHER));
        let news = lookups.news(start + TOGETHER).expect("it waited long enough");
        assert_eq!((news[0].is_looked_up, news[1].is_looked_up, news[2].is_looked_up), (false, true, true));
        lookups.ask();
        assert_eq!(begun(&mut lookups, start + EVERY_MIN), ["fast.internal:1"]);
    }

    #[test]
    fn addresses_are_reported_at_once_and_never_looked_up() {
        let (mut lookups, start) = lookups(&["127.0.0.1:1"]);
        assert_eq!(lookups.begin(start), None);
        lookups.ask();
        assert!(lookups.news(start).is_some_and(|news| news[0].trouble.is_none()));
        assert_eq!(lookups.next_at(), None);
    }
}
