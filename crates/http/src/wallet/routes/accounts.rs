//! Wallets: assets, accounts and their rules, holds.
//!
//! Looking takes any role. Declaring, opening and changing take an admin: an account that may be
//! overdrawn is a source of credit. Moving amounts is in [`crate::wallet::routes::transfers`],
//! what reads the journal in [`crate::wallet::routes::entries`].

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri};
use bytes::Bytes;
use stadium_grants::Verb;
use stadium_wallet::{
    AccountView, AssetCode, AssetView, Bounds, Command, HoldView, NewAccount, Refusal, WalletName, refusal,
};

use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::{parse, read_json};
use crate::request::problem::{NAME_WRONG, Problem};
use crate::request::query::{Name, Names, Query, wrong};
use crate::shards::{ask_for, strange};
use crate::wallet::description::{MoneyLookProblems, MoneyProblems};
use crate::wallet::fields::{
    AccountFields, AssetFields, ChangeFields, OpenFields, OpenProbe, SeveralAccounts,
};
use crate::wallet::views::{
    AccountPage, AccountReport, AssetReport, Assets, EachOpened, HoldReport, Holds, Opened, OpenedAccounts,
    WalletReport,
};

/// Accounts and holds on a page unless the caller asks for another number.
const PAGE_DEFAULT: usize = 100;

/// Makes an asset known, or finds it known: the same again is fine, another scale is `WAL-031`.
#[utoipa::path(put, operation_id = "declare_asset", path = "/api/assets/{asset}", tag = "Wallets",
    extensions(("x-right" = json!("wallet.manage:asset/{asset}"))), request_body = AssetFields,
    params(("asset" = String, Path, description = "Upper-case letters, digits and `_`; at most 16 bytes.", example = "EUR")),
    responses((status = 200, description = "The asset.", body = AssetReport), MoneyProblems))]
pub(crate) async fn declare(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(asset): Name,
    request: Request,
) -> Result<Json<AssetReport>, Problem> {
    let asset = asset_code(&asset)?;
    let (AssetFields { scale }, _) = read_json(&app, request).await?;
    let () = ask_for(&app, Command::Declare { asset: asset.clone(), scale }).await?;
    tracing::info!(asset = asset.as_str(), scale, by = caller.key_id(), "Asset declared");
    Ok(Json(AssetReport::of(&asset_of(&app, &asset).await?)))
}

/// One asset with its totals. The wallet checks whether there is one of that name.
pub(crate) async fn asset_of(app: &App, asset: &AssetCode) -> Result<AssetView, Problem> {
    let all: Vec<AssetView> = ask_for(app, Command::Assets).await?;
    let found = all.into_iter().find(|known| known.asset == *asset);
    found.ok_or_else(|| {
        let reason = format!("no asset is called {asset}; declare it with PUT /api/assets/{asset}");
        Refusal::Rejected { code: refusal::ASSET_UNKNOWN, reason }.into()
    })
}

/// All assets by name, with what all accounts of each hold together.
///
/// For each asset `credit` is `debit`: all that is in one account came out of another.
#[utoipa::path(get, operation_id = "list_assets", path = "/api/assets", tag = "Wallets",
    extensions(("x-right" = json!("wallet.read:{wallet}"))),
    responses((status = 200, description = "The assets.", body = Assets), MoneyLookProblems))]
pub(crate) async fn assets(_: Caller, State(app): State<Arc<App>>) -> Result<Json<Assets>, Problem> {
    let mut all: Vec<AssetView> = ask_for(&app, Command::Assets).await?;
    all.sort_unstable_by(|one, other| one.asset.cmp(&other.asset));
    Ok(Json(Assets { assets: all.iter().map(AssetReport::of).collect() }))
}

/// Opens an account, or several under `accounts`, each with an outcome of its own.
///
/// The same again is fine. System wallets' accounts, `@...`, open by themselves when something is booked on them.
#[utoipa::path(post, operation_id = "open_accounts", path = "/api/wallets", tag = "Wallets",
    extensions(("x-right" = json!("wallet.manage:{wallet}"))), request_body = OpenFields,
    responses((status = 201, description = "The account was opened.", body = AccountReport),
              (status = 200, description = "The account was there, with the same rules: an `AccountReport`. Or what became of each of several.",
               body = Opened),
              MoneyProblems))]
pub(crate) async fn open(
    caller: Caller,
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<(StatusCode, Json<Opened>), Problem> {
    let (probe, body): (OpenProbe, Bytes) = read_json(&app, request).await?;
    if probe.accounts.is_some() {
        let SeveralAccounts { accounts } = parse(&body)?;
        let each = |(index, fields): (usize, AccountFields)| fields.check(&format!("accounts[{index}]."));
        let accounts: Vec<NewAccount> =
            accounts.into_iter().enumerate().map(each).collect::<Result<_, _>>()?;
        return several(&app, accounts, &caller).await;
    }
    let account = parse::<AccountFields>(&body)?.check("")?;
    caller.may(Verb::WalletManage, account.wallet.as_str())?;
    let (wallet, asset) = (account.wallet.clone(), account.asset.clone());
    let outcomes: Vec<Result<bool, Refusal>> =
        ask_for(&app, Command::Open { accounts: vec![account] }).await?;
    let opened: bool = outcomes.into_iter().next().ok_or_else(strange)??;
    let status = if opened { StatusCode::CREATED } else { StatusCode::OK };
    if opened {
        tracing::debug!(
            wallet = wallet.as_str(),
            asset = asset.as_str(),
            by = caller.key_id(),
            "Account opened"
        );
    }
    Ok((status, Json(Opened::One(AccountReport::of(&account_of(&app, wallet, &asset).await?)))))
}

async fn several(
    app: &App,
    accounts: Vec<NewAccount>,
    caller: &Caller,
) -> Result<(StatusCode, Json<Opened>), Problem> {
    let named: Vec<_> =
        accounts.iter().map(|account| (account.wallet.to_string(), account.asset.to_string())).collect();
    let command = Command::Open { accounts };
    caller.may_ask_wallet(app, &command).await?;
    let outcomes: Vec<Result<bool, Refusal>> = ask_for(app, command).await?;
    let opened = outcomes.iter().filter(|outcome| matches!(outcome, Ok(true))).count();
    tracing::debug!(opened, by = caller.key_id(), "Accounts opened");
    let each = |((wallet, asset), outcome): ((String, String), Result<bool, Refusal>)| {
        let (opened, error) = match outcome {
            Ok(opened) => (Some(opened), None),
            Err(refusal) => (None, Some(Problem::from(refusal).into_document())),
        };
        EachOpened { wallet, asset, opened, error }
    };
    let results = named.into_iter().zip(outcomes).map(each).collect();
    Ok((StatusCode::OK, Json(Opened::Several(OpenedAccounts { results }))))
}

/// Accounts by wallet and asset, page by page.
#[utoipa::path(get, operation_id = "list_accounts", path = "/api/wallets", tag = "Wallets",
    extensions(("x-right" = json!("wallet.read:{wallet}"))),
    params(("prefix" = Option<String>, Query, description = "Only wallets whose names begin with this."),
           ("asset" = Option<String>, Query, description = "Only accounts of this asset."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Accounts on the page; 100 by default."),
           ("after" = Option<String>, Query, description = "Only accounts after this one: `next` of the page before.", example = "alice/EUR")),
    responses((status = 200, description = "A page of accounts.", body = AccountPage), MoneyLookProblems))]
pub(crate) async fn list(
    caller: Caller,
    State(app): State<Arc<App>>,
    uri: Uri,
) -> Result<Json<AccountPage>, Problem> {
    let query = Query::read(&uri, &["prefix", "asset", "limit", "after"])?;
    let limit = query.limit(PAGE_DEFAULT, Bounds::ITEMS_MAX)?;
    let asset = query.value("asset").map(AssetCode::new).transpose();
    let asset = asset.map_err(|error| wrong("asset", error.to_string()))?;
    let command = Command::Accounts {
        prefix: query.value("prefix").unwrap_or_default().to_owned(),
        asset,
        after: query.value("after").map(after).transpose()?,
        accounts_max: limit as u32,
    };
    let accounts: Vec<AccountView> = ask_for(&app, command).await?;
    let next = accounts.last().filter(|_| accounts.len() >= limit);
    let next = next.map(|account| format!("{}/{}", account.wallet, account.asset));
    let seen = |account: &&AccountView| caller.allows(Verb::WalletRead, account.wallet.as_str());
    Ok(Json(AccountPage { accounts: accounts.iter().filter(seen).map(AccountReport::of).collect(), next }))
}

/// The account of the page before: `alice/EUR`. Neither part holds a slash.
fn after(text: &str) -> Result<(WalletName, AssetCode), Problem> {
    let Some((wallet, asset)) = text.split_once('/') else {
        return Err(wrong(
            "after",
            format!("`after` is a wallet and an asset as in alice/EUR, not {text:?}"),
        ));
    };
    let named = WalletName::new(wallet).and_then(|wallet| Ok((wallet, AssetCode::new(asset)?)));
    named.map_err(|error| wrong("after", error.to_string()))
}

/// A wallet's accounts with what they have. Of a system wallet the sums over all shards.
///
/// A wallet without accounts is `WAL-021`. One whose name is `roots` is read under `/api/wallets/%72oots`.
#[utoipa::path(get, operation_id = "find_wallet", path = "/api/wallets/{wallet}", tag = "Wallets",
    extensions(("x-right" = json!("wallet.read:{wallet}"))),
    params(("wallet" = String, Path, description = "The wallet.", example = "alice")),
    responses((status = 200, description = "The wallet.", body = WalletReport), MoneyLookProblems))]
pub(crate) async fn show(
    _: Caller,
    State(app): State<Arc<App>>,
    Name(wallet): Name,
) -> Result<Json<WalletReport>, Problem> {
    let wallet = wallet_name(&wallet)?;
    let accounts = accounts_of(&app, wallet.clone()).await?;
    let accounts = accounts.iter().map(AccountReport::of).collect();
    Ok(Json(WalletReport { wallet: wallet.to_string(), accounts }))
}

async fn accounts_of(app: &App, wallet: WalletName) -> Result<Vec<AccountView>, Problem> {
    let name = wallet.to_string();
    let accounts: Vec<AccountView> = ask_for(app, Command::Wallet { wallet }).await?;
    if accounts.is_empty() { Err(no_account(&name, None)) } else { Ok(accounts) }
}

/// One account of a wallet.
pub(crate) async fn account_of(
    app: &App,
    wallet: WalletName,
    asset: &AssetCode,
) -> Result<AccountView, Problem> {
    let name = wallet.to_string();
    let accounts = accounts_of(app, wallet).await?;
    accounts.into_iter().find(|account| account.asset == *asset).ok_or_else(|| no_account(&name, Some(asset)))
}

fn no_account(wallet: &str, asset: Option<&AssetCode>) -> Problem {
    let reason = match asset {
        None => format!("wallet {wallet:?} has no account; open one with POST /api/wallets"),
        Some(asset) => {
            format!("wallet {wallet:?} has no account of {asset}; open one with POST /api/wallets")
        }
    };
    Refusal::Rejected { code: refusal::ACCOUNT_UNKNOWN, reason }.into()
}

/// One account: what it has, and its rules.
#[utoipa::path(get, operation_id = "find_account", path = "/api/wallets/{wallet}/{asset}", tag = "Wallets",
    extensions(("x-right" = json!("wallet.read:{wallet}"))),
    params(("wallet" = String, Path, description = "The wallet."), ("asset" = String, Path, description = "The asset.")),
    responses((status = 200, description = "The account.", body = AccountReport), MoneyLookProblems))]
pub(crate) async fn account(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(wallet, asset): Names,
) -> Result<Json<AccountReport>, Problem> {
    let (wallet, asset) = (wallet_name(&wallet)?, asset_code(&asset)?);
    Ok(Json(AccountReport::of(&account_of(&app, wallet, &asset).await?)))
}

/// Changes an account's rules, closes it, or opens it again. Fields that are left out stay.
#[utoipa::path(patch, operation_id = "change_account", path = "/api/wallets/{wallet}/{asset}", tag = "Wallets",
    extensions(("x-right" = json!("wallet.manage:{wallet}"))), request_body = ChangeFields,
    params(("wallet" = String, Path, description = "The wallet."), ("asset" = String, Path, description = "The asset.")),
    responses((status = 200, description = "The account.", body = AccountReport), MoneyProblems))]
pub(crate) async fn change(
    caller: Caller,
    State(app): State<Arc<App>>,
    Names(wallet, asset): Names,
    request: Request,
) -> Result<Json<AccountReport>, Problem> {
    let (wallet, asset) = (wallet_name(&wallet)?, asset_code(&asset)?);
    let (fields, _): (ChangeFields, _) = read_json(&app, request).await?;
    let change = fields.check()?;
    let words = format!("{change:?}");
    let () = ask_for(&app, Command::Change { wallet: wallet.clone(), asset: asset.clone(), change }).await?;
    let by = caller.key_id();
    tracing::info!(wallet = wallet.as_str(), asset = asset.as_str(), change = words, by, "Account changed");
    Ok(Json(AccountReport::of(&account_of(&app, wallet, &asset).await?)))
}

/// The open holds of a wallet, oldest first.
#[utoipa::path(get, operation_id = "list_holds", path = "/api/wallets/{wallet}/holds", tag = "Wallets",
    extensions(("x-right" = json!("wallet.read:{wallet}"))),
    params(("wallet" = String, Path, description = "The wallet."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Holds at most; 100 by default.")),
    responses((status = 200, description = "The holds.", body = Holds), MoneyLookProblems))]
pub(crate) async fn holds(
    _: Caller,
    State(app): State<Arc<App>>,
    Name(wallet): Name,
    uri: Uri,
) -> Result<Json<Holds>, Problem> {
    let wallet = wallet_name(&wallet)?;
    let limit = Query::read(&uri, &["limit"])?.limit(PAGE_DEFAULT, Bounds::ITEMS_MAX)?;
    let holds: Vec<HoldView> = ask_for(&app, Command::Holds { wallet, holds_max: limit as u32 }).await?;
    Ok(Json(Holds { holds: holds.iter().map(HoldReport::of).collect() }))
}

/// A wallet's name out of the path.
pub(crate) fn wallet_name(text: &str) -> Result<WalletName, Problem> {
    WalletName::new(text).map_err(|error| Problem::new(NAME_WRONG, error.to_string()).at("wallet"))
}

/// An asset's code out of the path.
pub(crate) fn asset_code(text: &str) -> Result<AssetCode, Problem> {
    AssetCode::new(text).map_err(|error| Problem::new(NAME_WRONG, error.to_string()).at("asset"))
}
