//! Steps that send something: one for each protocol.
//!
//! What is common to them (name, target, timeout, extraction, checks) is read first.

use std::ops::Range;

use super::Builder;
use super::reader::{Fields, Item};
use super::session::Flow;
use super::shape::{self, COUNT_MAX};
use super::target::is_mqtt;
use crate::mistake::{Mistake, nearest};
use crate::program::{Action, Http, Interaction, Mqtt, Op, Rsocket, Scheme, Step, Tcp, Until, WebSocket};
use crate::template::{Encoding, Template};

/// The data's MIME type of RSocket where a step states none.
const MIME: &str = "application/octet-stream";

fn is_http(scheme: Scheme) -> bool {
    matches!(scheme, Scheme::Http | Scheme::Https)
}

fn is_rsocket(scheme: Scheme) -> bool {
    matches!(scheme, Scheme::Rsocket | Scheme::Rsockets)
}

fn is_tcp(scheme: Scheme) -> bool {
    matches!(scheme, Scheme::Tcp | Scheme::Tls)
}

/// An action and the name that it has where none is given.
type Named = (Action, String);

impl<'a> Builder<'a, '_> {
    /// Reads a step that sends something, and appends it to the flow.
    pub(super) fn sending(&mut self, mark: &str, item: &'a Item<'a>, fields: &Fields<'a>, flow: &mut Flow) {
        let (what, fits): (&str, fn(Scheme) -> bool) = match mark {
            "mqtt" => ("MQTT", is_mqtt),
            "rsocket" => ("RSocket", is_rsocket),
            "tcp" => ("TCP", is_tcp),
            _ => ("HTTP", is_http),
        };
        let target = self.target_for(what, fits, fields.item("target"), flow.target, item.span());
        let named = match mark {
            "events" => self.events(item),
            "websocket" => self.websocket(item),
            "mqtt" => self.mqtt(item),
            "rsocket" => self.rsocket(item),
            "tcp" => self.tcp(item),
            method => self.http(method, item, fields),
        };
        let is_status_checked = matches!(named, Some((Action::Http(_) | Action::Events { .. }, _)));
        // Before checks, which may look at what was extracted.
        let extract = self.extractions(fields.item("extract"));
        let checks = self.checks(fields.item("check"), is_status_checked);
        let timeout_ns = self.timeout(fields).unwrap_or(self.timeout_ns);
        let ends = fields
            .item("on_failure")
            .and_then(|item| self.reader.word(item, &[("end", true), ("continue", false)]));
        let (Some((action, default_name)), Some(target)) = (named, target) else {
            return;
        };
        let name = match fields.item("name").and_then(|item| self.reader.text(item).map(|text| (item, text)))
        {
            Some((item, text)) => {
                if !flow.names.insert(text.to_owned()) {
                    self.reader.problem(item.span(), format!("two steps of the session are called `{text}`"));
                }
                text.to_owned()
            }
            None => flow.unique(default_name),
        };
        flow.used_targets.insert(target);
        flow.waits = true;
        let number = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        self.steps.push(Step {
            session: self.sessions.len(),
            name,
            target,
            action,
            timeout_ns,
            extract,
            checks,
            ends_session_on_failure: ends.unwrap_or(true),
        });
        flow.ops.push(Op::Step(number));
    }

    /// The target that is named, or the session's, or the only one that will do.
    pub(super) fn target_for(
        &mut self,
        what: &str,
        fits: fn(Scheme) -> bool,
        named: Option<&'a Item<'a>>,
        session: Option<usize>,
        at: Range<usize>,
    ) -> Option<usize> {
        if let Some(item) = named {
            let target = self.named_target(item)?;
            if !fits(self.targets[target].scheme) {
                let message = format!("the target `{}` does not speak {what}", self.targets[target].name);
                self.reader.problem(item.span(), message);
                return None;
            }
            return Some(target);
        }
        if let Some(target) = session.filter(|target| fits(self.targets[*target].scheme)) {
            return Some(target);
        }
        let fitting: Vec<usize> =
            (0..self.targets.len()).filter(|target| fits(self.targets[*target].scheme)).collect();
        match fitting.as_slice() {
            [one] => Some(*one),
            [] => {
                self.reader.note(
                    Mistake::new(at, format!("no target speaks {what}"))
                        .hint("targets are written `[targets.NAME]`, with a `url`"),
                );
                None
            }
            several => {
                let names: Vec<&str> =
                    several.iter().map(|target| self.targets[*target].name.as_str()).collect();
                let hint = format!("with `target`, one of {}", super::reader::list(&names));
                self.reader
                    .note(Mistake::new(at, format!("several targets speak {what}: say which")).hint(hint));
                None
            }
        }
    }

    pub(super) fn named_target(&mut self, item: &'a Item<'a>) -> Option<usize> {
        let name = self.reader.text(item)?;
        let found = self.targets.iter().position(|target| target.name == name);
        if found.is_none() {
            let mistake = Mistake::new(item.span(), format!("there is no target `{name}`"));
            let near = nearest(name, self.targets.iter().map(|target| target.name.as_str()));
            self.reader.note(match near {
                Some(near) => mistake.hint(format!("did you mean `{near}`?")),
                None => mistake,
            });
        }
        found
    }

    /// A path and query, and as it was written.
    fn path(&mut self, item: &'a Item<'a>) -> Option<(Template, &'a str)> {
        let text = self.reader.text(item)?;
        if !text.starts_with('/') && !text.starts_with("${") {
            let mistake = Mistake::new(item.span(), "a path begins with `/`");
            self.reader.note(match text.contains("://") {
                true => mistake.hint("the host belongs to a target"),
                false => mistake.hint(format!("as in \"/{text}\"")),
            });
            return None;
        }
        Some((self.template(item, Encoding::Target)?, text))
    }

    fn http(&mut self, method: &str, item: &'a Item<'a>, fields: &Fields<'a>) -> Option<Named> {
        let path = self.path(item);
        let mut headers = self.headers(fields.item("headers"));
        let bodies: Vec<(&str, &'a Item<'a>)> = ["json", "body", "form"]
            .iter()
            .filter_map(|kind| fields.item(kind).map(|item| (*kind, item)))
            .collect();
        if let [_, (second, item), ..] = bodies.as_slice() {
            self.reader.problem(item.span(), format!("a request has one body: `{second}` is another"));
            return None;
        }
        let (body, kind) = match bodies.first() {
            None => (None, None),
            Some(("json", item)) => (Some(self.json(item)?), Some("application/json")),
            Some(("form", item)) => (Some(self.form(item)?), Some("application/x-www-form-urlencoded")),
            Some((_, item)) => (Some(self.bytes(item)?.template), None),
        };
        let has_kind = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if let Some(kind) = kind.filter(|_| !has_kind) {
            headers.push(("content-type".to_owned(), Template::bytes_from(kind.into())));
        }
        let (path, text) = path?;
        let method = method.to_ascii_uppercase();
        let name = format!("{method} {}", text.split('?').next().unwrap_or(text));
        Some((Action::Http(Http { method, path, headers, body }), name))
    }

    fn events(&mut self, item: &'a Item<'a>) -> Option<Named> {
        let fields = self.reader.fields(item, &shape::EVENTS)?;
        let path = fields.item("get").and_then(|item| self.path(item));
        let mut headers = self.headers(fields.item("headers"));
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept")) {
            headers.push(("accept".to_owned(), Template::bytes_from(b"text/event-stream".to_vec())));
        }
        let count = fields.item("count").map_or(Some(1), |item| self.whole_u32(item, 1..=COUNT_MAX))?;
        let (path, text) = path?;
        let request = Http { method: "GET".to_owned(), path, headers, body: None };
        Some((Action::Events { request, count }, format!("events {text}")))
    }

    fn websocket(&mut self, item: &'a Item<'a>) -> Option<Named> {
        let fields = self.reader.one_of(item, "a WebSocket step", shape::WEBSOCKET)?;
        let (mark, item) = mark(&fields)?;
        let (action, name) = match mark {
            "open" => {
                let path = self.path(item);
                let headers = self.headers(fields.item("headers"));
                let subprotocol = fields.item("subprotocol").and_then(|item| self.reader.text(item));
                let (path, text) = path?;
                let open = WebSocket::Open { path, headers, subprotocol: subprotocol.map(str::to_owned) };
                (open, format!("websocket {text}"))
            }
            "send" => {
                let receive =
                    fields.item("receive").map_or(Some(0), |item| self.whole_u32(item, 0..=COUNT_MAX));
                let binary = fields.item("binary").and_then(|item| self.reader.bool(item));
                let bytes = self.bytes(item)?;
                let binary = binary.unwrap_or(bytes.is_binary);
                let send = WebSocket::Send { payload: bytes.template, binary, receive: receive? };
                (send, "websocket send".to_owned())
            }
            "receive" => {
                let count = self.whole_u32(item, 1..=COUNT_MAX)?;
                (WebSocket::Receive { count }, "websocket receive".to_owned())
            }
            _ => {
                self.is_true(item);
                (WebSocket::Close, "websocket close".to_owned())
            }
        };
        Some((Action::WebSocket(action), name))
    }

    fn mqtt(&mut self, item: &'a Item<'a>) -> Option<Named> {
        let fields = self.reader.one_of(item, "an MQTT step", shape::MQTT)?;
        let (mark, item) = mark(&fields)?;
        let (action, name) = match mark {
            "connect" => (self.mqtt_connect(item)?, "mqtt connect".to_owned()),
            "subscribe" => {
                let mut filters = Vec::new();
                let items = self.reader.list_or_one(item);
                for item in items {
                    filters.push(self.template(item, Encoding::Plain)?);
                }
                if filters.is_empty() {
                    self.reader.problem(item.span(), "a subscription names a topic filter");
                }
                let qos = self.qos(&fields);
                let first = items.first().and_then(|item| item.get_ref().as_str()).unwrap_or_default();
                (Mqtt::Subscribe { filters, qos }, format!("mqtt subscribe {first}"))
            }
            "publish" => {
                let payload = match fields.item("payload") {
                    Some(item) => self.bytes(item).map(|bytes| bytes.template),
                    None => Some(Template::default()),
                };
                let qos = self.qos(&fields);
                let mut flag =
                    |key| fields.item(key).and_then(|item| self.reader.bool(item)).unwrap_or(false);
                let (retain, stamped) = (flag("retain"), flag("stamped"));
                let topic = self.template(item, Encoding::Plain)?;
                let name = format!("mqtt publish {}", self.reader.text(item)?);
                (Mqtt::Publish { topic, payload: payload?, qos, retain, stamped }, name)
            }
            "receive" => {
                let count = self.whole_u32(item, 1..=COUNT_MAX)?;
                (Mqtt::Receive { count }, "mqtt receive".to_owned())
            }
            _ => {
                self.is_true(item);
                (Mqtt::Disconnect, "mqtt disconnect".to_owned())
            }
        };
        Some((Action::Mqtt(action), name))
    }

    fn mqtt_connect(&mut self, item: &'a Item<'a>) -> Option<Mqtt> {
        let mut connect = (Template::default(), None, true, 60, 0);
        if !item.get_ref().is_table() {
            self.is_true(item);
        } else {
            let fields = self.reader.fields(item, &shape::CONNECT)?;
            let text = |builder: &mut Self, key: &str| {
                fields.item(key).map(|item| builder.template(item, Encoding::Plain).unwrap_or_default())
            };
            connect.0 = text(self, "client_id").unwrap_or_default();
            connect.1 = match (text(self, "user_name"), text(self, "password")) {
                (None, None) => None,
                (user, password) => Some((user.unwrap_or_default(), password.unwrap_or_default())),
            };
            if let Some(item) = fields.item("clean_start") {
                connect.2 = self.reader.bool(item)?;
            }
            connect.3 = self.seconds(&fields, "keep_alive", 60);
            if let Some(item) = fields.item("session_expiry") {
                let seconds = self.reader.duration(item)?.div_ceil(1_000_000_000);
                connect.4 = u32::try_from(seconds).unwrap_or(u32::MAX);
            }
        }
        let (client_id, credentials, clean_start, keep_alive_s, session_expiry_s) = connect;
        Some(Mqtt::Connect { client_id, credentials, clean_start, keep_alive_s, session_expiry_s })
    }

    fn rsocket(&mut self, item: &'a Item<'a>) -> Option<Named> {
        let fields = self.reader.one_of(item, "an RSocket step", shape::RSOCKET)?;
        let (mark, item) = mark(&fields)?;
        let (interaction, count) = match mark {
            "request" => (Interaction::RequestResponse, 1),
            "fire" => (Interaction::FireAndForget, 0),
            _ => {
                let count = fields.item("count").map(|item| self.whole_u32(item, 1..=COUNT_MAX));
                (Interaction::RequestStream, count.map_or(Some(u32::MAX), |count| count)?)
            }
        };
        let route = self.template(item, Encoding::Plain);
        let data = match fields.item("data") {
            Some(item) => self.bytes(item)?.template,
            None => Template::default(),
        };
        let mime = fields.item("mime").and_then(|item| self.reader.text(item)).unwrap_or(MIME).to_owned();
        let name = format!("rsocket {mark} {}", self.reader.text(item)?);
        Some((Action::Rsocket(Rsocket { interaction, route: route?, data, mime, count }), name))
    }

    fn tcp(&mut self, item: &'a Item<'a>) -> Option<Named> {
        let fields = self.reader.one_of(item, "a TCP step", shape::TCP)?;
        let (mark, item) = mark(&fields)?;
        let action = match mark {
            "open" => {
                self.is_true(item);
                Tcp::Open
            }
            "send" => {
                let until = match fields.item("until") {
                    Some(item) => Some(self.until(item)?),
                    None => None,
                };
                Tcp::Send { payload: self.bytes(item)?.template, until }
            }
            "receive" => Tcp::Receive { until: self.until(item)? },
            _ => {
                self.is_true(item);
                Tcp::Close
            }
        };
        Some((Action::Tcp(action), format!("tcp {mark}")))
    }

    fn until(&mut self, item: &'a Item<'a>) -> Option<Until> {
        let delimiter = |builder: &mut Self, at: Range<usize>, bytes: Option<Vec<u8>>| match bytes {
            Some(bytes) if !bytes.is_empty() => Some(Until::Delimiter(bytes)),
            _ => {
                builder.reader.problem(at, "an answer ends with one byte at least");
                None
            }
        };
        if let Some(text) = item.get_ref().as_str() {
            return delimiter(self, item.span(), Some(text.as_bytes().to_vec()));
        }
        let fields = self.reader.fields(item, &shape::UNTIL_TABLE)?;
        let Some((kind, item)) = fields.first(&["text", "hex", "bytes", "end"]) else {
            self.reader.problem(fields.at, "an end of bytes is one of `text`, `hex`, `bytes`, `end`");
            return None;
        };
        match kind {
            "text" => {
                let bytes = self.reader.text(item)?.as_bytes().to_vec();
                delimiter(self, item.span(), Some(bytes))
            }
            "hex" => {
                let bytes = super::bytes::unhex(self.reader.text(item)?);
                delimiter(self, item.span(), bytes)
            }
            "bytes" => self.reader.whole(item, 1..=COUNT_MAX).map(Until::Bytes),
            _ => {
                self.is_true(item);
                Some(Until::End)
            }
        }
    }
}

/// The key that identifies the table.
fn mark<'a>(fields: &Fields<'a>) -> Option<(&'static str, &'a Item<'a>)> {
    fields.first(fields.marks())
}
