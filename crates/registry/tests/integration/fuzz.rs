//! Any text as a selector, any bytes as events and as slices of a checkpoint: taken or refused, and never a panic.
//!
//! With fixed seeds, from damaged whole ones. Accepted bytes must be the same when they are written
//! again.

use serde_json::json;
use stadium_registry::{Changes, Registry, Selector, Slot, Tag};

use crate::random;
use crate::registry_input;

use random::Random;
use registry_input::{restored, saved};

/// Damages bytes at none to three places.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes[at] = random.next() as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = bytes[at].wrapping_add(1),
            3 => bytes.insert(at, b"{}[]\":,0"[random.below(8)]),
            _ => drop(bytes.drain(at..(at + 1 + random.below(4)).min(bytes.len()))),
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
}

fn selectors() -> Vec<Selector> {
    [
        json!("all"),
        json!({"and": [{"tag": "a"}, {"tag": "b", "group": "g"}, {"not": {"list": "l"}}, {"named_user": "u"}]}),
        json!({"or": [{"device": "d"}, {"devices": ["d", "e"]}, {"platform": "ios"}, {"language": "de-AT"}, {"opted_in": true}]}),
        json!({"and": [{"attribute": "x", "at_least": 1.5, "less_than": 9}, {"attribute": "y", "before": "2000-01-01T00:00:00Z"}]}),
        json!({"or": [{"attribute": "x", "equals": "t"}, {"attribute": "x", "contains": "t"}, {"attribute": "x", "exists": true}, {"attribute": "x", "within_s": 5}]}),
        json!({"and": [{"app_version": {"at_least": "2.3", "less_than": "3"}}, {"country": "DE"}, {"time_zone": "Europe/Berlin"}]}),
        json!({"or": [{"last_seen": {"within_s": 5}}, {"registered": {"after": "2020-01-01T00:00:00Z"}}, {"location": {"latitude": 1.5, "longitude": 2, "radius_m": 30}}]}),
    ]
    .iter()
    .map(|json| Selector::parse(json).expect("a selector"))
    .collect()
}

fn all_changes() -> Vec<Changes> {
    let mut all: Vec<Changes> = [
        json!({}),
        json!({"platform": "ios", "app_version": "1.2", "language": "de", "country": "DE", "time_zone": "Europe/Berlin", "named_user": "u"}),
        json!({"opt_in": false, "revoked": true, "quiet_hours": {"from": "22:00", "to": "07:00"}, "location": {"latitude": 1, "longitude": 2}}),
        json!({"tags": {"set": ["a", "g:b"], "remove": ["c"], "add": ["list:l"]}, "attributes": {"x": 1, "y": "t", "z": {"date": "2000-01-01T00:00:00Z"}, "w": null, "v": 0.5}}),
        json!({"platform": null, "named_user": null, "location": null, "revoked": false, "opt_in": true}),
    ]
    .iter()
    .map(|json| Changes::parse(json).expect("changes"))
    .collect();
    all[2].credential = Some(Some([7; 32]));
    all
}

fn registry() -> Registry {
    registry_input::some_registry(&all_changes())
}

#[test]
fn any_text_is_a_selector_or_a_mistake() {
    let mut random = Random(1);
    let texts: Vec<String> = selectors().iter().map(|selector| selector.to_json().to_string()).collect();
    let registry = registry();
    let (mut taken, mut mistakes) = (0, 0);
    for _ in 0..20_000 {
        let mut bytes = texts[random.below(texts.len())].clone().into_bytes();
        damage(&mut random, &mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        match registry_input::selector_text(&registry, &text) {
            true => taken += 1,
            false => mistakes += 1,
        }
    }
    assert!(taken > 2_000 && mistakes > 2_000, "{taken} taken, {mistakes} mistakes: this tests nothing");
}

#[test]
fn any_bytes_are_events_or_refused() {
    let mut random = Random(2);
    let mut base = registry();
    let selectors: Vec<Vec<u8>> = selectors()
        .iter()
        .map(|selector| {
            let mut bytes = Vec::new();
            selector.encode(&mut bytes);
            bytes
        })
        .collect();
    let changes: Vec<Vec<u8>> = all_changes()
        .iter()
        .map(|changes| {
            let mut bytes = Vec::new();
            changes.encode(&mut bytes);
            bytes
        })
        .collect();
    let mut taken = [0, 0];
    for _ in 0..20_000 {
        let mut bytes = selectors[random.below(selectors.len())].clone();
        damage(&mut random, &mut bytes);
        taken[0] += usize::from(registry_input::selector_bytes(&base, &bytes));
        let mut bytes = changes[random.below(changes.len())].clone();
        damage(&mut random, &mut bytes);
        taken[1] += usize::from(registry_input::changes_bytes(&mut base, &bytes));
    }
    assert!(taken[0] > 4_000 && taken[1] > 4_000, "{taken:?}: this tests nothing");
    // The result is saved and restored.
    let back = restored(&saved(&mut base)).expect("our own checkpoint");
    for slot in base.devices() {
        assert_eq!(base.device(Slot(slot)), back.device(Slot(slot)));
    }
    let all: Vec<(Tag, u64)> = base.tags(None, usize::MAX);
    assert_eq!(all, back.tags(None, usize::MAX));
}

#[test]
fn any_slice_is_restored_or_refused() {
    let mut random = Random(3);
    let mut base = registry();
    let slices = saved(&mut base);
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..6_000 {
        let mut damaged = slices.clone();
        let at = random.below(slices.len());
        damage(&mut random, &mut damaged[at]);
        match registry_input::registry_slices(&damaged, &selectors()) {
            true => taken += 1,
            false => refused += 1,
        }
    }
    let first = [&[0], &slices[0][..]].concat();
    for _ in 0..1_000 {
        let mut damaged = first.clone();
        damage(&mut random, &mut damaged);
        registry_input::registry_checkpoint(&damaged);
    }
    assert!(taken > 500 && refused > 2_000, "{taken} taken, {refused} refused: this tests nothing");
}
