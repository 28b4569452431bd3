//! What services and discovery count, in the API's words.

use std::time::Duration;

use stadium_discovery::{Connection, Status};
use stadium_http::fleet::{DiscoveryStats, MethodStats, ServiceStats, Tally};
use stadium_rpc::Server;
use stadium_rpc::proto::MethodStatistics;

/// All services of a server.
pub(super) fn of_server(server: &Server) -> ServiceStats {
    let mut all = ServiceStats::default();
    let names: Vec<&str> = server.services().collect();
    for statistics in names.into_iter().filter_map(|name| server.statistics(name)) {
        // What is going on is the server's, and the same for each of its services.
        all.connections = u64::from(statistics.connections);
        all.inflight = u64::from(statistics.inflight);
        all.limit = u64::from(statistics.limit);
        all.queued = u64::from(statistics.queued);
        all.streams = u64::from(statistics.streams);
        all.load = f64::from(statistics.load);
        all.methods.extend(statistics.methods.into_iter().map(of_method));
    }
    all
}

fn of_method(method: MethodStatistics) -> MethodStats {
    let outcomes = [
        ("ok", method.ok),
        ("busy", method.busy),
        ("rejected", method.rejected),
        ("failed", method.failed),
        ("expired", method.expired),
        ("cancelled", method.cancelled),
    ];
    MethodStats {
        outcomes: outcomes.into_iter().map(|(reason, total)| Tally { reason, total }).collect(),
        latency_p50: Duration::from_micros(method.latency_p50_us),
        latency_p99: Duration::from_micros(method.latency_p99_us),
        route: method.route,
    }
}

/// Discovery's own state.
pub(super) fn of_discovery(status: &Status) -> DiscoveryStats {
    let troubles = [
        ("reconnect", status.reconnects),
        ("failed_attempt", status.failed_attempts),
        ("compaction", status.compactions),
        ("session_loss", status.session_losses),
        ("unreadable", status.unreadable),
    ];
    DiscoveryStats {
        connected: !matches!(status.connection, Connection::Away { .. }),
        registrations: status.registrations as u64,
        registered: status.registered as u64,
        troubles: troubles.into_iter().map(|(reason, total)| Tally { reason, total }).collect(),
    }
}
