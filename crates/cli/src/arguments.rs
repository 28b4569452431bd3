//! The command line: every command, flag and help text.
//!
//! Flags that set settings are in [`crate::settings_flags`]; what the commands do is in
//! [`crate::command`].

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::command;

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed, the last line on standard error has the reason; 2 wrong usage; 130 or 143 left at once on a second signal.
Data goes to standard output, everything else to standard error. NO_COLOR turns colours off.";

/// Self-hosted engagement backend: hold a fleet of devices on open connections, and light all of
/// them up with one call.
#[derive(Debug, Parser)]
#[command(name = "stadium", version, max_term_width = 110, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// Results as JSON on standard output
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write the configuration, certificates and keys of a new server
    Init(Box<command::init::Arguments>),
    /// Examine this machine, the configuration and the server, and name a remedy for each problem
    Doctor(Box<command::doctor::Arguments>),
    /// Make a server have what a file declares: apps, queues, keys, schedules; shows the difference
    /// first
    Apply(Box<command::apply::Arguments>),
    /// Write a file for `apply` that declares what a server has
    Export(Box<command::apply::Export>),
    /// Serve devices and the HTTP API until a signal ends it
    Serve(Box<command::serve::Arguments>),
    /// See a whole stadium light up: a server, thousands of simulated devices, pushes, and how fast
    /// that was
    #[cfg(feature = "lab")]
    Demo(command::demo::Arguments),
    /// Push a message to devices; send, follow and explain pushes that are kept
    Push(Box<command::push::Arguments>),
    /// List and change the apps of the push platform
    App(command::app::Arguments),
    /// Save audiences, and count whom they reach
    Audience(command::audience::Arguments),
    /// Make a push again and again
    Schedule(Box<command::schedule::Arguments>),
    /// Put jobs into queues, work on them, look at them, and help those that failed
    Queue(Box<command::queue::Arguments>),
    /// Move amounts between accounts, look at them, and have the books examined
    Wallet(Box<command::wallet::Arguments>),
    /// List, show and disconnect devices; register, import and export them; write their passwords
    Device(Box<command::device::Arguments>),
    /// Publish a message to a topic
    Publish(command::publish::Arguments),
    /// List and remove retained messages
    Retained(command::retained::Arguments),
    /// Export all that a server has of a user, or erase it
    User(command::user::Arguments),
    /// Find, describe, call and look after services
    Service(Box<command::service::Arguments>),
    /// Read and write values in memcached, look at its servers, measure them
    Memcache(Box<command::memcache::Arguments>),
    /// Make a cluster, look at it, move its shards, drain its nodes, find what is wrong with it
    Cluster(command::cluster::Arguments),
    /// Verify, read and repair the journals of a data directory
    Journal(command::journal::Arguments),
    /// Back up a stopped server, list, verify and prune backups
    Backup(command::backup::Arguments),
    /// Write a data directory as it was at a moment
    Restore(command::restore::Arguments),
    /// Make, list and revoke API keys
    Key(command::key::Arguments),
    /// Verify and export the audit log of a data directory
    Audit(command::audit::Arguments),
    /// Simulate devices and measure
    #[cfg(feature = "lab")]
    Load(command::load::Arguments),
    /// Report whether a server is ready for work, as an exit code
    Health(command::health::Arguments),
    /// Send any request to the HTTP API of a server
    Api(Box<command::api::Arguments>),
    /// Name the servers that you use, so that no command needs their flags
    Profile(command::profile::Arguments),
    /// Print the OpenAPI description of the HTTP API
    Openapi,
    /// Document the metrics of a server, and print dashboards and alert rules for them
    Metrics(command::metrics::Arguments),
    /// Check, show and document the configuration
    Config(command::config::Arguments),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, one for each command
    Man {
        /// The folder that gets stadium.1, stadium-serve.1 and so on; it is made where it is missing
        directory: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn each_command_can_be_parsed() {
        super::Arguments::command().debug_assert();
    }
}
