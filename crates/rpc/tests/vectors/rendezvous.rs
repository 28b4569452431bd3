//! `rendezvous.json`: the hashes of keys, and the order in which a key prefers the instances.
//!
//! The order comes from the balancer, by excluding one owner after the other, and must be that of
//! [`crate::scores`].

use serde_json::{Value, json};
use stadium_rpc::balance::{BalanceSettings, Balancer, Choice, ClientId, InstanceId, KeyHash, Known};
use stadium_testing::vectors::{Case, Step, VectorFile, hex_of};

use crate::{player, scores};

pub fn file() -> VectorFile {
    VectorFile {
        name: "rendezvous.json",
        about: ABOUT,
        defaults: json!({}),
        cases: vec![hashes(), equal_weights(), weights(), membership(), edges()],
        play,
        command: crate::COMMAND,
    }
}

const ABOUT: &[&str] = &[
    "Hashes of keys and clients, and the order in which a key prefers instances. \
     docs/rpc-guards.md has the formulas. Hashes are hexadecimal numbers of 64 bits.",
    "hash: fnv1a is the FNV-1a hash of the bytes, hash is the output of splitmix64 for it. \
     partition is hash / 2^48. The id of a client is the hash of its name.",
    "instances: the instances there are, with their addresses and weights (100 where absent). \
     All are reachable and none is ejected.",
    "order: the first `top` instances in the key's order (all where absent). The first one owns \
     the key; each next one gets it while those before are away.",
];

fn play<'a>(_config: Step<'_>, steps: &[Step<'a>]) -> Vec<Value> {
    let mut balancer = Balancer::new(BalanceSettings::default());
    let mut instances = Vec::new();
    let mut answer = |step: &Step<'a>| match step.event() {
        "hash" => hash(&step.bytes("bytes_hex")),
        "instances" => {
            instances = step.list("instances");
            let known: Vec<Known<'_>> = instances.iter().copied().map(player::known).collect();
            balancer.update(&known, 0);
            Value::Null
        }
        "order" => order(&mut balancer, &instances, *step),
        event => panic!("no such event: {event}"),
    };
    steps.iter().map(&mut answer).collect()
}

fn hash(bytes: &[u8]) -> Value {
    let (fnv, key) = (scores::fnv(bytes), KeyHash::of(bytes));
    assert_eq!(scores::scramble(fnv), key.0, "the page states the crate's hash");
    if let Ok(name) = std::str::from_utf8(bytes) {
        assert_eq!(ClientId::of(name).0, key.0, "a client's id is the hash of its name");
    }
    json!({"fnv1a": format!("{fnv:016x}"), "hash": format!("{:016x}", key.0), "partition": key.partition()})
}

fn order(balancer: &mut Balancer, instances: &[Step<'_>], step: Step<'_>) -> Value {
    let key = KeyHash::of(&step.bytes("key_hex"));
    let mut exclude: Vec<InstanceId> = Vec::new();
    let mut order = Vec::new();
    while let Some(chosen) = balancer.choose(0, Choice { key: Some(key), exclude: &exclude }) {
        order.push(balancer.address(chosen.id).expect("it is known").to_owned());
        exclude.push(chosen.id);
    }
    let serving = instances.iter().map(|one| (one.text("address"), one.number_or("weight", 100)));
    let serving: Vec<(&str, u64)> = serving.filter(|(_, weight)| *weight > 0).collect();
    assert_eq!(order, scores::order(key.partition() as u64, &serving), "the page states the crate's order");
    order.truncate(step.number_or("top", u64::MAX) as usize);
    json!(order)
}

fn hashes() -> Case {
    let every_byte: Vec<u8> = (0..=255).collect();
    let long = b"0123456789abcdef".repeat(64);
    let texts: [&[u8]; 10] = [
        b"",
        b"a",
        b"foobar",
        b"device-17",
        b"10.0.0.1:7800",
        "Zoë ☂".as_bytes(),
        &[0],
        &[0xff],
        &every_byte,
        &long,
    ];
    let case = Case::new("hashes of bytes; foobar is of the draft of FNV, appendix C");
    case.each(texts, |case, bytes| case.entry("hash", json!({"bytes_hex": hex_of(bytes)})))
}

fn named(count: usize) -> Value {
    (1..=count).map(|n| json!({"address": format!("10.0.0.{n}:7800")})).collect()
}

fn keys(case: Case, from: u32, count: u32, top: Option<u64>) -> Case {
    case.each(from..from + count, |case, n| {
        let mut fields = json!({"key_hex": hex_of(format!("device-{n}").as_bytes())});
        if let Some(top) = top {
            fields["top"] = json!(top);
        }
        case.entry("order", fields)
    })
}

fn equal_weights() -> Case {
    let case = Case::new("ten instances of equal weight").entry("instances", json!({"instances": named(10)}));
    keys(case, 0, 40, Some(3))
}

fn weights() -> Case {
    let weights = [1, 50, 100, 200, 1_000, u32::MAX];
    let instances = weights
        .iter()
        .zip(1..)
        .map(|(weight, n)| json!({"address": format!("10.0.1.{n}:7800"), "weight": weight}));
    let case = Case::new("weights from 1 to the largest");
    let case = case.entry("instances", json!({"instances": instances.collect::<Value>()}));
    let case = keys(case, 0, 20, None);
    let usual = [25, 50, 100, 100, 200]
        .iter()
        .zip(1..)
        .map(|(weight, n)| json!({"address": format!("[2001:db8::{n}]:7800"), "weight": weight}));
    keys(case.entry("instances", json!({"instances": usual.collect::<Value>()})), 0, 30, Some(2))
}

fn membership() -> Case {
    let case = Case::new("an instance that leaves moves its own keys only, and gets them back");
    let case = keys(case.entry("instances", json!({"instances": named(5)})), 100, 12, Some(1));
    let mut without = named(5);
    without.as_array_mut().expect("a list").remove(2);
    let case = keys(case.entry("instances", json!({"instances": without})), 100, 12, Some(1));
    let case = keys(case.entry("instances", json!({"instances": named(6)})), 100, 12, Some(1));
    keys(case.entry("instances", json!({"instances": named(5)})), 100, 12, Some(1))
}

fn edges() -> Case {
    let one = json!([{"address": "10.0.0.1:7800"}]);
    let weightless = json!([{"address": "10.0.0.1:7800", "weight": 0}, {"address": "10.0.0.2:7800"}]);
    let none_serves = json!([{"address": "10.0.0.1:7800", "weight": 0}]);
    let case = Case::new("no instance, one, one without weight, and an empty key");
    [json!([]), one, weightless, none_serves].into_iter().fold(case, |case, instances| {
        let case = case.entry("instances", json!({"instances": instances}));
        keys(case, 0, 2, None).entry("order", json!({"key_hex": ""}))
    })
}
