//! The results for people: bench/results/cluster.md. Written whole, from one run; never edited by hand.

use std::fmt::Write as _;

use super::{Options, SIDES, Side, forwarded, kills, moves, scaling, shard};
use crate::figure::Figure;
use crate::taken::Taken;
use crate::{machine, table};

/// The page as Markdown.
pub(super) fn write(figures: &[Figure], taken: &Taken<Side>, options: &Options) -> String {
    let mut page = String::from("# A cluster\n\n");
    let _ = writeln!(
        page,
        "`cargo xtask bench cluster`, {} rounds, medians with (lowest to highest). The nodes, three \
         brokers of Kafka, etcd and the clients share both cores of this machine. So CPU time and \
         ratios count, and rates do not. Every job was counted: each one was reserved and settled \
         exactly once, or the row has failed. The load of the rows of nodes is 100 producers and 100 \
         consumers over RPC; in the row of six nodes {} of each and {} jobs/s for each node. Loads take {} \
         seconds, with payloads of 200 bytes and one job a command. The kills are the \
         drill `kill`, once: {} rounds. [How it is measured](../README.md#a-cluster). Machine: {}.\n",
        options.selection.rounds,
        scaling::WORKERS_EACH,
        scaling::PER_SECOND_EACH,
        options.seconds,
        options.kills,
        machine::describe()
    );
    page.push_str("## Figures\n\n");
    table::figures::<Side>(&mut page, figures, &[], "limit");
    page.push_str("\n## Behind them\n\n");
    table::details(&mut page, &taken.samples, SIDES, details());
    table::failures(&mut page, &taken.failures);
    page
}

/// Numbers beyond the figures.
fn details() -> impl Iterator<Item = (String, String)> {
    [
        (shard::NAME, "commands_per_second", "one shard: puts/s of one job"),
        (shard::NAME, "bare_per_second", "bare producer: messages/s of the size of the shard's"),
        (shard::NAME, "commands_each", "one shard: commands in a message"),
        (shard::NAME, "wide_ratio", "the ratio with 1,024 puts at a time"),
        (shard::NAME, "wide_commands_per_second", "one shard: puts/s, 1,024 at a time"),
        (shard::NAME, "wide_commands_each", "one shard: commands in a message, 1,024 at a time"),
        (shard::NAME, "fence_ms", "takeover: until the fence counts, ms"),
        (shard::NAME, "owner_mb", "memory of the owner, MB"),
        (shard::NAME, "standby_mb", "memory of the standby, MB"),
        (forwarded::NAME, "local_us", "local: CPU of all nodes, us a job"),
        (forwarded::NAME, "forwarded_us", "passed on: CPU of all nodes, us a job"),
        (forwarded::NAME, "local_per_second", "local: jobs/s"),
        (forwarded::NAME, "forwarded_per_second", "passed on: jobs/s"),
        (moves::NAME, "quiet_longest_ms", "longest wait of the same load without moves, ms"),
        (moves::NAME, "p99_ms", "puts beside the moves, 99th percentile ms"),
        (moves::NAME, "move_median_ms", "a move, from the request until etcd has its end, median ms"),
        (moves::NAME, "jobs", "jobs beside the moves"),
        (scaling::NAME, "three_us", "three nodes: CPU of all, us a job"),
        (scaling::NAME, "six_us", "six nodes: CPU of all, us a job"),
        (scaling::NAME, "three_per_second", "three nodes: jobs/s"),
        (scaling::NAME, "six_per_second", "six nodes: jobs/s"),
        (scaling::NAME, "idle_percent", "three nodes: CPU of one without a load, percent of a core"),
        (scaling::NAME, "spread_gain", "the ratio where six nodes do what three did"),
        (scaling::NAME, "spread_us", "six nodes, the load of three: CPU of all, us a job"),
        (kills::NAME, "acknowledged", "kills: jobs acknowledged"),
        (kills::NAME, "median_pause_s", "kills: longest pause of a round, median s"),
    ]
    .into_iter()
    .map(|(measurement, value, title)| (format!("{measurement}.{value}"), title.to_owned()))
}
