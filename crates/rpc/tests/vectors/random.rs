//! `random.json`: the generator behind every draw.

use serde_json::{Value, json};
use stadium_rpc::balance::Random;
use stadium_testing::vectors::{Case, Step, VectorFile};

pub fn file() -> VectorFile {
    VectorFile {
        name: "random.json",
        about: ABOUT,
        defaults: json!({"seed": "0000000000000001"}),
        cases: vec![first_outputs(), bounded(), ranges()],
        play,
        command: crate::COMMAND,
    }
}

const ABOUT: &[&str] = &[
    "The generator of docs/rpc-guards.md. A case begins with its seed; seeds and outputs are \
     hexadecimal numbers of 64 bits.",
    "seed: the generator begins anew. bits: the next outputs. below: numbers from 0 up to, and \
     without, bound. within: numbers from low to high, both included. Each number takes one \
     output, also where only one number is possible.",
];

fn play(config: Step<'_>, steps: &[Step<'_>]) -> Vec<Value> {
    let mut random = seeded(config);
    let mut answer = |step: &Step<'_>| {
        let times = 0..step.number_or("times", 1);
        match step.event() {
            "seed" => {
                random = seeded(*step);
                Value::Null
            }
            "bits" => times.map(|_| json!(format!("{:016x}", random.bits()))).collect(),
            "below" => times.map(|_| json!(random.below(step.small("bound")))).collect(),
            "within" => {
                let (low, high) = (step.number("low"), step.number("high"));
                times.map(|_| json!(random.within(low..=high))).collect()
            }
            event => panic!("no such event: {event}"),
        }
    };
    steps.iter().map(&mut answer).collect()
}

fn seeded(step: Step<'_>) -> Random {
    Random::seeded(u64::from_str_radix(step.text("seed"), 16).expect("hexadecimal digits"))
}

fn first_outputs() -> Case {
    let case = Case::new("the first outputs of seeds").entry("bits", json!({"times": 8}));
    let seeds = ["0000000000000000", "0000000000000002", "0123456789abcdef", "ffffffffffffffff"];
    case.each(seeds, |case, seed| {
        case.entry("seed", json!({"seed": seed})).entry("bits", json!({"times": 8}))
    })
}

fn bounded() -> Case {
    let case = Case::new("numbers below a bound; 0 and 1 leave only 0");
    let bounds = [0, 1, 2, 3, 10, 1_000, 0x8000_0000, u32::MAX];
    case.each(bounds, |case, bound| case.entry("below", json!({"bound": bound, "times": 10})))
        .entry("bits", json!({"times": 1}))
}

fn ranges() -> Case {
    let ranges: [(u64, u64); 7] =
        [(7, 7), (0, 1), (50, 150), (50, 5_000), (0, 0xffff_ffff), (0, (1 << 53) - 1), (9, 3)];
    let case = Case::new("numbers within a range; an end before the start leaves the start");
    case.each(ranges, |case, (low, high)| {
        case.entry("within", json!({"low": low, "high": high, "times": 10}))
    })
    .entry("bits", json!({"times": 1}))
}
