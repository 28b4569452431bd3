//! The measurements, each taken by some contenders in turn.
//!
//! A measurement's name is the first part of its samples' names and the text that `--only` selects by.

use super::caller::Caller;

/// Operations of a measured cell, half of them sets.
const OPERATIONS: u32 = 800_000;
/// Operations whose system calls are counted.
const COUNTED_OPERATIONS: u32 = 200_000;
/// Gets whose allocations are counted.
const COUNTED_GETS: u32 = 200_000;
/// Operations before a cell of a program that is compiled ahead: connections and buffers are warm then.
const WARM_OPERATIONS: u32 = 160_000;

/// The way in which operations are under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shape {
    /// So many callers: each sets without waiting, then waits for a get.
    Callers(u32),
    /// One thread with so many operations in flight.
    Inflight(u32),
    /// One caller that waits for each get, without sets.
    Gets,
}

/// The figure that is read about a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// Operations over time.
    Rate,
    /// System calls of all threads, [`super::calls`].
    SystemCalls,
    /// Allocations of all threads.
    Allocations,
}

/// One measurement.
pub(super) struct Measurement {
    pub(super) name: &'static str,
    /// For people.
    pub(super) title: &'static str,
    pub(super) shape: Shape,
    pub(super) read: Read,
    /// In the order in which they take their turns.
    pub(super) callers: &'static [Caller],
}

use Caller::{AsyncMemcached, Bare, Folsom, Jvm, MemcacheAsync, Rust, Spymemcached, Xmemcached};

/// Its name, which rows refer to as well.
pub(super) const CALLERS_8: &str = "callers-8";
pub(super) const CALLERS_32: &str = "callers-32";
pub(super) const INFLIGHT: &str = "inflight-1000";
pub(super) const CALLS: &str = "calls-8";
pub(super) const ALLOCATIONS: &str = "allocations";

/// All, in their order within a round.
pub(super) const MEASUREMENTS: &[Measurement] = &[
    Measurement {
        name: CALLERS_8,
        title: "8 callers",
        shape: Shape::Callers(8),
        read: Read::Rate,
        callers: &[Rust, Xmemcached, Jvm, Folsom, Spymemcached, AsyncMemcached, MemcacheAsync],
    },
    Measurement {
        name: INFLIGHT,
        title: "asynchronous, 1,000 in flight",
        shape: Shape::Inflight(1_000),
        read: Read::Rate,
        callers: &[Rust, Bare, Jvm],
    },
    Measurement {
        name: CALLERS_32,
        title: "32 callers",
        shape: Shape::Callers(32),
        read: Read::Rate,
        callers: &[Rust, Xmemcached, Jvm],
    },
    Measurement {
        name: CALLS,
        title: "system calls, 8 callers",
        shape: Shape::Callers(8),
        read: Read::SystemCalls,
        callers: &[Rust, Xmemcached, Jvm],
    },
    Measurement {
        name: ALLOCATIONS,
        title: "allocations",
        shape: Shape::Gets,
        read: Read::Allocations,
        callers: &[Rust],
    },
];

impl Shape {
    /// A cell of so many operations, as the programs read it.
    pub(super) fn cell(self, operations: u32) -> Vec<String> {
        let of = |option: &str, number: u32| [option.to_owned(), number.to_string()];
        let [operations, count] = of("--operations", operations);
        match self {
            Self::Callers(callers) => [&of("--callers", callers)[..], &[operations, count]].concat(),
            Self::Inflight(inflight) => [&of("--inflight", inflight)[..], &[operations, count]].concat(),
            Self::Gets => {
                [&of("--callers", 1)[..], &[operations, count], &["--gets-only".to_owned()]].concat()
            }
        }
    }

    /// Operations before the first measured cell of this shape.
    pub(super) fn warm_up(self, caller: Caller) -> u32 {
        if caller.has_virtual_machine() { OPERATIONS } else { WARM_OPERATIONS }
    }
}

impl Read {
    /// Operations of the cell.
    pub(super) fn operations(self) -> u32 {
        match self {
            Self::Rate => OPERATIONS,
            Self::SystemCalls => COUNTED_OPERATIONS,
            Self::Allocations => COUNTED_GETS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;

    #[test]
    fn a_cell_is_a_line_of_options() {
        assert_eq!(Shape::Callers(8).cell(100).join(" "), "--callers 8 --operations 100");
        assert_eq!(Shape::Inflight(1_000).cell(100).join(" "), "--inflight 1000 --operations 100");
        assert_eq!(Shape::Gets.cell(100).join(" "), "--callers 1 --operations 100 --gets-only");
    }
}
