//! What a node of a cluster counts, in the API's words.
//!
//! A scrape reads it.

use std::time::{Duration, SystemTime};

use stadium_cluster::{ArchiveFigures, ClusterNode};
use stadium_http::fleet::{ArchiveStats, ClusterStats, LinkStats, Tally};
use stadium_links::{Lane, LinkFigures};

/// The figures of a node in a cluster of so many shards.
pub(super) fn of(node: &ClusterNode, shards: u16) -> ClusterStats {
    let snapshot = node.snapshot();
    let forwarded = node.forward_figures();
    let commands = [
        ("asked", forwarded.asked),
        ("given_back", forwarded.given_back),
        ("asked_again", forwarded.asked_again),
        ("served", forwarded.served),
        ("unknown", forwarded.unknown),
    ];
    ClusterStats {
        registered: snapshot.incarnation.is_some(),
        certain: node.is_certain(),
        nodes: snapshot.view.nodes.len() as u64,
        shards: shards.into(),
        served: node.serves().len() as u64,
        commands: commands.into_iter().map(|(reason, total)| Tally { reason, total }).collect(),
        waiting: forwarded.pending,
        links: node.link_figures().into_iter().map(of_link).collect(),
        archive: node.archive().as_ref().map(of_archive),
    }
}

/// A link's purpose and its loop: `data-0`.
pub(super) fn link_name(link: &LinkFigures) -> String {
    let purpose = match link.lane {
        Lane::Data => "data",
        Lane::Control => "control",
    };
    format!("{purpose}-{}", link.loop_index)
}

fn of_link(link: LinkFigures) -> LinkStats {
    LinkStats {
        link: link_name(&link),
        node: link.node.to_string(),
        up: link.is_up,
        bytes: [link.bytes_sent, link.bytes_received],
        failures_total: link.failures,
        credit_taken_bytes: link.in_flight.bytes,
        round_trip: link.round_trip.unwrap_or_default(),
    }
}

fn of_archive(archive: &ArchiveFigures) -> ArchiveStats {
    let now = SystemTime::now();
    let waits = archive.shards.values().filter_map(|shard| shard.behind_since);
    let waits = waits.map(|since| now.duration_since(since).unwrap_or_default());
    ArchiveStats {
        behind: archive.shards.values().filter(|shard| shard.behind_since.is_some()).count() as u64,
        behind_for: waits.max().unwrap_or(Duration::ZERO),
        failing: archive.shards.values().filter(|shard| shard.error.is_some()).count() as u64,
    }
}
