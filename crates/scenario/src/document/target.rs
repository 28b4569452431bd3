//! Targets: URLs taken apart, TLS, versions, connections.
//!
//! Their headers may name variables of any session, so those are read when all sessions are known.

use super::Builder;
use super::reader::{Fields, Item};
use super::shape;
use crate::mistake::{Mistake, nearest};
use crate::program::{Connections, Scheme, Target, Tls, Version};

/// Time for a connection where a target states none.
const CONNECT_TIMEOUT_NS: u64 = 10_000_000_000;

/// Schemes, and the port where a URL has none.
const SCHEMES: &[(&str, Scheme, Option<u16>)] = &[
    ("http", Scheme::Http, Some(80)),
    ("https", Scheme::Https, Some(443)),
    ("mqtt", Scheme::Mqtt, Some(1883)),
    ("mqtts", Scheme::Mqtts, Some(8883)),
    ("mqtt+ws", Scheme::MqttWs, Some(80)),
    ("mqtt+wss", Scheme::MqttWss, Some(443)),
    ("rsocket", Scheme::Rsocket, None),
    ("rsockets", Scheme::Rsockets, None),
    ("tcp", Scheme::Tcp, None),
    ("tls", Scheme::Tls, None),
];

/// A URL in its parts.
struct Place {
    scheme: Scheme,
    host: String,
    port: u16,
    path: String,
}

impl<'a> Builder<'a, '_> {
    /// Reads all but the headers of the targets, whose values are returned.
    pub(super) fn open_targets(&mut self, fields: &Fields<'a>) -> Vec<Option<&'a Item<'a>>> {
        let mut headers = Vec::new();
        let Some(item) = fields.item("targets") else {
            return headers;
        };
        for entry in self.reader.map(item) {
            let Some(fields) = self.reader.fields(entry.item, &shape::TARGET) else {
                continue;
            };
            let place = fields.item("url").and_then(|item| self.place(item)).unwrap_or_else(|| Place {
                // A stand-in, so that steps of the target are not problems of their own.
                scheme: Scheme::Http,
                host: String::new(),
                port: 0,
                path: String::new(),
            });
            let version = self.version(&fields, place.scheme);
            let tls = self.tls(&fields, place.scheme);
            let connections = self.connections(&fields, place.scheme);
            let connect_timeout_ns = fields
                .item("connect_timeout")
                .and_then(|item| self.reader.duration(item))
                .unwrap_or(CONNECT_TIMEOUT_NS);
            let cookies = fields.item("cookies").and_then(|item| self.reader.bool(item)).unwrap_or(true);
            let metrics = fields.item("metrics").and_then(|item| {
                let text = self.reader.text(item)?;
                if !text.starts_with("http://") && !text.starts_with("https://") {
                    self.reader.problem(item.span(), format!("`{text}` is not a URL of http or https"));
                }
                Some(text.to_owned())
            });
            let mut source_addresses = Vec::new();
            if let Some(item) = fields.item("source_addresses") {
                for item in self.reader.list(item) {
                    let Some(text) = self.reader.text(item) else { continue };
                    match text.parse() {
                        Ok(address) => source_addresses.push(address),
                        Err(_) => self.reader.problem(item.span(), format!("`{text}` is not an IP address")),
                    }
                }
            }
            self.targets.push(Target {
                name: entry.key.to_owned(),
                scheme: place.scheme,
                host: place.host,
                port: place.port,
                path: place.path,
                tls,
                version,
                connections,
                connect_timeout_ns,
                cookies,
                headers: Vec::new(),
                metrics,
                source_addresses,
            });
            headers.push(fields.item("headers"));
        }
        headers
    }

    /// Reads the headers of the targets, and which tables they need.
    pub(super) fn target_headers(&mut self, headers: Vec<Option<&'a Item<'a>>>) {
        for (target, item) in headers.into_iter().enumerate() {
            self.variables.see_all();
            self.targets[target].headers = self.headers(item);
            let used = self.variables.take_used();
            self.target_draws.push(self.tables_of(&used));
        }
    }

    fn place(&mut self, item: &'a Item<'a>) -> Option<Place> {
        let text = self.reader.text(item)?;
        match place(text) {
            Ok(place) => Some(place),
            Err(mistake) => {
                self.reader.note_in(item, mistake);
                None
            }
        }
    }

    fn version(&mut self, fields: &Fields<'a>, scheme: Scheme) -> Version {
        let is_http = matches!(scheme, Scheme::Http | Scheme::Https);
        let is_mqtt = is_mqtt(scheme);
        for (key, fits) in [("http", is_http), ("mqtt", is_mqtt)] {
            if let Some(item) = fields.item(key).filter(|_| !fits) {
                self.reader.problem(item.span(), format!("the target's URL is not one of {key}"));
            }
        }
        let known: &[(&str, Version)] = if is_http {
            &[("1.1", Version::Http1), ("2", Version::Http2)]
        } else if is_mqtt {
            &[("3.1.1", Version::Mqtt311), ("5", Version::Mqtt5), ("5.0", Version::Mqtt5)]
        } else {
            return Version::Only;
        };
        let default = if is_http { Version::Http1 } else { Version::Mqtt5 };
        let Some(item) = fields.item(if is_http { "http" } else { "mqtt" }) else {
            return default;
        };
        if item.get_ref().is_str() {
            return self.reader.word(item, known).unwrap_or(default);
        }
        let Some(number) = self.reader.number(item, 0.0..=100.0) else {
            return default;
        };
        let found = known.iter().find(|(word, _)| *word == number.to_string());
        found.map(|(_, version)| *version).unwrap_or_else(|| {
            let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
            self.reader.note(
                Mistake::new(item.span(), format!("version {number} is not spoken"))
                    .hint(format!("known are {}", super::reader::list(&words))),
            );
            default
        })
    }

    fn tls(&mut self, fields: &Fields<'a>, scheme: Scheme) -> Tls {
        let mut tls = Tls { resumption: true, ..Tls::default() };
        let Some(item) = fields.item("tls") else {
            return tls;
        };
        if !scheme.is_secured() {
            self.reader.note(
                Mistake::new(item.span(), "the target's URL is one without TLS")
                    .hint("TLS is spoken by https, mqtts, mqtt+wss, rsockets and tls"),
            );
        }
        let Some(fields) = self.reader.fields(item, &shape::TLS) else {
            return tls;
        };
        let reader = &mut self.reader;
        let mut text = |key: &str| fields.item(key).and_then(|item| reader.text(item)).map(str::to_owned);
        tls.authority = text("authority");
        tls.server_name = text("server_name");
        let (certificate, key) = (text("certificate"), text("key"));
        if let Some(item) = fields.item("insecure") {
            tls.insecure = self.reader.bool(item).unwrap_or(false);
        }
        if let Some(item) = fields.item("resumption") {
            tls.resumption = self.reader.bool(item).unwrap_or(true);
        }
        tls.identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => {
                self.reader.problem(item.span(), "`certificate` and `key` come together");
                None
            }
        };
        tls
    }

    fn connections(&mut self, fields: &Fields<'a>, scheme: Scheme) -> Connections {
        let Some(item) = fields.item("connections") else {
            return Connections::PerUser;
        };
        let words = [("per-user", Connections::PerUser), ("per-request", Connections::PerRequest)];
        let connections = if item.get_ref().is_table() {
            let shared = self.reader.fields(item, &shape::SHARED).and_then(|fields| fields.item("shared"));
            let count = shared.and_then(|item| self.reader.whole(item, 1..=1_000_000));
            count.map(|count| Connections::Shared(u32::try_from(count).unwrap_or(u32::MAX)))
        } else {
            self.reader.word(item, &words)
        };
        let connections = connections.unwrap_or(Connections::PerUser);
        if connections != Connections::PerUser && !matches!(scheme, Scheme::Http | Scheme::Https) {
            self.reader.problem(item.span(), "only HTTP has connections that are not a user's own");
        }
        connections
    }
}

pub(super) fn is_mqtt(scheme: Scheme) -> bool {
    matches!(scheme, Scheme::Mqtt | Scheme::Mqtts | Scheme::MqttWs | Scheme::MqttWss)
}

/// Takes a URL apart (RFC 3986), as far as a target has parts.
fn place(text: &str) -> Result<Place, Mistake> {
    let whole = 0..text.len();
    let Some((word, rest)) = text.split_once("://") else {
        return Err(
            Mistake::new(whole, format!("`{text}` is not a URL")).hint("as in \"http://127.0.0.1:8080\"")
        );
    };
    let known = SCHEMES.iter().find(|(known, ..)| known.eq_ignore_ascii_case(word));
    let Some((word, scheme, default_port)) = known else {
        let mistake = Mistake::new(0..word.len(), format!("`{word}` is not a scheme of targets"));
        return Err(match word {
            "ws" => mistake.hint("WebSockets are opened on targets of `http`"),
            "wss" => mistake.hint("WebSockets are opened on targets of `https`"),
            _ => match nearest(word, SCHEMES.iter().map(|(known, ..)| *known)) {
                Some(near) => mistake.hint(format!("did you mean `{near}`?")),
                None => mistake.hint(
                    "known are http, https, mqtt, mqtts, mqtt+ws, mqtt+wss, rsocket, rsockets, tcp, tls",
                ),
            },
        });
    };
    if let Some(at) = rest.find(['?', '#']) {
        let at = text.len() - rest.len() + at;
        return Err(
            Mistake::new(at..text.len(), "a target's URL ends with its path").hint("queries belong to steps")
        );
    }
    if text.bytes().any(|byte| !byte.is_ascii_graphic()) {
        return Err(Mistake::new(whole, "a URL has no blanks and is ASCII"));
    }
    let slash = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(slash);
    let start = text.len() - rest.len();
    let here = start..start + authority.len();
    if authority.contains('@') {
        return Err(Mistake::new(here, "a target's URL names no user")
            .hint("say who it is with a header, or with `connect` of MQTT"));
    }
    let (host, port) = if let Some(inside) = authority.strip_prefix('[') {
        match inside.split_once(']') {
            Some((host, after)) if host.parse::<std::net::Ipv6Addr>().is_ok() => (host, after),
            _ => return Err(Mistake::new(here, "not an IPv6 address in brackets")),
        }
    } else {
        authority.split_at(authority.find(':').unwrap_or(authority.len()))
    };
    if host.is_empty() {
        return Err(Mistake::new(whole, "the URL names no host"));
    }
    let port = match port.strip_prefix(':') {
        Some(digits) => match digits.parse::<u16>() {
            Ok(port) if port > 0 => port,
            _ => return Err(Mistake::new(here, format!("`{digits}` is not a port"))),
        },
        None if !port.is_empty() => return Err(Mistake::new(here, "not a host and a port")),
        None => match default_port {
            Some(port) => *port,
            None => return Err(Mistake::new(here, format!("a URL of {word} names its port"))),
        },
    };
    let path = path.trim_end_matches('/');
    let has_path = matches!(scheme, Scheme::Http | Scheme::Https | Scheme::MqttWs | Scheme::MqttWss);
    if !has_path && !path.is_empty() {
        return Err(Mistake::new(start + slash..text.len(), format!("a URL of {word} has no path")));
    }
    let is_websocket = matches!(scheme, Scheme::MqttWs | Scheme::MqttWss);
    let path = if is_websocket && path.is_empty() { "/mqtt" } else { path };
    Ok(Place { scheme: *scheme, host: host.to_owned(), port, path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::{Scheme, place};

    #[test]
    fn urls_come_apart() {
        for (text, scheme, host, port, path) in [
            ("http://a", Scheme::Http, "a", 80, ""),
            ("HTTPS://a.b:8443/api/", Scheme::Https, "a.b", 8443, "/api"),
            ("mqtt+wss://a", Scheme::MqttWss, "a", 443, "/mqtt"),
            ("tcp://[::1]:7", Scheme::Tcp, "::1", 7, ""),
        ] {
            let place = place(text).unwrap_or_else(|mistake| panic!("{text}: {mistake}"));
            assert_eq!(
                (place.scheme, place.host.as_str(), place.port, place.path.as_str()),
                (scheme, host, port, path)
            );
        }
    }

    #[test]
    fn wrong_urls_are_refused_with_a_reason() {
        for (text, says) in [
            ("localhost:80", "not a URL"),
            ("htp://a", "did you mean `http`"),
            ("wss://a", "targets of `https`"),
            ("http://", "names no host"),
            ("http://a:x", "not a port"),
            ("http://a:70000", "not a port"),
            ("tcp://a", "names its port"),
            ("mqtt://a/b", "has no path"),
            ("http://u:p@a", "names no user"),
            ("http://a/?q", "ends with its path"),
            ("http://[::1", "IPv6"),
            ("http://a b", "no blanks"),
        ] {
            let mistake = place(text).err().unwrap_or_else(|| panic!("{text} passed")).to_string();
            assert!(mistake.contains(says), "{text}: {mistake}");
        }
    }
}
