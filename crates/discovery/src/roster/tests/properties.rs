//! For all reports of a backend and any number of outages, the rule of [`crate::roster`] holds.
//!
//! Random histories are played on a roster beside a plain account of what each instance was last heard to do.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Something that happens.
#[derive(Clone, Debug)]
enum Event {
    Announced { port: u16, state: State },
    Removed { port: u16 },
    Listed { ports: BTreeSet<u16>, after: After },
    Lost,
    Waited { seconds: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    let port = || 1_u16..6;
    let state = prop_oneof![4 => Just(State::Serving), 1 => Just(State::Quiescing)];
    let after = prop_oneof![Just(After::Outage), Just(After::Contact)];
    prop_oneof![
        4 => (port(), state).prop_map(|(port, state)| Event::Announced { port, state }),
        3 => port().prop_map(|port| Event::Removed { port }),
        3 => (proptest::collection::btree_set(port(), 0..5), after)
            .prop_map(|(ports, after)| Event::Listed { ports, after }),
        1 => Just(Event::Lost),
        4 => (0_u64..15).prop_map(|seconds| Event::Waited { seconds }),
    ]
}

/// What a plain account knows of an instance.
#[derive(Clone, Copy, Debug)]
struct Account {
    state: State,
    /// Since when the backend, being there, did not have it.
    missing: Option<Instant>,
}

fn known(roster: &Roster) -> BTreeSet<u16> {
    roster.snapshot(&Versions::Any).instances.iter().map(|instance| instance.address.port()).collect()
}

fn is_live(roster: &Roster) -> bool {
    roster.snapshot(&Versions::Any).freshness == Freshness::Live
}

proptest! {
    #[test]
    fn nobody_is_forgotten_but_by_the_rule(history in proptest::collection::vec(event(), 1..60)) {
        let start = Instant::now();
        let mut now = start;
        let mut roster = Roster::new(Patience::new(TTL), now, "not reached yet");
        let mut accounts: BTreeMap<u16, Account> = BTreeMap::new();
        let mut away = true;
        for event in history {
            let before = known(&roster);
            let snapshot_before = roster.snapshot(&Versions::Any);
            let mut goodbye = BTreeSet::new();
            let mut change = Change::Nothing;
            match &event {
                Event::Announced { port, state } if !away => {
                    accounts.insert(*port, Account { state: *state, missing: None });
                    change = roster.announced(Instance { state: *state, ..instance(*port) }, now);
                }
                Event::Removed { port } if !away => {
                    if let Some(account) = accounts.get_mut(port) {
                        if account.state == State::Quiescing {
                            goodbye.insert(*port);
                        }
                        account.missing.get_or_insert(now);
                    }
                    change = roster.removed(&place(&instance(*port)), now);
                }
                Event::Listed { ports, after } if !away || *after == After::Outage => {
                    for (port, account) in accounts.iter_mut().filter(|(port, _)| !ports.contains(port)) {
                        if account.state == State::Quiescing {
                            goodbye.insert(*port);
                        }
                        account.missing.get_or_insert(now);
                    }
                    for port in ports {
                        accounts.insert(*port, Account { state: State::Serving, missing: None });
                    }
                    away = false;
                    change = roster.listed(ports.iter().map(|port| instance(*port)).collect(), *after, now);
                }
                Event::Lost => {
                    away = true;
                    change = roster.lost(now, "connection refused");
                }
                Event::Waited { seconds } => {
                    now += Duration::from_secs(*seconds);
                    change = roster.expire(now);
                }
                _ => {}
            }
            let after = known(&roster);
            let forgotten: BTreeSet<u16> = before.difference(&after).copied().collect();

            for port in &forgotten {
                let account = accounts.remove(port).expect("an account of all that were known");
                if goodbye.contains(port) {
                    continue;
                }
                prop_assert!(!away, "{port} was forgotten while the backend was away");
                let missing = account.missing;
                prop_assert!(missing.is_some(), "{port} was forgotten though the backend has it");
                let for_long = missing.is_some_and(|since| now - since >= TTL / 2);
                prop_assert!(for_long, "{port} was forgotten at once without a goodbye");
            }
            // An instance that said goodbye twice, or was never known, has no account any more
            // either.
            accounts.retain(|port, _| after.contains(port));

            // Nobody outlives the grace, unless the clock was stopped by an outage or started again by another death.
            if !away {
                let waited = matches!(event, Event::Waited { .. });
                let next = roster.next_expiry();
                prop_assert!(next.is_none_or(|due| due > now || !waited), "someone due was not forgotten");
                prop_assert!(next.is_none_or(|due| due <= now + TTL * 2), "a doubt outlasts the grace");
                prop_assert_eq!(is_live(&roster), accounts.values().all(|account| account.missing.is_none()));
            } else {
                prop_assert!(!is_live(&roster));
                prop_assert_eq!(roster.next_expiry(), None);
            }

            // A watcher is notified again when, and only when, there is news.
            let snapshot = roster.snapshot(&Versions::Any);
            let news = snapshot.instances != snapshot_before.instances
                || (snapshot.freshness == Freshness::Live) != (snapshot_before.freshness == Freshness::Live);
            prop_assert!(!news || change != Change::Nothing, "news that nobody is notified of: {:?}", event);
            prop_assert!(!news || snapshot.revision > snapshot_before.revision, "news without a new revision: {:?}", event);
            prop_assert!(snapshot.revision >= snapshot_before.revision);
        }
    }
}
