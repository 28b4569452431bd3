//! The figures of a node's part in its cluster.
//!
//! Those of its shards are with the shards of every server.

use std::fmt;

use stadium_metrics::table::cluster as table;

use crate::fleet::{ClusterStats, LinkStats};
use crate::metrics::encoder::{Encoder, Reading};

pub(crate) fn encode(to: &mut Encoder<'_>, stats: &ClusterStats) -> fmt::Result {
    to.value(table::CLUSTER_REGISTERED, stats.registered)?;
    to.value(table::CLUSTER_LEASE_CERTAIN, stats.certain)?;
    to.value(table::CLUSTER_NODES, stats.nodes)?;
    to.value(table::CLUSTER_SHARDS, stats.shards)?;
    to.value(table::CLUSTER_SHARDS_SERVED, stats.served)?;
    to.tallies(table::CLUSTER_COMMANDS, &stats.commands)?;
    to.value(table::CLUSTER_COMMANDS_WAITING, stats.waiting)?;
    links(to, &stats.links)?;
    let Some(archive) = &stats.archive else { return Ok(()) };
    to.value(table::CLUSTER_ARCHIVE_BEHIND, archive.behind)?;
    to.value(table::CLUSTER_ARCHIVE_WAIT, archive.behind_for)?;
    to.value(table::CLUSTER_ARCHIVE_FAILING, archive.failing)
}

fn links(to: &mut Encoder<'_>, links: &[LinkStats]) -> fmt::Result {
    let rows: [Reading<LinkStats>; 4] = [
        (table::CLUSTER_LINK_UP, |link| link.up.into()),
        (table::CLUSTER_LINK_FAILURES, |link| link.failures_total.into()),
        (table::CLUSTER_LINK_CREDIT_TAKEN, |link| link.credit_taken_bytes.into()),
        (table::CLUSTER_LINK_ROUND_TRIP, |link| link.round_trip.into()),
    ];
    for (row, of) in rows {
        let mut family = to.family(row)?;
        for link in links {
            family.series(&labels(link), of(link))?;
        }
    }
    let mut family = to.family(table::CLUSTER_LINK_TRANSFERRED)?;
    for link in links {
        for (direction, bytes) in ["sent", "received"].into_iter().zip(link.bytes) {
            let [node, name] = labels(link);
            family.series(&[node, name, ("direction", direction)], bytes)?;
        }
    }
    Ok(())
}

fn labels(link: &LinkStats) -> [(&str, &str); 2] {
    [("node", link.node.as_str()), ("link", link.link.as_str())]
}
