//! What the framework answers for every service: health, describe, statistics, quiesce, log level.
//!
//! They are inline methods like any other, beside the service's own, and are answered also when the service
//! is full. Quiesce and log level are the operating methods, for those whom [`Operations`](super::Operations)
//! names. Their messages are in proto/stadium/rpc/v1/service.proto.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use prost::Message;

use super::counts::{no_latencies, quantile};
use super::shared::{Shared, Status};
use crate::answer::Refusal;
use crate::method::Interaction;
use crate::proto;
use crate::service::{Call, Function, Served, Service, inline};

/// How the traits reach what they report; it is made after them.
pub(crate) type SharedLater = Arc<OnceLock<Weak<Shared>>>;

/// The traits of all services, with the places of their services.
pub(crate) fn of(services: &[Service], status: &Arc<Status>, later: &SharedLater) -> Vec<(u16, Served)> {
    let mut all = Vec::new();
    for (place, service) in services.iter().enumerate() {
        let place = place as u16;
        let mut add = |name: &str, function: Function| {
            let route = format!("{}/{name}", service.name);
            all.push((place, Served { route, interaction: Interaction::Unary, function }));
        };
        add("health", health(status));
        add("describe", describe(service));
        add("statistics", statistics(place, status, later));
        add("quiesce", quiesce(status, later));
        add("log-level", log_level(status));
    }
    all
}

fn function<Q, A>(run: impl Fn(&Q, &mut A) -> Result<(), Refusal> + Send + Sync + 'static) -> Function
where
    Q: Message + Default + 'static,
    A: Message + Default + 'static,
{
    let run = Arc::new(move |_: &Call<'_>, request: &Q, answer: &mut A| run(request, answer));
    Function::Inline(Arc::new(move || inline(Arc::clone(&run))))
}

/// A function for operators alone.
fn operating<Q, A>(
    status: &Arc<Status>,
    run: impl Fn(&Status, &Q, &mut A) -> Result<(), Refusal> + Send + Sync + 'static,
) -> Function
where
    Q: Message + Default + 'static,
    A: Message + Default + 'static,
{
    let status = Arc::clone(status);
    let run = Arc::new(move |call: &Call<'_>, request: &Q, answer: &mut A| {
        status.operations.authorise(call)?;
        run(&status, request, answer)
    });
    Function::Inline(Arc::new(move || inline(Arc::clone(&run))))
}

fn health(status: &Arc<Status>) -> Function {
    let status = Arc::clone(status);
    function(move |_: &proto::HealthRequest, answer: &mut proto::Health| {
        let quiescing = status.quiescing.load(Ordering::Relaxed);
        answer.set_status(if quiescing {
            proto::health::Status::Quiescing
        } else {
            proto::health::Status::Serving
        });
        Ok(())
    })
}

fn describe(service: &Service) -> Function {
    let types = MethodTypes::read(&service.descriptors);
    let description = proto::Description {
        name: service.name.clone(),
        version: service.version.clone(),
        methods: service
            .served
            .iter()
            .map(|served| {
                let MethodType { request, answer, idempotent, .. } = types.of(&served.route);
                let mut method = proto::MethodDescription {
                    route: served.route.clone(),
                    idempotent,
                    request_type: request,
                    answer_type: answer,
                    ..Default::default()
                };
                method.set_interaction(match served.interaction {
                    Interaction::Unary => proto::method_description::Interaction::RequestResponse,
                    Interaction::OneWay => proto::method_description::Interaction::FireAndForget,
                    Interaction::Stream => proto::method_description::Interaction::RequestStream,
                    Interaction::Channel => proto::method_description::Interaction::RequestChannel,
                });
                method
            })
            .collect(),
        file_descriptor_set: service.descriptors.to_vec(),
    };
    function(move |_: &proto::DescribeRequest, answer: &mut proto::Description| {
        answer.clone_from(&description);
        Ok(())
    })
}

/// The messages of methods, by the descriptors.
struct MethodTypes(Vec<MethodType>);

#[derive(Clone, Default)]
struct MethodType {
    service: String,
    method: String,
    request: String,
    answer: String,
    idempotent: bool,
}

impl MethodTypes {
    fn read(descriptors: &[u8]) -> Self {
        let set = prost_types::FileDescriptorSet::decode(descriptors).unwrap_or_default();
        let services = set.file.iter().flat_map(|file| &file.service);
        let methods = services.flat_map(|service| {
            service.method.iter().map(move |method| {
                let unknown = prost_types::method_options::IdempotencyLevel::IdempotencyUnknown;
                let level = method.options.as_ref().map_or(unknown, |options| options.idempotency_level());
                MethodType {
                    service: service.name().to_owned(),
                    method: method.name().to_owned(),
                    request: method.input_type().trim_start_matches('.').to_owned(),
                    answer: method.output_type().trim_start_matches('.').to_owned(),
                    idempotent: level != unknown,
                }
            })
        });
        Self(methods.collect())
    }

    /// The method of a route `service/Method`. Several services may have a method of that name: the one that is called as in the
    /// route is meant, and where none is, the first.
    fn of(&self, route: &str) -> MethodType {
        let (service, name) = route.rsplit_once('/').unwrap_or(("", route));
        let mut named = self.0.iter().filter(|one| one.method == name);
        let first = named.clone().next();
        let found = named.find(|one| one.service.eq_ignore_ascii_case(service)).or(first);
        found.cloned().unwrap_or_default()
    }
}

fn statistics(service: u16, status: &Arc<Status>, later: &SharedLater) -> Function {
    let (status, later) = (Arc::clone(status), Arc::clone(later));
    function(move |_: &proto::StatisticsRequest, answer: &mut proto::Statistics| {
        let shared = reach(&later)?;
        *answer = sum_counts(&shared, service);
        answer.uptime_ms = status.started.elapsed().as_millis() as u64;
        Ok(())
    })
}

/// Sums a service's counts over the loops.
pub(crate) fn sum_counts(shared: &Shared, service: u16) -> proto::Statistics {
    let sum = |field: fn(&super::counts::LoopCounts) -> u64| -> u64 {
        shared.counts.iter().map(|counts| field(counts)).sum()
    };
    let mut methods = Vec::new();
    for (place, method) in shared.methods.iter().enumerate() {
        if method.service != service || method.is_trait {
            continue;
        }
        let mut one = proto::MethodStatistics { route: method.route.clone(), ..Default::default() };
        let mut latencies = no_latencies();
        for counts in &shared.counts {
            let counts = &counts.methods[place];
            one.ok += counts.ok.value();
            one.busy += counts.busy.value();
            one.rejected += counts.rejected.value();
            one.failed += counts.failed.value();
            one.expired += counts.expired.value();
            one.cancelled += counts.cancelled.value();
            counts.latencies.add_to(&mut latencies);
        }
        one.latency_p50_us = quantile(&latencies, 0.5);
        one.latency_p99_us = quantile(&latencies, 0.99);
        methods.push(one);
    }
    let load = shared.counts.iter().map(|counts| counts.load.value()).max().unwrap_or(0);
    proto::Statistics {
        methods,
        inflight: sum(|counts| counts.inflight.value()) as u32,
        limit: sum(|counts| counts.limit.value()) as u32,
        queued: sum(|counts| counts.queued.value()) as u32,
        load: load as f32 / 1000.0,
        connections: sum(|counts| counts.connections.value()) as u32,
        streams: sum(|counts| counts.streams.value()) as u32,
        uptime_ms: 0,
        refused_connections: sum(|counts| counts.refused.value()),
        cut_unfinished: sum(|counts| counts.cut_partial.value()),
        cut_slow_readers: sum(|counts| counts.cut_slow.value()),
    }
}

fn reach(later: &SharedLater) -> Result<Arc<Shared>, Refusal> {
    let shared = later.get().and_then(Weak::upgrade);
    shared.ok_or_else(|| Refusal::busy(Duration::from_millis(100), "the server is starting or ending"))
}

fn quiesce(status: &Arc<Status>, later: &SharedLater) -> Function {
    let later = Arc::clone(later);
    operating(status, move |status, request: &proto::QuiesceRequest, answer: &mut proto::Quiesced| {
        let shared = reach(&later)?;
        let within = match request.within_ms {
            0 => status.quiesce_within,
            ms => Duration::from_millis(ms),
        };
        answer.inflight = shared.counts.iter().map(|counts| counts.inflight.value() as u32).sum();
        (status.quiesce)(within);
        Ok(())
    })
}

fn log_level(status: &Arc<Status>) -> Function {
    use proto::log_level_request::Level;
    operating(status, |status, request: &proto::LogLevelRequest, answer: &mut proto::LogLevel| {
        let Some(control) = &status.log_level else {
            return Err(Refusal::rejected(
                "RPC-010",
                "this server's log level cannot be changed at run time",
            ));
        };
        let wanted = match request.level() {
            Level::Unspecified => None,
            Level::Error => Some("error"),
            Level::Warn => Some("warn"),
            Level::Info => Some("info"),
            Level::Debug => Some("debug"),
            Level::Trace => Some("trace"),
            Level::Off => Some("off"),
        };
        let level = control(wanted).map_err(|why| Refusal::rejected("RPC-010", why))?;
        answer.set_level(match level.as_str() {
            "error" => Level::Error,
            "warn" => Level::Warn,
            "info" => Level::Info,
            "debug" => Level::Debug,
            "trace" => Level::Trace,
            "off" => Level::Off,
            _ => Level::Unspecified,
        });
        Ok(())
    })
}
