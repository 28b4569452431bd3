//! `stadium openapi`: the description of the HTTP API.
//!
//! The same text that a server of this version serves at `/openapi.json`.

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Prints it.
pub(crate) fn run(terminal: &Terminal) -> Result<(), Failure> {
    terminal.data(stadium_node::openapi().trim_end())
}
