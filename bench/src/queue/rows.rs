//! The rows that the issue asks for, with what each must reach, against the peers and the bare disk of the same run.

use super::designs::{Design, MYSQL, PEERS};
use super::{delayed, latency, recovery, throughput};
use crate::figure::{Better, Figure, Row, Samples, Sides};
use crate::scaling;

/// How far ahead of the best MySQL design single jobs must be.
const MYSQL_GAIN: f64 = 5.0;

/// The least rate of single jobs, whatever the peers do.
const SINGLE_MIN: f64 = 60_000.0;

/// Who is who.
const SIDES: Sides<Design> = Sides { product: Design::Stadium, peers: PEERS, limit: Design::Limit };

/// Every row, measured or not.
pub(super) fn figures(samples: &Samples<Design>) -> Vec<Figure> {
    let row = |sample: String, figure: &str, unit, better| Row {
        samples,
        sample,
        figure: figure.to_owned(),
        unit,
        better,
    };
    let of = |measurement: &str, value: &str| format!("{measurement}.{value}");
    let single = row(
        of(&throughput::name(1), "per_second"),
        "put + reserve + settle, each durable, 100 producers and 100 consumers, batch 1",
        "jobs/s",
        Better::Higher,
    );
    let single_must = single.best(MYSQL).map_or(0.0, |best| MYSQL_GAIN * best).max(SINGLE_MIN);
    let hundred =
        row(of(&throughput::name(100), "per_second"), "the same, batch 100", "jobs/s", Better::Higher);
    let hundred_must = hundred.best(PEERS).unwrap_or(0.0).max(300_000.0);
    // The disk's own p99, of syncs of this row's size.
    let disk = samples.median(&of(&throughput::name(1), "sync_p99_ms"), Design::Limit);
    let mut latency = row(
        of(latency::NAME, "late_p99_ms"),
        "put to reserve at 10,000 jobs/s with fsync, 99th percentile",
        "ms",
        Better::Lower,
    )
    .figure(&SIDES, Some(20.0), disk.map(|disk| 2.0 * disk));
    latency.limit = disk;
    vec![
        single.figure(&SIDES, Some(single_must), Some(100_000.0)),
        hundred.figure(&SIDES, Some(hundred_must), Some(1_000_000.0)),
        latency,
        row(
            of(recovery::NAME, "first_answer_s"),
            "5 million jobs of 200 B, SIGKILL, 500 requests/s go on arriving: first answer",
            "s",
            Better::Lower,
        )
        .figure(&SIDES, Some(10.0), Some(3.0)),
        row(of(recovery::NAME, "lost"), "the same: acknowledged jobs lost", "jobs", Better::Lower).figure(
            &SIDES,
            Some(0.0),
            None,
        ),
        row(
            of(delayed::NAME, "bytes_each"),
            "10 million delayed jobs: memory for each",
            "bytes",
            Better::Lower,
        )
        .figure(&SIDES, Some(90.0), Some(64.0)),
        row(
            of(delayed::NAME, "late_p99_ms"),
            "10 million delayed jobs: lateness at 10,000 due a second, 99th percentile",
            "ms",
            Better::Lower,
        )
        .figure(&SIDES, Some(20.0), Some(5.0)),
        row(of(scaling::NAME, scaling::GAIN), "two shards on 2 cores over one on 1", "times", Better::Higher)
            .figure(&SIDES, Some(1.7), Some(1.9)),
        row(
            of(scaling::NAME, scaling::GAIN_OF_PROCESSORS),
            "the same, jobs for each second of the server's processors",
            "times",
            Better::Higher,
        )
        .figure(&SIDES, Some(0.85), Some(0.95)),
    ]
}

#[cfg(test)]
mod tests {
    use super::figures;
    use crate::figure::Samples;
    use crate::queue::designs::Design;

    #[test]
    fn single_jobs_must_be_five_times_the_best_mysql_design() {
        let mut samples = Samples::default();
        for (design, rate) in
            [(Design::MysqlTable, 2_000.0), (Design::MysqlRedis, 14_000.0), (Design::RedisStreams, 90_000.0)]
        {
            samples.add("single.per_second".into(), design, rate);
        }
        samples.add("single.per_second".into(), Design::Stadium, 71_000.0);
        let figures = figures(&samples);
        assert_eq!((figures[0].must, figures[0].verdict()), (Some(70_000.0), "must"));
    }

    #[test]
    fn batches_must_be_above_every_peer() {
        let mut samples = Samples::default();
        samples.add("batch-100.per_second".into(), Design::RedisStreams, 350_000.0);
        samples.add("batch-100.per_second".into(), Design::Stadium, 340_000.0);
        let figures = figures(&samples);
        assert_eq!((figures[1].must, figures[1].verdict()), (Some(350_000.0), "**missed**"));
    }
}
