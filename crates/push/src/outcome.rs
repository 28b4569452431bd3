//! Where a delivery stands, as the machine keeps it: each targeted device of a push in one of these.

/// Where a delivery stands. The numbers are in checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Outcome {
    /// Left out.
    OptedOut = 0,
    Revoked = 1,
    HeldOut = 2,
    Capped = 3,
    Quiet = 4,
    NoValue = 5,
    /// Targeted, and not ended. In flight or not is known beside.
    Owed = 6,
    /// Ended.
    Delivered = 7,
    Expired = 8,
    Collapsed = 9,
    CrowdedOut = 10,
    Refused = 11,
    TooLarge = 12,
    Cancelled = 13,
    /// Of a push to one device only: those to many keep them elsewhere.
    Waiting = 14,
    Scheduled = 15,
    NotRegistered = 16,
}

/// Those of which a push to many keeps a set.
pub(crate) const SETS: usize = 14;

const ALL: [Outcome; 17] = [
    Outcome::OptedOut,
    Outcome::Revoked,
    Outcome::HeldOut,
    Outcome::Capped,
    Outcome::Quiet,
    Outcome::NoValue,
    Outcome::Owed,
    Outcome::Delivered,
    Outcome::Expired,
    Outcome::Collapsed,
    Outcome::CrowdedOut,
    Outcome::Refused,
    Outcome::TooLarge,
    Outcome::Cancelled,
    Outcome::Waiting,
    Outcome::Scheduled,
    Outcome::NotRegistered,
];

impl Outcome {
    pub(crate) fn of(number: u8) -> Option<Outcome> {
        ALL.get(usize::from(number)).copied()
    }

    /// Those of which a push to many keeps a set, in the order of their numbers.
    pub(crate) fn sets() -> impl Iterator<Item = Outcome> {
        ALL.into_iter().take(SETS)
    }

    /// Whether the device is owed it still.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Outcome::Owed | Outcome::Waiting)
    }

    /// Whether it was left out of the push.
    pub(crate) fn is_left_out(self) -> bool {
        (self as u8) < Outcome::Owed as u8
    }
}
