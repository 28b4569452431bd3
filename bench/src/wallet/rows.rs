//! The rows that the issue asks for, with what each must reach, against the peers and the bare disk of the same run.
//!
//! A row without a peer stands beside the bound alone.

use super::clients::Clients;
use super::designs::{Design, PEERS, POSTGRESQL};
use super::rates::Rate;
use super::{memory, recovery, voting};
use crate::figure::{Better, Figure, Row, Samples, Sides};
use crate::scaling;

/// Who is who.
const SIDES: Sides<Design> = Sides { product: Design::Stadium, peers: PEERS, limit: Design::Limit };
/// How far ahead of the better PostgreSQL single debits must be, whether that has one request under way or many.
const POSTGRESQL_GAIN: f64 = 10.0;
/// The least rate of single debits, whatever the peers do.
const SINGLE_MIN: f64 = 150_000.0;

/// What a row of debits is called.
pub(super) fn title(rate: Rate, clients: &Clients) -> String {
    let Clients { connections, depth, accounts, batch, rate: per_second, .. } = clients;
    match rate {
        Rate::Single => format!(
            "durable debits, {connections} connections with {depth} requests under way each, {accounts} accounts, zipf 0.99"
        ),
        Rate::SingleOne => "the same, one request under way on each".to_owned(),
        Rate::Batch => format!("the same, batches of {batch}"),
        Rate::Hot => format!("all debits from one account, {depth} requests under way on each"),
        Rate::Latency => format!("debit at {per_second} a second"),
    }
}

/// Every row, measured or not.
pub(super) fn figures(samples: &Samples<Design>, clients: &Clients) -> Vec<Figure> {
    let row = |measurement: &str, value: &str, figure: String, unit, better| Row {
        samples,
        sample: format!("{measurement}.{value}"),
        figure,
        unit,
        better,
    };
    let rate = |rate: Rate| row(rate.name(), "per_second", title(rate, clients), "debits/s", Better::Higher);
    let (single, single_one) = (rate(Rate::Single), rate(Rate::SingleOne));
    // PostgreSQL at its best: pipelines do not suit it on every machine.
    let postgresql = [single.best(POSTGRESQL), single_one.best(POSTGRESQL)];
    let postgresql = postgresql.into_iter().flatten().fold(0.0, f64::max);
    let single_must = (POSTGRESQL_GAIN * postgresql).max(SINGLE_MIN);
    // The disk's own p99, of small syncs in this row's time.
    let disk = samples.median(&format!("{}.sync_p99_ms", Rate::Latency.name()), Design::Limit);
    let latency = |value: &str, what: &str| {
        row(
            Rate::Latency.name(),
            value,
            format!("{}, {what}", title(Rate::Latency, clients)),
            "ms",
            Better::Lower,
        )
    };
    let p99 = latency("p99_ms", "99th percentile");
    let redis = p99.best(&[Design::Redis]);
    let mut p99 =
        p99.figure(&SIDES, Some(redis.map_or(20.0, |redis| redis.min(20.0))), disk.map(|disk| 2.0 * disk));
    p99.limit = disk;
    let mut p50 = latency("p50_ms", "median").figure(&SIDES, None, None);
    p50.limit = samples.median(&format!("{}.sync_p50_ms", Rate::Latency.name()), Design::Limit);
    vec![
        single.figure(&SIDES, Some(single_must), Some(250_000.0)),
        single_one.figure(&SIDES, None, None),
        rate(Rate::Batch).figure(&SIDES, Some(800_000.0), Some(1_500_000.0)),
        rate(Rate::Hot).figure(&SIDES, Some(50_000.0), Some(250_000.0)),
        p50,
        p99,
        row(
            recovery::NAME,
            "all_there_s",
            "10 million transfers, no checkpoint: all balances rebuilt from the journal".to_owned(),
            "s",
            Better::Lower,
        )
        .figure(&SIDES, Some(20.0), Some(5.0)),
        row(recovery::NAME, "differ", "the same: balances that differ".to_owned(), "accounts", Better::Lower)
            .figure(&SIDES, Some(0.0), None),
        row(
            scaling::NAME,
            scaling::GAIN,
            "batches, two shards on 2 cores over one on 1".to_owned(),
            "times",
            Better::Higher,
        )
        .figure(&SIDES, Some(1.7), Some(1.9)),
        row(
            scaling::NAME,
            scaling::GAIN_OF_PROCESSORS,
            "the same, debits for each second of the server's processors".to_owned(),
            "times",
            Better::Higher,
        )
        .figure(&SIDES, Some(0.85), Some(0.95)),
        row(
            memory::NAME,
            "bytes_each",
            "5 million idle accounts: memory for each".to_owned(),
            "bytes",
            Better::Lower,
        )
        .figure(&SIDES, Some(128.0), Some(64.0)),
        row(
            voting::NAME,
            "per_second",
            "voting: sessions (log in, list, balance, vote) over HTTP with keep-alive".to_owned(),
            "requests/s",
            Better::Higher,
        )
        .figure(&SIDES, Some(20_000.0), Some(30_000.0)),
    ]
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::figures;
    use crate::figure::Samples;
    use crate::wallet::clients::Clients;
    use crate::wallet::designs::Design;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        clients: Clients,
    }

    fn clients() -> Clients {
        Line::parse_from(["bench"]).clients
    }

    #[test]
    fn single_debits_must_be_ten_times_the_better_postgresql() {
        let mut samples = Samples::default();
        for (design, rate) in [
            (Design::PostgresqlLocking, 16_000.0),
            (Design::PostgresqlTrying, 17_000.0),
            (Design::Redis, 90_000.0),
            (Design::Stadium, 179_000.0),
        ] {
            samples.add("single.per_second".into(), design, rate);
        }
        samples.add("single-one.per_second".into(), Design::PostgresqlTrying, 18_000.0);
        let figures = figures(&samples, &clients());
        assert_eq!((figures[0].must, figures[0].verdict()), (Some(180_000.0), "**missed**"));
    }

    #[test]
    fn single_debits_must_reach_their_least_even_beside_a_slow_postgresql() {
        let mut samples = Samples::default();
        samples.add("single.per_second".into(), Design::PostgresqlTrying, 1_000.0);
        samples.add("single.per_second".into(), Design::Stadium, 151_000.0);
        let figures = figures(&samples, &clients());
        assert_eq!((figures[0].must, figures[0].verdict()), (Some(150_000.0), "must"));
    }

    #[test]
    fn latency_aims_at_twice_the_disk() {
        let mut samples = Samples::default();
        samples.add("latency.sync_p99_ms".into(), Design::Limit, 1.5);
        samples.add("latency.p99_ms".into(), Design::Stadium, 2.9);
        let figures = figures(&samples, &clients());
        let row = figures.iter().find(|figure| figure.figure.ends_with("99th percentile")).expect("a row");
        assert_eq!((row.aim, row.limit, row.verdict()), (Some(3.0), Some(1.5), "aim"));
    }

    #[test]
    fn the_defaults_are_the_published_rows() {
        assert!(clients().is_published());
    }
}
