//! The scope in which an expression is evaluated: the variables of one user, chance and the
//! clock.
//!
//! The clock is read by the engine, once a turn, and given; random numbers come from a generator that it seeds.

use crate::value::Value;

/// What an expression can see.
pub struct Scope<'a> {
    /// The user's variables, by slot.
    pub variables: &'a mut [Value],
    /// What random numbers are drawn from.
    pub random: &'a mut fastrand::Rng,
    /// The time: milliseconds since 1970-01-01 UTC.
    pub wall_ms: u64,
    /// The number of the user, over the whole run.
    pub user: u64,
}
