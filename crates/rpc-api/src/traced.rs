//! The span of a call of the node's own services: by the semantic conventions of OpenTelemetry for
//! RPC servers.
//!
//! A caller's trace is in the tracing metadata of the call (docs/rpc.md).

use std::future::Future;
use std::sync::Arc;

use stadium_rpc::{CallContext, Refusal};
use stadium_rsocket::metadata::tracing::{self, Sampling, TraceId};
use stadium_rsocket::metadata::{self, Mime};
use stadium_telemetry::{Kind, Outcome, Root, TraceContext, Tracer, in_trace};

/// Carries out the work of a call within its span, where it has one.
pub(crate) async fn traced<T>(
    tracer: &Tracer,
    context: &CallContext,
    work: impl Future<Output = Result<T, Refusal>>,
) -> Result<T, Refusal> {
    let Some(root) = begin(tracer, context) else { return work.await };
    let answer = in_trace(Some(Arc::clone(root.trace())), work).await;
    end(root, context, answer.as_ref().err());
    answer
}

fn begin(tracer: &Tracer, context: &CallContext) -> Option<Root> {
    if !tracer.is_on() {
        return None;
    }
    // Its name and its attributes are given at its end: most spans are dropped there.
    tracer.begin("", Kind::Server, caller(context.metadata()))
}

fn end(root: Root, context: &CallContext, refusal: Option<&Refusal>) {
    let failed = match refusal {
        None | Some(Refusal::Application { .. } | Refusal::Rejected { .. }) => None,
        Some(Refusal::Unknown { code, .. }) => Some(code.to_string()),
        Some(Refusal::Busy { .. }) => Some("busy".to_owned()),
    };
    let outcome = failed.clone().map_or(Outcome::Answered, Outcome::Failed);
    root.end_described(outcome, |span| {
        let route = context.route();
        span.name = route.to_owned().into();
        let (service, method) = route.split_once('/').unwrap_or((route, ""));
        span.set("rpc.system", "stadium");
        span.set("rpc.service", service.to_owned());
        span.set("rpc.method", method.to_owned());
        if let Some(peer) = context.peer() {
            span.set("client.address", peer.ip().to_string());
        }
        if let Some(Refusal::Rejected { code, .. }) = refusal {
            span.set("stadium.error.code", code.to_string());
        }
        if let Some(kind) = failed {
            span.set("error.type", kind);
        }
    });
}

/// The caller's span; none where its metadata have no ids.
fn caller(bytes: &[u8]) -> Option<TraceContext> {
    let entry = tracing::read(metadata::find(bytes, Mime::TRACING)?).ok()?;
    let ids = entry.ids?;
    let trace = match ids.trace {
        TraceId::Short(id) => u128::from(id),
        TraceId::Long(id) => id,
    };
    let is_sampled = matches!(entry.sampling, Sampling::Sampled | Sampling::Debug);
    (trace != 0 && ids.span != 0).then(|| TraceContext {
        trace_id: trace.to_be_bytes(),
        span_id: ids.span.to_be_bytes(),
        flags: u8::from(is_sampled),
    })
}

#[cfg(test)]
mod tests {
    use stadium_rsocket::metadata::tracing::{Ids, Tracing};

    use super::*;

    #[test]
    fn a_callers_trace_is_in_its_metadata() {
        let ids = Ids { trace: TraceId::Long(7 << 64 | 8), span: 9, parent: None };
        let mut bytes = Vec::new();
        tracing::write(&mut bytes, &Tracing { sampling: Sampling::Sampled, ids: Some(ids) });
        let context = caller(&bytes).expect("it has ids");
        assert_eq!(context.to_string(), "00-00000000000000070000000000000008-0000000000000009-01");
        bytes.clear();
        tracing::write(&mut bytes, &Tracing { sampling: Sampling::NotSampled, ids: None });
        assert_eq!(caller(&bytes), None);
    }
}
