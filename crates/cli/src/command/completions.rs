//! `stadium completions SHELL`: what a shell needs to complete `stadium` commands.
//!
//! Generated from the same definitions as the parser, so it knows every command and flag.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::failure::Failure;

/// Prints the completions of `shell`.
pub(crate) fn run(shell: Shell) -> Result<(), Failure> {
    let mut command = crate::arguments::Arguments::command();
    clap_complete::generate(shell, &mut command, "stadium", &mut std::io::stdout());
    Ok(())
}
