//! What a seed decides about wallets: assets, accounts, and which commands come how often.
//!
//! Amounts are small and balances too, so that much is refused for want of credit.

use fastrand::Rng;
use stadium_wallet::{AssetCode, NewAccount, Overdraft, WalletName};

/// The wallets of a run.
#[derive(Debug, Clone)]
pub struct WalletPlan {
    /// Assets and their digits behind the point.
    pub assets: Vec<(AssetCode, u8)>,
    /// Wallets that live on one shard.
    pub wallets: Vec<WalletName>,
    /// Wallets that lie on all shards.
    pub systems: Vec<WalletName>,
    /// The accounts of the wallets.
    pub accounts: Vec<NewAccount>,
    /// How often each command comes.
    pub weights: Vec<(Kind, u32)>,
    /// Commands of a step, at most.
    pub commands_max: u32,
    /// Transfers of a list, at most.
    pub list_max: usize,
    /// What each account gets at the beginning.
    pub credit: u64,
    /// Holds are this long, in milliseconds, most of them less.
    pub hold_max: u64,
    /// One in so many messages between shards comes late, twice, or never; 0 for none.
    pub messages: u32,
    /// Once in so many steps one shard's process is lost and started again, the others go on; 0 for never.
    pub lose_one: u32,
    /// Old segments leave the disks during the run.
    pub moves: bool,
}

/// A kind of command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One transfer.
    Post,
    /// Several, each by itself.
    List,
    /// Several, all or none.
    Linked,
    Hold,
    Capture,
    Void,
    Reverse,
    /// What was asked before, again.
    Repeat,
    /// An id that is used, with other content.
    Reuse,
    /// Transfers and jobs in one.
    Together,
    /// An account is closed, or opened again.
    Close,
    /// All accounts are opened again, which changes nothing.
    Open,
    Find,
    Wallet,
    Holds,
    History,
    BalanceAt,
    /// What can never be right.
    Wrong,
}

/// All kinds, with how often each usually comes.
const ALL: &[(Kind, u32)] = &[
    (Kind::Post, 40),
    (Kind::List, 6),
    (Kind::Linked, 12),
    (Kind::Hold, 14),
    (Kind::Capture, 9),
    (Kind::Void, 4),
    (Kind::Reverse, 5),
    (Kind::Repeat, 10),
    (Kind::Reuse, 2),
    (Kind::Together, 8),
    (Kind::Close, 2),
    (Kind::Open, 1),
    (Kind::Find, 3),
    (Kind::Wallet, 4),
    (Kind::Holds, 2),
    (Kind::History, 2),
    (Kind::BalanceAt, 2),
    (Kind::Wrong, 2),
];

impl WalletPlan {
    /// The seed's choices for wallets.
    pub fn new(random: &mut Rng, shards: u16, has_queues: bool) -> WalletPlan {
        let often = |random: &mut Rng, choices: &[u32]| choices[random.usize(..choices.len())];
        let assets: Vec<(AssetCode, u8)> = [("VOTE", 0), ("EUR", 2)][..random.usize(1..3)]
            .iter()
            .map(|&(code, scale)| (AssetCode::new(code).expect("a code"), scale))
            .collect();
        let count = random.usize(2..7);
        let wallets: Vec<WalletName> = (0..count)
            .map(|at| match at % 3 {
                // Two that live together wherever that is.
                1 => format!("{{w{}}}:more", at - 1),
                _ => format!("w{at}"),
            })
            .map(|name| WalletName::new(&name).expect("a name"))
            .collect();
        let systems = ["@shop", "@prize"].map(|name| WalletName::new(name).expect("a name")).into();
        let mut accounts = Vec::new();
        for wallet in &wallets {
            for (asset, _) in &assets {
                let overdraft = if random.u8(..12) == 0 { Overdraft::Allowed } else { Overdraft::Never };
                let ceiling = (random.u8(..5) == 0).then(|| random.u64(150..400));
                let (wallet, asset) = (wallet.clone(), asset.clone());
                accounts.push(NewAccount { wallet, asset, overdraft, ceiling });
            }
        }
        let weights =
            ALL.iter().filter(|(kind, _)| has_queues || *kind != Kind::Together).map(|&(kind, usual)| {
                let factor = match kind {
                    Kind::Post => often(random, &[1, 1, 2]),
                    _ => often(random, &[0, 1, 1, 3]),
                };
                (kind, usual * factor)
            });
        let weights = weights.collect();
        WalletPlan {
            assets,
            wallets,
            systems,
            accounts,
            weights,
            commands_max: [2, 4, 12][random.usize(..3)],
            list_max: [2, 4, 10][random.usize(..3)],
            credit: [0, 50, 120][random.usize(..3)],
            hold_max: [2_000, 20_000, 400_000][random.usize(..3)],
            messages: if shards > 1 { often(random, &[0, 12, 4]) } else { 0 },
            lose_one: if shards > 1 && !has_queues { often(random, &[0, 40, 100]) } else { 0 },
            moves: random.u8(..2) == 0,
        }
    }
}
