//! `stadium wallet`: accounts, transfers and holds on a running server, and its books examined without one.
//!
//! Commands on a running server go through its HTTP API. `verify`, `receipt` and `reconcile` read
//! the journals of a data directory with a second implementation (`stadium_audit`), and `check`
//! needs neither. Amounts are decimals with as many digits behind the point as the asset has, see
//! [`amount`]; in JSON they are whole minor units, as in the API.

mod account;
mod amount;
mod bill;
mod books;
mod journals;
mod look;
mod proof;
mod statement;
mod transfer;

use clap::{Args, Subcommand};

use crate::api::encoded;
use crate::failure::Failure;
use crate::on::On;
use crate::terminal::Terminal;

/// What to do with wallets.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium wallet asset EUR --scale 2                       EUR is counted in cents
  stadium wallet open EUR alice bob                        two accounts that cannot be overdrawn
  stadium wallet transfer @bank alice 12.50 EUR            @ is the house: it opens by itself and may go below zero
  stadium wallet hold alice @shop 5 EUR --expires 10m      then capture or void it by the id that is printed
  stadium wallet show alice
  stadium wallet verify /var/lib/stadium                   a second implementation counts everything again")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make an asset known
    Asset(On<account::AssetArguments>),
    /// List the assets with their totals
    Assets(On<look::AssetsArguments>),
    /// Open accounts
    Open(On<account::OpenArguments>),
    /// Change an account's rules
    Change(On<account::ChangeArguments>),
    /// Close an account: no transfer and no hold any more
    Close(On<account::CloseArguments>),
    /// Open a closed account again
    Reopen(On<account::CloseArguments>),
    /// Show a wallet's accounts, or what one had at a time
    Show(On<look::ShowArguments>),
    /// List accounts by name
    List(On<look::ListArguments>),
    /// List an account's entries, newest first
    History(On<look::HistoryArguments>),
    /// Write all entries of an account as CSV or JSON
    Statement(On<statement::Arguments>),
    /// Move an amount, or many from standard input
    Transfer(On<transfer::TransferArguments>),
    /// Set an amount aside for somebody
    Hold(On<transfer::HoldArguments>),
    /// Move what a hold set aside
    Capture(On<transfer::CaptureArguments>),
    /// Let a hold go
    Void(On<transfer::OfArguments>),
    /// Move all of a transfer back, by another transfer
    Reverse(On<transfer::OfArguments>),
    /// List a wallet's open holds
    Holds(On<look::HoldsArguments>),
    /// Show one transfer
    Find(On<look::FindArguments>),
    /// List the roots that were published, of a server or of a data directory
    Roots(On<proof::RootsArguments>),
    /// Count everything in a data directory again; exit code 1 where the books do not balance
    Verify(books::Arguments),
    /// Write the proof that a transfer stands in the books
    Receipt(proof::ReceiptArguments),
    /// Check such a proof against a root that was published
    Check(proof::CheckArguments),
    /// Compare the transfers of a data directory with a bill from outside
    Reconcile(bill::Arguments),
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::Asset(on) => on.run(account::declare, terminal),
        Action::Assets(on) => on.run(look::assets, terminal),
        Action::Open(on) => on.run(account::open, terminal),
        Action::Change(on) => on.run(account::change, terminal),
        Action::Close(on) => on.run(account::close, terminal),
        Action::Reopen(on) => on.run(account::reopen, terminal),
        Action::Show(on) => on.run(look::show, terminal),
        Action::List(on) => on.run(look::list, terminal),
        Action::History(on) => on.run(look::history, terminal),
        Action::Statement(on) => on.run(statement::run, terminal),
        Action::Transfer(on) => on.run(transfer::transfer, terminal),
        Action::Hold(on) => on.run(transfer::hold, terminal),
        Action::Capture(on) => on.run(transfer::capture, terminal),
        Action::Void(on) => on.run(transfer::void, terminal),
        Action::Reverse(on) => on.run(transfer::reverse, terminal),
        Action::Holds(on) => on.run(look::holds, terminal),
        Action::Find(on) => on.run(look::find, terminal),
        Action::Roots(on) => proof::roots(on, terminal),
        Action::Verify(arguments) => books::verify(&arguments, terminal),
        Action::Receipt(arguments) => proof::receipt(&arguments, terminal),
        Action::Check(arguments) => proof::check(&arguments, terminal),
        Action::Reconcile(arguments) => bill::reconcile(&arguments, terminal),
    }
}

/// The path of a wallet, or of its account of an asset, and of what is below it.
fn path_of(wallet: &str, asset: Option<&str>, below: &str) -> String {
    let asset = asset.map(|asset| format!("/{}", encoded(asset))).unwrap_or_default();
    format!("/api/wallets/{}{asset}{below}", encoded(wallet))
}
