//! Sends spans and metrics to the collector, on a thread of its own.
//!
//! A batch that the collector does not take now is sent again, later each time; meanwhile spans wait
//! in the queue up to its bound. Metrics are never sent again: the next ones say all that these did.
//! A stop sends what is left, until its time is over.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::counts::add;
use crate::metric::Metric;
use crate::otlp::Origin;
use crate::queue::Queue;
use crate::send::{Delivery, Request, Sender};
use crate::span::now_ns;
use crate::tracer::Tracer;

/// First delay before a batch is sent again; each further one is twice as long.
const RETRY_FIRST: Duration = Duration::from_secs(1);

/// Longest of these delays.
const RETRY_MAX: Duration = Duration::from_secs(30);

/// A batch that was not taken for so long is dropped: spans of five minutes ago help nobody.
const BATCH_AGE_MAX: Duration = Duration::from_secs(300);

/// Longest sleep of an exporter that stops, so that it ends when its time is over.
const STOP_STEP: Duration = Duration::from_millis(50);

/// Reads the metrics of the server; empty where there are none now.
pub type MetricSource = Box<dyn Fn() -> Vec<Metric> + Send>;

/// The exporter cannot start, in words.
#[derive(Debug)]
pub struct StartError(pub String);

/// A running exporter. Dropping it ends it at once; what is queued is lost then.
#[derive(Debug)]
pub struct Exporter {
    queue: Arc<Queue>,
    tracer: Tracer,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    /// Starts to export.
    ///
    /// # Errors
    /// The settings name no collector, or the thread cannot start.
    pub fn start(config: &Config, metrics: MetricSource) -> Result<Self, StartError> {
        let sender = Sender::open(config).map_err(StartError)?;
        let queue = Arc::new(Queue::new(config.queue_spans_max));
        let tracer = Tracer::new(config.sampling, config.devices_per_push_max, Arc::clone(&queue));
        let now = Instant::now();
        let run = Run {
            queue: Arc::clone(&queue),
            origin: Origin::of(config, now_ns()),
            sender,
            metrics,
            spans_every: config.spans_every,
            metrics_every: config.metrics_every,
            metrics_next: (!config.metrics_every.is_zero()).then(|| now + config.metrics_every),
            pending: None,
        };
        let thread = thread::Builder::new()
            .name("telemetry".to_owned())
            .spawn(move || run.run())
            .map_err(|error| StartError(format!("the exporter's thread cannot start: {error}")))?;
        Ok(Self { queue, tracer, thread: Some(thread) })
    }

    /// Records spans for this exporter.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Sends what is left, for so long at most, and ends.
    pub fn stop(mut self, at_most: Duration) {
        self.end(at_most);
    }

    fn end(&mut self, at_most: Duration) {
        let Some(thread) = self.thread.take() else { return };
        let until = Instant::now() + at_most;
        self.queue.stop(until);
        // An export that is under way may last longer than this stop: the thread is left behind
        // then, and ends with it.
        while !thread.is_finished() && Instant::now() < until {
            thread::park_timeout(Duration::from_millis(5));
        }
        if thread.is_finished() && thread.join().is_err() {
            tracing::error!("The exporter of telemetry ended by a panic");
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// A batch that the collector did not take yet.
struct Pending {
    request: Request,
    spans: u64,
    began: Instant,
    next: Instant,
    delay: Duration,
}

struct Run {
    queue: Arc<Queue>,
    origin: Origin,
    sender: Sender,
    metrics: MetricSource,
    spans_every: Duration,
    metrics_every: Duration,
    metrics_next: Option<Instant>,
    pending: Option<Pending>,
}

impl Run {
    fn run(mut self) {
        let mut spans_next = Instant::now() + self.spans_every;
        let mut is_stopping = false;
        loop {
            self.wait(spans_next);
            let stops = self.queue.stops();
            if stops.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            let now = Instant::now();
            if stops.is_some() && !std::mem::replace(&mut is_stopping, true) {
                self.hurry(now);
            }
            if self.metrics_next.is_some_and(|next| next <= now) {
                self.export_metrics();
            }
            if self.pending.is_none() {
                self.take_batch(now);
                spans_next = now + self.spans_every;
            }
            match &self.pending {
                Some(pending) if pending.next <= now => self.export_pending(),
                // Nothing wakes a thread that stops.
                Some(pending) if is_stopping => thread::sleep((pending.next - now).min(STOP_STEP)),
                Some(_) => {}
                None if is_stopping => break,
                None => {}
            }
        }
        add(&self.queue.counts.dropped_stopped, self.pending.take().map_or(0, |pending| pending.spans));
        self.queue.clear();
    }

    /// The server stops: what waits for a time is tried now, and the last figures are sent.
    fn hurry(&mut self, now: Instant) {
        if let Some(pending) = &mut self.pending {
            pending.next = now;
        }
        if let Some(next) = &mut self.metrics_next {
            *next = now;
        }
    }

    /// Waits for the next thing to do.
    fn wait(&self, spans_next: Instant) {
        let earlier = |at: Instant| self.metrics_next.map_or(at, |next| next.min(at));
        match &self.pending {
            Some(pending) => self.queue.wait_for_stop(earlier(pending.next)),
            None => self.queue.wait(earlier(spans_next)),
        }
    }

    fn take_batch(&mut self, now: Instant) {
        let spans = self.queue.take();
        if spans.is_empty() {
            return;
        }
        let count = spans.len() as u64;
        let request = Request::Traces(self.origin.spans(spans));
        self.pending = Some(Pending { request, spans: count, began: now, next: now, delay: RETRY_FIRST });
    }

    fn export_pending(&mut self) {
        let Some(mut pending) = self.pending.take() else { return };
        let counts = Arc::clone(&self.queue.counts);
        match self.export(&pending.request) {
            Delivery::Taken { rejected, .. } => {
                let rejected = rejected.min(pending.spans);
                add(&counts.spans_exported, pending.spans - rejected);
                add(&counts.dropped_refused, rejected);
            }
            Delivery::Refused { .. } => add(&counts.dropped_refused, pending.spans),
            Delivery::Later { .. } if pending.began.elapsed() > BATCH_AGE_MAX => {
                add(&counts.dropped_expired, pending.spans);
            }
            Delivery::Later { after, .. } => {
                // Servers that lost their collector at one time do not all come back at one time.
                let random = pending.delay.mul_f64(0.5 + fastrand::f64() / 2.0);
                pending.next = Instant::now() + after.unwrap_or(random);
                pending.delay = (pending.delay * 2).min(RETRY_MAX);
                self.pending = Some(pending);
            }
        }
    }

    fn export_metrics(&mut self) {
        self.metrics_next = Some(Instant::now() + self.metrics_every);
        let metrics = (self.metrics)();
        if metrics.is_empty() {
            return;
        }
        let request = Request::Metrics(self.origin.metrics(metrics, now_ns()));
        if let Delivery::Taken { .. } = self.export(&request) {
            add(&self.queue.counts.metrics_exported, 1);
        }
    }

    /// Sends, counts, and logs when exports begin to fail and when they work again.
    fn export(&mut self, request: &Request) -> Delivery {
        let delivery = self.sender.send(request);
        let counts = &self.queue.counts;
        add(&counts.exports, 1);
        let reason = match &delivery {
            Delivery::Taken { rejected: 0, .. } => None,
            Delivery::Taken { reason, .. }
            | Delivery::Later { reason, .. }
            | Delivery::Refused { reason } => Some(reason),
        };
        add(&counts.exports_failed, reason.is_some().into());
        let failed_before = counts.failing.swap(reason.is_some().into(), Ordering::Relaxed) != 0;
        match reason {
            Some(reason) if !failed_before => {
                tracing::warn!(error = reason, "Telemetry is not exported; the server tries again");
            }
            None if failed_before => tracing::info!("Telemetry is exported again"),
            _ => {}
        }
        delivery
    }
}
