//! Behaviours about admission: what a server does when more comes than it can do.

mod leasing;
mod limiting;
mod loading;
mod queueing;
mod warm;
