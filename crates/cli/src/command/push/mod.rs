//! `stadium push`: pushes, durable and live, sent, followed and explained.
//!
//! `stadium push TO MESSAGE` makes a live push to channels and clients, see [`live`].
//! `stadium push send` makes durable pushes, and live ones to registered devices.

mod live;
pub(super) mod look;
pub(super) mod send;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::on::On;
use crate::terminal::Terminal;

/// What to push, or what to do with pushes.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  stadium push channel:news 'Doors open at eight'             to who is connected and listens
  stadium push send tag:vip --title 'Hello {{name|fan}}'      to who is registered, also if away
  stadium push send tag:vip --title 'Goal!' --live            to who is registered and connected
  stadium push trace PUSH phone-7                             why did this phone not get it?"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    live: live::Live,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Push a notification or a message to an audience; devices that are away get it when they return
    Send(Box<On<send::Arguments>>),
    /// List pushes, newest first
    List(On<look::ListArguments>),
    /// Show a push and what became of it
    Show(On<look::PushArguments>),
    /// Follow a push until it is over
    Watch(On<look::WatchArguments>),
    /// End a push: devices that have not got it yet never do
    Cancel(On<look::PushArguments>),
    /// Explain why a device did or did not get a push
    Trace(On<look::TraceArguments>),
    /// Write what became of a push for each device
    Deliveries(On<look::DeliveriesArguments>),
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Some(Action::Send(on)) => on.run(send::run, terminal),
        Some(Action::List(on)) => on.run(look::list, terminal),
        Some(Action::Show(on)) => on.run(look::show, terminal),
        Some(Action::Watch(on)) => on.run(look::watch, terminal),
        Some(Action::Cancel(on)) => on.run(look::cancel, terminal),
        Some(Action::Trace(on)) => on.run(look::trace, terminal),
        Some(Action::Deliveries(on)) => on.run(look::deliveries, terminal),
        None => live::run(arguments.live, terminal),
    }
}
