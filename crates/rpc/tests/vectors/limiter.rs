//! `limiter.json`: the limit of calls under way, as latencies are measured.
//!
//! Each step is a call that ends, with its latency; the script asks for the limit in force.

use serde_json::{Value, json};
use stadium_rpc::admission::{Entry, Limiter, LimiterSettings, Work};
use stadium_testing::vectors::{Case, Step, VectorFile};

const MS: u64 = 1_000;
const SECOND: u64 = 1_000 * MS;

pub fn file() -> VectorFile {
    VectorFile {
        name: "limiter.json",
        about: ABOUT,
        defaults: json!({
            "initial": 20,
            "min": 4,
            "max": 10_000,
            "tolerance": 1.1,
            "smoothing": 0.2,
            "window_us": 100 * MS,
            "window_calls_min": 32,
            "latency_floor_us": 500,
            "probe_every_us": 10 * SECOND,
        }),
        cases: vec![
            entries(),
            refused_entries(),
            slow_start(),
            slow_start_of_slow_calls(),
            gradient(),
            idle(),
            few_calls(),
            probe(),
            doubtful(),
            abandoned_probe(),
            floor(),
            bounds(),
            bounds_that_cross(),
            samples_of_the_limit_before(),
        ],
        play,
        command: crate::COMMAND,
    }
}

const ABOUT: &[&str] = &[
    "sample: a call took latency_us, and with it `inflight` calls were under way. With `times` \
     as many, every_us apart (0 where absent), the first at at_us. The expectation has the limit \
     in force after the last, and after each look_each of them.",
    "capacity: calls each second that the limit allows at the baseline latency, without its \
     fraction; null before the first window.",
    "enter: as many calls (`times`, 1 where absent) ask to be let in at at_us; the expectation \
     is how many were. leave: the oldest `times` calls leave (all where there are fewer), each \
     with its time since it entered; `work` is done or abandoned. The expectation is the limit \
     and the calls under way.",
    "Every figure of the limiter comes from additions, multiplications, divisions and square \
     roots of doubles, which are the same in all languages. No product may be fused with a \
     sum.",
];

fn play(config: Step<'_>, steps: &[Step<'_>]) -> Vec<Value> {
    let mut limiter = Limiter::new(LimiterSettings {
        initial: config.small("initial"),
        min: config.small("min"),
        max: config.small("max"),
        tolerance: config.float("tolerance"),
        smoothing: config.float("smoothing"),
        window_us: config.number("window_us"),
        window_calls_min: config.small("window_calls_min"),
        latency_floor_us: config.number("latency_floor_us"),
        probe_every_us: config.number("probe_every_us"),
    });
    let mut inside: Vec<Entry> = Vec::new();
    let mut answer = |step: &Step<'_>| match step.event() {
        "sample" => sample(&mut limiter, *step),
        "capacity" => json!({"per_second": limiter.capacity_per_s().map(|capacity| capacity as u64)}),
        "enter" => {
            let entered = (0..step.number_or("times", 1)).filter_map(|_| limiter.try_enter(step.at_us()));
            let before = inside.len();
            inside.extend(entered);
            json!(inside.len() - before)
        }
        "leave" => {
            let work = if step.text("work") == "done" { Work::Done } else { Work::Abandoned };
            let times = (step.number_or("times", 1) as usize).min(inside.len());
            let leaving = inside.drain(..times);
            leaving.for_each(|entry| limiter.left(entry, work, step.at_us()));
            json!({"limit": limiter.limit(), "inflight": limiter.inflight()})
        }
        event => panic!("no such event: {event}"),
    };
    steps.iter().map(&mut answer).collect()
}

fn sample(limiter: &mut Limiter, step: Step<'_>) -> Value {
    let (latency_us, inflight) = (step.number("latency_us"), step.small("inflight"));
    let (times, look_each) = (step.number_or("times", 1), step.number_or("look_each", u64::MAX));
    let mut limits = Vec::new();
    for nth in 1..=times {
        limiter.sample(latency_us, inflight, step.at_us() + (nth - 1) * step.number_or("every_us", 0));
        if nth % look_each == 0 || nth == times {
            limits.push(limiter.limit());
        }
    }
    json!({"limits": limits})
}

/// A second of calls that take so long while so many are under way: ten windows of a hundred.
fn second(case: Case, latency_us: u64, inflight: u32) -> Case {
    let fields = json!({
        "latency_us": latency_us, "inflight": inflight, "times": 1_000, "every_us": MS, "look_each": 100,
    });
    case.at("sample", fields).wait_us(SECOND)
}

/// A limit that has ended its slow start at 40, with a baseline of 10 ms.
fn settled(name: &'static str) -> Case {
    second(second(Case::new(name), 10 * MS, 40), 50 * MS, 80)
}

fn entries() -> Case {
    let case = Case::new("no more than the limit are let in; what is abandoned is no measure");
    let case = case.at("enter", json!({"times": 25})).wait_us(10 * MS).at("enter", json!({}));
    let case = case.at("leave", json!({"work": "abandoned", "times": 5})).at("enter", json!({"times": 9}));
    (0..20).fold(case, |case, _| {
        let case = case.wait_us(10 * MS).at("leave", json!({"work": "done", "times": 20}));
        case.at("enter", json!({"times": 200}))
    })
}

fn slow_start() -> Case {
    let case =
        Case::new("a limit that is reached doubles while latency is flat; the last doubling is taken back");
    let case = second(case.at("capacity", json!({})), 10 * MS, 20).at("capacity", json!({}));
    let case = second(second(case, 10 * MS, 40), 10 * MS, 160);
    second(second(case, 30 * MS, 640), 30 * MS, 640).at("capacity", json!({}))
}

fn slow_start_of_slow_calls() -> Case {
    let case = Case::new("a window of a slow start lasts as long as its calls, and a second at most");
    let case = second(second(case, 300 * MS, 20), 300 * MS, 40);
    second(second(second(case, 3 * SECOND, 80), 3 * SECOND, 80), 3 * SECOND, 80)
}

fn gradient() -> Case {
    let case = settled("after the slow start the limit follows the gradient").at("capacity", json!({}));
    let case = second(second(case, 10 * MS, 100), 10_900, 100);
    let case = second(second(case, 13 * MS, 100), 30 * MS, 100);
    let case = second(second(case, 4 * MS, 100), 10 * MS, 100).at("capacity", json!({}));
    second(case, 10 * MS, 1_000)
}

fn idle() -> Case {
    let case = settled("while half of the limit lies idle the baseline follows, and the limit stays");
    let case = second(second(case, 20 * MS, 3), 20 * MS, 3).at("capacity", json!({}));
    second(second(case, 20 * MS, 60), 5 * MS, 2).at("capacity", json!({}))
}

fn few_calls() -> Case {
    let case =
        Case::new("windows with few calls last longer, and are given up after ten when no limit is needed");
    let few = |case: Case, times: u64, inflight: u32| {
        let fields =
            json!({"latency_us": 10 * MS, "inflight": inflight, "times": times, "every_us": 40 * MS});
        case.at("sample", fields).wait_us(times * 40 * MS)
    };
    let case = few(few(few(few(case, 31, 2), 1, 2), 31, 20), 1, 20);
    few(few(few(case, 40, 2), 40, 40), 40, 80).at("capacity", json!({}))
}

fn probe() -> Case {
    let case = settled("a baseline that is ten seconds old is probed at half the limit");
    let case = (0..9).fold(case, |case, _| second(case, 10_500, 400));
    let case = (0..3).fold(case, |case, _| second(case, 11_500, 400)).at("capacity", json!({}));
    // A baseline that is far off is replaced by what is measured in a probe.
    (0..12).fold(case, |case, _| second(case, 13 * MS, 400)).at("capacity", json!({}))
}

fn doubtful() -> Case {
    let case = settled("a limit that fell by half and is still too slow is probed after a second");
    let case = second(second(case, 10 * MS, 100), 10 * MS, 100);
    let case = (0..5).fold(case, |case, _| second(case, 60 * MS, 100));
    (0..3)
        .fold(case.at("capacity", json!({})), |case, _| second(case, 60 * MS, 100))
        .at("capacity", json!({}))
}

fn abandoned_probe() -> Case {
    let case = settled("a probe is given up when the callers have gone");
    let case = (0..9).fold(case, |case, _| second(case, 10_500, 100));
    let window = json!({"latency_us": 10_500, "inflight": 100, "times": 60, "every_us": MS});
    let few = json!({
        "latency_us": 10 * MS, "inflight": 1, "times": 14, "every_us": 100 * MS, "look_each": 1,
    });
    let case = case.at("sample", window).wait_us(200 * MS).at("sample", few).wait_us(1_400 * MS);
    second(case, 10 * MS, 100)
}

fn refused_entries() -> Case {
    let case = Case::new("a limit that refused a call was in use, however few calls are measured");
    let case = case.at("enter", json!({"times": 25}));
    let case = case.at("leave", json!({"work": "abandoned", "times": 20}));
    (0..40).fold(case, |case, _| {
        let case = case.at("enter", json!({})).wait_us(MS);
        case.at("leave", json!({"work": "done"}))
    })
}

fn floor() -> Case {
    let case = Case::new("below the latency that nobody minds the limit only grows");
    let case = second(second(case, 50, 20), 540, 10_000);
    second(second(second(case, 400, 10_000), 540, 10_000), 1_400, 10_000).at("capacity", json!({}))
}

fn bounds() -> Case {
    let case =
        Case::new("the lowest limit and the highest").config(json!({"initial": 2, "min": 3, "max": 50}));
    let case = second(second(case.at("enter", json!({"times": 5})), 10 * MS, 50), 500 * MS, 50);
    let case = (0..6).fold(case, |case, _| second(case, 500 * MS, 50));
    (0..4).fold(case, |case, _| second(case, 10 * MS, 50))
}

fn bounds_that_cross() -> Case {
    let case =
        Case::new("a highest limit below the lowest is the lowest").config(json!({"min": 30, "max": 5}));
    second(second(second(case, 10 * MS, 30), 50 * MS, 30), 10 * MS, 30)
}

fn samples_of_the_limit_before() -> Case {
    let case = Case::new("calls that began before a limit was set do not measure it");
    let case = second(case, 10 * MS, 20);
    let late = json!({"latency_us": 30 * SECOND, "inflight": 1_000, "times": 300, "every_us": MS});
    second(case.at("sample", late).wait_us(300 * MS), 10 * MS, 80)
}
