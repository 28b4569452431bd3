//! Devices' requests on their way to services.
//!
//! The edge asks on its loops, so nothing here blocks: a request goes into the mailbox of an RPC client, whose thread
//! gives the answer back. A service knows who asked by two metadata entries that no device can write, and calls of one
//! device go to the same instance while that lives. The framework's own methods (`quiesce`, `log-level`, ...) are not for
//! devices. The state of each service is in [`super::known`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use stadium_discovery::Discovery;
use stadium_edge::requests::{Answer, DeviceRequest, Refused, Reply, Requests};
use stadium_reactor::tls::ClientTls;
use stadium_rpc::{CallError, CallOptions, Client, ClientConfig, Idempotency, ServiceClient};
use stadium_rpc_api::DEVICE_MIME;
use stadium_rsocket::metadata::tracing::{self, Ids, Sampling, TraceId, Tracing};
use stadium_rsocket::metadata::{self, Mime};
use stadium_telemetry::{Kind, Outcome, Root, TraceContext, Tracer};

use super::known::KnownServices;

/// Content: the principal that the device was authenticated as; absent for an anonymous one.
const USER_MIME: &[u8] = b"message/x.stadium.user.v1";

/// The user property of a request that belongs to a trace.
const TRACEPARENT: &str = "traceparent";

/// When to come back to a node that is starting or leaving, or to a service without instances that can be reached.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Takes devices' requests. Busy until it is opened, and after it was closed.
pub(crate) struct Bridge {
    services: RwLock<Option<Arc<KnownServices>>>,
    tracer: Tracer,
}

impl Bridge {
    /// One that is not open. The calls of traced requests have spans of this tracer.
    pub(crate) fn new(tracer: Tracer) -> Self {
        Self { services: RwLock::default(), tracer }
    }

    /// Takes requests from now on, and calls what discovery knows.
    pub(crate) fn open(&self, discovery: &Discovery, tls: Option<ClientTls>) -> std::io::Result<()> {
        let config = ClientConfig {
            name: "devices-rpc".to_owned(),
            tls,
            ..ClientConfig::discovered(discovery.clone())
        };
        let client = Client::start(config)?;
        *self.services.write() = Some(Arc::new(KnownServices::new(client, discovery.clone())));
        Ok(())
    }

    /// Takes no more requests; those under way are cancelled.
    pub(crate) fn close(&self) {
        drop(self.services.write().take());
    }
}

impl Requests for Bridge {
    fn request(&self, request: &DeviceRequest<'_>, reply: Reply) -> Result<(), Refused> {
        // A service's own methods start with a capital letter, the framework's do not.
        if !request.method().starts_with(|first: char| first.is_ascii_uppercase()) {
            return Err(Refused::NotForDevices);
        }
        let services = self.services.read().clone().ok_or(Refused::Busy { retry_after: RETRY_AFTER })?;
        services.find(request.service())?.take(Asked::new(request, reply, &self.tracer))
    }
}

/// A device's request, owned: it may have to wait until discovery was heard.
pub(super) struct Asked {
    route: Box<str>,
    payload: Vec<u8>,
    metadata: Vec<u8>,
    key: Box<[u8]>,
    until: Instant,
    reply: Reply,
    /// The span of the call, where it may be exported.
    traced: Option<Root>,
}

/// The call's span, of the device's trace where it has one, else of its own where that is sampled.
fn begin(tracer: &Tracer, request: &DeviceRequest<'_>, device: Option<TraceContext>) -> Option<Root> {
    let mut root = tracer.begin("rpc/{service}/{method}", Kind::Client, device)?;
    root.span.set("rpc.system", "stadium");
    root.span.set("rpc.service", request.service().to_owned());
    root.span.set("rpc.method", request.method().to_owned());
    root.span.set("messaging.client.id", request.client_id.to_owned());
    Some(root)
}

/// Ends it with the answer.
fn end(root: Root, answer: &Answer) {
    let failure = match answer {
        Answer::Ok(_) | Answer::Rejected { .. } => return root.end(Outcome::Answered),
        Answer::Busy { .. } => "busy",
        Answer::Deadline => "deadline",
        Answer::Unknown { .. } => "unknown",
    };
    root.end(Outcome::Failed(failure.to_owned()));
}

/// Sends an answer, and ends the span of its call.
fn send(reply: Reply, traced: Option<Root>, answer: Answer) {
    if let Some(root) = traced {
        end(root, &answer);
    }
    reply.send(answer);
}

/// The entry by which the service knows the trace.
fn write_trace(metadata: &mut Vec<u8>, context: TraceContext) {
    let sampling = if context.is_sampled() { Sampling::Sampled } else { Sampling::NotSampled };
    let ids = Ids {
        trace: TraceId::Long(u128::from_be_bytes(context.trace_id)),
        span: u64::from_be_bytes(context.span_id),
        parent: None,
    };
    tracing::write(metadata, &Tracing { sampling, ids: Some(ids) });
}

impl Asked {
    fn new(request: &DeviceRequest<'_>, reply: Reply, tracer: &Tracer) -> Self {
        let mut metadata = Vec::new();
        let device = request.user_properties.iter().find(|(name, _)| *name == TRACEPARENT);
        let device = device.and_then(|(_, value)| TraceContext::parse(value));
        let traced = begin(tracer, request, device);
        let own = traced.as_ref().and_then(|root| root.trace().sampled_context());
        if let Some(context) = own.or(device) {
            write_trace(&mut metadata, context);
        }
        metadata::write_entry(&mut metadata, Mime::Named(DEVICE_MIME), request.client_id.as_bytes());
        if let Some(user) = request.user {
            metadata::write_entry(&mut metadata, Mime::Named(USER_MIME), user.as_bytes());
        }
        Self {
            route: request.route.into(),
            payload: request.payload.to_vec(),
            metadata,
            key: request.client_id.as_bytes().into(),
            until: Instant::now() + request.deadline,
            reply,
            traced,
        }
    }

    /// Calls the service.
    pub(super) fn call(self, service: &ServiceClient) {
        let Self { route, payload, metadata, key, until, reply, traced } = self;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return send(reply, traced, Answer::Deadline);
        }
        let options = CallOptions {
            deadline: Some(left),
            key: Some(&key),
            metadata: &metadata,
            ..CallOptions::default()
        };
        if reply.is_wanted() {
            let then = move |answered: Result<&[u8], CallError>| send(reply, traced, answer(answered));
            service.call_bytes_then(&route, Idempotency::Unknown, payload, &options, then);
        } else {
            service.one_way_bytes(&route, payload, &options);
            // Nobody answers it.
            if let Some(root) = traced {
                root.end(Outcome::Answered);
            }
        }
    }

    /// Goes the way that was found for it after it had been taken.
    pub(super) fn go(self, way: Result<&ServiceClient, Refused>) {
        match way {
            Ok(service) => self.call(service),
            Err(refused) => send(self.reply, self.traced, Answer::from(refused)),
        }
    }
}

/// What became of a call, for the device that asked.
fn answer(answered: Result<&[u8], CallError>) -> Answer {
    match answered {
        Ok(payload) => Answer::Ok(payload.to_vec()),
        Err(CallError::Busy { retry_after, reason }) => Answer::Busy { retry_after, reason: reason.into() },
        Err(CallError::Rejected { code, reason }) => {
            Answer::Rejected { code: code.into(), reason: reason.into() }
        }
        Err(CallError::Deadline) => Answer::Deadline,
        Err(CallError::Unavailable(why)) => {
            Answer::Busy { retry_after: RETRY_AFTER, reason: why.to_string().into() }
        }
        Err(
            error @ (CallError::Unknown { .. }
            | CallError::Application { .. }
            | CallError::Broken(_)
            | CallError::Cancelled
            | CallError::Protocol(_)),
        ) => Answer::Unknown { reason: error.to_string().into() },
    }
}
