//! The addresses that nodes publish: whether each takes a TCP connection from here.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use stadium_membership::{NodeName, View};

use super::check::{Area, Findings};

/// The longest wait for a connection.
const CONNECTS_WITHIN: Duration = Duration::from_secs(2);

/// Connections tried at the same time, one thread each.
const AT_ONCE: usize = 32;

/// Tries each address of each node.
pub(super) fn examine(view: &View, findings: &mut Findings) {
    let addresses: Vec<(&NodeName, &String, &String)> = view
        .nodes
        .iter()
        .flat_map(|(node, stored)| {
            stored.value.addresses.iter().map(move |(purpose, address)| (node, purpose, address))
        })
        .collect();
    for some in addresses.chunks(AT_ONCE) {
        let tried: Vec<Result<Duration, String>> = std::thread::scope(|scope| {
            let tries: Vec<_> = some.iter().map(|(_, _, address)| scope.spawn(|| connect(address))).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|_| Err("the attempt failed".to_owned()))
            };
            tries.into_iter().map(join).collect()
        });
        for ((node, purpose, address), tried) in some.iter().zip(tried) {
            match tried {
                Ok(took) => findings
                    .ok(Area::Links, format_args!("{node}: {purpose} at {address}, connected in {took:.1?}")),
                Err(why) => findings.problem(
                    Area::Links,
                    format_args!("{node}: {purpose} at {address} cannot be reached from here: {why}"),
                    "see the firewall, and the address that the node advertises",
                ),
            }
        }
    }
    let silent: Vec<&str> = view
        .nodes
        .iter()
        .filter(|(_, stored)| !stored.value.addresses.contains_key("links"))
        .map(|(node, _)| node.as_str())
        .collect();
    if !silent.is_empty() {
        findings.warning(
            Area::Links,
            format_args!("no address for links is published by: {}", silent.join(", ")),
            "set cluster.links on each node: other nodes cannot call it",
        );
    }
}

fn connect(address: &str) -> Result<Duration, String> {
    let began = Instant::now();
    let mut last = "the name has no address".to_owned();
    for place in address.to_socket_addrs().map_err(|why| why.to_string())? {
        match TcpStream::connect_timeout(&place, CONNECTS_WITHIN) {
            Ok(_) => return Ok(began.elapsed()),
            Err(why) => last = why.to_string(),
        }
    }
    Err(last)
}
