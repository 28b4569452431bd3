//! The service: every function does what its request asks for.
//!
//! Functions are counted by the text of their request, so that a case can ask for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use stadium_c::settings::ServerSettings;
use stadium_rpc::metadata::authentication::Authentication;
use stadium_rpc::{ApplicationCode, CallContext, Refusal, Server, Service, sleep};

use crate::mutant;
use crate::orders::Serve;
use crate::proto::{Ask, Refusal as Asked, Reply, conformance};

/// Counts of the requests with one text.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Seen {
    began: u32,
    ended: u32,
    cancelled: u32,
}

#[derive(Default)]
struct Functions {
    instance: String,
    slow_ms: AtomicU64,
    seen: Mutex<HashMap<String, Seen>>,
}

pub struct Serving {
    server: Server,
    functions: Arc<Functions>,
}

impl Serving {
    pub fn start(serve: Serve) -> anyhow::Result<Self> {
        let functions = Arc::new(Functions { instance: serve.instance, ..Functions::default() });
        let config = ServerSettings::from_json(&serve.settings.to_string())
            .and_then(|settings| settings.config())
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        let server = Server::start(config, vec![service(&functions)])?;
        Ok(Self { server, functions })
    }

    pub fn addresses(&self) -> Vec<String> {
        self.server.bound().iter().map(ToString::to_string).collect()
    }

    pub fn seen(&self, text: &str) -> Seen {
        self.functions.seen.lock().expect("nobody panics with it").get(text).copied().unwrap_or_default()
    }

    pub fn slow(&self, ms: u64) {
        self.functions.slow_ms.store(ms, Ordering::Relaxed);
    }

    pub fn quiesce(self, within_ms: u64) -> u64 {
        if mutant::is("leaves-at-once") {
            self.server.stop();
            return 0;
        }
        self.server.shutdown(Duration::from_millis(within_ms)).wait()
    }
}

fn service(functions: &Arc<Functions>) -> Service {
    let shared = || Arc::clone(functions);
    let (echo, once, note, count, talk) = (shared(), shared(), shared(), shared(), shared());
    Service::new(conformance::NAME, conformance::VERSION)
        .descriptors(conformance::FILE_DESCRIPTOR_SET)
        .asynchronous(&conformance::ECHO, move |call, ask| unary(Arc::clone(&echo), call, ask))
        .asynchronous(&conformance::ONCE, move |call, ask| unary(Arc::clone(&once), call, ask))
        .asynchronous(&conformance::NOTE, move |call, ask| {
            let note = Arc::clone(&note);
            async move { unary(note, call, ask).await.map(|_| ()) }
        })
        .streaming(&conformance::COUNT, move |call, ask: Ask, out| {
            let count = Arc::clone(&count);
            async move {
                let begun = Begun::new(count, &ask.text);
                let replies = if ask.replies == 0 { u32::MAX } else { ask.replies };
                for number in 0..replies {
                    if mutant::is("loses-a-message") && number == 1 {
                        continue;
                    }
                    out.send(Reply { number, ..begun.reply(&call, &ask) }).await?;
                }
                begun.end(&ask)
            }
        })
        .channel(&conformance::TALK, move |call, asks, out| {
            let talk = Arc::clone(&talk);
            async move {
                let mut number = 0;
                while let Some(ask) =
                    asks.next().await.map_err(|error| Refusal::rejected("CONF-003", error.to_string()))?
                {
                    let begun = Begun::new(Arc::clone(&talk), &ask.text);
                    out.send(Reply { number, ..begun.reply(&call, &ask) }).await?;
                    number += 1;
                    begun.end(&ask)?;
                }
                Ok(())
            }
        })
}

async fn unary(functions: Arc<Functions>, call: CallContext, ask: Ask) -> Result<Reply, Refusal> {
    let slow_ms = functions.slow_ms.load(Ordering::Relaxed);
    let begun = Begun::new(functions, &ask.text);
    let reply = begun.reply(&call, &ask);
    if mutant::is("works-on") && ask.sleep_ms > 0 {
        std::mem::forget(begun);
        sleep(Duration::from_millis(50)).await;
        return Ok(reply);
    }
    let wait_ms = u64::from(ask.sleep_ms) + slow_ms;
    if wait_ms > 0 {
        sleep(Duration::from_millis(wait_ms)).await;
    }
    begun.end(&ask)?;
    Ok(reply)
}

/// A function that runs. It is cancelled if it is dropped before it ended.
struct Begun {
    functions: Arc<Functions>,
    text: String,
    attempt: u32,
    ended: bool,
}

impl Begun {
    fn new(functions: Arc<Functions>, text: &str) -> Self {
        let mut seen = functions.seen.lock().expect("nobody panics with it");
        // Load has no text: it must not make the table grow.
        let of_text = seen.entry(text.to_owned()).or_default();
        of_text.began += 1;
        let attempt = of_text.began;
        drop(seen);
        Self { functions, text: text.to_owned(), attempt, ended: false }
    }

    fn reply(&self, call: &CallContext, ask: &Ask) -> Reply {
        let bearer = match call.authentication() {
            Some(Authentication::Bearer(token)) => token.to_owned(),
            _ => String::new(),
        };
        let key = call.key().map(|key| String::from_utf8_lossy(key).into_owned());
        Reply {
            text: self.text.clone(),
            instance: self.functions.instance.clone(),
            key: if mutant::is("loses-keys") { String::new() } else { key.unwrap_or_default() },
            bearer,
            time_left_ms: u32::try_from(call.time_left().as_millis()).unwrap_or(u32::MAX),
            attempt: self.attempt,
            padding_bytes: u32::try_from(ask.padding.len()).unwrap_or(u32::MAX),
            number: 0,
            padding: vec![7; ask.padding_bytes as usize],
        }
    }

    fn end(mut self, ask: &Ask) -> Result<(), Refusal> {
        self.ended = true;
        self.count(|seen| seen.ended += 1);
        if ask.refusals != 0 && self.attempt > ask.refusals {
            return Ok(());
        }
        match ask.refusal() {
            Asked::None => Ok(()),
            Asked::Busy => Err(Refusal::busy(Duration::from_millis(20), "not now")),
            Asked::Rejected if mutant::is("rejects-as-unknown") => Err(Refusal::unknown("CONF-001", "never")),
            Asked::Rejected => Err(Refusal::rejected("CONF-001", "never")),
            Asked::Unknown => Err(Refusal::unknown("CONF-002", "half done")),
            Asked::Application => {
                let code = ApplicationCode::new(0x301).expect("an application's code");
                Err(Refusal::application(code, "its own"))
            }
            Asked::Failure => panic!("as it was asked"),
        }
    }

    fn count(&self, change: impl FnOnce(&mut Seen)) {
        let mut seen = self.functions.seen.lock().expect("nobody panics with it");
        change(seen.entry(self.text.clone()).or_default());
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if !self.ended {
            self.count(|seen| seen.cancelled += 1);
        }
    }
}
