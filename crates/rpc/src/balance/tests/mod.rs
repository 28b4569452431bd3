//! Stories about balancing: what a client does when instances come, go, fail, slow down and heal.

mod choosing;
mod ejecting;
mod properties;
mod retrying;
mod scenery;
mod simulation;
mod warm;
