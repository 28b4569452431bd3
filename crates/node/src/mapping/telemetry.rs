//! The export of traces and metrics, out of the settings, and the secrets that go with them.
//!
//! Files are read when the node starts; no error shows the value of a header.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stadium_telemetry::{Config, Header, Protocol, Sampling};

use crate::settings::{Settings, Telemetry, TelemetryProtocol};

/// The authorities of the system, where Debian keeps them.
const SYSTEM_AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Has the headers of an export, by OpenTelemetry's specification: secrets, so it is no setting.
const HEADERS_VARIABLE: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// The configuration of the exporter; `None` where telemetry is off.
///
/// # Errors
/// A file cannot be read, or holds something else, in words.
pub(crate) fn config(settings: &Settings) -> Result<Option<Config>, String> {
    let telemetry = &settings.telemetry;
    let Some(endpoint) = telemetry.endpoint.clone() else { return Ok(None) };
    let millis = |value: u32| Duration::from_millis(value.into());
    Ok(Some(Config {
        endpoint,
        protocol: match telemetry.protocol {
            TelemetryProtocol::Http => Protocol::Http,
            TelemetryProtocol::Grpc => Protocol::Grpc,
        },
        headers: headers(telemetry)?,
        authorities: authorities(telemetry)?,
        timeout: millis(telemetry.timeout_ms),
        queue_spans_max: telemetry.queue_spans_max as usize,
        spans_every: millis(telemetry.spans_interval_ms),
        metrics_every: Duration::from_secs(telemetry.metrics_interval_s.into()),
        sampling: Sampling {
            ratio: telemetry.sample_ratio.0,
            errors: telemetry.sample_errors,
            slower_than: (telemetry.sample_slow_ms > 0).then(|| millis(telemetry.sample_slow_ms)),
        },
        devices_per_push_max: telemetry.devices_per_push_max,
        resource: resource(settings),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }))
}

/// The attributes of the process; those of the settings win.
fn resource(settings: &Settings) -> Vec<(String, String)> {
    let given = settings.telemetry.resource_attributes.iter().filter_map(|one| one.split_once('='));
    let mut resource: Vec<(String, String)> =
        given.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    // As the cluster knows it; without a name in the settings it is the machine's.
    let cluster = &settings.cluster;
    let node = cluster.name.as_ref().map(|_| cluster.node.clone().unwrap_or_else(|| host.clone()));
    let own = [
        ("service.name", settings.telemetry.service_name.clone()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        // Another one for each start, so that counters which begin again are told apart.
        ("service.instance.id", format!("{:032x}", fastrand::u128(..))),
        ("host.name", host),
        ("process.pid", std::process::id().to_string()),
    ];
    for (name, value) in own.into_iter().chain(node.map(|node| ("stadium.node", node))) {
        if !resource.iter().any(|(known, _)| known == name) {
            resource.push((name.to_owned(), value));
        }
    }
    resource
}

fn authorities(telemetry: &Telemetry) -> Result<Arc<[u8]>, String> {
    let is_needed = telemetry.endpoint.as_ref().is_some_and(|url| url.starts_with("https://"));
    let path = telemetry.authorities.as_deref().unwrap_or(Path::new(SYSTEM_AUTHORITIES));
    if !is_needed {
        return Ok(Arc::default());
    }
    let pem = std::fs::read(path).map_err(|error| {
        format!("the authorities {} of telemetry cannot be read: {error}", path.display())
    })?;
    Ok(pem.into())
}

fn headers(telemetry: &Telemetry) -> Result<Vec<Header>, String> {
    match &telemetry.headers_file {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| {
                format!("telemetry.headers_file {} cannot be read: {error}", path.display())
            })?;
            let place = format!("telemetry.headers_file {}", path.display());
            let lines = text.lines().map(str::trim).enumerate();
            let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
            lines
                .map(|(index, line)| {
                    header(line, ':').ok_or_else(|| format!("{place} line {} must be NAME: VALUE", index + 1))
                })
                .collect()
        }
        None => {
            let text = std::env::var(HEADERS_VARIABLE).unwrap_or_default();
            let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
            pairs
                .map(|pair| {
                    header(pair, '=')
                        .ok_or_else(|| format!("{HEADERS_VARIABLE} must be NAME=VALUE,NAME=VALUE"))
                })
                .collect()
        }
    }
}

/// A name of letters, digits and signs, and a value of visible ASCII. No error shows the value.
fn header(text: &str, separator: char) -> Option<Header> {
    let (name, value) = text.split_once(separator)?;
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let is_value = !value.is_empty() && value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    (is_name && is_value).then_some(Header { name, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::from_toml;

    fn settings(text: &str) -> Settings {
        from_toml(text, Path::new("s.toml")).expect("it is right").settings
    }

    #[test]
    fn headers_come_out_of_their_file_and_no_error_shows_a_value() {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let path = folder.path().join("headers");
        let settings = settings(&format!(
            "[telemetry]\nendpoint = \"http://127.0.0.1:4318\"\nheaders_file = {path:?}\n\
             service_name = \"arena\"\nresource_attributes = [\"host.name=h\", \"a=b=c\"]\nsample_ratio = 0.5\n"
        ));
        std::fs::write(&path, "# a vendor\nAuthorization: Bearer a:b\n\nx-scope: 7\n")
            .expect("it is writable");
        let config = config(&settings).expect("it is right").expect("it is on");
        let headers: Vec<_> = config.headers.iter().map(|one| (&*one.name, &*one.value)).collect();
        assert_eq!(headers, [("authorization", "Bearer a:b"), ("x-scope", "7")]);
        assert_eq!(config.sampling.ratio, 0.5);
        let of =
            |name: &str| config.resource.iter().find(|(known, _)| known == name).map(|(_, value)| &**value);
        assert_eq!((of("service.name"), of("host.name"), of("a")), (Some("arena"), Some("h"), Some("b=c")));
        std::fs::write(&path, "Authorization: a\ngeheim\n").expect("it is writable");
        let error = super::config(&settings).expect_err("a line is no header");
        assert!(error.ends_with("line 2 must be NAME: VALUE") && !error.contains("geheim"), "{error}");
    }

    #[test]
    fn a_node_of_a_cluster_is_named() {
        let node_of = |cluster: &str| {
            let text = format!("[telemetry]\nendpoint = \"http://127.0.0.1:4318\"\n{cluster}");
            let resource = resource(&settings(&text));
            let of = |name: &str| {
                let found = resource.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.clone())
            };
            (of("stadium.node"), of("host.name"))
        };
        let set = "etcd.endpoints = [\"http://127.0.0.1:2379\"]\nkafka.brokers = [\"127.0.0.1:9092\"]\n\
                   links.listen = \"127.0.0.1:7900\"\n\
                   links.certificate = \"c\"\nlinks.key = \"k\"\nlinks.ca = \"a\"\n";
        assert_eq!(node_of("").0, None);
        assert_eq!(
            node_of(&format!("[cluster]\nname = \"shop\"\nnode = \"a\"\n{set}")).0,
            Some("a".to_owned())
        );
        let (node, host) = node_of(&format!("[cluster]\nname = \"shop\"\n{set}"));
        assert!(node.is_some() && node == host);
    }

    #[test]
    fn nothing_is_exported_without_an_endpoint() {
        assert!(config(&settings("")).expect("it is right").is_none());
    }
}
