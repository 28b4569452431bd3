//! The open-file limit: each connection is one descriptor, and the usual soft limit of 1,024 is the usual surprise.
//!
//! A process may raise its soft limit up to the hard one; the hard one is the operator's. Below it there is first what the server
//! needs for itself, so that no number of connections keeps a shard from its journal, and then what connections share.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stadium_shard::Settings as ShardSettings;

/// Descriptors of the process itself: standard streams, listeners, the control plane, clients of webhooks and of discovery, logs.
const OF_THE_PROCESS: u64 = 96;

/// Descriptors of a loop: its epoll, wake-ups, timers, and its own socket of each listener.
const OF_A_LOOP: u64 = 16;

/// Descriptors of a shard, where there are few: what it holds in any case, and some segments whose payloads are read.
const OF_A_SHARD: u64 = 32;

/// Descriptors of a partition of Kafka: the client has a connection for each, and one while it reads.
const OF_A_PARTITION: u64 = 2;

/// The part of what is left for connections that the HTTP port may take at most.
const HTTP_SHARE: u64 = 4;

/// Connections of the HTTP port at least, however low the limit is.
const HTTP_MIN: u64 = 16;

/// How many connections fit under the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Places {
    /// Of the HTTP port.
    pub(crate) http: usize,
    /// Of everybody else.
    pub(crate) devices: u64,
}

/// Raises the limit as far as the process may, and returns it.
pub(crate) fn raise() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let limit = match raised {
        Ok(()) => maximum,
        // A sandbox may forbid it; the limit that we have then has to do.
        Err(_) => current,
    };
    limit.unwrap_or(u64::MAX)
}

/// What the limit would be once it is raised; changes nothing.
pub(crate) fn limit() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}

/// What a server needs besides connections.
pub(crate) fn own(loops: usize, shards: &ShardSettings) -> u64 {
    let of_shards = (OF_A_SHARD * u64::from(shards.count)).min(shards.descriptors());
    OF_THE_PROCESS + OF_A_LOOP * loops as u64 + of_shards
}

/// What the replicas of a cluster's shards need: files of their mirrors, and connections to brokers.
pub(crate) fn of_replicas(shards: u16) -> u64 {
    (OF_A_SHARD + OF_A_PARTITION) * u64::from(shards)
}

/// Shares out what a limit leaves besides the server's own among its connections.
pub(crate) fn share(limit: u64, own: u64, http_max: u32) -> Places {
    let left = limit.saturating_sub(own);
    let http = u64::from(http_max).min((left / HTTP_SHARE).max(HTTP_MIN));
    Places { http: http as usize, devices: left.saturating_sub(http) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(loops: usize, shards: u16) -> u64 {
        super::own(loops, &ShardSettings::in_directory("data", shards))
    }

    #[test]
    fn connections_leave_the_server_what_it_needs() {
        // What systemd gives by default.
        let usual = share(524_288, own(8, 4), 1_024);
        assert_eq!(usual.http, 1_024);
        assert!(usual.devices > 520_000, "{usual:?}");
        for (limit, loops, shards) in [(500, 1, 1), (1_024, 2, 2), (4_096, 16, 16), (20_000, 2, 1_024)] {
            let own = own(loops, shards);
            let Places { http, devices } = share(limit, own, 100_000);
            assert!(http as u64 + devices + own <= limit, "{limit}: {http} and {devices}");
            assert!((HTTP_MIN..=limit / HTTP_SHARE).contains(&(http as u64)), "{limit}: {http}");
        }
        assert_eq!(share(64, own(4, 4), 1_024), Places { http: 16, devices: 0 });
        assert_eq!(share(u64::MAX, own(4, 4), 7).http, 7);
    }
}
