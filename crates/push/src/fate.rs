//! Where a delivery stands, as the machine keeps it: each targeted device of a push in one of these.

/// Where a delivery stands. The numbers are in checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Fate {
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

const ALL: [Fate; 17] = [
    Fate::OptedOut,
    Fate::Revoked,
    Fate::HeldOut,
    Fate::Capped,
    Fate::Quiet,
    Fate::NoValue,
    Fate::Owed,
    Fate::Delivered,
    Fate::Expired,
    Fate::Collapsed,
    Fate::CrowdedOut,
    Fate::Refused,
    Fate::TooLarge,
    Fate::Cancelled,
    Fate::Waiting,
    Fate::Scheduled,
    Fate::NotRegistered,
];

impl Fate {
    pub(crate) fn of(number: u8) -> Option<Fate> {
        ALL.get(usize::from(number)).copied()
    }

    /// Those of which a push to many keeps a set, in the order of their numbers.
    pub(crate) fn sets() -> impl Iterator<Item = Fate> {
        ALL.into_iter().take(SETS)
    }

    /// Whether the device is owed it still.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Fate::Owed | Fate::Waiting)
    }

    /// Whether it was left out of the push.
    pub(crate) fn is_left_out(self) -> bool {
        (self as u8) < Fate::Owed as u8
    }
}
