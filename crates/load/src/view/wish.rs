//! What is asked for at the live view.

/// What the person at the terminal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// End the run early; users finish what they are at.
    Finish,
    /// End it at once.
    Stop,
}
