//! Busy and what clients make of it: other instances, later, the budget; and copies of slow calls.
//!
//! Instances that are full or slow stand beside others that are not, held by bells that the test rings.

use std::time::Duration;

use stadium_rpc::balance::{BudgetSettings, HedgeSettings};
use stadium_rpc::{Call, CallContext, CallError, CallOptions, Refusal, Server, ServerConfig};

use crate::fixture::*;

/// Works on one call at a time, and lets none wait.
fn narrow() -> ServerConfig {
    let mut config = server_config();
    config.admission.concurrency_min = 1;
    config.admission.concurrency_max = 1;
    config.admission.queue_max = 0;
    config
}

#[test]
fn call_beyond_the_limit_gets_busy() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve_with(narrow(), named_waiting("one", &bell, &begun));
    let words = words_tried_once(&server);
    let first = call_begun(&words, &begun);
    let second = words.call(&ECHO, &word("")).wait();
    assert!(matches!(second, Err(CallError::Busy { .. })), "{second:?}");
    assert_eq!(counted(&server, "words/Echo").busy, 1);
    bell.ring();
    assert_eq!(answer(first), Ok(word("one")));
    assert_eq!(words.call(&ECHO, &word("")).wait(), Ok(word("one")), "there is room again");
}

#[test]
fn busy_call_goes_to_another_instance() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let full = serve_with(narrow(), named_waiting("full", &bell, &begun));
    let free = serve(named("free"));
    let words = connected_client(&[&full, &free], client_config(&[&full, &free])).service("words");
    // Some call sooner or later meets the one that waits for the bell, and fills it.
    let mut held = Vec::new();
    until("one is held", || {
        held.push(words.call(&ECHO, &word("")));
        begun.count() == 1
    });
    for _ in 0..50 {
        assert_eq!(words.call(&ECHO, &word("")).wait(), Ok(word("free")));
    }
    bell.ring();
    for call in held {
        assert!(answer(call).is_ok());
    }
}

#[test]
fn busy_call_comes_back_after_its_delay() {
    let asked = Tally::default();
    let server = serve(words().inline(&ECHO, {
        let asked = asked.clone();
        move |_: &Call<'_>, _: &Word, _: &mut Word| {
            asked.add();
            if asked.count() == 1 { Err(Refusal::busy(Duration::from_millis(30), "not yet")) } else { Ok(()) }
        }
    }));
    let words = client_of(&[&server]).service("words");
    assert!(words.call(&ECHO, &word("")).wait().is_ok());
    assert_eq!(asked.count(), 2);
}

#[test]
fn budget_bounds_the_calls_that_are_made_again() {
    let asked = Tally::default();
    let server = serve(words().inline(&ECHO, {
        let asked = asked.clone();
        move |_: &Call<'_>, _: &Word, _: &mut Word| {
            asked.add();
            Err(Refusal::busy(Duration::from_millis(1), "never"))
        }
    }));
    let mut config = client_config(&[&server]);
    config.budget = BudgetSettings { share: 0.1, per_second_min: 0, saved_max: 10 };
    let words = connected_client(&[&server], config).service("words");
    for _ in 0..200 {
        let answer = words.call(&ECHO, &word("")).wait();
        assert!(matches!(answer, Err(CallError::Busy { .. })), "{answer:?}");
    }
    let again = asked.count() - 200;
    assert!((15..=20).contains(&again), "{again} of 200 calls were made again on a budget of a tenth");
}

#[test]
fn rejected_call_is_not_made_again() {
    let asked = Tally::default();
    let server = serve(words().inline(&ECHO, {
        let asked = asked.clone();
        move |_: &Call<'_>, _: &Word, _: &mut Word| {
            asked.add();
            Err(no())
        }
    }));
    let words = client_of(&[&server]).service("words");
    assert_eq!(rejection(words.call(&ECHO_TWICE, &word("")).wait()).0, "WORDS-001");
    assert_eq!(asked.count(), 1);
}

/// Answers at once until the test holds it, and from then on only after the bell.
fn moody(name: &'static str, hold: &Bell, bell: &Bell, held: &Tally) -> Server {
    let (hold, bell, held) = (hold.clone(), bell.clone(), held.clone());
    serve(words().asynchronous(&ECHO, move |_: CallContext, _: Word| {
        let (hold, bell, held) = (hold.clone(), bell.clone(), held.clone());
        async move {
            if hold.is_rung() {
                held.add();
                bell.rung().await;
            }
            Ok(word(name))
        }
    }))
}

#[test]
fn copy_of_a_slow_idempotent_call_is_answered_elsewhere() {
    let (hold, bell, held) = (Bell::default(), Bell::default(), Tally::default());
    let slow = moody("slow", &hold, &bell, &held);
    let quick = serve(named("quick"));
    let mut config = client_config(&[&slow, &quick]);
    let hedge = HedgeSettings { samples_min: 20, share: 1.0, ..HedgeSettings::default() };
    config.hedge = Some(hedge);
    let words = connected_client(&[&slow, &quick], config).service("words");
    for _ in 0..200 {
        assert!(words.call(&ECHO_TWICE, &word("")).wait().is_ok());
    }
    hold.ring();
    until("a copy has saved a call", || {
        assert_eq!(words.call(&ECHO_TWICE, &word("")).wait(), Ok(word("quick")));
        held.count() > 0
    });
    until("the slow one learns that nobody waits", || counted(&slow, "words/Echo").cancelled == held.count());
}

#[test]
fn call_that_may_not_happen_twice_is_never_copied() {
    let (hold, bell, held) = (Bell::default(), Bell::default(), Tally::default());
    let slow = moody("slow", &hold, &bell, &held);
    let quick = serve(named("quick"));
    let mut config = client_config(&[&slow, &quick]);
    config.hedge = Some(HedgeSettings { samples_min: 20, share: 1.0, ..HedgeSettings::default() });
    let words = connected_client(&[&slow, &quick], config).service("words");
    for _ in 0..200 {
        assert!(words.call(&ECHO, &word("")).wait().is_ok());
    }
    let before = counted(&slow, "words/Echo").ok + counted(&quick, "words/Echo").ok;
    assert_eq!(before, 200);
    hold.ring();
    let mut calls = Vec::new();
    until("one is held", || {
        calls.push(words.call(&ECHO, &word("")));
        held.count() > 0
    });
    bell.ring();
    let count = calls.len() as u64;
    for call in calls {
        assert!(answer(call).is_ok());
    }
    let after = counted(&slow, "words/Echo").ok + counted(&quick, "words/Echo").ok;
    assert_eq!(after - before, count);
}

#[test]
fn explanation_names_the_instances_and_the_choice() {
    let (one, two) = (serve(named("one")), serve(named("two")));
    let words = connected_client(&[&one, &two], client_config(&[&one, &two])).service("words");
    for _ in 0..20 {
        assert!(words.call_with(&ECHO, &word(""), &CallOptions::default()).wait().is_ok());
    }
    let explained = words.explain(None, SOON).expect("the client answers");
    let mut addresses: Vec<_> = explained.choice.instances.iter().map(|one| one.address.clone()).collect();
    let mut bound = [one.bound()[0].to_string(), two.bound()[0].to_string()];
    addresses.sort();
    bound.sort();
    assert_eq!(addresses, bound);
    assert_eq!((&*explained.discovery, explained.choice.candidates.len()), ("static", 2));
    let chosen = explained.choice.chosen.expect("one can be chosen");
    assert!(bound.contains(&chosen) && explained.choice.why.contains(&chosen), "{}", explained.choice.why);
}
