//! What one device with a profile is going through: 44 bytes, which a swarm without profiles does not have.
//!
//! Times are loop time in milliseconds, whose 32 bits last 49 days: a run is shorter. Zero means never.

/// The state of one device's behaviours.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Behaviour {
    /// When it wakes, while it is asleep; when it last woke, while it is not.
    pub(crate) wake_ms: u32,
    /// When its connection was severed; kept until it is back, for how long that took.
    pub(crate) severed_ms: u32,
    /// Until when the PINGRESP that it waits for must come.
    pub(crate) answer_by_ms: u32,
    /// When its address changes next.
    pub(crate) moves_ms: u32,
    /// When it goes to the background next.
    pub(crate) leaves_ms: u32,
    /// When it came back; zero while it is up for the first time.
    pub(crate) up_ms: u32,
    /// When the uplink was due that waits for it to wake.
    pub(crate) uplink_ms: u32,
    /// What it drew so far.
    pub(crate) draws: u32,
    /// How often its address changed.
    pub(crate) moves: u16,
    /// Its profile's place in the mixture.
    pub(crate) profile: u16,
    pub(crate) asleep: bool,
    /// Nothing gets through its connection, and it does not know.
    pub(crate) severed: bool,
    pub(crate) background: bool,
}

impl Behaviour {
    pub(crate) fn new(profile: usize) -> Self {
        // A mixture has at most 1,000 profiles: its check holds that.
        Behaviour { profile: profile as u16, ..Behaviour::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_behaviour_is_small() {
        assert!(size_of::<Behaviour>() <= 44, "{} bytes", size_of::<Behaviour>());
    }
}
