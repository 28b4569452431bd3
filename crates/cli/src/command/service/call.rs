//! `stadium service call`: one request in JSON, its answer in JSON.
//!
//! The service is asked first what the method takes. With `--explain` the choice of an instance is
//! shown too: on standard error for people, beside the answer with `--json`.

use std::io::Read;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};
use stadium_rpc::client::Explained;
use stadium_rpc::proto::method_description::Interaction;
use stadium_rpc::proto::{Health, HealthRequest, MethodDescription};
use stadium_rpc::{CallError, CallOptions, Idempotency, ServiceClient};

use super::caller::{self, BearerFlags, call_trait, failure, left};
use super::contract::Contract;
use super::place::PlaceFlags;
use super::{Patience, duration};
use crate::failure::{Context, Failure};
use crate::terminal::Terminal;

/// A wait for a stream's next answer that ends only to begin again.
const LOOK_AGAIN: Duration = Duration::from_secs(3_600);

/// What to call, and how.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// SERVICE/METHOD, such as `geo/Store`
    #[arg(value_name = "SERVICE/METHOD")]
    route: String,
    /// The request as JSON, `-` to read it from standard input [default: {}]
    #[arg(value_name = "JSON")]
    request: Option<String>,
    /// Show which instances were known, which one was chosen, and why
    #[arg(long)]
    explain: bool,
    /// Calls with the same key go to the same instance while it lives
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Try again so often, where that is safe: after busy, or for methods that are idempotent by
    /// their contract
    #[arg(long, value_name = "N", default_value_t = 0)]
    retries: u32,
    /// Answers of a stream that the service may send ahead
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    credit: u32,
    /// End a stream after so many answers [default: when it ends, or on Ctrl-C]
    #[arg(long, value_name = "N")]
    take: Option<u64>,
    /// Longest that a stream may take [default: as long as it goes on]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    stream_deadline: Option<Duration>,
    #[command(flatten)]
    bearer: BearerFlags,
    #[command(flatten)]
    place: PlaceFlags,
    #[command(flatten)]
    patience: Patience,
}

/// Calls.
pub(super) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let route = arguments.route.as_str();
    let Some((name, method)) =
        route.split_once('/').filter(|(name, method)| !name.is_empty() && !method.is_empty())
    else {
        return Err(Failure::Usage(format!("{route:?} is not SERVICE/METHOD, such as geo/Store")));
    };
    let until = Instant::now() + arguments.patience.deadline;
    let metadata = arguments.bearer.metadata()?;
    let client = arguments.place.client(arguments.retries.saturating_add(1))?;
    let service = client.service(name);
    if method.starts_with(|first: char| first.is_ascii_lowercase()) {
        let hint = "it is the framework's own: see `stadium service --help`";
        return Err(Failure::Usage(format!("{route} is no method of the service; {hint}")));
    }
    let contract = caller::contract(&service, name, left(until))?;
    let described = contract.method(route)?;
    let request = request(arguments.request.as_deref())?;
    let request = contract.encode(&described.request_type, &request)?;
    let explained = match arguments.explain {
        true => service.explain(arguments.key.as_deref().map(str::as_bytes), left(until)),
        false => None,
    };
    if let Some(explained) = &explained
        && !terminal.is_json()
    {
        terminal.note(format_args!("discovery: {}\n{}", explained.discovery, explained.choice));
    }
    let options = CallOptions {
        deadline: Some(left(until)),
        key: arguments.key.as_deref().map(str::as_bytes),
        metadata: &metadata,
        ..CallOptions::default()
    };
    let call = Call { service: &service, contract: &contract, described, options, terminal };
    match described.interaction() {
        Interaction::Unspecified | Interaction::RequestResponse => call.unary(request, explained.as_ref()),
        Interaction::FireAndForget => call.one_way(name, request, explained.as_ref(), left(until)),
        Interaction::RequestStream => call.stream(request, arguments),
        Interaction::RequestChannel => Err(Failure::Usage(format!(
            "{route} takes a stream of requests, which the command line does not send"
        ))),
    }
}

struct Call<'a> {
    service: &'a ServiceClient,
    contract: &'a Contract,
    described: &'a MethodDescription,
    options: CallOptions<'a>,
    terminal: &'a Terminal,
}

impl Call<'_> {
    fn unary(&self, request: Vec<u8>, explained: Option<&Explained>) -> Result<(), Failure> {
        let route = &self.described.route;
        let idempotency =
            if self.described.idempotent { Idempotency::Idempotent } else { Idempotency::Unknown };
        let pending = self.service.call_bytes(route, idempotency, request, &self.options);
        let answer = pending.wait().map_err(|error| failure(route, error))?;
        self.print(self.contract.decode(&self.described.answer_type, &answer)?, explained)
    }

    fn one_way(
        &self,
        name: &str,
        request: Vec<u8>,
        explained: Option<&Explained>,
        deadline: Duration,
    ) -> Result<(), Failure> {
        self.service.one_way_bytes(&self.described.route, request, &self.options);
        // Its answer comes behind the request on the same connection: by then the request has left.
        let _: Health =
            call_trait(self.service, &format!("{name}/health"), &HealthRequest {}, &[], deadline)?;
        match explained {
            Some(_) => self.print(Value::Null, explained),
            None => Ok(()),
        }
    }

    fn stream(&self, request: Vec<u8>, arguments: &Arguments) -> Result<(), Failure> {
        let route = &self.described.route;
        let options = CallOptions { deadline: arguments.stream_deadline, ..self.options };
        let mut stream = self.service.stream_bytes(route, request, arguments.credit, &options);
        let mut taken = 0;
        while arguments.take.is_none_or(|most| taken < most) {
            match stream.next_within(arguments.stream_deadline.unwrap_or(LOOK_AGAIN)) {
                Ok(Some(answer)) => {
                    let answer = self.contract.decode(&self.described.answer_type, &answer)?;
                    self.terminal.data(&answer.to_string())?;
                    taken += 1;
                }
                Ok(None) => break,
                Err(CallError::Deadline) if arguments.stream_deadline.is_none() => {}
                Err(error) => return Err(failure(route, error)),
            }
        }
        Ok(())
    }

    fn print(&self, answer: Value, explained: Option<&Explained>) -> Result<(), Failure> {
        match explained {
            Some(explained) if self.terminal.is_json() => self.terminal.json(&json!({
                "answer": answer,
                "explanation": explained.choice,
                "discovery": explained.discovery,
            })),
            _ if answer.is_null() => Ok(()),
            _ => self.terminal.json(&answer),
        }
    }
}

fn request(given: Option<&str>) -> Result<String, Failure> {
    match given {
        None => Ok("{}".to_owned()),
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("standard input cannot be read")?;
            Ok(text)
        }
        Some(json) => Ok(json.to_owned()),
    }
}
