//! The settings of balancing, with their defaults, units and costs.
//!
//! They are plain data; the node's configuration and a client's options fill them. All guards are on by
//! default.

use super::rendezvous::ClientId;

/// How the next instance is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Power of two choices on peak-EWMA latency, with all the guards of this module.
    #[default]
    PeakEwma,
    /// One after the other over the connected instances, blind to how they do and to keys: what the
    /// fault matrix compares with.
    RoundRobin,
}

/// What a [`super::Balancer`] is built from.
#[derive(Clone, Debug)]
pub struct BalanceSettings {
    /// How an instance is found.
    pub policy: Policy,
    /// Who calls: clients with different ids use different subsets. Give each client its own that survives a
    /// restart (host and role, say); with the default all clients lean on the same instances.
    pub client: ClientId,
    /// The zone of this client; instances in it are preferred. Empty: no preference.
    pub zone: String,
    /// The instances that the client's zone must offer before the others are left alone (default 3).
    /// A lower figure saves traffic between zones, and leans on fewer instances.
    pub zone_instances_min: usize,
    /// The instances that one client keeps connected and spreads its calls over (default 20, at least 1).
    /// Each costs a connection on both sides; fewer spread less well.
    pub subset_size: usize,
    /// Time constant in which a latency is forgotten (default 10 s, in microseconds). Longer avoids a slow
    /// instance for longer, and is later to notice that it has recovered.
    pub decay_us: u64,
    /// Latency that is assumed while no instance has answered yet (default 1 ms, in microseconds).
    pub latency_default_us: u64,
    /// The longest that one BUSY keeps calls away (default 5 s, in microseconds), even where it
    /// asked for more.
    pub busy_max_us: u64,
    /// When an instance is taken out of use.
    pub ejection: EjectionSettings,
    /// The seed of the random draws. Give each client and loop its own; with the default all draw alike.
    pub seed: u64,
}

impl Default for BalanceSettings {
    fn default() -> Self {
        Self {
            policy: Policy::PeakEwma,
            client: ClientId(0),
            zone: String::new(),
            zone_instances_min: 3,
            subset_size: 20,
            decay_us: 10_000_000,
            latency_default_us: 1_000,
            busy_max_us: 5_000_000,
            ejection: EjectionSettings::default(),
            seed: 1,
        }
    }
}

/// When an instance is ejected, for how long, and how it comes back.
#[derive(Clone, Debug)]
pub struct EjectionSettings {
    /// Failures in a row that eject (default 5). Fewer reacts sooner, also to bad luck.
    pub failures: u32,
    /// The window over which success rates are compared (default 10 s, in microseconds).
    pub window_us: u64,
    /// The answers an instance needs within a window to be compared (default 20).
    pub window_answers_min: u32,
    /// How far below the median of the others a success rate must lie to eject (default 0.2: 20 points).
    pub success_gap: f64,
    /// The time out of use after the first ejection, and what each further one adds (default 1 s, in
    /// microseconds).
    pub base_us: u64,
    /// The longest time out of use (default 60 s, in microseconds).
    pub max_us: u64,
    /// The largest share of instances that may be out of use at once, rounded up (default 0.5).
    pub share_max: f64,
    /// The calls that must succeed, one at a time, before an instance is trusted again (default 3).
    pub probes: u8,
    /// Good conduct that makes one earlier ejection forgotten (default 60 s, in microseconds).
    pub forget_us: u64,
}

impl Default for EjectionSettings {
    fn default() -> Self {
        Self {
            failures: 5,
            window_us: 10_000_000,
            window_answers_min: 20,
            success_gap: 0.2,
            base_us: 1_000_000,
            max_us: 60_000_000,
            share_max: 0.5,
            probes: 3,
            forget_us: 60_000_000,
        }
    }
}
