//! The server, where it runs, and the services that the configuration depends on: etcd, ZooKeeper,
//! Kafka, memcached.
//!
//! Each address is connected to; memcached servers are asked for their version. Of a cluster,
//! `stadium cluster doctor` looks further, in builds that have it; its problems and warnings are
//! shown here too.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use stadium_memcache::Error as CacheError;
use stadium_node::acme::{self, Examined};
use stadium_node::settings::Loaded;

use super::{Arguments, Checks};
use crate::api::Api;
use crate::server::ServerFlags;

/// The longest time that a connection to a service may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Settings that list addresses of services, with the setting and the value without which they are
/// not used.
const SERVICES: [(&str, &str, &str, &[&str]); 4] = [
    ("etcd", "discovery.endpoints", "discovery.backend", &["etcd"]),
    ("zookeeper", "discovery.endpoints", "discovery.backend", &["zookeeper"]),
    ("etcd", "cluster.etcd.endpoints", "cluster.name", &[]),
    ("kafka", "cluster.kafka.brokers", "cluster.name", &[]),
];

/// Examines them.
pub(super) fn examine(arguments: &Arguments, loaded: &Loaded, checks: &mut Checks) {
    server(loaded, checks);
    certificate(loaded, checks);
    for (area, setting, switch, words) in SERVICES {
        let value = |name: &str| loaded.effective.iter().find(|one| one.name == name).map(|one| &one.value);
        let is_used = match value(switch) {
            Some(toml::Value::String(word)) => {
                words.contains(&word.as_str()) || (words.is_empty() && !word.is_empty())
            }
            Some(toml::Value::Array(list)) => !list.is_empty(),
            _ => false,
        };
        let list = value(setting).and_then(toml::Value::as_array);
        for address in list.into_iter().flatten().filter_map(toml::Value::as_str).filter(|_| is_used) {
            service(area, setting, address, checks);
        }
    }
    cache(loaded, checks);
    collector(loaded, checks);
    #[cfg(feature = "cluster")]
    cluster(arguments, loaded, checks);
    #[cfg(not(feature = "cluster"))]
    let _ = arguments;
}

/// The memcached servers of the cache, each by itself.
fn cache(loaded: &Loaded, checks: &mut Checks) {
    let area = "cache";
    for (server, asked) in stadium_node::ask_cache(&loaded.settings) {
        let error = match asked {
            Ok(version) => {
                checks.ok(area, format!("{server} of cache.servers is memcached {version}"));
                continue;
            }
            Err(error) => error,
        };
        let remedy = match &error {
            CacheError::NeedsMeta(_) => "the cache needs memcached 1.6 or later, and no proxy before it",
            CacheError::Tls(_) => {
                "cache.tls is for servers with `memcached -Z`; cache.ca names the authority of their certificates"
            }
            CacheError::Authentication(_) => {
                "cache.user and the password in cache.password_file must be in the file of `memcached -Y`"
            }
            CacheError::Config(_) => "`stadium config check` looks at the settings and their files",
            _ => {
                "start it, or correct the address; firewalls between must let this machine through. A server \
                 with `memcached -Z` needs cache.tls = true"
            }
        };
        let found = format!("{server} of cache.servers cannot be used: {error}");
        checks.problem(area, found, remedy);
    }
}

/// The collector of OpenTelemetry, by an export of nothing.
fn collector(loaded: &Loaded, checks: &mut Checks) {
    let area = "otlp";
    let endpoint = loaded.settings.telemetry.endpoint.as_deref().unwrap_or_default();
    match stadium_node::ask_collector(&loaded.settings) {
        None => {}
        Some(Ok(())) => checks.ok(area, format!("the collector at {endpoint} takes exports")),
        Some(Err(reason)) => checks.problem(
            area,
            format!("the collector at {endpoint} takes no export: {reason}"),
            "start it, or correct telemetry.endpoint and telemetry.protocol: OTLP over HTTP has port 4318 by \
             default, over gRPC 4317",
        ),
    }
}

/// A server of this data directory that runs, by its own readiness.
fn server(loaded: &Loaded, checks: &mut Checks) {
    let data = &loaded.settings.server.data;
    let Some(running) = stadium_node::running::read(data) else {
        checks.ok("server", format!("none runs on {}", data.display()));
        return;
    };
    let Some(url) = running.http_url else {
        checks.ok("server", format!("pid {} runs without an HTTP API", running.pid));
        return;
    };
    let flags = ServerFlags {
        data: Some(data.clone()),
        ca: loaded.settings.http.certificate.clone(),
        ..ServerFlags::default()
    };
    let asked = Api::open(&flags).and_then(|api| api.probe("/readyz"));
    let is_alive = std::path::Path::new("/proc").join(running.pid.to_string()).exists();
    match asked {
        Ok((200, _)) => checks.ok("server", format!("pid {} at {url} is ready", running.pid)),
        Ok((status, body)) => {
            let problem: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
            let why =
                problem.get("detail").and_then(serde_json::Value::as_str).unwrap_or("it gave no reason");
            let found = format!("pid {} at {url} is not ready: {why} (status {status})", running.pid);
            checks.problem("server", found, "its log has the cause; `stadium health` asks again");
        }
        Err(_) if !is_alive => checks.warning(
            "server",
            format!("the server of {} ended without a farewell: pid {} is gone", data.display(), running.pid),
            "start it again; it recovers from its journal",
        ),
        Err(failure) => checks.problem("server", failure.to_string(), "its log has the cause"),
    }
}

/// The certificate from an ACME server.
fn certificate(loaded: &Loaded, checks: &mut Checks) {
    const REMEDY: &str = "the server orders it while it runs, and its log has the reason of a failure; port 80 of each \
                          domain must lead to acme.listen";
    match acme::examine(&loaded.settings) {
        Examined::Off => {}
        Examined::Good(found) => checks.ok("acme", found),
        Examined::Late(found) => checks.problem("acme", format!("{found}, and renewals fail"), REMEDY),
        Examined::Missing(found) => checks.problem("acme", found, REMEDY),
    }
}

/// Whether something accepts connections there.
fn service(area: &'static str, setting: &str, given: &str, checks: &mut Checks) {
    let address = given.split_once("://").map_or(given, |(_, rest)| rest).trim_end_matches('/');
    let connected = address.to_socket_addrs().and_then(|addresses| {
        let mut failed = std::io::Error::other("the name has no address");
        for address in addresses {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(_) => return Ok(()),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    });
    match connected {
        Ok(()) => checks.ok(area, format!("{address} accepts connections")),
        Err(error) => checks.problem(
            area,
            format!("{address} of {setting} cannot be reached: {error}"),
            "start it, or correct the address; firewalls between must let this machine through",
        ),
    }
}

/// The findings of the doctor of a cluster.
#[cfg(feature = "cluster")]
fn cluster(arguments: &Arguments, loaded: &Loaded, checks: &mut Checks) {
    use stadium_cluster_admin::Verdict;

    if loaded.settings.cluster.name.is_none() {
        return;
    }
    let examined = crate::command::cluster::examine(&arguments.settings.common);
    let report = match examined {
        Ok(report) => report,
        Err(failure) => {
            checks.problem("cluster", failure.to_string(), "`stadium cluster doctor` looks further");
            return;
        }
    };
    for check in report.checks {
        let found = format!("{}: {}", check.area.name(), check.finding);
        let remedy = check.remedy.unwrap_or_default();
        match check.verdict {
            Verdict::Ok => {}
            Verdict::Warning => checks.warning("cluster", found, remedy),
            Verdict::Problem => checks.problem("cluster", found, remedy),
        }
    }
    if report.problems == 0 {
        checks.ok("cluster", format!("{}: no problem found", report.cluster));
    }
}
