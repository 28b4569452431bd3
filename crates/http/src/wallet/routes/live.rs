//! The wallets as they are now, for the console: totals by asset, the accounts that move most,
//! transfers a second, the newest seals.
//!
//! Totals and rates are read from the newest look, see [`crate::wallet::figures`]: a page costs the
//! shards nothing.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use serde::Serialize;
use stadium_wallet::AssetCode;
use utoipa::ToSchema;

use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::problem::Problem;
use crate::request::query::{Query, wrong};
use crate::sampling::{PERIOD, line};
use crate::shards::running;
use crate::wallet::amount::Amount;
use crate::wallet::description::MoneyLookProblems;
use crate::wallet::figures::Figures;
use crate::wallet::movers::{Moved, Movers, WINDOW};
use crate::wallet::routes::entries::RootReport;
use crate::wallet::views::AssetReport;

/// Movers shown unless the caller asks for another number.
const MOVERS_DEFAULT: usize = 10;

/// Movers shown at most.
const MOVERS_MAX: usize = 100;

/// How accounts are ranked; the highest first.
type Rank = fn(&Moved) -> u128;

/// The values of `sort`.
const SORTS: [(&str, Rank); 2] = [
    ("transfers", |moved| moved.transfers.into()),
    ("amount", |moved| moved.credit.saturating_add(moved.debit)),
];

/// What the wallets hold and do now.
#[derive(Serialize, ToSchema)]
pub(crate) struct LiveWallets {
    /// When it was looked, milliseconds since 1970.
    at_ms: u64,
    /// Time between two looks, and two points of the line.
    period_ms: u64,
    /// All assets, by name.
    assets: Vec<AssetReport>,
    /// Whether the sum of all balances is zero for each asset. Always true.
    balanced: bool,
    /// Transfers booked a second, by whatever way they came.
    booked_per_s: f32,
    /// The same over the last two minutes, the newest last.
    booked_line: Vec<f32>,
    /// Time that `movers` is about.
    movers_window_ms: u64,
    /// The accounts that moved most of what was posted over HTTP.
    movers: Vec<Mover>,
    /// The shards.
    shards: Vec<LiveWalletShard>,
}

/// An account and what it moved.
#[derive(Serialize, ToSchema)]
struct Mover {
    wallet: String,
    asset: String,
    /// Transfers.
    transfers: u64,
    /// What came in.
    credit: Amount,
    /// What went out.
    debit: Amount,
}

/// The wallets' part of one shard.
#[derive(Serialize, ToSchema)]
struct LiveWalletShard {
    shard: u16,
    /// Whether it takes commands.
    serving: bool,
    /// Why not, in words.
    trouble: Option<String>,
    /// Accounts, its parts of system wallets' included.
    accounts: u64,
    /// Open holds.
    holds: u64,
    /// Transfers between shards that are not decided.
    pending: u64,
    /// Transfers booked since it started; replayed ones count.
    booked: u64,
    /// Transfers refused since it started.
    refused: u64,
    /// Records that no seal covers yet.
    unsealed: u64,
    /// The newest seal.
    seal: Option<RootReport>,
}

/// Totals by asset, who moved most in the last five minutes, and the newest seals.
#[utoipa::path(get, operation_id = "live_wallets", path = "/api/live/wallets", tag = "Wallets",
    extensions(("x-right" = json!("wallet.read:*"))),
    params(("asset" = Option<String>, Query, description = "Only movers of this asset."),
           ("sort" = Option<String>, Query, description = "`transfers` or `amount`; the most first, `transfers` by default."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Movers; 10 by default.")),
    responses((status = 200, description = "What they hold and do.", body = LiveWallets), MoneyLookProblems))]
pub(crate) async fn show(
    _: Caller,
    State(app): State<Arc<App>>,
    State(figures): State<Arc<Figures>>,
    State(movers): State<Arc<Movers>>,
    uri: Uri,
) -> Result<Json<LiveWallets>, Problem> {
    let query = Query::read(&uri, &["asset", "sort", "limit"])?;
    let limit = query.limit(MOVERS_DEFAULT, MOVERS_MAX)?;
    let asset = query.value("asset").map(AssetCode::new).transpose();
    let asset = asset.map_err(|error| wrong("asset", error.to_string()))?;
    let rank = query.one_of("sort", &SORTS)?;
    let top = movers.top(asset.as_ref(), rank, limit, Instant::now());
    let mover = |((wallet, asset), moved): ((stadium_wallet::WalletName, AssetCode), Moved)| Mover {
        wallet: wallet.to_string(),
        asset: asset.to_string(),
        transfers: moved.transfers,
        credit: moved.credit.into(),
        debit: moved.debit.into(),
    };
    let of = |shard: stadium_shard::ShardMetrics| LiveWalletShard {
        shard: shard.shard,
        serving: shard.serving,
        trouble: shard.trouble,
        accounts: shard.wallet.accounts,
        holds: shard.wallet.holds,
        pending: shard.wallet.pending,
        booked: shard.wallet.booked,
        refused: shard.wallet.refused,
        unsealed: shard.wallet.unsealed,
        seal: shard.newest_seal.map(|seal| RootReport::of(shard.shard, &seal)),
    };
    let shards = running(&app)?.metrics().into_iter().map(of).collect();
    let live = figures.read(|look| LiveWallets {
        at_ms: look.at_ms,
        period_ms: PERIOD.as_millis() as u64,
        assets: look.assets.iter().map(AssetReport::of).collect(),
        balanced: look.assets.iter().all(|asset| asset.credit == asset.debit),
        booked_per_s: look.booked_per_s,
        booked_line: line(&look.booked_line),
        movers_window_ms: WINDOW.as_millis() as u64,
        movers: top.into_iter().map(mover).collect(),
        shards,
    });
    Ok(Json(live))
}
