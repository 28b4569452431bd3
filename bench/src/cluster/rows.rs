//! The rows that are asked for, with the value that each must reach.

use super::{Options, Side, forwarded, kills, moves, scaling, shard};
use crate::figure::{Better, Figure, Row, Samples, Sides};

/// The sides. There are no peers.
const SIDES: Sides<Side> = Sides { product: Side::Stadium, peers: &[], limit: Side::Bare };

/// Every row, measured or not.
pub(super) fn figures(samples: &Samples<Side>, options: &Options) -> Vec<Figure> {
    use Better::{Higher, Lower};
    let row = |(measurement, value): (&str, &str), figure: String, unit, better, must, aim| {
        let sample = format!("{measurement}.{value}");
        Row { samples, sample, figure, unit, better }.figure(&SIDES, Some(must), Some(aim))
    };
    let kills = |figure: &str| format!("kill -9 of a node under load, {} rounds: {figure}", options.kills);
    vec![
        row((kills::NAME, "lost"), kills("acknowledged jobs lost or twice"), "jobs", Lower, 0.0, 0.0),
        row((kills::NAME, "pause_s"), kills("longest pause"), "s", Lower, 5.0, 3.0),
        row(
            (shard::NAME, "takeover_ms"),
            format!("takeover of a shard with {} jobs, from fence to first answer", options.jobs),
            "ms",
            Lower,
            500.0,
            100.0,
        ),
        row(
            (moves::NAME, "longest_ms"),
            format!("longest wait of a command under load while its shard is moved {} times", options.moves),
            "ms",
            Lower,
            500.0,
            200.0,
        ),
        row(
            (shard::NAME, "ratio"),
            "durable commands/s of one shard, over those of a bare producer with the same messages"
                .to_owned(),
            "ratio",
            Higher,
            0.7,
            0.9,
        ),
        row(
            (forwarded::NAME, "ratio"),
            "CPU of the nodes for a command that is passed on, over a local one".to_owned(),
            "ratio",
            Lower,
            2.0,
            1.5,
        ),
        row(
            (scaling::NAME, "gain"),
            "work for each CPU-second of the nodes, six nodes over three".to_owned(),
            "ratio",
            Higher,
            0.9,
            0.95,
        ),
        row(
            (shard::NAME, "memory_ratio"),
            format!("memory of a standby over its owner's, {} jobs", options.jobs),
            "ratio",
            Lower,
            1.1,
            1.0,
        ),
    ]
}
