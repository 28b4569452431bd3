//! How a run is seen while it runs: in the terminal, on a page, as lines of text.
//!
//! Each view gets every [`Progress`](crate::run::Progress) and draws what it needs of it; none of
//! them asks the run anything, so none can hold it up for longer than a drawing takes. All show the
//! same [`Point`]s.

mod health;
mod line;
mod page;
mod point;
#[cfg(feature = "tui")]
mod screen;
mod series;
#[cfg(feature = "tui")]
mod terminal;
#[cfg(not(feature = "tui"))]
#[path = "no_terminal.rs"]
mod terminal;
mod wish;

pub use line::{Lines, line};
pub use page::Page;
pub use point::Point;
pub use terminal::Terminal;
pub use wish::Wish;

#[cfg(test)]
pub(crate) mod sample;
