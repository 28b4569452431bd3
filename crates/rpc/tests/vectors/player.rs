//! Plays scripts against a [`Balancer`]: what discovery, connections and calls report, and where
//! calls go.
//!
//! The files of choices, subsets and ejection share these events; [`ABOUT`] describes them.

use std::collections::HashMap;

use serde_json::{Value, json};
use stadium_rpc::balance::{
    BalanceSettings, Balancer, Choice, ClientId, EjectionSettings, InstanceId, KeyHash, Known, Outcome,
    Policy,
};
use stadium_testing::vectors::{Case, Step};

use crate::scores;

/// How the events of these scripts are read.
pub const ABOUT: &[&str] = &[
    "Each step is an event of one balancer at at_us, microseconds of a monotonic clock. \
     docs/rpc-guards.md has the rules and the defaults of settings that `defaults` does not name. \
     `config` replaces defaults of its case. `client` is a name whose hash is the client's id; \
     without one the id is 0.",
    "update: discovery names all instances there are. Absent fields: load 0, zone empty, weight \
     100, version 1, quiescing false. The expectation counts those that were added, removed and \
     left out.",
    "connected, disconnected (worth another try from retry_at_us on), closed: the state of the \
     connections to `instances`.",
    "load: the connection to `instance` reported a load factor, and whether the instance \
     quiesces.",
    "began: a call to `instance` begins, and has the number `call`. ended: it ended latency_us \
     after it had begun. stream_ended: the same for a stream. A call keeps the id that its \
     instance had when it began. Outcomes: ok, busy (with retry_after_ms), rejected, deadline, \
     broken, cancelled.",
    "calls: as many calls (`times`) to `instance` as began and ended, one after the other. The \
     first begins at at_us, and each begins when the one before has ended.",
    "choose: the instance for a call with that key, if any, and without those of `exclude`; `why` \
     it is chosen, and whether it is connected; an instance of null: none may be chosen. With \
     `times` as many choices at one time, of which only the instances are given. Choices do not \
     begin calls.",
    "wanted: the instances of the subset in the order of their rank. state: the state of \
     `instance`, the first that holds of quiescing, lost, ejected, probation, busy, \
     outside-subset, not-connected and serving; for_us is how long it still is lost, ejected or \
     busy. inflight: its calls under way. ejections: how many there have been.",
];

/// Discovery names these, and each is connected.
pub fn fleet(case: Case, addresses: &[&str]) -> Case {
    let instances: Value = addresses.iter().map(|address| json!({"address": address})).collect();
    case.at("update", json!({"instances": instances})).at("connected", json!({"instances": addresses}))
}

/// Calls to an instance that end like this, one after the other; the clock goes with them.
pub fn calls(case: Case, instance: &str, outcome: &str, times: u64, latency_us: u64) -> Case {
    let fields = json!({"instance": instance, "outcome": outcome, "times": times, "latency_us": latency_us});
    case.at("calls", fields).wait_us(times * latency_us)
}

/// A call of a millisecond to an instance that answers BUSY.
pub fn busy(case: Case, instance: &str, retry_after_ms: u32) -> Case {
    let fields = json!({
        "instance": instance,
        "outcome": "busy",
        "retry_after_ms": retry_after_ms,
        "times": 1,
        "latency_us": MS,
    });
    case.at("calls", fields).wait_us(MS)
}

/// Where calls go now, for so many calls.
pub fn choices(case: Case, times: u64) -> Case {
    case.at("choose", json!({"times": times}))
}

/// The states of these instances now.
pub fn states(case: Case, instances: &[&str]) -> Case {
    instances.iter().fold(case, |case, instance| case.at("state", json!({"instance": instance})))
}

pub const MS: u64 = 1_000;
pub const SECOND: u64 = 1_000 * MS;

/// Plays a script.
pub fn play(config: Step<'_>, steps: &[Step<'_>]) -> Vec<Value> {
    let mut player = Player { balancer: Balancer::new(settings(config)), calls: HashMap::new() };
    steps.iter().map(|step| player.step(*step)).collect()
}

fn settings(config: Step<'_>) -> BalanceSettings {
    let defaults = BalanceSettings::default();
    let number = |key: &str, default: u64| config.number_or(key, default);
    BalanceSettings {
        policy: match config.text_if("policy") {
            Some("round-robin") => Policy::RoundRobin,
            _ => Policy::PeakEwma,
        },
        client: config.text_if("client").map_or(defaults.client, ClientId::of),
        zone: config.text_if("zone").unwrap_or_default().to_owned(),
        zone_instances_min: number("zone_instances_min", defaults.zone_instances_min as u64) as usize,
        subset_size: number("subset_size", defaults.subset_size as u64) as usize,
        decay_us: number("decay_us", defaults.decay_us),
        latency_default_us: number("latency_default_us", defaults.latency_default_us),
        busy_max_us: number("busy_max_us", defaults.busy_max_us),
        seed: number("seed", defaults.seed),
        ejection: ejection(config),
    }
}

fn ejection(config: Step<'_>) -> EjectionSettings {
    let defaults = EjectionSettings::default();
    let number = |key: &str, default: u64| config.number_or(key, default);
    let float = |key: &str, default: f64| config.0[key].as_f64().unwrap_or(default);
    EjectionSettings {
        failures: number("failures", u64::from(defaults.failures)) as u32,
        window_us: number("window_us", defaults.window_us),
        window_answers_min: number("window_answers_min", u64::from(defaults.window_answers_min)) as u32,
        success_gap: float("success_gap", defaults.success_gap),
        base_us: number("base_us", defaults.base_us),
        max_us: number("max_us", defaults.max_us),
        share_max: float("share_max", defaults.share_max),
        probes: number("probes", u64::from(defaults.probes)) as u8,
        forget_us: number("forget_us", defaults.forget_us),
    }
}

struct Player {
    balancer: Balancer,
    calls: HashMap<u64, InstanceId>,
}

impl Player {
    fn step(&mut self, step: Step<'_>) -> Value {
        match step.event() {
            "update" => return self.update(step),
            "choose" => return self.choose(step),
            "wanted" => {
                let wanted: Vec<_> = self.balancer.wanted().map(|id| self.address(id)).collect();
                return json!(wanted);
            }
            "state" => return self.state(step),
            "inflight" => return json!(self.balancer.inflight(self.id(step))),
            "ejections" => return json!(self.balancer.ejections()),
            "began" => {
                let id = self.id(step);
                self.calls.insert(step.number("call"), id);
                self.balancer.began(id, step.at_us());
            }
            "ended" | "stream_ended" => self.ended(step),
            "calls" => self.calls(step),
            "load" => {
                let id = self.id(step);
                self.balancer.load(id, step.float("load") as f32, step.is("quiescing"));
            }
            "connected" | "disconnected" | "closed" => self.relink(step),
            event => panic!("no such event: {event}"),
        }
        Value::Null
    }

    fn id(&self, step: Step<'_>) -> InstanceId {
        self.id_of(step.text("instance"))
    }

    fn id_of(&self, address: &str) -> InstanceId {
        self.balancer.find(address).unwrap_or_else(|| panic!("no instance {address}"))
    }

    fn address(&self, id: InstanceId) -> &str {
        self.balancer.address(id).expect("only known instances are named")
    }

    fn update(&mut self, step: Step<'_>) -> Value {
        let instances = step.list("instances");
        let known: Vec<Known<'_>> = instances.into_iter().map(known).collect();
        let updated = self.balancer.update(&known, step.at_us());
        json!({"added": updated.added, "removed": updated.removed, "left_out": updated.left_out})
    }

    fn relink(&mut self, step: Step<'_>) {
        for address in step.texts("instances") {
            let id = self.id_of(address);
            match step.event() {
                "connected" => self.balancer.connected(id),
                "disconnected" => self.balancer.disconnected(id, step.number("retry_at_us")),
                _ => self.balancer.closed(id),
            }
        }
    }

    fn ended(&mut self, step: Step<'_>) {
        let id = self.calls.remove(&step.number("call")).expect("a call that began");
        let (outcome, lasted_us) = (outcome(step), step.number("latency_us"));
        if step.event() == "ended" {
            self.balancer.ended(id, outcome, lasted_us, step.at_us());
        } else {
            self.balancer.stream_ended(id, outcome, lasted_us, step.at_us());
        }
    }

    fn calls(&mut self, step: Step<'_>) {
        let (id, latency_us) = (self.id(step), step.number("latency_us"));
        let mut now_us = step.at_us();
        for _ in 0..step.number("times") {
            self.balancer.began(id, now_us);
            now_us += latency_us;
            self.balancer.ended(id, outcome(step), latency_us, now_us);
        }
    }

    fn choose(&mut self, step: Step<'_>) -> Value {
        let exclude: Vec<InstanceId> = step.texts("exclude").into_iter().map(|one| self.id_of(one)).collect();
        let key = step.text_if("key").map(|key| KeyHash::of(key.as_bytes()));
        let choice = Choice { key, exclude: &exclude };
        let mut chosen = Vec::new();
        for _ in 0..step.number_or("times", 1) {
            let explained = self.balancer.explain(step.at_us(), choice);
            if let [a, b] = &explained.candidates[..] {
                scores::assert_apart(a.cost, b.cost);
            }
            let Some(one) = self.balancer.choose(step.at_us(), choice) else {
                return json!({"instance": null});
            };
            let address = self.address(one.id).to_owned();
            assert_eq!(explained.chosen.as_ref(), Some(&address), "the explanation is the choice");
            chosen.push(json!({"instance": address, "why": one.why, "connected": one.connected}));
        }
        if step.0.get("times").is_none() {
            return chosen.remove(0);
        }
        json!(chosen.iter().map(|one| one["instance"].clone()).collect::<Vec<_>>())
    }

    fn state(&self, step: Step<'_>) -> Value {
        let explained = self.balancer.explain(step.at_us(), Choice::default());
        let one = explained.instances.iter().find(|one| one.address == step.text("instance"));
        json!(one.expect("it is known").state)
    }
}

/// An instance as a step writes it.
pub fn known(one: Step<'_>) -> Known<'_> {
    Known {
        address: one.text("address"),
        load: one.0["load"].as_f64().unwrap_or(0.0) as f32,
        zone: one.text_if("zone").unwrap_or_default(),
        weight: one.number_or("weight", 100) as u32,
        version: "1",
        quiescing: one.is("quiescing"),
    }
}

fn outcome(step: Step<'_>) -> Outcome {
    match step.text("outcome") {
        "ok" => Outcome::Ok,
        "busy" => Outcome::Busy { retry_after_ms: step.small("retry_after_ms") },
        "rejected" => Outcome::Rejected,
        "deadline" => Outcome::Deadline,
        "broken" => Outcome::Broken,
        "cancelled" => Outcome::Cancelled,
        other => panic!("no such outcome: {other}"),
    }
}
