//! Behaviours about balancing: what a client does when instances come, go, fail, slow down and
//! heal.

mod choosing;
mod ejecting;
mod fixture;
mod properties;
mod retrying;
mod simulation;
mod warm;
