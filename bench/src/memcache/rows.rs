//! The rows that the issue asks for.

use super::caller::Caller;
use super::measurement::{ALLOCATIONS, CALLERS_8, CALLERS_32, CALLS, INFLIGHT};
use crate::figure::Better;
use crate::ratio;

/// One row.
type Row = ratio::Row<Caller>;

use Better::{Higher, Lower};
use Caller::{AsyncMemcached, Bare, Folsom, Jvm, MemcacheAsync, Rust, Spymemcached, Xmemcached};

/// More operations a second than others, which may be those of another measurement.
const fn rate(
    figure: &'static str,
    measurement: &'static str,
    ours: Caller,
    (over, over_in): (&'static [Caller], &'static str),
    must: Option<f64>,
    aim: Option<f64>,
) -> Row {
    let (unit, value) = ("times", "per_second");
    Row { figure, unit, better: Higher, measurement, value, ours, over, over_in, must, aim }
}

/// Fewer system calls than Xmemcached.
const fn calls(figure: &'static str, ours: Caller) -> Row {
    Row {
        figure,
        unit: "times",
        better: Lower,
        measurement: CALLS,
        value: "calls_per_thousand",
        ours,
        over: &[Xmemcached],
        over_in: CALLS,
        must: Some(0.5),
        aim: Some(0.1),
    }
}

const XMEMCACHED_8: (&[Caller], &str) = (&[Xmemcached], CALLERS_8);
const XMEMCACHED_32: (&[Caller], &str) = (&[Xmemcached], CALLERS_32);
const BARE: (&[Caller], &str) = (&[Bare], INFLIGHT);
/// The others with 8 callers: two of the JVM, two of crates.io.
const OTHERS: (&[Caller], &str) = (&[Folsom, Spymemcached, AsyncMemcached, MemcacheAsync], CALLERS_8);

/// All, in the order of the page.
pub(super) const ROWS: &[Row] = &[
    rate("Rust over Xmemcached: 8 callers", CALLERS_8, Rust, XMEMCACHED_8, Some(1.6), Some(1.85)),
    rate("JVM over Xmemcached: 8 callers", CALLERS_8, Jvm, XMEMCACHED_8, Some(1.43), Some(1.6)),
    rate("Rust over Xmemcached: 32 callers", CALLERS_32, Rust, XMEMCACHED_32, Some(1.8), Some(2.2)),
    rate("JVM over Xmemcached: 32 callers", CALLERS_32, Jvm, XMEMCACHED_32, Some(1.6), Some(1.9)),
    rate(
        "Rust, asynchronous, 1,000 in flight, over Xmemcached with 8 callers",
        INFLIGHT,
        Rust,
        XMEMCACHED_8,
        Some(4.0),
        None,
    ),
    rate(
        "JVM, asynchronous, 1,000 in flight, over Xmemcached with 8 callers",
        INFLIGHT,
        Jvm,
        XMEMCACHED_8,
        Some(4.0),
        None,
    ),
    rate(
        "Rust, asynchronous, 1,000 in flight, over a bare pipelined loop",
        INFLIGHT,
        Rust,
        BARE,
        None,
        Some(0.9),
    ),
    rate(
        "JVM, asynchronous, 1,000 in flight, over a bare pipelined loop",
        INFLIGHT,
        Jvm,
        BARE,
        None,
        Some(0.9),
    ),
    calls("Rust over Xmemcached: system calls for 1,000 operations, 8 callers", Rust),
    calls("JVM over Xmemcached: system calls for 1,000 operations, 8 callers", Jvm),
    rate(
        "Rust over the best of Folsom, spymemcached and crates.io: 8 callers",
        CALLERS_8,
        Rust,
        OTHERS,
        Some(1.0),
        Some(1.5),
    ),
    rate(
        "JVM over the best of Folsom, spymemcached and crates.io: 8 callers",
        CALLERS_8,
        Jvm,
        OTHERS,
        Some(1.0),
        Some(1.5),
    ),
    Row {
        figure: "Rust: allocations for a warm get into the caller's buffer",
        unit: "allocations",
        better: Lower,
        measurement: ALLOCATIONS,
        value: "allocations_per_get",
        ours: Rust,
        over: &[],
        over_in: ALLOCATIONS,
        must: Some(0.0),
        aim: Some(0.0),
    },
];

#[cfg(test)]
mod tests {
    use super::super::measurement::MEASUREMENTS;
    use super::{Caller, ROWS};
    use crate::ratio::names;

    #[test]
    fn no_two_rows_share_their_values() {
        assert_eq!(names(ROWS), ROWS.len());
    }

    #[test]
    fn each_side_of_a_row_is_measured() {
        let takes = |name: &str, caller: &Caller| {
            MEASUREMENTS.iter().any(|one| one.name == name && one.callers.contains(caller))
        };
        for row in ROWS {
            assert!(takes(row.measurement, &row.ours), "{}", row.figure);
            assert!(row.over.iter().all(|caller| takes(row.over_in, caller)), "{}", row.figure);
        }
    }
}
