//! `queue.json`: the calls that wait for a worker, and those that are answered instead.
//!
//! Each step pushes or pops a call; those whose deadline has passed, or that waited too long, are answered.

use serde_json::{Value, json};
use stadium_rpc::admission::{Popped, Pushed, Queue, QueueSettings, Waiting};
use stadium_testing::vectors::{Case, Step, VectorFile};

const MS: u64 = 1_000;

pub fn file() -> VectorFile {
    VectorFile {
        name: "queue.json",
        about: ABOUT,
        defaults: json!({"waiting_max": 8, "target_us": 5 * MS, "interval_us": 100 * MS}),
        cases: vec![
            in_order(),
            overload(),
            exact_times(),
            short_trouble(),
            full(),
            displaced(),
            deadlines(),
            newest_expired(),
            cancelled(),
            edges(),
        ],
        play,
        command: crate::COMMAND,
    }
}

const ABOUT: &[&str] = &[
    "push: calls are to wait from at_us on, until deadline_us; `items` are their names, each \
     pushed in turn. An expectation has one entry for each: waiting; expired or stale with the \
     name of the call that it displaced; or full with retry_after_ms.",
    "pop: the next call is asked for `times` times (1 where absent). Each answer is work, \
     expired or stale with the name of the call, or empty. Work is to be done; an expired call \
     is answered with its deadline, a stale one with BUSY.",
    "cancel: the call `item` is taken out, if it waits. overloaded: whether the newest call is \
     next. retry_after_ms: the wait of a call that came now. length: calls that wait.",
    "waiting_max is 1,000 in a server that has no other setting.",
];

fn play<'a>(config: Step<'_>, steps: &[Step<'a>]) -> Vec<Value> {
    let mut queue = Queue::new(QueueSettings {
        waiting_max: config.number("waiting_max") as usize,
        target_us: config.number("target_us"),
        interval_us: config.number("interval_us"),
    });
    let mut answer = |step: &Step<'a>| match step.event() {
        "push" => step.texts("items").into_iter().map(|item| push(&mut queue, item, *step)).collect(),
        "pop" => (0..step.number_or("times", 1)).map(|_| popped(queue.pop(step.at_us()))).collect(),
        "cancel" => json!(queue.cancel(|call| call.item == step.text("item")).is_some()),
        "overloaded" => json!(queue.overloaded(step.at_us())),
        "retry_after_ms" => json!(queue.retry_after_ms()),
        "length" => json!(queue.len()),
        event => panic!("no such event: {event}"),
    };
    steps.iter().map(&mut answer).collect()
}

fn push<'a>(queue: &mut Queue<&'a str>, item: &'a str, step: Step<'_>) -> Value {
    let (since_us, deadline_us) = (step.at_us(), step.number("deadline_us"));
    match queue.push(Waiting { item, since_us, deadline_us }) {
        Pushed::Waiting => json!("waiting"),
        Pushed::DisplacedExpired(item) => json!({"expired": item}),
        Pushed::DisplacedStale(item) => json!({"stale": item}),
        Pushed::Full { retry_after_ms, .. } => json!({"full": retry_after_ms}),
    }
}

fn popped(popped: Option<Popped<&str>>) -> Value {
    match popped {
        Some(Popped::Work(item)) => json!({"work": item}),
        Some(Popped::Expired(item)) => json!({"expired": item}),
        Some(Popped::Stale(item)) => json!({"stale": item}),
        None => json!("empty"),
    }
}

/// A time after which no script waits.
const LATE_US: u64 = 1_000_000 * MS;

fn pushed(case: Case, items: &[&str]) -> Case {
    case.at("push", json!({"items": items, "deadline_us": LATE_US}))
}

fn until(case: Case, item: &str, deadline_us: u64) -> Case {
    case.at("push", json!({"items": [item], "deadline_us": deadline_us}))
}

fn pop(case: Case, times: u64) -> Case {
    case.at("pop", json!({"times": times}))
}

fn looked_at(case: Case) -> Case {
    case.at("overloaded", json!({})).at("retry_after_ms", json!({})).at("length", json!({}))
}

fn in_order() -> Case {
    let case = pop(Case::new("in good times, first in, first out; a short wait is no reason to worry"), 1);
    let case = looked_at(pushed(case, &["a", "b", "c"]).wait_us(5 * MS));
    let case = pop(pushed(pop(case, 2), &["d"]).wait_us(5 * MS), 3);
    looked_at(case)
}

fn overload() -> Case {
    let case = pushed(
        Case::new("above the target for a whole interval: the newest first, old ones are stale"),
        &["a", "b"],
    );
    let case = looked_at(pushed(case.wait_us(6 * MS), &["c"]));
    let case = pushed(case.wait_us(60 * MS), &["d", "e"]).wait_us(38 * MS);
    let case = looked_at(pop(case, 1));
    let case = pop(pushed(case.wait_us(MS), &["f"]), 2);
    let case = looked_at(pop(looked_at(case), 2));
    let case = looked_at(pop(pushed(case.wait_us(20 * MS), &["g", "h"]), 3));
    looked_at(pop(pushed(case, &["i", "j"]), 3))
}

fn exact_times() -> Case {
    let case =
        Case::new("a wait of just the interval is not stale, and one of just the target ends the trouble");
    let case = pushed(pushed(case, &["a"]).wait_us(20 * MS), &["b"]).wait_us(90 * MS);
    let case = pop(pushed(case, &["c"]).wait_us(10 * MS), 3).wait_us(1_000 * MS);
    let case = pushed(pushed(case, &["d"]).wait_us(50 * MS), &["e"]).wait_us(5 * MS);
    pop(pushed(pop(case, 1), &["f"]).wait_us(51 * MS), 2)
}

fn short_trouble() -> Case {
    let case =
        pushed(Case::new("an oldest call below the target ends the trouble"), &["a", "b"]).wait_us(90 * MS);
    let case = pushed(case, &["c"]);
    let case = pop(case, 2).wait_us(4 * MS);
    let case = looked_at(pop(pushed(case, &["d", "e"]), 1).wait_us(3 * MS));
    let case = looked_at(pushed(case.wait_us(60 * MS), &["f"]));
    pop(case.wait_us(50 * MS), 4)
}

fn full() -> Case {
    let case = Case::new("a full queue names the time that its workers need");
    let case = looked_at(pushed(case, &["a", "b", "c", "d", "e", "f", "g", "h", "i"]));
    let case = pop(case.wait_us(2 * MS), 1);
    let case = looked_at(pop(case.wait_us(2 * MS), 1));
    let case = looked_at(pushed(pop(case.wait_us(12 * MS), 1), &["j", "k", "l", "m"]));
    let case = looked_at(pop(case.wait_us(40 * MS), 1));
    let case = looked_at(pop(case.wait_us(1), 1));
    // Without a queue, the time to the next piece of work is no pace.
    let case = pop(case, 7).wait_us(3_000 * MS);
    looked_at(pop(pushed(case, &["n", "o"]), 2))
}

fn displaced() -> Case {
    let case =
        Case::new("a full queue gives the place of an expired oldest call, and in overload of a stale one");
    let case = until(case, "a", 1_010 * MS);
    let case = pushed(case, &["b", "c", "d", "e", "f", "g", "h"]);
    let case = pushed(case.wait_us(10 * MS - 1), &["i"]);
    let case = pushed(case.wait_us(1), &["j", "k"]);
    let case = pushed(case.wait_us(90 * MS), &["l"]);
    let case = looked_at(pushed(case.wait_us(4 * MS), &["m"]));
    let case = looked_at(pushed(case.wait_us(MS), &["n", "o"]));
    pop(case, 9)
}

fn deadlines() -> Case {
    let case = until(
        until(Case::new("a call whose deadline has passed is never work"), "a", 1_001 * MS),
        "b",
        1_900 * MS,
    );
    let case = pop(case.wait_us(MS - 1), 1);
    let case = until(until(case, "c", 1_002 * MS), "d", 1_120 * MS).wait_us(106 * MS);
    let case = pop(looked_at(pushed(case, &["e"])), 1);
    let case = until(until(case, "f", 1_050 * MS), "g", 1_400 * MS);
    pop(looked_at(case.wait_us(3 * MS)), 6)
}

fn newest_expired() -> Case {
    let case = pushed(Case::new("in overload the newest call may have expired too"), &["a"]).wait_us(60 * MS);
    let case = until(pushed(case, &["b"]).wait_us(46 * MS), "c", 1_107 * MS);
    pop(case.wait_us(2 * MS), 3)
}

fn cancelled() -> Case {
    let case = pushed(Case::new("a call that is cancelled leaves its place"), &["a", "b", "c"]);
    let case = case.at("cancel", json!({"item": "b"})).at("cancel", json!({"item": "b"}));
    pop(looked_at(case.at("cancel", json!({"item": "a"}))), 2)
}

fn edges() -> Case {
    let case =
        Case::new("a queue without places, and a clock that stands still").config(json!({"waiting_max": 0}));
    looked_at(pop(looked_at(pushed(pushed(case, &["a"]).wait_us(500 * MS), &["b"])), 1))
}
