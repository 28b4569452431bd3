//! The actor of the Rust SDK: obeys orders, a line of JSON each, on its standard input.
//!
//! The orders are in testing/sdk/README.md. Each is answered by a line with its id. The actor ends
//! with its standard input. `STADIUM_MUTANT` makes it wrong in one way: the runner must find it.

mod calling;
mod load;
mod mutant;
mod orders;
mod outcome;
mod serving;

use std::collections::HashMap;
use std::io::BufRead as _;
use std::sync::Arc;

use serde_json::{Value, json};

use calling::Calls;
use orders::{Do, Order, Output};
use serving::Serving;

#[allow(clippy::doc_markdown, clippy::must_use_candidate, missing_docs)]
mod proto {
    include!(concat!(env!("OUT_DIR"), "/conformance.v1.rs"));
}

fn main() {
    // Functions panic where they are asked to.
    std::panic::set_hook(Box::new(|_| {}));
    let output = Output::default();
    let mut actor = Actor { output: output.clone(), ..Actor::default() };
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match serde_json::from_str::<Order>(&line) {
            Ok(order) => {
                let id = order.id;
                if let Err(error) = actor.obey(order) {
                    output.answer(id, &json!({"error": error.to_string()}));
                }
            }
            Err(error) => {
                let read: Option<Value> = serde_json::from_str(&line).ok();
                let id = read.and_then(|order| order["id"].as_u64()).unwrap_or(0);
                output.answer(id, &json!({"error": format!("no order: {error}")}));
            }
        }
    }
}

#[derive(Default)]
struct Actor {
    output: Output,
    serving: Option<Serving>,
    clients: HashMap<String, Arc<Calls>>,
}

impl Actor {
    fn obey(&mut self, order: Order) -> anyhow::Result<()> {
        let id = order.id;
        match order.what {
            Do::Serve(serve) => {
                let serving = Serving::start(serve)?;
                self.output.answer(id, &json!({"addresses": serving.addresses()}));
                self.serving = Some(serving);
            }
            Do::Seen { text } => {
                let seen = self.serving.as_ref().map(|serving| serving.seen(&text));
                self.output.answer(id, &json!(seen.unwrap_or_default()));
            }
            Do::Slow { ms } => {
                if let Some(serving) = &self.serving {
                    serving.slow(ms);
                }
                self.output.answer(id, &json!({}));
            }
            Do::Quiesce { within_ms } => {
                let output = self.output.clone();
                let Some(serving) = self.serving.take() else { anyhow::bail!("it does not serve") };
                // Other orders are obeyed meanwhile.
                std::thread::spawn(move || output.answer(id, &json!({"cut": serving.quiesce(within_ms)})));
            }
            Do::Client { client, settings } => {
                self.clients.insert(client, Arc::new(Calls::start(settings, self.output.clone())?));
                self.output.answer(id, &json!({}));
            }
            Do::Call(call) => self.client(&call.client)?.call(id, &call)?,
            Do::Note(call) => {
                self.client(&call.client)?.note(&call);
                self.output.answer(id, &json!({}));
            }
            Do::Stream(stream) => self.client(&stream.call.client)?.stream(id, stream),
            Do::Channel(channel) => self.client(&channel.call.client)?.channel(id, channel),
            Do::Cancel { client, of } => {
                self.client(&client)?.cancel(of);
                self.output.answer(id, &json!({}));
            }
            Do::Load(load) => {
                let (client, output) = (self.client(&load.client)?, self.output.clone());
                std::thread::spawn(move || output.answer(id, &load::run(&client, &load)));
            }
            Do::Explain { client, key } => {
                let text = self.client(&client)?.explain(key.as_deref())?;
                self.output.answer(id, &json!({"text": text}));
            }
            Do::Close { client } => {
                self.clients.remove(&client);
                self.output.answer(id, &json!({}));
            }
        }
        Ok(())
    }

    fn client(&self, name: &str) -> anyhow::Result<Arc<Calls>> {
        let client = self.clients.get(name).cloned();
        client.ok_or_else(|| anyhow::anyhow!("there is no client {name}"))
    }
}
