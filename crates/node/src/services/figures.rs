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
        // The work under way is the server's, and the same for each of its services.
        all.connections = u64::from(statistics.connections);
        all.inflight = u64::from(statistics.inflight);
        all.limit = u64::from(statistics.limit);
        all.queued = u64::from(statistics.queued);
        all.streams = u64::from(statistics.streams);
        all.load = f64::from(statistics.load);
        all.connections_refused_total = statistics.refused_connections;
        all.connections_cut = vec![
            Tally { reason: "unfinished", total: statistics.cut_unfinished },
            Tally { reason: "slow_reader", total: statistics.cut_slow_readers },
        ];
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

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;
    use std::time::{Duration, Instant};

    use stadium_rpc::{Listen, ServerConfig, Service};

    use super::*;

    #[test]
    fn connections_that_were_refused_are_counted_apart_from_those_that_were_cut() {
        let listen = vec![Listen::tcp(([127, 0, 0, 1], 0).into())];
        let config = ServerConfig { listen, connections_max: 1, ..ServerConfig::default() };
        let server = Server::start(config, vec![Service::new("words", "1")]).expect("there are free ports");
        let dial = || TcpStream::connect(server.bound()[0]).expect("the kernel takes it");
        let _first = dial();
        let until = Instant::now() + Duration::from_secs(20);
        while of_server(&server).connections == 0 {
            assert!(Instant::now() < until, "the first connection is not counted");
            std::thread::yield_now();
        }

        let mut second = dial();
        second.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket takes a time-out");
        // The end of the stream, or a reset: the server has closed it.
        let is_closed = match second.read(&mut [0; 1]) {
            Ok(bytes) => bytes == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        };
        assert!(is_closed);

        let figures = of_server(&server);
        assert_eq!((figures.connections, figures.connections_refused_total), (1, 1));
        let cut: Vec<_> = figures.connections_cut.iter().map(|one| (one.reason, one.total)).collect();
        assert_eq!(cut, [("unfinished", 0), ("slow_reader", 0)]);
    }
}
