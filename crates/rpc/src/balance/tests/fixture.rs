//! The fixture of these behaviours: a fleet of named instances, and a clock that the test turns.

use crate::balance::*;

pub(super) const MS: u64 = 1_000;
pub(super) const SECOND: u64 = 1_000 * MS;

/// A client and the instances it knows.
pub(super) struct Fleet {
    pub(super) balancer: Balancer,
    pub(super) now_us: u64,
}

/// An instance as discovery usually names it.
pub(super) fn known(address: &str) -> Known<'_> {
    Known { address, load: 0.0, zone: "a", weight: 100, version: "1", quiescing: false }
}

impl Fleet {
    /// A client with default settings that is connected to all of these.
    pub(super) fn of(addresses: &[&str]) -> Self {
        Self::with(BalanceSettings::default(), addresses)
    }

    /// A client that is connected to all that it wants of these.
    pub(super) fn with(settings: BalanceSettings, addresses: &[&str]) -> Self {
        let mut fleet = Self { balancer: Balancer::new(settings), now_us: SECOND };
        fleet.discover(&addresses.iter().map(|address| known(address)).collect::<Vec<_>>());
        fleet
    }

    /// Discovery names these; what is wanted of them gets connected.
    pub(super) fn discover(&mut self, known: &[Known<'_>]) {
        self.balancer.update(known, self.now_us);
        let wanted: Vec<InstanceId> = self.balancer.wanted().collect();
        for id in wanted {
            self.balancer.connected(id);
        }
    }

    pub(super) fn id(&self, address: &str) -> InstanceId {
        self.balancer.find(address).expect("the test names a known instance")
    }

    pub(super) fn address(&self, id: InstanceId) -> String {
        self.balancer.address(id).expect("only known instances are chosen").to_owned()
    }

    pub(super) fn wait(&mut self, us: u64) {
        self.now_us += us;
    }

    /// Where the next call would go.
    pub(super) fn choose(&mut self, choice: Choice<'_>) -> Option<(String, Why)> {
        let chosen = self.balancer.choose(self.now_us, choice)?;
        Some((self.address(chosen.id), chosen.why))
    }

    /// Where the next call without wishes would go.
    pub(super) fn next(&mut self) -> (String, Why) {
        self.choose(Choice::default()).expect("somebody is left")
    }

    /// One call to `address` that ends like this after `latency_us`.
    pub(super) fn call(&mut self, address: &str, outcome: Outcome, latency_us: u64) {
        let id = self.id(address);
        self.balancer.began(id, self.now_us);
        self.wait(latency_us);
        self.balancer.ended(id, outcome, latency_us, self.now_us);
    }

    /// As many calls to `address` that end like this after a millisecond each.
    pub(super) fn calls(&mut self, count: usize, address: &str, outcome: Outcome) {
        for _ in 0..count {
            self.call(address, outcome, MS);
        }
    }

    pub(super) fn state(&self, address: &str) -> State {
        let explanation = self.balancer.explain(self.now_us, Choice::default());
        explanation.instances.iter().find(|one| one.address == address).expect("it is known").state
    }

    /// The share of `count` choices that falls on each of `addresses`, no call taking any time.
    pub(super) fn shares(&mut self, count: usize, addresses: &[&str]) -> Vec<f64> {
        let mut counts = vec![0usize; addresses.len()];
        for _ in 0..count {
            let (address, _) = self.next();
            if let Some(index) = addresses.iter().position(|one| *one == address) {
                counts[index] += 1;
            }
        }
        counts.into_iter().map(|one| one as f64 / count as f64).collect()
    }
}

/// The address of instance `n`.
pub(super) fn name(n: usize) -> String {
    format!("10.0.{}.{}:7800", n / 256, n % 256)
}
