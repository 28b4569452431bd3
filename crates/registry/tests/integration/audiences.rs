//! The registry beside a map of devices that is looked through one by one: devices, audiences, reasons, checkpoints.
//!
//! Random changes, removals and selectors; and some thousand devices, with which columns become dense.

use crate::model;

use std::collections::BTreeMap;

use model::{Devices, NOW, apply, changes, ids, is_meant, seen, selectors};
use proptest::prelude::*;
use stadium_registry::{
    Changes, DeviceId, Filter, Limits, Registry, RoaringBitmap, Selector, Slot, Tag, Time, Value,
};

#[derive(Debug, Clone)]
enum Step {
    Apply(DeviceId, Box<Changes>),
    Remove(DeviceId),
    Seen(DeviceId, u64),
    Begin,
    Abort,
    Slice(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (ids(), changes()).prop_map(|(id, changes)| Step::Apply(id, Box::new(changes))),
        3 => ids().prop_map(Step::Remove),
        3 => (ids(), 0..20_u64).prop_map(|(id, ago)| Step::Seen(id, ago)),
        1 => Just(Step::Begin),
        1 => (0..8_u8).prop_filter_map("rarely", |n| (n == 0).then_some(Step::Abort)),
        2 => (0..400_usize).prop_map(Step::Slice),
    ]
}

/// What the map was when a checkpoint began, and its slices so far.
type Begun = (Devices, BTreeMap<DeviceId, Slot>, Vec<Vec<u8>>);

/// The registry, the map beside it, and the checkpoint that runs.
struct Pair {
    registry: Registry,
    devices: Devices,
    slots: BTreeMap<DeviceId, Slot>,
    begun: Option<Begun>,
    whole: usize,
    at: u64,
}

impl Pair {
    fn new() -> Self {
        Pair {
            registry: Registry::new(Limits::default(), 1),
            devices: Devices::new(),
            slots: BTreeMap::new(),
            begun: None,
            whole: 0,
            at: NOW.0 - 20_000,
        }
    }

    fn take(&mut self, step: &Step) {
        self.at += 170;
        match step {
            Step::Apply(id, changes) => {
                self.registry.check(id, changes).expect("within the bounds");
                let mut bytes = Vec::new();
                changes.encode(&mut bytes);
                let mut reader = stadium_state_machine::encoding::Reader::new(&bytes);
                let decoded = Changes::decode(&mut reader).expect("our own bytes");
                assert!(reader.is_empty() && decoded == **changes);
                let slot = self.registry.apply(Time(self.at), id, &decoded);
                let lowest = (0..).map(Slot).find(|slot| !self.slots.values().any(|other| other == slot));
                let expected = self.slots.get(id).copied().or(lowest);
                assert_eq!(
                    Some(slot),
                    expected,
                    "a device stays where it is, a new one gets the lowest slot"
                );
                self.slots.insert(id.clone(), slot);
                apply(&mut self.devices, Time(self.at), id, changes);
            }
            Step::Remove(id) => {
                assert_eq!(self.registry.remove(id), self.slots.remove(id));
                self.devices.remove(id);
            }
            Step::Seen(id, ago) => {
                let at = Time(NOW.0 - ago * 1_000);
                if let Some(slot) = self.registry.find(id) {
                    self.registry.seen(slot, at);
                }
                seen(&mut self.devices, id, at);
            }
            Step::Begin => {
                self.registry.checkpoint_begin();
                self.begun = Some((self.devices.clone(), self.slots.clone(), Vec::new()));
            }
            Step::Abort => {
                self.registry.checkpoint_abort();
                self.begun = None;
            }
            Step::Slice(bytes_max) => drop(self.slice(*bytes_max)),
        }
    }

    fn slice(&mut self, bytes_max: usize) -> bool {
        let mut out = Vec::new();
        let more = self.registry.checkpoint_next(&mut out, bytes_max);
        let Some((devices, slots, mut slices)) = self.begun.take() else {
            assert!(!more && out.is_empty(), "no checkpoint runs");
            return false;
        };
        slices.push(out);
        if more {
            self.begun = Some((devices, slots, slices));
            return true;
        }
        compare(&restored(&slices), &devices, &slots);
        self.whole += 1;
        false
    }
}

fn restored(slices: &[Vec<u8>]) -> Registry {
    let mut registry = Registry::new(Limits::default(), 7);
    slices.iter().for_each(|slice| registry.restore(slice).expect("our own slice"));
    registry.restore_finish().expect("our own checkpoint");
    registry
}

fn compare(registry: &Registry, devices: &Devices, slots: &BTreeMap<DeviceId, Slot>) {
    assert_eq!(registry.len(), devices.len());
    for (id, device) in devices {
        let slot = registry.find(id).expect("it is there");
        assert_eq!(slots.get(id), Some(&slot));
        assert_eq!(registry.device(slot).as_ref(), Some(device));
        assert_eq!(registry.id(slot), Some(id.as_str()));
        let text = |name: &Option<_>| name.clone().unwrap_or_default();
        assert_eq!(registry.platform(slot), text(&device.platform.as_ref().map(ToString::to_string)));
        assert_eq!(registry.language(slot), text(&device.language.as_ref().map(ToString::to_string)));
        assert_eq!(registry.user(slot), text(&device.user.as_ref().map(ToString::to_string)));
        for (name, value) in &device.attributes {
            assert_eq!(registry.value(slot, name.as_str()), Some(value.as_text()));
        }
        assert_eq!(registry.credential_fits(slot, &[7; 32]), device.credential.map(|hash| hash == [7; 32]));
    }
    let those = |is: &dyn Fn(&stadium_registry::Device) -> bool| -> RoaringBitmap {
        devices.iter().filter(|(_, device)| is(device)).map(|(id, _)| slots[id].0).collect()
    };
    assert_eq!(*registry.devices(), those(&|_| true));
    assert_eq!(*registry.opted_in(), those(&|device| device.opt_in));
    assert_eq!(*registry.revoked(), those(&|device| device.revoked));
    assert_eq!(registry.without_time_zone(), those(&|device| device.time_zone.is_none()));
    for (zone, zoned) in registry.time_zones() {
        assert!(!zoned.is_empty());
        assert_eq!(
            *zoned,
            those(&|device| device.time_zone.as_ref().is_some_and(|name| name.as_str() == zone))
        );
    }
    // Each tag that somebody has, and no other.
    let mut tags: BTreeMap<&Tag, u64> = BTreeMap::new();
    devices.values().flat_map(|device| &device.tags).for_each(|tag| *tags.entry(tag).or_default() += 1);
    let listed = registry.tags(None, 100);
    assert!(listed.iter().map(|(tag, count)| (tag, *count)).eq(tags));
    let pages: Vec<DeviceId> = pages(registry, &Filter::default(), 5);
    assert!(pages.iter().eq(devices.keys()));
}

fn pages(registry: &Registry, filter: &Filter, at_most: usize) -> Vec<DeviceId> {
    let mut all: Vec<DeviceId> = Vec::new();
    loop {
        let page = registry.list(filter, all.last(), at_most);
        let is_last = page.len() < at_most;
        all.extend(page.into_iter().map(|device| device.id));
        if is_last {
            return all;
        }
    }
}

/// Everything that a registry reports about an audience, compared with a check of each device.
fn ask(registry: &Registry, devices: &Devices, selector: &Selector) {
    let mut expected = RoaringBitmap::new();
    for (id, device) in devices {
        let slot = registry.find(id).expect("it is there");
        let is_meant = is_meant(device, selector, NOW);
        if is_meant {
            expected.insert(slot.0);
        }
        assert_eq!(registry.matches(selector, slot, NOW), is_meant, "{id}: {selector}");
        let excluded = registry.explain(selector, slot, NOW);
        assert_eq!(excluded.is_none(), is_meant, "{id}: {selector}: {excluded:?}");
    }
    assert_eq!(registry.evaluate(selector, NOW), expected, "{selector}");
    assert_eq!(registry.count(selector, NOW), expected.len(), "{selector}");
    let clauses = registry.clauses(selector, NOW);
    assert_eq!(clauses[0].matches, expected.len());
    let kept_out: u64 = clauses.iter().map(|clause| clause.keeps_out).sum();
    assert_eq!(kept_out + expected.len(), devices.len() as u64, "{selector}: {clauses:?}");
    for clause in &clauses {
        let explained = devices
            .keys()
            .filter_map(|id| registry.explain(selector, registry.find(id)?, NOW))
            .filter(|excluded| excluded.path == clause.path && excluded.clause == clause.clause);
        assert_eq!(explained.count() as u64, clause.keeps_out, "{selector}: {clause:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_registry_is_what_a_map_of_devices_is(
        steps in prop::collection::vec(step(), 1..60),
        asked in prop::collection::vec(selectors(), 8),
    ) {
        let mut pair = Pair::new();
        steps.iter().for_each(|step| pair.take(step));
        compare(&pair.registry, &pair.devices, &pair.slots);
        asked.iter().for_each(|selector| ask(&pair.registry, &pair.devices, selector));
        // A checkpoint of now, and one that began before, restored: the same answers, and the same slots from then on.
        while pair.begun.is_some() {
            pair.slice(100);
        }
        pair.take(&Step::Begin);
        let (devices, slots, mut slices) = pair.begun.take().expect("it has just begun");
        loop {
            let mut out = Vec::new();
            let more = pair.registry.checkpoint_next(&mut out, 300);
            slices.push(out);
            if !more {
                break;
            }
        }
        pair.registry = restored(&slices);
        compare(&pair.registry, &devices, &slots);
        asked.iter().for_each(|selector| ask(&pair.registry, &pair.devices, selector));
        steps.iter().for_each(|step| pair.take(step));
        compare(&pair.registry, &pair.devices, &pair.slots);
    }

    #[test]
    fn a_selector_is_the_same_as_json_and_as_bytes(selector in selectors()) {
        let json = selector.to_json();
        prop_assert_eq!(Selector::parse(&json).map_err(|mistake| format!("{mistake}: {json}")), Ok(selector.clone()));
        prop_assert_eq!(&serde_json::from_value::<Selector>(json).expect("the same"), &selector);
        let mut bytes = vec![1];
        selector.encode(&mut bytes);
        let mut reader = stadium_state_machine::encoding::Reader::new(&bytes[1..]);
        prop_assert_eq!(Selector::decode(&mut reader).expect("our own bytes"), selector);
        prop_assert!(reader.is_empty());
    }

    #[test]
    fn changes_are_the_same_as_json(changes in changes()) {
        let mut seen = Vec::new();
        // JSON has an attribute once, in the order of names.
        let mut changes = Changes { credential: None, ..changes };
        changes.attributes.retain(|(name, _)| {
            let is_new = !seen.contains(name);
            seen.push(name.clone());
            is_new
        });
        changes.attributes.sort_by(|(one, _), (other, _)| one.cmp(other));
        let json = changes.to_json();
        let mut parsed = Changes::parse(&json).expect("our own JSON");
        parsed.attributes.sort_by(|(one, _), (other, _)| one.cmp(other));
        prop_assert_eq!(parsed, changes);
    }
}

/// SplitMix64: small, and the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end
    }
}

fn random_changes(random: &mut Random) -> Changes {
    let mut changes = Changes::default();
    let tag = |n: u64| Tag::new("", &format!("t{n}")).expect("a tag");
    changes.tags_set = Some((0..4).map(|_| tag(random.below(12))).collect());
    // Nearly all have a score, a fifth a date of birth, few a nickname.
    let attribute = |name: &str, value| (name.parse().expect("a name"), value);
    let score = (random.below(50) > 0).then(|| Value::Number(random.below(100) as f64));
    changes.attributes.push(attribute("score", score));
    let born = (random.below(5) == 0).then(|| Value::Date(random.below(1 << 40) as i64 - (1 << 39)));
    changes.attributes.push(attribute("born", born));
    let nickname = (random.below(60) == 0).then(|| Value::Text(format!("n{}", random.below(4)).into()));
    changes.attributes.push(attribute("nickname", nickname));
    changes.platform = Some(Some(["ios", "android"][random.below(2) as usize].parse().expect("a platform")));
    changes
}

#[test]
fn thousands_of_devices_have_the_same_audiences() {
    let mut random = Random(0x5265_6769_7374_6572);
    let mut pair = Pair::new();
    let id = |n: u64| DeviceId::new(&format!("device-{n}")).expect("an id");
    let apply_to = |pair: &mut Pair, n: u64, changes: &Changes| {
        let slot = pair.registry.apply(Time(pair.at), &id(n), changes);
        pair.slots.insert(id(n), slot);
        apply(&mut pair.devices, Time(pair.at), &id(n), changes);
    };
    for n in 0..9_000 {
        apply_to(&mut pair, n, &random_changes(&mut random));
    }
    let text = |json: serde_json::Value| Selector::parse(&json).expect("a selector");
    let asked = [
        serde_json::json!({"attribute": "score", "at_least": 10, "less_than": 90}),
        serde_json::json!({"attribute": "score", "exists": false}),
        serde_json::json!({"attribute": "born", "before": "1970-01-01T00:00:00Z"}),
        serde_json::json!({"attribute": "nickname", "equals": "n1"}),
        serde_json::json!({"attribute": "nickname", "contains": "3"}),
        serde_json::json!({"and": [{"tag": "t1"}, {"or": [{"tag": "t2"}, {"tag": "t3"}]}, {"not": {"tag": "t4"}}, {"not": {"tag": "t5"}}]}),
        serde_json::json!({"and": [{"attribute": "nickname", "exists": true}, {"attribute": "score", "greater_than": 50}, {"tag": "t1"}, {"tag": "t2"}]}),
        serde_json::json!({"or": [{"platform": "ios"}, {"tag": "t6"}]}),
    ]
    .map(text);
    let compare_all = |pair: &Pair| {
        for selector in &asked {
            let expected: RoaringBitmap = pair
                .devices
                .iter()
                .filter(|(_, device)| is_meant(device, selector, NOW))
                .map(|(id, _)| pair.slots[id].0)
                .collect();
            let is_full = pair.devices.len() == 9_000;
            assert!(expected.len() > 1 || !is_full, "{selector} means nearly nobody: this tests nothing");
            assert_eq!(pair.registry.evaluate(selector, NOW), expected, "{selector}");
            assert_eq!(pair.registry.count(selector, NOW), expected.len(), "{selector}");
            let holding = pair
                .registry
                .devices()
                .iter()
                .filter(|&slot| pair.registry.matches(selector, Slot(slot), NOW));
            assert!(holding.eq(expected.iter()), "{selector}");
        }
        let filter = Filter {
            prefix: "device-12".into(),
            tag: Some("t1".parse().expect("a tag")),
            ..Filter::default()
        };
        let tagged =
            |device: &stadium_registry::Device| device.tags.iter().any(|tag| tag.name.as_str() == "t1");
        let expected = pair
            .devices
            .values()
            .filter(|device| device.id.as_str().starts_with("device-12") && tagged(device));
        assert!(pages(&pair.registry, &filter, 7).iter().eq(expected.map(|device| &device.id)));
    };
    compare_all(&pair);
    // Most go: columns become sparse again, and slots are used again.
    for n in (0..9_000).filter(|n| n % 8 != 3) {
        pair.take(&Step::Remove(id(n)));
    }
    compare_all(&pair);
    for n in 8_000..9_500 {
        apply_to(&mut pair, n, &random_changes(&mut random));
    }
    compare_all(&pair);
    pair.take(&Step::Begin);
    while pair.slice(64 << 10) {}
    assert_eq!(pair.whole, 1);
    compare(&pair.registry, &pair.devices, &pair.slots);
}

#[test]
fn the_reported_memory_is_what_the_allocator_gave() {
    let mut random = Random(3);
    let mut registry = None;
    let changes: Vec<Changes> = (0..1_000).map(|_| random_changes(&mut random)).collect();
    let info = allocation_counter::measure(|| {
        let mut filled = Registry::new(Limits::default(), 1);
        for n in 0..40_000 {
            let id = DeviceId::new(&format!("device-{n:010}")).expect("an id");
            filled.apply(NOW, &id, &changes[n % changes.len()]);
        }
        registry = Some(filled);
    });
    let registry = registry.expect("it was just filled");
    let (reported, given) = (registry.bytes() as f64, info.bytes_current as f64);
    assert!((reported / given - 1.0).abs() < 0.1, "{reported} reported, {given} given");
    assert!(given / 40_000.0 < 200.0, "{} bytes a device", given / 40_000.0);
}
