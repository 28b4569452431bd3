//! The figures of a node's part in its cluster.
//!
//! Those of its shards are with the shards of every server.

use std::fmt;

use prometheus_client::encoding::NoLabelSet;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use crate::fleet::{ClusterStats, LinkStats};
use crate::metrics::encoder::Encoder;

pub(crate) fn encode(to: &mut Encoder<'_>, stats: &ClusterStats) -> fmt::Result {
    let help = "1 while the node is registered in etcd";
    to.gauge("cluster_registered", help, stats.registered.into())?;
    let help = "1 while the node's lease is certainly valid; else each read costs a commit";
    to.gauge("cluster_lease_certain", help, stats.certain.into())?;
    to.gauge("cluster_nodes", "Nodes of the cluster that are alive, as this one knows", stats.nodes)?;
    to.gauge("cluster_shards", "Shards of the cluster", stats.shards)?;
    to.gauge("cluster_shards_served", "Shards that this node serves", stats.served)?;
    to.tallies("cluster_commands", "Commands between this node and others", &stats.commands)?;
    let help = "Commands of this node that wait for the answer of another";
    to.gauge("cluster_commands_waiting", help, stats.waiting)?;
    links(to, &stats.links)?;
    let Some(archive) = &stats.archive else { return Ok(()) };
    let help = "Shards of this node whose newest checkpoint is not in the object store";
    to.gauge("cluster_archive_behind", help, archive.behind)?;
    let help = "How long the checkpoint that has waited longest for the object store has waited";
    to.gauge_f64("cluster_archive_wait", help, Unit::Seconds, archive.behind_for.as_secs_f64())?;
    let help = "Shards of this node that could not be stored at the last attempt";
    to.gauge("cluster_archive_failing", help, archive.failing)
}

fn links(to: &mut Encoder<'_>, links: &[LinkStats]) -> fmt::Result {
    let mut family =
        to.0.encode_descriptor("cluster_link_up", "1 while the link is up", None, MetricType::Gauge)?;
    for link in links {
        family.encode_family(&labels(link))?.encode_gauge(&u64::from(link.up))?;
    }
    let mut family = to.0.encode_descriptor(
        "cluster_link_transferred",
        "Bytes over the link, without TLS",
        Some(&Unit::Bytes),
        MetricType::Counter,
    )?;
    for link in links {
        for (direction, bytes) in ["sent", "received"].into_iter().zip(&link.bytes) {
            let [node, name] = labels(link);
            let labels = [node, name, ("direction", direction)];
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(bytes, None)?;
        }
    }
    let mut family = to.0.encode_descriptor(
        "cluster_link_failures",
        "Attempts to connect that failed, and connections that were lost",
        None,
        MetricType::Counter,
    )?;
    for link in links {
        let total = &link.failures_total;
        family.encode_family(&labels(link))?.encode_counter::<NoLabelSet, _, u64>(total, None)?;
    }
    let mut family = to.0.encode_descriptor(
        "cluster_link_credit_taken",
        "Credit of the link that is taken",
        Some(&Unit::Bytes),
        MetricType::Gauge,
    )?;
    for link in links {
        family.encode_family(&labels(link))?.encode_gauge(&link.credit_taken_bytes)?;
    }
    let mut family = to.0.encode_descriptor(
        "cluster_link_round_trip",
        "The last round trip of the link, with a turn of the loop at both ends",
        Some(&Unit::Seconds),
        MetricType::Gauge,
    )?;
    for link in links {
        family.encode_family(&labels(link))?.encode_gauge(&link.round_trip.as_secs_f64())?;
    }
    Ok(())
}

fn labels(link: &LinkStats) -> [(&str, &str); 2] {
    [("node", link.node.as_str()), ("link", link.link.as_str())]
}
