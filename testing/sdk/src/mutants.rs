//! Actors that are wrong in one way. A case that finds none of them proves nothing.

/// Whom a mutant plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It calls.
    Client,
    /// It serves.
    Server,
}

/// A mutant, and the case that must find it.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Its name, in `STADIUM_MUTANT`.
    pub name: &'static str,
    /// Whom it plays.
    pub role: Role,
    /// The case.
    pub case: &'static str,
}

const fn client(name: &'static str, case: &'static str) -> Mutant {
    Mutant { name, role: Role::Client, case }
}

const fn server(name: &'static str, case: &'static str) -> Mutant {
    Mutant { name, role: Role::Server, case }
}

/// All mutants.
pub const ALL: &[Mutant] = &[
    client("busy-is-unknown", "busy"),
    client("tries-once", "busy-once"),
    client("loses-codes", "rejected"),
    client("deadline-is-broken", "deadline"),
    client("has-no-deadline", "deadline-travels"),
    client("loses-bearers", "bearer"),
    client("sends-no-key", "key"),
    client("sends-no-key", "affinity"),
    client("repeats-what-it-must-not", "killed-once"),
    client("tries-once", "killed-idempotent"),
    client("has-no-guards", "fault-silent"),
    client("forgets-without-registry", "discovery-away"),
    client("forgets-without-registry", "discovery-paused"),
    server("loses-keys", "key"),
    server("loses-a-message", "stream"),
    server("rejects-as-unknown", "rejected"),
    server("works-on", "deadline"),
    server("works-on", "cancel"),
    server("leaves-at-once", "quiesce"),
];
