//! Decides which requests are traced, and takes their spans.
//!
//! A caller's decision holds: a request that comes with a sampled `traceparent` is sampled, and one
//! with an unsampled one is not. Of the others the ratio takes a part. Where errors or slow requests
//! are wanted in any case, the spans of each other request are kept until its end, which decides.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use stadium_state_machine::TraceContext;

use crate::budget::Budget;
use crate::config::Sampling;
use crate::counts::Counts;
use crate::queue::Queue;
use crate::span::{Kind, Span, new_span_id, new_trace_id};

/// Spans below that of one request on one node. A request asks a few shards; of one that asks
/// hundreds the later ones have no span.
const SPANS_MAX: u32 = 64;

/// Whether a tracer was ever made in this process.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// Whether a tracer was ever made in this process: else no trace is current anywhere.
#[inline]
pub(crate) fn is_used() -> bool {
    IS_USED.load(Ordering::Relaxed)
}

/// Records spans, or nothing where telemetry is off. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tracer(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    sampling: Sampling,
    devices_per_push_max: u32,
    queue: Arc<Queue>,
    budget: Mutex<Budget>,
}

impl Tracer {
    /// Records nothing.
    pub fn off() -> Self {
        Self::default()
    }

    pub(crate) fn new(sampling: Sampling, devices_per_push_max: u32, queue: Arc<Queue>) -> Self {
        IS_USED.store(true, Ordering::Relaxed);
        Self(Some(Arc::new(Inner { sampling, devices_per_push_max, queue, budget: Mutex::default() })))
    }

    /// Whether spans are recorded.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The counts of the exporter; `None` where telemetry is off.
    pub fn counts(&self) -> Option<&Counts> {
        self.0.as_ref().map(|inner| &*inner.queue.counts)
    }

    /// Begins the span of a request that another program made, below the caller's span if there is
    /// one. `None` where it is not recorded.
    pub fn begin(
        &self,
        name: impl Into<Cow<'static, str>>,
        kind: Kind,
        caller: Option<TraceContext>,
    ) -> Option<Root> {
        let inner = self.0.as_ref()?;
        let context = inner.first(caller);
        if !context.is_sampled() && !inner.sampling.decides_late() {
            return None;
        }
        let span = Span::first(context, caller, name, kind);
        Some(Root { trace: Trace::new(inner, context), span })
    }

    /// Begins the span of a message, of which so many come that their end decides nothing: `None`
    /// where it is not sampled. It is to be [recorded](Self::record) when it has ended.
    pub fn begin_sampled(
        &self,
        name: &'static str,
        kind: Kind,
        caller: Option<TraceContext>,
    ) -> Option<Span> {
        let context = self.0.as_ref()?.first(caller);
        context.is_sampled().then(|| Span::first(context, caller, name, kind))
    }

    /// Goes on with the trace of another node or of a message, if it is sampled.
    pub fn join(&self, context: TraceContext) -> Option<Arc<Trace>> {
        let inner = self.0.as_ref()?;
        context.is_sampled().then(|| Trace::new(inner, context))
    }

    /// Takes a span of a sampled trace that has ended. Spans of other traces are dropped.
    pub fn record(&self, span: Span) {
        if let Some(inner) = &self.0
            && span.context.is_sampled()
        {
            inner.queue.put(span);
        }
    }

    /// Spans of deliveries that one message may have on this node at most.
    pub fn devices_max(&self) -> u32 {
        self.0.as_ref().map_or(0, |inner| inner.devices_per_push_max)
    }

    /// The number of so many devices that may have a span for their delivery of a push.
    pub fn devices(&self, push: TraceContext, wanted: usize) -> usize {
        let Some(inner) = self.0.as_ref().filter(|_| push.is_sampled()) else { return 0 };
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
        inner.budget.lock().take(push, wanted, inner.devices_per_push_max) as usize
    }
}

impl Inner {
    /// The first span here of a caller's trace or of a new one, sampled or not.
    fn first(&self, caller: Option<TraceContext>) -> TraceContext {
        let (trace_id, is_sampled) = match caller {
            Some(caller) => (caller.trace_id, caller.is_sampled()),
            None => {
                let trace_id = new_trace_id();
                (trace_id, self.sampling.takes(&trace_id))
            }
        };
        let flags = if is_sampled { TraceContext::SAMPLED } else { 0 };
        TraceContext { trace_id, span_id: new_span_id(), flags }
    }
}

/// A trace as one part of the server works for it: the spans below the request's go here.
#[derive(Debug)]
pub struct Trace {
    inner: Arc<Inner>,
    context: TraceContext,
    /// Spans that were taken.
    taken: AtomicU32,
    kept: Mutex<Kept>,
}

/// The spans of a request whose end decides what becomes of them.
#[derive(Debug)]
enum Kept {
    Undecided(Vec<Span>),
    Decided { exports: bool },
}

impl Trace {
    fn new(inner: &Arc<Inner>, context: TraceContext) -> Arc<Self> {
        let kept = match context.is_sampled() {
            true => Kept::Decided { exports: true },
            false => Kept::Undecided(Vec::new()),
        };
        Arc::new(Self { inner: Arc::clone(inner), context, taken: AtomicU32::new(0), kept: Mutex::new(kept) })
    }

    /// The span that further ones belong to; what a message to others carries.
    pub fn context(&self) -> TraceContext {
        self.context
    }

    /// The same, unless only the end of the request decides whether it is exported.
    pub fn sampled_context(&self) -> Option<TraceContext> {
        Some(self.context).filter(TraceContext::is_sampled)
    }

    /// A span below this one's that begins now.
    pub fn span(&self, name: impl Into<Cow<'static, str>>, kind: Kind) -> Span {
        Span::below(self.context, name, kind)
    }

    /// Takes a span that has ended.
    pub fn record(&self, span: Span) {
        if self.taken.fetch_add(1, Ordering::Relaxed) >= SPANS_MAX {
            return;
        }
        match &mut *self.kept.lock() {
            Kept::Undecided(spans) => spans.push(span),
            Kept::Decided { exports: false } => {}
            Kept::Decided { exports: true } => self.inner.queue.put(span),
        }
    }

    fn decide(&self, exports: bool) {
        let before = std::mem::replace(&mut *self.kept.lock(), Kept::Decided { exports });
        if let (true, Kept::Undecided(spans)) = (exports, before) {
            spans.into_iter().for_each(|span| self.inner.queue.put(span));
        }
    }
}

/// The end of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered; also where the caller made a mistake.
    Answered,
    /// It failed by the server's fault.
    Failed(String),
}

/// A request that is being answered, and its span.
#[derive(Debug)]
pub struct Root {
    trace: Arc<Trace>,
    /// The span, for attributes.
    pub span: Span,
}

impl Root {
    /// The span that the request's work belongs to.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Ends the span now. The outcome may decide that the trace is exported.
    pub fn end(self, outcome: Outcome) {
        self.end_described(outcome, |_| ());
    }

    /// As [`end`](Self::end), with a name and attributes that are made only where the span is
    /// exported.
    pub fn end_described(self, outcome: Outcome, describe: impl FnOnce(&mut Span)) {
        let Self { trace, span } = self;
        let mut span = span.ended();
        let took = Duration::from_nanos(span.end_ns - span.start_ns);
        let sampling = &trace.inner.sampling;
        let has_failed = matches!(outcome, Outcome::Failed(_));
        let is_slow = sampling.slower_than.is_some_and(|bound| took > bound);
        let exports = trace.context.is_sampled() || sampling.errors && has_failed || is_slow;
        trace.decide(exports);
        if exports {
            if let Outcome::Failed(reason) = outcome {
                span.error = Some(reason.into());
            }
            describe(&mut span);
            trace.inner.queue.put(span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const UNSAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

    fn tracer(ratio: f64, errors: bool) -> (Tracer, Arc<Queue>) {
        let queue = Arc::new(Queue::new(1_000));
        let sampling = Sampling { ratio, errors, slower_than: None };
        (Tracer::new(sampling, 16, Arc::clone(&queue)), queue)
    }

    fn request(tracer: &Tracer, caller: Option<&str>, outcome: Outcome) -> bool {
        let caller = caller.map(|header| TraceContext::parse(header).expect("it is one"));
        let Some(root) = tracer.begin("GET /a", Kind::Server, caller) else { return false };
        root.trace().record(root.trace().span("below", Kind::Internal).ended());
        root.end(outcome);
        true
    }

    #[test]
    fn the_callers_decision_holds() {
        for (ratio, caller, is_traced) in
            [(1.0, Some(UNSAMPLED), false), (0.0, Some(SAMPLED), true), (0.0, None, false), (1.0, None, true)]
        {
            let (tracer, queue) = tracer(ratio, false);
            assert_eq!(request(&tracer, caller, Outcome::Answered), is_traced);
            assert_eq!(queue.take().len(), if is_traced { 2 } else { 0 });
        }
    }

    #[test]
    fn spans_belong_to_the_callers_trace() {
        let (tracer, queue) = tracer(0.0, false);
        request(&tracer, Some(SAMPLED), Outcome::Answered);
        let caller = TraceContext::parse(SAMPLED).expect("it is one");
        let spans = queue.take();
        let [below, root] = &spans[..] else { panic!("{spans:?}") };
        assert_eq!(root.parent, Some(caller.span_id));
        assert_eq!(below.parent, Some(root.context.span_id));
        assert!(spans.iter().all(|span| span.context.trace_id == caller.trace_id));
    }

    #[test]
    fn a_failure_is_exported_with_what_led_to_it() {
        let (tracer, queue) = tracer(0.0, true);
        assert!(request(&tracer, None, Outcome::Answered));
        assert_eq!(queue.take(), []);
        request(&tracer, Some(UNSAMPLED), Outcome::Failed("500".to_owned()));
        let spans = queue.take();
        assert_eq!(spans.len(), 2);
        assert_eq!(spans[1].error.as_deref(), Some("500"));
    }

    #[test]
    fn a_slow_request_is_exported() {
        let queue = Arc::new(Queue::new(10));
        let slower_than = Some(Duration::from_secs(1));
        let sampling = Sampling { ratio: 0.0, errors: false, slower_than };
        let tracer = Tracer::new(sampling, 16, Arc::clone(&queue));
        let mut root = tracer.begin("GET /a", Kind::Server, None).expect("its end decides");
        root.span.start_ns -= 2_000_000_000;
        root.end(Outcome::Answered);
        assert_eq!(queue.take().len(), 1);
        assert!(request(&tracer, None, Outcome::Answered));
        assert_eq!(queue.take(), []);
    }

    #[test]
    fn of_a_message_only_the_sampled_span_begins() {
        let parsed = |header: &str| TraceContext::parse(header);
        for (ratio, caller, is_traced) in [
            (0.0, parsed(SAMPLED), true),
            (1.0, parsed(UNSAMPLED), false),
            (0.0, None, false),
            (1.0, None, true),
        ] {
            // An end that would decide changes nothing.
            let (tracer, queue) = tracer(ratio, true);
            let span = tracer.begin_sampled("process {topic}", Kind::Consumer, caller);
            assert_eq!(span.is_some(), is_traced);
            let Some(span) = span else { continue };
            assert_eq!(span.parent, caller.map(|caller| caller.span_id));
            assert!(caller.is_none_or(|caller| caller.trace_id == span.context.trace_id));
            tracer.record(span.ended());
            assert_eq!(queue.take().len(), 1);
        }
    }

    #[test]
    fn nothing_is_recorded_while_it_is_off() {
        let tracer = Tracer::off();
        assert!(tracer.begin_sampled("a", Kind::Consumer, TraceContext::parse(SAMPLED)).is_none());
        assert!(!request(&tracer, Some(SAMPLED), Outcome::Answered));
        assert!(tracer.join(TraceContext::parse(SAMPLED).expect("it is one")).is_none());
    }
}
