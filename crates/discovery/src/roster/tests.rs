//! The rules of [`super::Roster`] as behaviours on a clock of their own.
//!
//! Each begins with a list that was heard, and nothing is forgotten in it but by the rules.

mod properties;
mod vectors;

use super::*;
use crate::instance::Value;

const TTL: Duration = Duration::from_secs(10);

/// A roster with a clock.
struct Behaviour {
    roster: Roster,
    now: Instant,
}

impl Behaviour {
    /// A roster that heard of `ports` and is live.
    fn with(ports: &[u16]) -> Self {
        let now = Instant::now();
        let mut roster = Roster::new(Patience::new(TTL), now, "not reached yet");
        roster.listed(ports.iter().map(|port| instance(*port)).collect(), After::Outage, now);
        Self { roster, now }
    }

    fn listed(&mut self, ports: &[u16], after: After) {
        let found = ports.iter().map(|port| instance(*port)).collect();
        self.roster.listed(found, after, self.now);
    }

    fn removed(&mut self, port: u16) {
        self.roster.removed(&place(&instance(port)), self.now);
    }

    fn lost(&mut self) {
        self.roster.lost(self.now, "connection refused");
    }

    /// Lets time pass, forgetting the instances that are due on the way.
    fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.roster.next_expiry().filter(|due| *due <= end) {
            self.now = due;
            self.roster.expire(due);
        }
        self.now = end;
        self.roster.expire(end);
    }

    #[track_caller]
    fn knows(&self, ports: &[u16]) -> &Self {
        let known = self.roster.snapshot(&Versions::Any);
        let known: Vec<u16> = known.instances.iter().map(|instance| instance.address.port()).collect();
        assert_eq!(known, ports);
        self
    }

    #[track_caller]
    fn is_live(&self) {
        assert_eq!(self.roster.snapshot(&Versions::Any).freshness, Freshness::Live);
    }

    #[track_caller]
    fn is_stale(&self, reason: &str) {
        match self.roster.snapshot(&Versions::Any).freshness {
            Freshness::Stale { why, .. } => assert!(why.contains(reason), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}

fn instance(port: u16) -> Instance {
    let place = Place { version: "1".to_owned(), address: ([127, 0, 0, 1], port).into() };
    Instance::new(&place, Value::default())
}

#[test]
fn nothing_heard_is_distinguished_from_nobody_there() {
    let now = Instant::now();
    let mut roster = Roster::new(Patience::new(TTL), now, "not reached yet");
    assert_eq!(roster.snapshot(&Versions::Any).revision, 0);
    assert_eq!(roster.listed(Vec::new(), After::Outage, now), Change::Members);
    let heard = roster.snapshot(&Versions::Any);
    assert_eq!((heard.instances.len(), heard.freshness), (0, Freshness::Live));
    assert!(heard.revision > 0);
}

#[test]
fn an_hour_without_the_backend_forgets_nobody() {
    let mut test = Behaviour::with(&[1, 2, 3]);
    test.removed(3);
    test.lost();
    test.wait(Duration::from_secs(3600));
    test.knows(&[1, 2, 3]).is_stale("connection refused");
    test.listed(&[1, 2, 3], After::Outage);
    test.knows(&[1, 2, 3]).is_live();
}

#[test]
fn a_backend_that_lost_its_data_gives_instances_time_to_register_again() {
    let mut test = Behaviour::with(&[1, 2, 3]);
    test.lost();
    test.wait(Duration::from_secs(60));
    test.listed(&[], After::Outage);
    test.knows(&[1, 2, 3]).is_stale("3 of 3 have not registered again");
    test.wait(TTL);
    test.roster.announced(instance(1), test.now);
    test.roster.announced(instance(2), test.now);
    test.knows(&[1, 2, 3]).is_stale("1 of 3");
    test.wait(TTL);
    test.knows(&[1, 2]).is_live();
}

#[test]
fn a_second_outage_stops_the_clock_of_the_first() {
    let mut test = Behaviour::with(&[1, 2]);
    test.lost();
    test.listed(&[], After::Outage);
    test.wait(TTL);
    test.lost();
    test.wait(Duration::from_secs(3600));
    test.listed(&[], After::Outage);
    test.wait(TTL);
    test.knows(&[1, 2]);
    test.wait(TTL);
    test.knows(&[]).is_live();
}

#[test]
fn one_that_died_is_forgotten_after_settling_while_others_live() {
    let mut test = Behaviour::with(&[1, 2]);
    test.removed(2);
    test.knows(&[1, 2]);
    test.wait(TTL / 2);
    test.knows(&[1]).is_live();
}

#[test]
fn one_that_registers_again_at_once_never_left() {
    let mut test = Behaviour::with(&[1, 2]);
    test.removed(2);
    test.roster.announced(instance(2), test.now);
    test.wait(TTL * 10);
    test.knows(&[1, 2]).is_live();
}

#[test]
fn one_that_said_goodbye_is_forgotten_at_once_even_the_last() {
    let mut test = Behaviour::with(&[1]);
    test.roster.announced(Instance { state: State::Quiescing, ..instance(1) }, test.now);
    test.knows(&[1]);
    test.removed(1);
    test.knows(&[]).is_live();
}

#[test]
fn one_that_was_leaving_when_the_backend_went_away_is_gone_when_it_is_back() {
    let mut test = Behaviour::with(&[1, 2]);
    test.roster.announced(Instance { state: State::Quiescing, ..instance(1) }, test.now);
    test.lost();
    test.listed(&[2], After::Outage);
    test.knows(&[2]).is_live();
}

#[test]
fn instances_that_all_lost_the_backend_are_kept_for_the_grace() {
    // Only the instances are cut off: their leases expire one after the other while we are
    // connected.
    let mut test = Behaviour::with(&[1, 2, 3]);
    for port in [1, 2, 3] {
        test.removed(port);
        test.wait(TTL / 6);
    }
    test.wait(TTL);
    test.knows(&[1, 2, 3]).is_stale("3 of 3");
    test.wait(TTL);
    test.knows(&[]).is_live();
}

#[test]
fn a_list_read_in_contact_is_compared_without_grace() {
    let mut test = Behaviour::with(&[1, 2, 3]);
    test.listed(&[1, 4], After::Contact);
    test.knows(&[1, 2, 3, 4]);
    test.wait(TTL / 2);
    test.knows(&[1, 4]).is_live();
}

#[test]
fn lists_read_in_contact_do_not_prolong_a_doubt() {
    let mut test = Behaviour::with(&[1, 2]);
    test.lost();
    test.listed(&[1], After::Outage);
    for _ in 0..4 {
        test.wait(TTL / 2);
        test.listed(&[1], After::Contact);
    }
    test.knows(&[1]).is_live();
}

#[test]
fn versions_are_watched_and_doubted_apart() {
    let mut test = Behaviour::with(&[1]);
    let second = Instance { version: "2".to_owned(), ..instance(2) };
    test.roster.announced(second.clone(), test.now);
    test.removed(1);
    test.wait(TTL);
    let first = test.roster.snapshot(&Versions::Exactly("1".to_owned()));
    assert_eq!(first.instances.len(), 1, "the last of its version is kept for the grace");
    let others = test.roster.snapshot(&Versions::Exactly("2".to_owned()));
    assert_eq!((&*others.instances, others.freshness), (&[second][..], Freshness::Live));
}

#[test]
fn loads_are_distinguished_from_members_and_from_nothing() {
    let mut test = Behaviour::with(&[1]);
    assert_eq!(test.roster.announced(instance(1), test.now), Change::Nothing);
    let busier = Instance { load: 0.5, ..instance(1) };
    assert_eq!(test.roster.announced(busier.clone(), test.now), Change::Loads);
    let heavier = Instance { weight: 200, ..busier };
    assert_eq!(test.roster.announced(heavier, test.now), Change::Members);
    assert_eq!(test.roster.announced(instance(2), test.now), Change::Members);
}

#[test]
fn instances_beyond_the_bound_are_refused_and_counted() {
    let mut test = Behaviour::with(&[]);
    let port = |port: usize| u16::try_from(port).expect("ten thousand and one ports");
    for number in 1..=INSTANCES_MAX + 1 {
        test.roster.announced(instance(port(number)), test.now);
    }
    assert_eq!(test.roster.snapshot(&Versions::Any).instances.len(), INSTANCES_MAX);
    assert_eq!(test.roster.take_refused(), 1);
    assert_eq!(test.roster.take_refused(), 0);
}
