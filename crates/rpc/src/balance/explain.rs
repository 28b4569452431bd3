//! Why a call would go where it goes: every instance, the candidates, the choice and its reason.
//!
//! `stadium service call --explain` prints it. It is computed from the same draw as the choice itself and
//! changes nothing, so that the next [`Balancer::choose`] with the same arguments makes exactly this choice.

use std::fmt;

use super::{
    balancer::Balancer,
    choose::{Choice, Keyed, Ready, Why},
    ejection::Standing,
    instance::{Instance, Link},
    settings::Policy,
};

/// Everything that stood behind one choice.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Explanation {
    /// How instances are found.
    pub policy: Policy,
    /// All instances that were known.
    pub instances: Vec<Explained>,
    /// The two that were drawn; empty where nothing was drawn by lot.
    pub candidates: Vec<Candidate>,
    /// The address of the instance that was chosen.
    pub chosen: Option<String>,
    /// Why, in a word.
    pub reason: Option<Why>,
    /// Why, in a sentence.
    pub why: String,
}

/// An instance that was known.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Explained {
    /// `HOST:PORT`.
    pub address: String,
    /// Where it stands.
    pub zone: String,
    /// The version of the service it runs.
    pub version: String,
    /// Its share of the calls beside the others'.
    pub weight: u32,
    /// Its load factor as last heard.
    pub load: f32,
    /// What its answers have lately taken, in microseconds; nothing before the first.
    pub latency_us: Option<f64>,
    /// Calls of this client under way there.
    pub inflight: u32,
    /// What kept it from being chosen, if anything did.
    pub state: State,
}

/// How an instance stood. Times are microseconds from the time of the choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum State {
    /// It gets calls.
    Serving,
    /// It failed too often, and gets none for that long.
    Ejected {
        /// How long still.
        for_us: u64,
    },
    /// It gets one call at a time until it has proved itself.
    Probation,
    /// It is leaving, or has no weight.
    Quiescing,
    /// It answered BUSY, and is left alone for that long.
    Busy {
        /// How long still.
        for_us: u64,
    },
    /// No connection is up, and one may be tried.
    NotConnected,
    /// The connection broke or failed, and is not tried again before that.
    Lost {
        /// How long still.
        for_us: u64,
    },
    /// Other instances are this client's, and this one is only for keys.
    OutsideSubset,
}

/// An instance that was drawn, and what a call there would cost.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Candidate {
    /// `HOST:PORT`.
    pub address: String,
    /// Microseconds of expected latency, times calls under way, load and weight.
    pub cost: f64,
}

impl Balancer {
    /// What [`Balancer::choose`] would do now, and why. Allocates: not for every call.
    pub fn explain(&self, now_us: u64, choice: Choice<'_>) -> Explanation {
        let (mut ready, mut keyed, mut random) = (Ready::default(), Keyed::default(), self.random);
        // What `choose` has prepared is what it would use; what it would prepare anew is prepared here.
        let ready = if now_us < self.ready.fresh_until_us {
            &self.ready
        } else {
            self.prepare(&mut ready, now_us);
            &ready
        };
        let keyed = if now_us < self.keyed.fresh_until_us {
            &self.keyed
        } else {
            self.prepare_keyed(&mut keyed, now_us);
            &keyed
        };
        let draw = self.draw(ready, keyed, now_us, choice, &mut random);

        let address = |slot: u16| {
            let instance = self.slots[usize::from(slot)].instance.as_ref();
            instance.map_or_else(String::new, |instance| instance.address.to_string())
        };
        let candidates: Vec<Candidate> = draw
            .iter()
            .flat_map(|draw| draw.candidates.into_iter().flatten())
            .map(|slot| Candidate { address: address(slot), cost: self.cost(ready, slot, now_us) })
            .collect();
        let chosen = draw.map(|draw| address(draw.slot));
        let why = match (&draw, &chosen) {
            (Some(draw), Some(chosen)) => self.sentence(draw.why, chosen, &candidates, now_us, choice),
            _ if self.is_empty() => "no instance is known".into(),
            _ => "every known instance is excluded, quiescing or not to be reached".into(),
        };
        let instances = self.slots.iter().filter_map(|place| place.instance.as_ref());
        Explanation {
            policy: self.settings.policy,
            instances: instances.map(|one| self.describe(one, now_us)).collect(),
            candidates,
            reason: draw.map(|draw| draw.why),
            chosen,
            why,
        }
    }

    fn describe(&self, instance: &Instance, now_us: u64) -> Explained {
        Explained {
            address: instance.address.to_string(),
            zone: instance.zone.to_string(),
            version: instance.version.to_string(),
            weight: instance.weight,
            load: instance.load,
            latency_us: instance.latency.at(now_us, self.settings.decay_us),
            inflight: instance.inflight,
            state: State::of(instance, now_us),
        }
    }

    fn sentence(
        &self,
        why: Why,
        chosen: &str,
        candidates: &[Candidate],
        now_us: u64,
        choice: Choice<'_>,
    ) -> String {
        let versus = match candidates {
            [a, b] => {
                let (taken, other) = if a.address == chosen { (a, b) } else { (b, a) };
                format!(" (cost {:.0} against {:.0} at {})", taken.cost, other.cost, other.address)
            }
            _ => String::new(),
        };
        match why {
            Why::LowerCost => format!("{chosen} costs less than the other one drawn{versus}"),
            Why::OnlyOne => format!("{chosen} is the only instance that may be chosen"),
            Why::Key => self.sentence_of_key(chosen, now_us, choice),
            Why::Probe => format!("{chosen} is on probation, and this call is its probe"),
            Why::RoundRobin => format!("it is {chosen}'s turn"),
            Why::NotConnected => format!("nothing is connected, and {chosen} is worth a try{versus}"),
            Why::AllBusy => format!("all have answered BUSY, and {chosen} is the least bad{versus}"),
            Why::OutsideSubset => format!("none of the subset is left, so {chosen} steps in{versus}"),
            Why::Panic => format!("all instances are ejected, so none is: {chosen} it is{versus}"),
        }
    }

    fn sentence_of_key(&self, chosen: &str, now_us: u64, choice: Choice<'_>) -> String {
        let Some(key) = choice.key else { return String::new() };
        let instances = self.slots.iter().filter_map(|place| place.instance.as_ref());
        let partition = key.partition() as u64;
        let owner = instances.min_by(|a, b| a.node.score(partition).total_cmp(&b.node.score(partition)));
        match owner {
            Some(owner) if *owner.address != *chosen => format!(
                "the key belongs to {}, which is {}; {chosen} is next in its order",
                owner.address,
                if choice.exclude.iter().any(|&id| self.address(id) == Some(&owner.address)) {
                    "excluded".into()
                } else {
                    State::of(owner, now_us).to_string()
                }
            ),
            _ => format!("the key belongs to {chosen}"),
        }
    }
}

impl State {
    fn of(instance: &Instance, now_us: u64) -> Self {
        match (instance.health.standing(now_us), instance.link) {
            _ if instance.quiescing() => Self::Quiescing,
            (_, Link::Lost { retry_at_us }) => Self::Lost { for_us: retry_at_us.saturating_sub(now_us) },
            (Standing::Ejected { until_us }, _) => Self::Ejected { for_us: until_us.saturating_sub(now_us) },
            (Standing::Probation { .. }, _) => Self::Probation,
            _ if now_us < instance.busy_until_us => Self::Busy { for_us: instance.busy_until_us - now_us },
            _ if !instance.in_subset => Self::OutsideSubset,
            (_, Link::Idle) => Self::NotConnected,
            (_, Link::Connected) => Self::Serving,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |us: &u64| us.div_ceil(1_000);
        match self {
            Self::Serving => f.pad("serving"),
            Self::Ejected { for_us } => f.pad(&format!("ejected for {} ms", ms(for_us))),
            Self::Probation => f.pad("on probation"),
            Self::Quiescing => f.pad("quiescing"),
            Self::Busy { for_us } => f.pad(&format!("busy for {} ms", ms(for_us))),
            Self::NotConnected => f.pad("not connected"),
            Self::Lost { for_us } => f.pad(&format!("lost, tried in {} ms", ms(for_us))),
            Self::OutsideSubset => f.pad("outside the subset"),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width =
            self.instances.iter().map(|one| one.address.len()).max().unwrap_or(0).max("INSTANCE".len());
        writeln!(
            f,
            "{:width$}  {:10}  {:>6}  {:>5}  {:>11}  {:>8}  STATE",
            "INSTANCE", "ZONE", "WEIGHT", "LOAD", "LATENCY", "INFLIGHT"
        )?;
        for one in &self.instances {
            let latency =
                one.latency_us.map_or_else(|| "-".into(), |latency_us| format!("{:.3} ms", latency_us / 1e3));
            let zone = if one.zone.is_empty() { "-" } else { &one.zone };
            writeln!(
                f,
                "{:width$}  {zone:10}  {:>6}  {:>5.2}  {latency:>11}  {:>8}  {}",
                one.address, one.weight, one.load, one.inflight, one.state
            )?;
        }
        for candidate in &self.candidates {
            writeln!(f, "candidate {}: cost {:.0}", candidate.address, candidate.cost)?;
        }
        match &self.chosen {
            Some(chosen) => write!(f, "chosen {chosen}: {}", self.why),
            None => write!(f, "chosen none: {}", self.why),
        }
    }
}
