//! The commands of a handle to the thread `membership`. What came of one is in the view, so none has an
//! answer.

use stadium_membership::{Request, Write};

/// A command of a handle.
#[derive(Debug)]
pub(crate) enum Command {
    Write(Write),
    Request(Request),
    Withdraw(Request),
}
