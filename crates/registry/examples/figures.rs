//! Bytes of memory for each device, and the time that audiences, registration and checkpoints take.
//!
//! `cargo run --release -p stadium-registry --example figures [DEVICES]` (2,000,000 by default;
//! audiences are asked of 1,000,000). Each device has a platform, a version, a language, a country,
//! a time zone, 5 tags of 2,000 (some of them rare, some on half of all devices) and 3 attributes:
//! a number, a date and a text. Memory is counted as bytes allocated and not freed.

use std::time::Instant;

use serde_json::json;
use stadium_registry::{Changes, DeviceId, Filter, Limits, Registry, Selector, Tag, Time, UserName, Value};

const NOW: Time = Time(1_800_000_000_000);

/// SplitMix64: the same devices on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }
}

fn parsed<T>(text: &str) -> T
where
    T: std::str::FromStr,
    T::Err: std::fmt::Debug,
{
    text.parse().expect("a word of this program")
}

fn id(n: u64) -> DeviceId {
    parsed(&format!("device-{n:010}"))
}

/// Tags by how many devices have them: 0 and 1 half of all, up to 9 a tenth, the others few.
fn tag(random: &mut Random, place: u64) -> Tag {
    let number = match place {
        0 => random.below(2),
        1 | 2 => 2 + random.below(8),
        _ => 10 + random.below(1_990),
    };
    parsed(&format!("tag-{number}"))
}

fn changes(random: &mut Random) -> Changes {
    let mut tags: Vec<Tag> = Vec::with_capacity(5);
    while tags.len() < 5 {
        let tag = tag(random, tags.len() as u64);
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    let name = |n: u64| Value::Text(format!("Name {n}").into());
    Changes {
        platform: Some(Some(parsed(random.of(&["ios", "android", "android", "web"])))),
        app_version: Some(Some(parsed(&format!("{}.{}", 1 + random.below(3), random.below(20))))),
        language: Some(Some(parsed(random.of(&["de", "de-AT", "en", "en-GB", "fr", "pl", "pt-BR"])))),
        country: Some(Some(parsed(random.of(&["DE", "AT", "GB", "FR", "PL", "BR"])))),
        time_zone: Some(Some(parsed(random.of(&["Europe/Berlin", "Europe/London", "America/Sao_Paulo"])))),
        tags_added: tags,
        attributes: vec![
            (parsed("score"), Some(Value::Number(random.below(1_000) as f64))),
            (parsed("joined"), Some(Value::Date((NOW.0 - random.below(100_000_000_000)) as i64))),
            (parsed("first_name"), Some(name(random.below(5_000)))),
        ],
        ..Changes::default()
    }
}

/// Milliseconds, the median of so many runs.
fn median(runs: usize, mut run: impl FnMut() -> u64) -> (f64, u64) {
    let mut found = 0;
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let begin = Instant::now();
            found = run();
            begin.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[runs / 2], found)
}

fn filled(devices: u64) -> Registry {
    let mut random = Random(1);
    let mut registry = Registry::new(Limits::default(), 1);
    for n in 0..devices {
        let changes = changes(&mut random);
        let slot = registry.apply(NOW, &id(n), &changes);
        registry.seen(slot, Time(NOW.0 - random.below(10_000_000_000)));
    }
    registry
}

fn memory(devices: u64) {
    let mut registry = None;
    let begin = Instant::now();
    let info = allocation_counter::measure(|| registry = Some(filled(devices)));
    let took = begin.elapsed().as_secs_f64();
    let mut registry = registry.expect("it was just filled");
    let each = |bytes: f64| bytes / devices as f64;
    println!("{devices} devices, 5 tags and 3 attributes each");
    println!(
        "  allocated  {:6.1} B a device, {:.0} MB; for 1 GB {:.1} million",
        each(info.bytes_current as f64),
        info.bytes_current as f64 / 1e6,
        1e3 / each(info.bytes_current as f64)
    );
    println!("  the registry's own count {:6.1} B a device", each(registry.bytes() as f64));
    println!("  registered in {:.2} µs each, making up the device included", took * 1e6 / devices as f64);

    let begin = Instant::now();
    let (mut slices, mut longest) = (Vec::new(), 0.0_f64);
    registry.checkpoint_begin();
    loop {
        let slice_begin = Instant::now();
        let mut slice = Vec::new();
        let more = registry.checkpoint_next(&mut slice, 64 << 10);
        longest = longest.max(slice_begin.elapsed().as_secs_f64() * 1e3);
        slices.push(slice);
        if !more {
            break;
        }
    }
    let bytes: usize = slices.iter().map(Vec::len).sum();
    println!(
        "  checkpoint {:.2} s, {} MB, longest slice of 64 KiB {longest:.2} ms",
        begin.elapsed().as_secs_f64(),
        bytes / 1_000_000
    );
    drop(registry);
    let begin = Instant::now();
    let mut restored = Registry::new(Limits::default(), 2);
    slices.iter().for_each(|slice| restored.restore(slice).expect("our own slice"));
    restored.restore_finish().expect("our own checkpoint");
    println!("  restore    {:.2} s", begin.elapsed().as_secs_f64());
    assert_eq!(restored.len() as u64, devices);
}

fn audiences(devices: u64) {
    let registry = filled(devices);
    println!("audiences of {devices} devices, median of 21");
    let asked = [
        (
            "and/or/not over 5 tags",
            json!({"and": [
                {"tag": "tag-0"}, {"or": [{"tag": "tag-2"}, {"tag": "tag-3"}, {"tag": "tag-4"}]}, {"not": {"tag": "tag-5"}}
            ]}),
        ),
        (
            "the same over 5 rare tags",
            json!({"or": [
                {"and": [{"tag": "tag-10"}, {"not": {"tag": "tag-11"}}]},
                {"and": [{"tag": "tag-12"}, {"tag": "tag-13"}]}, {"tag": "tag-14"}
            ]}),
        ),
        (
            "platform, language, version range",
            json!({"and": [
                {"platform": "ios"}, {"language": "de"}, {"app_version": {"at_least": "2.3", "less_than": "3"}}
            ]}),
        ),
        ("a number above another", json!({"attribute": "score", "greater_than": 500})),
        ("a date in a range", json!({"attribute": "joined", "after": "2026-01-01T00:00:00Z"})),
        ("a text that is equal", json!({"attribute": "first_name", "equals": "Name 77"})),
        ("a text that contains", json!({"attribute": "first_name", "contains": "77"})),
        ("last seen within 30 days", json!({"last_seen": {"within_s": 2_592_000}})),
        (
            "a rare tag and a number",
            json!({"and": [{"tag": "tag-10"}, {"attribute": "score", "less_than": 500}]}),
        ),
    ];
    for (what, json) in asked {
        let selector = Selector::parse(&json).expect("a selector");
        let (count, found) = median(21, || registry.count(&selector, NOW));
        let (evaluate, evaluated) = median(21, || registry.evaluate(&selector, NOW).len());
        assert_eq!(found, evaluated);
        println!("  {what:34} count {count:7.3} ms, devices {evaluate:7.3} ms, {found} of them");
    }
    let selector =
        Selector::parse(&json!({"and": [{"tag": "tag-0"}, {"attribute": "score", "greater_than": 500}]}))
            .expect("a selector");
    let (clauses, _) = median(21, || registry.clauses(&selector, NOW).len() as u64);
    println!("  {:34} {clauses:7.3} ms", "what each of two clauses keeps out");
    let filter = Filter { prefix: "device-0".into(), ..Filter::default() };
    let (page, _) = median(21, || registry.list(&filter, Some(&id(devices / 2)), 100).len() as u64);
    println!("  {:34} {page:7.3} ms", "a page of 100 devices");
    let user: UserName = parsed("nobody");
    let (missing, _) = median(21, || registry.devices_of(&user).len());
    println!("  {:34} {missing:7.3} ms", "devices of a user");
}

fn main() {
    let devices: u64 =
        std::env::args().nth(1).map_or(2_000_000, |text| text.parse().expect("a number of devices"));
    memory(devices);
    audiences(1_000_000.min(devices));
}
