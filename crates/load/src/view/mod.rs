//! How a run is seen while it runs: in the terminal, on a page, as lines of text.
//!
//! Each view is told of every [`Progress`](crate::engine::Progress) and draws what it needs of it; none of them asks
//! the run anything, so none can hold it up for longer than a drawing takes. All show the same [`Point`]s.

mod health;
mod line;
mod page;
mod point;
mod screen;
mod series;
mod terminal;

pub use line::{Lines, line};
pub use page::Page;
pub use point::Point;
pub use terminal::{Terminal, Wish};

#[cfg(test)]
pub(crate) mod sample;
