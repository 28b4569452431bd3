//! The command line: every command, flag and help text.
//!
//! Flags that set settings are in [`crate::settings_flags`]; what the commands do is in [`crate::command`].

use clap::{Parser, Subcommand};

use crate::command;

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed, the last line on standard error says why; 2 wrong usage; 130 or 143 left at once on a second signal.
Data goes to standard output, everything else to standard error. NO_COLOR turns colours off.";

/// Self-hosted engagement backend: hold a fleet of devices on open connections, and light all of them up with one call.
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
    /// Check, show and document the configuration
    Config(command::config::Arguments),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}
