//! An account as it stands in memory: 72 bytes, and 56 more for what few have.
//!
//! Accounts are never removed, so their numbers are the order in which they were opened.

use stadium_table::{Damaged, Entry, take};

use crate::{Overdraft, Time, WalletName};

/// No extra.
pub(crate) const NONE: u32 = u32::MAX;

/// Entries between two that know each other, by level.
pub(crate) const JUMPS: [u64; 4] = [64, 4_096, 262_144, 16_777_216];

const OVERDRAFT: u8 = 1;
const CEILING: u8 = 2;
const CLOSED: u8 = 4;

/// What an account may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rules {
    pub(crate) overdraft: Overdraft,
    pub(crate) ceiling: Option<u64>,
    pub(crate) closed: bool,
}

impl Rules {
    pub(crate) const SYSTEM: Rules = Rules { overdraft: Overdraft::Allowed, ceiling: None, closed: false };

    pub(crate) fn flags(&self) -> u8 {
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        bit(self.overdraft == Overdraft::Allowed, OVERDRAFT)
            | bit(self.ceiling.is_some(), CEILING)
            | bit(self.closed, CLOSED)
    }

    /// From flags, and the ceiling where they name one.
    pub(crate) fn of(flags: u8, ceiling: u64) -> Rules {
        Rules {
            overdraft: if flags & OVERDRAFT == 0 { Overdraft::Never } else { Overdraft::Allowed },
            ceiling: (flags & CEILING != 0).then_some(ceiling),
            closed: flags & CLOSED != 0,
        }
    }

    pub(crate) fn has_ceiling(flags: u8) -> bool {
        flags & CEILING != 0
    }

    pub(crate) fn are_flags(flags: u8) -> bool {
        flags & !(OVERDRAFT | CEILING | CLOSED) == 0
    }
}

/// An account.
pub(crate) struct Account {
    pub(crate) name: WalletName,
    /// What came in less what went out.
    pub(crate) posted: i64,
    /// Of that: promised to others.
    pub(crate) held: u64,
    /// The record of the newest entry.
    pub(crate) last: u64,
    /// Entries so far: the newest one's number.
    pub(crate) entries: u64,
    pub(crate) opened: Time,
    /// Its place among the extras.
    pub(crate) extra: u32,
    pub(crate) asset: u16,
    flags: u8,
}

impl Account {
    pub(crate) fn new(name: WalletName, asset: u16, opened: Time) -> Self {
        Self { name, posted: 0, held: 0, last: 0, entries: 0, opened, extra: NONE, asset, flags: 0 }
    }

    pub(crate) fn set_flags(&mut self, rules: &Rules) {
        self.flags = rules.flags();
    }

    pub(crate) fn may_overdraw(&self) -> bool {
        self.flags & OVERDRAFT != 0
    }

    pub(crate) fn has_ceiling(&self) -> bool {
        self.flags & CEILING != 0
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.flags & CLOSED != 0
    }

    /// The rules; `extra` is its own.
    pub(crate) fn rules(&self, extra: Option<&Extra>) -> Rules {
        Rules::of(self.flags, extra.map_or(0, |extra| extra.ceiling))
    }
}

impl Entry for Account {
    fn vacant() -> Self {
        Self::new(WalletName::vacant(), 0, Time(0))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let mut fixed = [0; 48];
        fixed[..8].copy_from_slice(&self.posted.to_le_bytes());
        fixed[8..16].copy_from_slice(&self.held.to_le_bytes());
        fixed[16..24].copy_from_slice(&self.last.to_le_bytes());
        fixed[24..32].copy_from_slice(&self.entries.to_le_bytes());
        fixed[32..40].copy_from_slice(&self.opened.0.to_le_bytes());
        fixed[40..44].copy_from_slice(&self.extra.to_le_bytes());
        fixed[44..46].copy_from_slice(&self.asset.to_le_bytes());
        fixed[46] = self.flags;
        fixed[47] = self.name.as_str().len() as u8;
        out.extend_from_slice(&fixed);
        out.extend_from_slice(self.name.as_str().as_bytes());
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        let posted = i64::from_le_bytes(take(input)?);
        let held = u64::from_le_bytes(take(input)?);
        let last = u64::from_le_bytes(take(input)?);
        let entries = u64::from_le_bytes(take(input)?);
        let opened = Time(u64::from_le_bytes(take(input)?));
        let extra = u32::from_le_bytes(take(input)?);
        let asset = u16::from_le_bytes(take(input)?);
        let [flags, length] = take(input)?;
        let name = wallet(input, usize::from(length))?;
        Ok(Self { name, posted, held, last, entries, opened, extra, asset, flags })
    }
}

/// A wallet's name of so many bytes.
pub(crate) fn wallet(input: &mut &[u8], bytes: usize) -> Result<WalletName, Damaged> {
    let (name, rest) = input.split_at_checked(bytes).ok_or(Damaged("it ends within a name"))?;
    *input = rest;
    let name = std::str::from_utf8(name).map_err(|_| Damaged("a name that is not UTF-8"))?;
    WalletName::new(name).map_err(|_| Damaged("a name that is none"))
}

/// What few accounts have: a ceiling, a long history, amounts on their way in.
pub(crate) struct Extra {
    pub(crate) account: u32,
    /// The most that it may hold, where its account has a ceiling.
    pub(crate) ceiling: u64,
    /// Credits of transactions that are not decided.
    pub(crate) incoming: u64,
    /// The records of the newest entries whose numbers are multiples of [`JUMPS`].
    pub(crate) jumps: [u64; 4],
}

impl Entry for Extra {
    fn vacant() -> Self {
        Self { account: NONE, ceiling: 0, incoming: 0, jumps: [0; 4] }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.account.to_le_bytes());
        for value in [self.ceiling, self.incoming].iter().chain(&self.jumps) {
            out.extend_from_slice(&value.to_le_bytes());
        }
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        let account = u32::from_le_bytes(take(input)?);
        let ceiling = u64::from_le_bytes(take(input)?);
        let incoming = u64::from_le_bytes(take(input)?);
        let mut jumps = [0; 4];
        for jump in &mut jumps {
            *jump = u64::from_le_bytes(take(input)?);
        }
        Ok(Self { account, ceiling, incoming, jumps })
    }
}

const _: () = assert!(size_of::<Account>() == 72, "an account takes 72 bytes");
