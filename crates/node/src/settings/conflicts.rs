//! Settings that are right alone and wrong together.
//!
//! Runs only on values that are each within their bounds. A conflict is laid at the setting whose
//! value someone gave, and its message names the other.

use std::net::SocketAddr;
use std::path::Path;

use stadium_addresses::Networks;
use stadium_membership::{ZONE_BYTES_MAX, check_name};

use super::define::Effective;
use super::layers::Origin;
use super::problem::{Code, Problem};
use super::sections::{
    Access, Acme, Anonymous, ClientCertificates, Cluster, ClusterKafka, ClusterLinks, DiscoveryBackend,
    SaslMechanism, Settings, ShardStore, Tls,
};
use super::value::Addresses;
use crate::mapping;
use crate::mapping::shards::{BESIDE_PAYLOAD_BYTES, push_bytes_max, record_bytes_max};

/// Listeners that may show the certificate of an ACME server.
const ACME_LISTENERS: [&str; 3] = ["mqtts", "wss", "http"];

/// Every conflict between the settings.
pub(super) fn find(settings: &Settings, effective: &[Effective]) -> Vec<Problem> {
    let mut finder = Finder { effective, found: Vec::new() };
    finder.tls("mqtts", &settings.mqtts.listen, &settings.mqtts.tls, &settings.acme);
    finder.tls("wss", &settings.wss.listen, &settings.wss.tls, &settings.acme);
    finder.acme(settings);
    finder.origins(settings);
    finder.proxies(settings);
    finder.trial(settings);
    finder.http(settings);
    finder.cache(settings);
    finder.oidc(settings);
    finder.paths(settings);
    finder.rpc(settings);
    finder.callers(settings);
    finder.discovery(settings);
    finder.journal(settings);
    finder.shards(settings);
    finder.push(settings);
    finder.locations(settings);
    finder.backup(settings);
    finder.telemetry(settings);
    finder.cluster(settings);
    finder.found
}

/// Whether a folder is another one or stands in it.
fn is_within(folder: &Path, other: &Path) -> bool {
    std::path::absolute(other).is_ok_and(|other| folder.starts_with(other))
}

struct Finder<'a> {
    effective: &'a [Effective],
    found: Vec<Problem>,
}

impl Finder<'_> {
    fn add(&mut self, setting: &str, message: impl Into<String>) {
        let origin = self
            .effective
            .iter()
            .find(|effective| effective.name == setting)
            .map_or(Origin::Default, |effective| effective.origin.clone());
        self.found.push(Problem {
            code: Code::Conflict,
            setting: setting.to_owned(),
            origin,
            message: message.into(),
        });
    }

    fn locations(&mut self, settings: &Settings) {
        if settings.push.locations.service.is_some() && settings.discovery.backend == DiscoveryBackend::None {
            self.add(
                "push.locations.service",
                "needs discovery.backend: it knows where the service's instances are",
            );
        }
    }

    /// Names of the certificate, and the listeners that show it.
    fn acme(&mut self, settings: &Settings) {
        let acme = &settings.acme;
        if let Some(odd) = acme.listeners.iter().find(|name| !ACME_LISTENERS.contains(&name.as_str())) {
            let known = ACME_LISTENERS.join(", ");
            self.add(
                "acme.listeners",
                format!("names {odd:?}, which is no listener with TLS; there are {known}"),
            );
        }
        for domain in &acme.domains {
            let is_name = |part: &str| {
                let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
                (1..=63).contains(&part.len()) && part.chars().all(fits) && !part.starts_with('-')
            };
            if !domain.contains('.') || domain.len() > 253 || !domain.split('.').all(is_name) {
                self.add(
                    "acme.domains",
                    format!("names {domain:?}: write a whole name, such as \"push.example.com\", without wildcards"),
                );
            }
        }
        if !acme.directory.starts_with("https://") {
            self.add("acme.directory", "must begin with https://: RFC 8555 knows nothing else");
        }
    }

    fn tls(&mut self, table: &str, listen: &Addresses, tls: &Tls, acme: &Acme) {
        let is_given = tls.certificate.is_some() || tls.key.is_some();
        let takes = acme.listeners.iter().any(|listener| listener == table);
        let from_acme = !is_given && !acme.domains.is_empty() && takes;
        if !listen.is_off() && !from_acme {
            for (key, path) in [("certificate", &tls.certificate), ("key", &tls.key)] {
                if path.is_none() {
                    self.add(
                        &format!("{table}.listen"),
                        format!("needs {table}.{key}: name a PEM file, or set it to \"off\""),
                    );
                }
            }
        }
        if tls.client_certificates != ClientCertificates::None && tls.client_ca.is_none() {
            self.add(
                &format!("{table}.client_certificates"),
                format!(
                    "needs {table}.client_ca: the authorities whose certificates are accepted, as a PEM file"
                ),
            );
        }
    }

    fn origins(&mut self, settings: &Settings) {
        let listed = &settings.server.allowed_origins;
        if let Some(odd) = listed.iter().find(|origin| *origin != "*" && !is_origin(origin)) {
            let shape =
                "must be a scheme and a host, with a port where it needs one: \"https://app.example.org\"";
            self.add("server.allowed_origins", format!("holds {odd:?}, which {shape}"));
        }
        if let Some(odd) = settings.http.cors_origins.iter().find(|origin| !is_origin(origin)) {
            let shape =
                "must be a scheme and a host, with a port where it needs one: \"https://app.example.org\"";
            self.add("http.cors_origins", format!("holds {odd:?}, which {shape}"));
        }
    }

    fn proxies(&mut self, settings: &Settings) {
        let listeners = [
            ("mqtt", &settings.mqtt.sockets),
            ("mqtts", &settings.mqtts.sockets),
            ("ws", &settings.ws.sockets),
            ("wss", &settings.wss.sockets),
        ];
        for (table, sockets) in listeners {
            if let Err(wrong) = Networks::listed(&sockets.proxy_networks) {
                self.add(&format!("{table}.proxy_networks"), format!("holds a wrong text: {wrong}"));
            }
        }
    }

    /// Trial mode lets anyone do anything, so nobody but this machine may reach it.
    fn trial(&mut self, settings: &Settings) {
        if !settings.server.trial {
            if settings.auth.anonymous == Anonymous::Anyone {
                self.add(
                    "auth.anonymous",
                    "= \"anyone\" checks no credentials at all: turn server.trial on, or choose \"without-credentials\"",
                );
            }
            return;
        }
        let http = Addresses(settings.http.listen.into_iter().collect());
        let udp = Addresses(settings.rpc.udp_listen.into_iter().collect());
        let listeners = [
            ("http.listen", &http),
            ("mqtt.listen", &settings.mqtt.listen),
            ("mqtts.listen", &settings.mqtts.listen),
            ("ws.listen", &settings.ws.listen),
            ("wss.listen", &settings.wss.listen),
            ("rpc.listen", &settings.rpc.listen),
            ("rpc.websocket_listen", &settings.rpc.websocket_listen),
            ("rpc.udp_listen", &udp),
        ];
        for (setting, listen) in listeners {
            if let Some(open) = listen.0.iter().find(|address| !address.ip().is_loopback()) {
                self.add(
                    setting,
                    format!(
                        "= {open} is not loopback, but server.trial is on, which lets anyone do anything: listen on \
                         127.0.0.1, or turn trial off and set up [auth]"
                    ),
                );
            }
        }
    }

    fn http(&mut self, settings: &Settings) {
        if settings.http.certificate.is_some() != settings.http.key.is_some() {
            let (given, missing) =
                if settings.http.key.is_none() { ("certificate", "key") } else { ("key", "certificate") };
            self.add(&format!("http.{given}"), format!("needs http.{missing}: HTTPS takes both"));
        }
        if settings.http.client_certificates != ClientCertificates::None {
            let acme = &settings.acme;
            let from_acme = !acme.domains.is_empty() && acme.listeners.iter().any(|name| name == "http");
            if settings.http.client_ca.is_none() {
                self.add(
                    "http.client_certificates",
                    "needs http.client_ca: the authorities whose certificates are accepted, as a PEM file",
                );
            }
            if settings.http.certificate.is_none() && !from_acme {
                self.add("http.client_certificates", "needs HTTPS: set http.certificate and http.key");
            }
        }
        let asking = [
            settings.mqtts.tls.client_certificates,
            settings.wss.tls.client_certificates,
            settings.http.client_certificates,
        ];
        if settings.auth.certificate.enabled && asking.iter().all(|asked| *asked == ClientCertificates::None)
        {
            self.add(
                "auth.certificate.enabled",
                "needs a TLS listener that asks for certificates: set mqtts.client_certificates, \
                 wss.client_certificates or http.client_certificates",
            );
        }
        if let Some(url) = &settings.auth.callback.url
            && !url.starts_with("http://")
            && !url.starts_with("https://")
        {
            self.add("auth.callback.url", format!("= {url:?} must begin with http:// or https://"));
        }
        if let Some(url) = &settings.http.public_url
            && !is_origin(url)
        {
            let shape =
                "must be a scheme and a host, with a port where it needs one: \"https://push.example.org\"";
            self.add("http.public_url", format!("= {url:?} {shape}"));
        }
    }

    fn cache(&mut self, settings: &Settings) {
        let (cache, callback) = (&settings.cache, &settings.auth.callback);
        if cache.servers.is_empty() {
            let keeps = [
                ("auth.callback.cache_s", callback.cache_s > 0),
                ("auth.callback.cache_denial_s", callback.cache_denial_s > 0),
                ("cache.secret_file", cache.secret_file.is_some()),
                ("cache.tls", cache.tls),
                ("cache.user", cache.access.user.is_some()),
            ];
            for (setting, _) in keeps.iter().filter(|(_, is_given)| *is_given) {
                self.add(setting, "needs cache.servers: memcached servers, such as [\"10.0.0.7:11211\"]");
            }
            return;
        }
        if let Err(wrong) = mapping::cache::client(cache) {
            self.add("cache.servers", format!("is refused: {wrong}"));
        }
        let mut names: Vec<&str> = cache.servers.iter().map(String::as_str).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            self.add("cache.servers", format!("names {:?} twice", twice[0]));
        }
        let (weights, servers) = (cache.weights.len(), cache.servers.len());
        if weights > 0 && weights != servers {
            self.add("cache.weights", format!("has {weights} weights for {servers} servers"));
        }
        self.access("cache", &cache.access);
        self.without_tls("cache", cache.tls, &cache.access);
        let odd = |c: char| c.is_whitespace() || c.is_control() || !c.is_ascii();
        let bytes_max = mapping::cache::NAMESPACE_BYTES_MAX;
        if cache.namespace.len() > bytes_max || cache.namespace.contains(odd) {
            let shape = format!("must be at most {bytes_max} characters of ASCII without spaces");
            self.add("cache.namespace", format!("= {:?} {shape}", cache.namespace));
        }
        if cache.secret_file.is_none() {
            self.add(
                "cache.servers",
                "needs cache.secret_file: a secret of at least 32 bytes, the same on all servers that share answers",
            );
        }
        if callback.url.is_none() {
            for (setting, given) in [
                ("auth.callback.cache_s", callback.cache_s),
                ("auth.callback.cache_denial_s", callback.cache_denial_s),
            ] {
                if given > 0 {
                    self.add(setting, "needs auth.callback.url: its answers are kept");
                }
            }
        }
    }

    fn oidc(&mut self, settings: &Settings) {
        let oidc = &settings.http.oidc;
        let others = [
            ("client_id", oidc.client_id.is_some()),
            ("redirect_url", oidc.redirect_url.is_some()),
            ("roles", !oidc.roles.0.is_empty()),
        ];
        if oidc.issuer.is_none() {
            let secret = ("client_secret_file", oidc.client_secret_file.is_some());
            if let Some((given, _)) = others.iter().chain([&secret]).find(|(_, is_given)| *is_given) {
                self.add(&format!("http.oidc.{given}"), "needs http.oidc.issuer: the provider");
            }
            return;
        }
        for (missing, _) in others.iter().filter(|(_, is_given)| !is_given) {
            self.add("http.oidc.issuer", format!("needs http.oidc.{missing}"));
        }
        if others.iter().all(|(_, is_given)| *is_given)
            && let Some(Err(wrong)) = mapping::http::oidc(&settings.http).map(|oidc| oidc.check())
        {
            self.add(&format!("http.oidc.{}", wrong.name), format!("is refused: {}", wrong.problem));
        }
    }

    fn paths(&mut self, settings: &Settings) {
        let paths = [
            ("ws.path", &settings.ws.path),
            ("wss.path", &settings.wss.path),
            ("rpc.websocket_path", &settings.rpc.websocket_path),
        ];
        for (setting, path) in paths {
            if !path.starts_with('/') {
                self.add(setting, format!("= {path:?} must begin with /"));
            }
        }
    }

    /// Every client that reaches a service may call it, so strangers must not reach it.
    fn rpc(&mut self, settings: &Settings) {
        let rpc = &settings.rpc;
        if rpc.tls.certificate.is_some() != rpc.tls.key.is_some() {
            let (given, missing) =
                if rpc.tls.key.is_none() { ("certificate", "key") } else { ("key", "certificate") };
            self.add(&format!("rpc.{given}"), format!("needs rpc.{missing}: TLS takes both"));
        }
        if rpc.tls.client_certificates != ClientCertificates::None {
            if rpc.tls.client_ca.is_none() {
                self.add(
                    "rpc.client_certificates",
                    "needs rpc.client_ca: the authorities whose certificates are accepted, as a PEM file",
                );
            }
            if rpc.tls.certificate.is_none() {
                self.add("rpc.client_certificates", "needs TLS: set rpc.certificate and rpc.key");
            }
        }
        if rpc.calls_ca.is_some() != rpc.calls_server_name.is_some() {
            let (given, missing) = match &rpc.calls_ca {
                Some(_) => ("calls_ca", "calls_server_name"),
                None => ("calls_server_name", "calls_ca"),
            };
            self.add(&format!("rpc.{given}"), format!("needs rpc.{missing}"));
        }
        if rpc.open || settings.server.trial {
            return;
        }
        let known = rpc.tls.client_certificates == ClientCertificates::Required;
        let udp = Addresses(rpc.udp_listen.into_iter().collect());
        let listeners = [
            ("rpc.listen", &rpc.listen, known),
            ("rpc.websocket_listen", &rpc.websocket_listen, known),
            ("rpc.udp_listen", &udp, false),
        ];
        for (setting, listen, known) in listeners {
            if let Some(open) = listen.0.iter().find(|address| !known && !address.ip().is_loopback()) {
                self.add(
                    setting,
                    format!(
                        "= {open} is not loopback, and callers show no certificate: set rpc.client_certificates = \
                         \"required\" (TCP and WebSocket), or rpc.open = true where only services reach it"
                    ),
                );
            }
        }
    }

    /// Callers that are known by a token or by a certificate.
    fn callers(&mut self, settings: &Settings) {
        let rpc = &settings.rpc;
        let needed = [
            ("issuer", rpc.tokens.issuer.is_some()),
            ("audience", rpc.tokens.audience.is_some()),
            ("roles", !rpc.tokens.roles.0.is_empty()),
        ];
        match mapping::rpc::tokens(&rpc.tokens) {
            // Nobody else's tokens, and no token for another service, may be good here.
            Some(_) => {
                let urls = !rpc.tokens.sources.key_set_urls.is_empty();
                let sets = !rpc.tokens.sources.key_sets.is_empty();
                let given = if urls {
                    "key_set_urls"
                } else if sets {
                    "key_sets"
                } else {
                    "keys"
                };
                for (missing, _) in needed.iter().filter(|(_, is_given)| !is_given) {
                    self.add(&format!("rpc.tokens.{given}"), format!("needs rpc.tokens.{missing}"));
                }
            }
            None => {
                if let Some((given, _)) = needed.iter().find(|(_, is_given)| *is_given) {
                    self.add(
                        &format!("rpc.tokens.{given}"),
                        "needs keys: rpc.tokens.key_set_urls, rpc.tokens.key_sets or rpc.tokens.keys",
                    );
                }
            }
        }
        if !rpc.identities.0.is_empty() && rpc.tls.client_certificates == ClientCertificates::None {
            self.add(
                "rpc.identities",
                "needs rpc.client_certificates = \"required\" or \"optional\": callers are known by them",
            );
        }
        if let Err(wrong) = mapping::rpc::identities(rpc) {
            self.add("rpc.identities", format!("is refused: {wrong}"));
        }
    }

    fn journal(&mut self, settings: &Settings) {
        let payload = settings.queue.payload_bytes_max as usize;
        if payload + BESIDE_PAYLOAD_BYTES > record_bytes_max(settings) {
            self.add(
                "queue.payload_bytes_max",
                format!("= {payload} does not fit in a segment: raise journal.segment_bytes"),
            );
        }
    }

    /// A recovery needs the journal from the older of two checkpoints on, and a third one may be
    /// due: all of it must have room.
    fn shards(&mut self, settings: &Settings) {
        let shards = &settings.shards;
        let least = shards.checkpoint_journal_bytes.saturating_mul(4);
        if shards.store == ShardStore::Memory && shards.memory_bytes_max < least {
            self.add(
                "shards.memory_bytes_max",
                format!(
                    "= {} is less than four times shards.checkpoint_journal_bytes: raise it to {least}, or lower that",
                    shards.memory_bytes_max
                ),
            );
        }
    }

    fn push(&mut self, settings: &Settings) {
        let push = &settings.push;
        if push_bytes_max(settings) > record_bytes_max(settings) {
            self.add(
                "push.payload_bytes_max",
                format!(
                    "= {} does not fit in a segment, with a set of {} devices beside it: raise journal.segment_bytes",
                    push.payload_bytes_max, push.devices_max
                ),
            );
        }
    }

    fn discovery(&mut self, settings: &Settings) {
        let discovery = &settings.discovery;
        let remote = matches!(discovery.backend, DiscoveryBackend::Etcd | DiscoveryBackend::ZooKeeper);
        if remote && discovery.endpoints.is_empty() {
            self.add("discovery.backend", "needs discovery.endpoints: where its servers are");
        }
        if !discovery.services.is_empty() && discovery.backend != DiscoveryBackend::Static {
            self.add("discovery.services", "is the list for discovery.backend = \"static\"");
        }
        self.access("discovery", &discovery.access);
        self.advertise("discovery.advertise", discovery.advertise);
    }

    /// A user has a password, and a certificate a key.
    fn access(&mut self, table: &str, access: &Access) {
        for ((a, has_a), (b, has_b)) in [
            (("user", access.user.is_some()), ("password_file", access.password_file.is_some())),
            (("certificate", access.certificate.is_some()), ("key", access.key.is_some())),
        ] {
            if has_a != has_b {
                let (given, missing) = if has_a { (a, b) } else { (b, a) };
                self.add(&format!("{table}.{given}"), format!("needs {table}.{missing}"));
            }
        }
    }

    /// Certificates need the setting that turns TLS on.
    fn without_tls(&mut self, table: &str, has_tls: bool, access: &Access) {
        if !has_tls && (access.ca.is_some() || access.certificate.is_some()) {
            let given = if access.ca.is_some() { "ca" } else { "certificate" };
            self.add(&format!("{table}.{given}"), format!("needs {table}.tls = true"));
        }
    }

    fn advertise(&mut self, setting: &str, address: Option<SocketAddr>) {
        if address.is_some_and(|address| address.ip().is_unspecified() || address.port() == 0) {
            self.add(setting, "must be an address that others can call");
        }
    }

    /// A backup is of shards that this server has by itself, in files.
    fn backup(&mut self, settings: &Settings) {
        let Some(to) = &settings.backup.to else {
            if settings.backup.secrets_key_file.is_some() {
                self.add("backup.secrets_key_file", "needs backup.to: without it nothing is backed up");
            }
            if settings.backup.wallet_local_s > 0 {
                self.add("backup.wallet_local_s", "needs backup.to: without it there is no place to move to");
            }
            return;
        };
        match stadium_archive::check_url(to) {
            Err(wrong) => self.add("backup.to", format!("is refused: {wrong}")),
            Ok(Some(folder)) if is_within(&folder, &settings.server.data) => self.add(
                "backup.to",
                "is inside the data directory: a backup must survive the loss of the directory",
            ),
            Ok(_) => {}
        }
        if settings.cluster.name.is_some() {
            self.add(
                "backup.to",
                "is for a standalone server: back a cluster up with `stadium cluster backup`",
            );
        }
        if settings.shards.store == ShardStore::Memory {
            self.add("backup.to", "needs shards.store = \"files\": shards in memory have no files to store");
        }
    }

    fn telemetry(&mut self, settings: &Settings) {
        let telemetry = &settings.telemetry;
        if let Some(url) = &telemetry.endpoint {
            let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
            let host = host.map(|rest| rest.split('/').next().unwrap_or_default());
            let is_url = host.is_some_and(|host| !host.is_empty() && !host.contains(['@', ' ']));
            if !is_url {
                let shape = "must be the URL of a collector without a password: \"http://127.0.0.1:4318\"";
                self.add("telemetry.endpoint", format!("= {url:?} {shape}"));
            }
        }
        if let Some(odd) = telemetry.resource_attributes.iter().find(|one| !is_attribute(one)) {
            self.add("telemetry.resource_attributes", format!("holds {odd:?}, which must be NAME=VALUE"));
        }
    }

    fn cluster(&mut self, settings: &Settings) {
        let cluster = &settings.cluster;
        self.access("cluster.etcd", &cluster.etcd.access);
        self.access("cluster.kafka", &cluster.kafka.access);
        self.advertise("cluster.links.advertise", cluster.links.advertise);
        self.kafka(&cluster.kafka);
        let Some(name) = &cluster.name else {
            self.no_cluster(cluster);
            return;
        };
        for (setting, what, name) in
            [("cluster.name", "cluster", Some(name)), ("cluster.node", "node", cluster.node.as_ref())]
        {
            if let Some(Err(wrong)) = name.map(|name| check_name(what, name)) {
                self.add(setting, format!("is refused: {wrong}"));
            }
        }
        if cluster.zone.as_ref().is_some_and(|zone| zone.len() > ZONE_BYTES_MAX) {
            self.add("cluster.zone", format!("has more than {ZONE_BYTES_MAX} bytes"));
        }
        for (setting, list) in [
            ("cluster.etcd.endpoints", &cluster.etcd.endpoints),
            ("cluster.kafka.brokers", &cluster.kafka.brokers),
        ] {
            if list.is_empty() {
                self.add("cluster.name", format!("needs {setting}"));
            }
        }
        let is_https = |endpoint: &String| endpoint.starts_with("https://");
        if cluster.etcd.access.ca.is_none() && cluster.etcd.endpoints.iter().any(is_https) {
            self.add(
                "cluster.etcd.endpoints",
                "needs cluster.etcd.ca: the authorities that signed etcd's certificate",
            );
        }
        self.links(&cluster.links);
        if settings.shards.store == ShardStore::Memory {
            self.add(
                "shards.store",
                "= \"memory\" keeps no replica of a shard, and cluster.name is set: set it to \"files\"",
            );
        }
    }

    /// Settings of a cluster without its name would be a standalone server that nobody meant.
    fn no_cluster(&mut self, cluster: &Cluster) {
        for (setting, is_given) in [
            ("cluster.etcd.endpoints", !cluster.etcd.endpoints.is_empty()),
            ("cluster.kafka.brokers", !cluster.kafka.brokers.is_empty()),
            ("cluster.node", cluster.node.is_some()),
        ] {
            if is_given {
                self.add(setting, "needs cluster.name: a server without it is standalone");
            }
        }
    }

    fn links(&mut self, links: &ClusterLinks) {
        for (key, is_given) in [
            ("certificate", links.certificate.is_some()),
            ("key", links.key.is_some()),
            ("ca", links.ca.is_some()),
        ] {
            if !is_given {
                self.add(
                    "cluster.name",
                    format!("needs cluster.links.{key}: nodes know each other by certificates"),
                );
            }
        }
        match links.listen {
            None => self.add("cluster.links.listen", "= \"off\" leaves a node alone: name an address"),
            Some(listen) if listen.ip().is_unspecified() && links.advertise.is_none() => self.add(
                "cluster.links.listen",
                format!("= {listen} is every network, which nobody can call: set cluster.links.advertise"),
            ),
            Some(_) => {}
        }
    }

    fn kafka(&mut self, kafka: &ClusterKafka) {
        let access = &kafka.access;
        let name = "cluster.kafka.sasl";
        match kafka.sasl {
            SaslMechanism::None if access.user.is_some() => {
                self.add("cluster.kafka.user", "needs cluster.kafka.sasl: how its password is proved");
            }
            SaslMechanism::None => {}
            _ if access.user.is_none() => self.add(name, "needs cluster.kafka.user"),
            SaslMechanism::Plain if !kafka.tls => {
                self.add(name, "= \"plain\" sends the password as it is, and needs cluster.kafka.tls = true");
            }
            _ => {}
        }
        self.without_tls("cluster.kafka", kafka.tls, access);
    }
}

/// Whether it is scheme, host and perhaps port, and nothing more.
fn is_attribute(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| !name.trim().is_empty())
}

fn is_origin(url: &str) -> bool {
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    host.is_some_and(|host| !host.is_empty() && host.len() <= 300 && host.chars().all(allowed))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::settings::from_toml;

    #[test]
    fn contradictions_are_refused_and_name_what_is_missing() {
        let table = [
            ("[mqtts]\nlisten = \"127.0.0.1:8883\"\nkey = \"k\"\n", "mqtts.listen needs mqtts.certificate"),
            ("[wss]\nclient_certificates = \"required\"\n", "wss.client_certificates needs wss.client_ca"),
            (
                "[server]\ntrial = true\n[mqtt]\nlisten = \"0.0.0.0:1883\"\n",
                "mqtt.listen = 0.0.0.0:1883 is not loopback",
            ),
            ("[acme]\ndomains = [\"push\"]\n", "acme.domains names \"push\""),
            ("[acme]\ndomains = [\"*.a.org\"]\n", "acme.domains names \"*.a.org\""),
            ("[acme]\nlisteners = [\"rpc\"]\n", "acme.listeners names \"rpc\""),
            ("[acme]\ndirectory = \"http://a/dir\"\n", "acme.directory must begin with https://"),
            (
                "[acme]\ndomains = [\"a.org\"]\nlisteners = [\"http\"]\n[mqtts]\nlisten = \"127.0.0.1:8883\"\n",
                "mqtts.listen needs mqtts.certificate",
            ),
            ("[http]\nclient_certificates = \"optional\"\n", "http.client_certificates needs http.client_ca"),
            (
                "[http]\nclient_certificates = \"required\"\nclient_ca = \"ca\"\n",
                "http.client_certificates needs HTTPS",
            ),
            ("[http]\ncertificate = \"c\"\n", "http.certificate needs http.key"),
            ("[http.oidc]\nclient_id = \"c\"\n", "http.oidc.client_id needs http.oidc.issuer"),
            ("[http.oidc]\nissuer = \"https://i\"\n", "http.oidc.issuer needs http.oidc.redirect_url"),
            (
                "[http.oidc]\nissuer = \"http://i\"\nclient_id = \"c\"\n\
                 redirect_url = \"https://h/auth/callback\"\nroles = { ops = [\"viewer\"] }\n",
                "http.oidc.issuer is refused: http://i is not https://",
            ),
            (
                "[http.oidc]\nissuer = \"https://i\"\nclient_id = \"c\"\n\
                 redirect_url = \"https://h/callback\"\nroles = { ops = [\"viewer\"] }\n",
                "http.oidc.redirect_url is refused: https://h/callback does not end in /auth/callback",
            ),
            ("[auth.certificate]\nenabled = true\n", "auth.certificate.enabled needs a TLS listener"),
            (
                "[auth.callback]\nurl = \"ftp://x\"\n",
                "auth.callback.url = \"ftp://x\" must begin with http://",
            ),
            ("[auth.callback]\ncache_s = 60\n", "auth.callback.cache_s needs cache.servers"),
            ("[cache]\nsecret_file = \"s\"\n", "cache.secret_file needs cache.servers"),
            ("[cache]\nservers = [\"a\"]\n", "cache.servers needs cache.secret_file"),
            (
                "[cache]\nservers = [\"a:0\"]\nsecret_file = \"s\"\n",
                "cache.servers is refused: wrong settings: `a:0` is no address of a server",
            ),
            (
                "[cache]\nservers = [\"a\", \"b\", \"a\"]\nsecret_file = \"s\"\n",
                "cache.servers names \"a\" twice",
            ),
            (
                "[cache]\nservers = [\"a\", \"b\"]\nweights = [3]\nsecret_file = \"s\"\n",
                "cache.weights has 1 weights for 2 servers",
            ),
            (
                "[cache]\nservers = [\"a\"]\nsecret_file = \"s\"\nca = \"ca.pem\"\n",
                "cache.ca needs cache.tls = true",
            ),
            (
                "[cache]\nservers = [\"a\"]\nsecret_file = \"s\"\nuser = \"ada\"\n",
                "cache.user needs cache.password_file",
            ),
            ("[cache]\ntls = true\n", "cache.tls needs cache.servers"),
            (
                "[cache]\nservers = [\"a\"]\nsecret_file = \"s\"\nnamespace = \"a b\"\n",
                "cache.namespace = \"a b\" must be at most 128 characters of ASCII",
            ),
            (
                "[cache]\nservers = [\"a\"]\nsecret_file = \"s\"\n[auth.callback]\ncache_denial_s = 5\n",
                "auth.callback.cache_denial_s needs auth.callback.url",
            ),
            ("[auth]\nanonymous = \"anyone\"\n", "auth.anonymous = \"anyone\" checks no"),
            ("[ws]\npath = \"mqtt\"\n", "ws.path = \"mqtt\" must begin with /"),
            (
                "[telemetry]\nendpoint = \"localhost:4318\"\n",
                "telemetry.endpoint = \"localhost:4318\" must be the URL of a collector",
            ),
            (
                "[telemetry]\nendpoint = \"https://me:secret@host\"\n",
                "telemetry.endpoint = \"https://me:secret@host\" must be the URL of a collector",
            ),
            (
                "[telemetry]\nresource_attributes = [\"a=b\", \"c\"]\n",
                "telemetry.resource_attributes holds \"c\", which must be NAME=VALUE",
            ),
            ("[rpc]\nlisten = \"0.0.0.0:7800\"\n", "rpc.listen = 0.0.0.0:7800 is not loopback"),
            (
                "[rpc]\nclient_certificates = \"required\"\nclient_ca = \"ca\"\n",
                "rpc.client_certificates needs TLS",
            ),
            ("[rpc]\ncalls_ca = \"ca\"\n", "rpc.calls_ca needs rpc.calls_server_name"),
            ("[rpc.tokens]\nkey_sets = [\"k\"]\n", "rpc.tokens.key_sets needs rpc.tokens.audience"),
            ("[rpc.tokens]\nissuer = \"https://i\"\n", "rpc.tokens.issuer needs keys"),
            (
                "[rpc.identities]\nbilling = { roles = [\"sender\"] }\n",
                "rpc.identities needs rpc.client_certificates",
            ),
            (
                "[rpc.identities]\nbilling = { apps = [\"shop\"], grants = [\"queue.put:a\"] }\n",
                "rpc.identities is refused: \"billing\": an identity of some apps names them and a role",
            ),
            (
                "[server]\ntrial = true\n[rpc]\nlisten = \"0.0.0.0:7800\"\nopen = true\n",
                "rpc.listen = 0.0.0.0:7800 is not loopback",
            ),
            (
                "[server]\ntrial = true\n[rpc]\nudp_listen = \"0.0.0.0:7800\"\n",
                "rpc.udp_listen = 0.0.0.0:7800 is not loopback",
            ),
            (
                "[mqtt]\nproxy_networks = [\"10.0.0.0/33\"]\n",
                "mqtt.proxy_networks holds a wrong text: \"10.0.0.0/33\" is no network",
            ),
            (
                "[server]\nallowed_origins = [\"app.example.org\"]\n",
                "server.allowed_origins holds \"app.example.org\", which must be a scheme",
            ),
            ("[http]\ncors_origins = [\"*\"]\n", "http.cors_origins holds \"*\", which must be a scheme"),
            (
                "[journal]\nsegment_bytes = 4_194_304\n[queue]\npayload_bytes_max = 4_194_304\n",
                "queue.payload_bytes_max = 4194304 does not fit in a segment",
            ),
            (
                "[journal]\nsegment_bytes = 4_194_304\n[push]\ndevices_max = 40_000_000\npayload_bytes_max = 65_536\n",
                "push.payload_bytes_max = 65536 does not fit in a segment",
            ),
            ("[discovery]\nbackend = \"etcd\"\n", "discovery.backend needs discovery.endpoints"),
            ("[discovery]\nservices = [\"geo/1=127.0.0.1:1\"]\n", "discovery.services is the list for"),
            ("[discovery]\nuser = \"u\"\n", "discovery.user needs discovery.password_file"),
            ("[discovery]\nkey = \"k\"\n", "discovery.key needs discovery.certificate"),
            ("[cluster]\nnode = \"a\"\n", "cluster.node needs cluster.name"),
            (
                "[cluster]\nname = \"a b\"\n",
                "cluster.name is refused: \"a b\" cannot be the name of a cluster",
            ),
            ("[cluster]\nname = \"a\"\n", "cluster.name needs cluster.etcd.endpoints"),
            ("[cluster]\nname = \"a\"\n", "cluster.name needs cluster.kafka.brokers"),
            ("[cluster]\nname = \"a\"\n", "cluster.name needs cluster.links.certificate"),
            (
                "[cluster]\nname = \"a\"\n[cluster.links]\nlisten = \"0.0.0.0:7900\"\n",
                "cluster.links.listen = 0.0.0.0:7900 is every network",
            ),
            (
                "[cluster]\nname = \"a\"\n[cluster.etcd]\nendpoints = [\"https://a:2379\"]\n",
                "cluster.etcd.endpoints needs cluster.etcd.ca",
            ),
            (
                "[cluster]\nname = \"a\"\n[shards]\nstore = \"memory\"\n",
                "shards.store = \"memory\" keeps no replica of a shard",
            ),
            ("[cluster.kafka]\nsasl = \"scram-sha-256\"\n", "cluster.kafka.sasl needs cluster.kafka.user"),
            (
                "[cluster.kafka]\nsasl = \"plain\"\nuser = \"u\"\npassword_file = \"p\"\n",
                "cluster.kafka.sasl = \"plain\" sends the password as it is",
            ),
            ("[cluster.kafka]\nca = \"c\"\n", "cluster.kafka.ca needs cluster.kafka.tls = true"),
            ("[cluster.links]\nadvertise = \"0.0.0.0:1\"\n", "cluster.links.advertise must be an address"),
        ];
        for (text, expected) in table {
            let message =
                from_toml(text, Path::new("s.toml")).expect_err("it contradicts itself").to_string();
            assert!(
                message.contains(expected) && message.contains("SET-005") && message.contains("s.toml:"),
                "{message}"
            );
        }
    }
}
