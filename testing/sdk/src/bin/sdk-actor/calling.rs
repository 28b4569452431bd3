//! A client, and the calls that are under way.
//!
//! Calls end by callbacks on the client's thread; streams and channels have a thread each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use prost::Message as _;
use serde_json::{Value, json};
use stadium_c::settings::ClientSettings;
use stadium_rpc::balance::Policy;
use stadium_rpc::client::CallHandle;
use stadium_rpc::{CallError, CallOptions, Client, Idempotency, ServiceClient};

use crate::mutant::Forgetful;
use crate::orders::{Call, Channel, Output, Stream};
use crate::proto::{Reply, conformance};
use crate::{mutant, outcome};

/// Longer than any case takes.
const EXPLAINED_WITHIN: Duration = Duration::from_secs(5);

pub struct Calls {
    service: ServiceClient,
    forgetful: Option<Forgetful>,
    _client: Client,
    output: Output,
    under_way: Arc<Mutex<HashMap<u64, CallHandle>>>,
}

impl Calls {
    pub fn start(mut settings: Value, output: Output) -> anyhow::Result<Self> {
        if mutant::is("tries-once") {
            settings["attempts"] = 1.into();
        }
        if mutant::is("loses-bearers") {
            settings.as_object_mut().context("settings are an object")?.remove("bearer");
        }
        let mut config = ClientSettings::from_json(&settings.to_string())
            .and_then(|settings| settings.config())
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        if mutant::is("has-no-guards") {
            config.balance.policy = Policy::RoundRobin;
            config.hedge = None;
            config.retry.attempts_max = 1;
        }
        let forgetful = Forgetful::of(&config, conformance::NAME)?;
        let client = Client::start(config)?;
        let service = client.service(conformance::NAME);
        Ok(Self { service, forgetful, _client: client, output, under_way: Arc::default() })
    }

    /// Calls; the order is answered when the call has ended.
    pub fn call(&self, id: u64, call: &Call) -> anyhow::Result<()> {
        let request = match &call.bytes_hex {
            Some(hex) => bytes(hex)?,
            None => call.ask.message().encode_to_vec(),
        };
        let (output, under_way) = (self.output.clone(), Arc::clone(&self.under_way));
        let began = Instant::now();
        // The callback cannot find its call before it is in the table.
        let mut calls = self.under_way.lock().expect("nobody panics with it");
        let handle = self.begin(&call.method, request, &options(call), move |answer| {
            let mut answer = outcome::of(&answer);
            answer["took_ms"] = took_ms(began).into();
            under_way.lock().expect("nobody panics with it").remove(&id);
            output.answer(id, &answer);
        });
        calls.insert(id, handle);
        Ok(())
    }

    /// Begins a unary call; `then` gets its end, on the client's thread.
    pub fn begin(
        &self,
        method: &str,
        request: Vec<u8>,
        options: &CallOptions<'_>,
        then: impl FnOnce(Result<Reply, CallError>) + Send + 'static,
    ) -> CallHandle {
        let idempotent = method == "Echo" || mutant::is("repeats-what-it-must-not");
        let idempotency = if idempotent { Idempotency::Idempotent } else { Idempotency::Unknown };
        let route = format!("{}/{method}", conformance::NAME);
        let service = self.forgetful.as_ref().map_or(&self.service, |it| it.knows(&self.service));
        service.call_bytes_then(&route, idempotency, request, options, move |answer| {
            then(answer.and_then(|bytes| {
                Reply::decode(bytes).map_err(|error| CallError::Protocol(error.to_string()))
            }));
        })
    }

    pub fn cancel(&self, of: u64) {
        let handle = self.under_way.lock().expect("nobody panics with it").remove(&of);
        if let Some(handle) = handle {
            handle.cancel();
        }
    }

    pub fn note(&self, call: &Call) {
        self.service.one_way(&conformance::NOTE, &call.ask.message(), &options(call));
    }

    pub fn stream(&self, id: u64, order: Stream) {
        let (service, output) = (self.service.clone(), self.output.clone());
        std::thread::spawn(move || {
            let ask = order.call.ask.message();
            let began = Instant::now();
            let mut answers = service.stream(&conformance::COUNT, &ask, 16, &options(&order.call));
            let mut numbers = Vec::new();
            let end = loop {
                if order.read == Some(numbers.len()) {
                    break json!({"outcome": "left"});
                }
                match answers.next_within(EXPLAINED_WITHIN * 10) {
                    Ok(Some(reply)) => numbers.push(reply.number),
                    Ok(None) => break json!({"outcome": "ok"}),
                    Err(error) => break outcome::failure(&error),
                }
            };
            let mut end = end;
            end["numbers"] = json!(numbers);
            end["took_ms"] = took_ms(began).into();
            drop(answers);
            output.answer(id, &end);
        });
    }

    pub fn channel(&self, id: u64, order: Channel) {
        let (service, output) = (self.service.clone(), self.output.clone());
        std::thread::spawn(move || {
            let ask = |text: &String| crate::proto::Ask { text: text.clone(), ..order.call.ask.message() };
            let options = options(&order.call);
            let (sender, mut answers) =
                service.channel(&conformance::TALK, &ask(&order.texts[0]), 16, &options);
            let texts: Vec<_> = order.texts[1..].iter().map(ask).collect();
            let sending = std::thread::spawn(move || texts.iter().try_for_each(|text| sender.send(text)));
            let mut replies = Vec::new();
            let mut end = loop {
                match answers.next_within(EXPLAINED_WITHIN * 10) {
                    Ok(Some(reply)) => replies.push(reply.text),
                    Ok(None) => break json!({"outcome": "ok"}),
                    Err(error) => break outcome::failure(&error),
                }
            };
            end["texts"] = json!(replies);
            // A service that refused takes no more.
            _ = sending.join();
            output.answer(id, &end);
        });
    }

    pub fn explain(&self, key: Option<&str>) -> anyhow::Result<String> {
        let explained = self.service.explain(key.map(str::as_bytes), EXPLAINED_WITHIN);
        let explained = explained.context("the client does not answer")?;
        Ok(format!("{}\n{}", explained.discovery, explained.choice))
    }
}

fn options(call: &Call) -> CallOptions<'_> {
    let deadline = call.deadline_ms.map(Duration::from_millis);
    let key = call.key.as_ref().filter(|_| !mutant::is("sends-no-key"));
    CallOptions {
        deadline: deadline.filter(|_| !mutant::is("has-no-deadline")),
        key: key.map(|key| key.as_bytes()),
        ..CallOptions::default()
    }
}

fn took_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn bytes(hex: &str) -> anyhow::Result<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
    Ok(pairs.map(|pair| u8::from_str_radix(pair, 16)).collect::<Result<_, _>>()?)
}
