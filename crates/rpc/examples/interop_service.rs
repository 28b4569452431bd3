//! The interoperability routes as a service, for other implementations of RSocket to call.
//!
//! `interop_service server [transport=tcp|ws] [fragment=BYTES]` prints `listening ADDRESS` and ends when its standard
//! input does. testing/README.md lists the routes; requests and answers are bare bytes, not Protocol Buffers, so that
//! the suites of `interop` (crates/rsocket) fit.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::{Arc, Mutex, PoisonError};

use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType};
use prost::{DecodeError, Message};
use stadium_reactor::{Messages, WebSocketSettings};
use stadium_rpc::{
    Call, CallContext, Listen, Method, Refusal, Server, ServerConfig, Service, StreamReceiver, StreamSender,
};
use stadium_rsocket::metadata::authentication::{self, Authentication};
use stadium_rsocket::metadata::{Mime, entries, routes};

/// A message that is its bytes, whatever they are.
#[derive(Clone, Debug, Default, PartialEq)]
struct Bare(Vec<u8>);

impl Message for Bare {
    fn encode_raw(&self, out: &mut impl BufMut) {
        out.put_slice(&self.0);
    }

    fn merge_field(
        &mut self,
        _: u32,
        _: WireType,
        _: &mut impl Buf,
        _: DecodeContext,
    ) -> Result<(), DecodeError> {
        unreachable!("merge takes all bytes")
    }

    fn merge(&mut self, mut bytes: impl Buf) -> Result<(), DecodeError> {
        self.0.put(&mut bytes);
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

impl Bare {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl From<String> for Bare {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

type Unary = Method<Bare, Bare>;
const ECHO: Unary = Method::unary("interop/echo");
const METADATA: Unary = Method::unary("interop/metadata");
const NOTES: Unary = Method::unary("interop/notes");
const NEVER: Unary = Method::unary("interop/never");
const BUSY: Unary = Method::unary("interop/busy");
const REJECT: Unary = Method::unary("interop/reject");
const NOTE: Unary = Method::one_way("interop/note");
const RANGE: Unary = Method::stream("interop/range");
const ENDLESS: Unary = Method::stream("interop/endless");
const FAIL_AFTER: Unary = Method::stream("interop/fail-after");
const CHANNEL: Unary = Method::channel("interop/channel");
const SUM: Unary = Method::channel("interop/sum");

/// Notes by key.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<HashMap<String, Vec<String>>>>);

impl Notes {
    fn leave(&self, key: &str, what: &str) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.entry(key.to_owned()).or_default().push(what.to_owned());
    }

    fn of(&self, key: &str) -> String {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.get(key).map(|notes| notes.join("\n")).unwrap_or_default()
    }
}

/// Leaves the note "cancelled" when it is dropped with the future that holds it.
struct Cancelled(Notes, String);

impl Drop for Cancelled {
    fn drop(&mut self) {
        self.0.leave(&self.1, "cancelled");
    }
}

fn service(notes: &Notes) -> Service {
    let keep = || notes.clone();
    let (noting, telling, never, endless) = (keep(), keep(), keep(), keep());
    Service::new("interop", "1")
        .inline(&ECHO, |_: &Call<'_>, request: &Bare, answer: &mut Bare| {
            answer.0.extend_from_slice(&request.0);
            Ok(())
        })
        .inline(&METADATA, |call: &Call<'_>, _: &Bare, answer: &mut Bare| {
            *answer = described(call.metadata()).into();
            Ok(())
        })
        .inline(&NOTES, move |_: &Call<'_>, request: &Bare, answer: &mut Bare| {
            *answer = telling.of(&request.text()).into();
            Ok(())
        })
        .inline(&NOTE, move |_: &Call<'_>, request: &Bare, _: &mut Bare| {
            let text = request.text();
            let (key, what) = text.split_once(' ').unwrap_or((&text, ""));
            noting.leave(key, what);
            Ok(())
        })
        .inline(&BUSY, |_: &Call<'_>, request: &Bare, _: &mut Bare| {
            let after = request.text().parse().map_err(malformed)?;
            Err(Refusal::busy(std::time::Duration::from_millis(after), "asked to be"))
        })
        .inline(&REJECT, |_: &Call<'_>, request: &Bare, _: &mut Bare| {
            let text = request.text();
            let (code, reason) = text.split_once(' ').unwrap_or((&text, ""));
            Err(Refusal::rejected(code.to_owned(), reason.to_owned()))
        })
        .asynchronous(&NEVER, move |_: CallContext, request: Bare| {
            let cancelled = Cancelled(never.clone(), request.text());
            async move {
                let _cancelled = cancelled;
                std::future::pending::<Result<Bare, Refusal>>().await
            }
        })
        .streaming(&RANGE, |_: CallContext, request: Bare, out: StreamSender<Bare>| async move {
            let text = request.text();
            let (count, size) = text.split_once(' ').unwrap_or((&text, "0"));
            numbers(&out, count.parse().map_err(malformed)?, size.parse().map_err(malformed)?).await
        })
        .streaming(&ENDLESS, move |_: CallContext, request: Bare, out: StreamSender<Bare>| {
            let cancelled = Cancelled(endless.clone(), request.text());
            async move {
                let _cancelled = cancelled;
                numbers(&out, u64::MAX, 0).await
            }
        })
        .streaming(&FAIL_AFTER, |_: CallContext, request: Bare, out: StreamSender<Bare>| async move {
            // "COUNT CODE-OF-THE-FRAME CODE: REASON"; the frame's code is the framework's business.
            let text = request.text();
            let mut words = text.splitn(3, ' ');
            let count = words.next().unwrap_or_default().parse().map_err(malformed)?;
            let why = words.nth(1).unwrap_or_default();
            numbers(&out, count, 0).await?;
            let (code, reason) = why.split_once(": ").unwrap_or((why, ""));
            Err(Refusal::rejected(code.to_owned(), reason.to_owned()))
        })
        .channel(
            &CHANNEL,
            |_: CallContext, requests: StreamReceiver<Bare>, out: StreamSender<Bare>| async move {
                while let Some(request) = requests.next().await.map_err(malformed)? {
                    out.send(format!("echo {}", request.text()).into()).await?;
                }
                Ok(())
            },
        )
        .channel(&SUM, |_: CallContext, requests: StreamReceiver<Bare>, out: StreamSender<Bare>| async move {
            let mut sum = 0;
            while let Some(request) = requests.next().await.map_err(malformed)? {
                sum += request.text().parse::<i64>().map_err(malformed)?;
            }
            out.send(sum.to_string().into()).await?;
            Ok(())
        })
}

async fn numbers(out: &StreamSender<Bare>, count: u64, size: usize) -> Result<(), Refusal> {
    for number in 0..count {
        let mut text = number.to_string();
        text.extend(std::iter::repeat_n('.', size.saturating_sub(text.len())));
        out.send(text.into()).await?;
    }
    Ok(())
}

fn malformed(error: impl std::fmt::Display) -> Refusal {
    Refusal::rejected("INTEROP-001", error.to_string())
}

/// One line an entry of composite metadata.
fn described(metadata: &[u8]) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let lines = entries(metadata).map_while(Result::ok).map(|entry| {
        if entry.mime == Mime::ROUTING {
            let tags: Vec<&str> = routes(entry.content).map_while(Result::ok).collect();
            format!("route {}", tags.join(" "))
        } else if entry.mime == Mime::AUTHENTICATION {
            match authentication::read(entry.content) {
                Ok(Authentication::Simple { username, password }) => format!("simple {username}:{password}"),
                Ok(Authentication::Bearer(token)) => format!("bearer {token}"),
                other => format!("{other:?}"),
            }
        } else {
            format!("{} {}", entry.mime.name().unwrap_or("?"), text(entry.content))
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options: HashMap<String, String> = std::env::args()
        .skip(2)
        .filter_map(|argument| {
            argument.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
        })
        .collect();
    let mut listen = Listen::tcp(([127, 0, 0, 1], 0).into());
    if options.get("transport").is_some_and(|transport| transport == "ws") {
        listen.websocket = Some(Arc::new(WebSocketSettings {
            path: "/".to_owned(),
            subprotocols: Vec::new(),
            message_bytes_max: 16_777_215,
            messages: Messages::LengthPrefixed24,
            ..WebSocketSettings::default()
        }));
    }
    let mut config = ServerConfig { listen: vec![listen], loops: 2, ..ServerConfig::default() };
    if let Some(fragment) = options.get("fragment") {
        config.fragment_bytes = fragment.parse()?;
    }
    let server = Server::start(config, vec![service(&Notes::default())])?;
    println!("listening {}", server.bound()[0]);
    std::io::stdin().read_to_end(&mut Vec::new())?;
    server.stop();
    Ok(())
}
