//! The push platform as its users see it: commands go in, dispatches and views come out, the clock is the test's.
//!
//! Each scene ends with its records replayed and its checkpoint restored: both must show the same.

mod audience;
mod cancelling;
mod format;
mod inbox;
mod live;
mod locations;
mod messages;
mod model;
mod own;
mod presence;
mod saved;
mod scene;
mod schedules;
mod slots;
mod traces;
