//! The live page of a run: one document that loads nothing, and server-sent events that fill it.
//!
//! It has a thread and a runtime of its own, so that a slow browser holds nothing up: each stream
//! has its own place in the series and is sent what it misses. A browser that comes late, or falls
//! behind, gets the whole series at once. Percentiles are computed here; the page only draws. It
//! changes nothing and needs no key: listen on loopback.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use futures::stream::{self, Stream};
use serde::Serialize;
use stadium_report::{Outcome, Phase, RunResult, Threshold};
use tokio::sync::{oneshot, watch};

use super::health::{self, Sign};
use super::point::{Point, Times};
use super::series::Series;
use crate::run::Progress;

/// Points that a stream may lie behind and still be sent one by one; beyond it, it gets the whole series again.
const RECENT_POINTS: usize = 64;
/// How long streams have to take the end in when the page closes.
const GOODBYE: Duration = Duration::from_secs(1);
/// Nothing is loaded from anywhere and nothing is sent anywhere.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A run's page, for as long as this lives.
#[derive(Debug)]
pub struct Page {
    address: SocketAddr,
    shared: Arc<Shared>,
    errors: std::collections::BTreeMap<String, u64>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<Feed>,
    /// Points so far, and one more once it has ended: what streams wait for.
    updates: watch::Sender<u64>,
    /// Whether only this machine's own names may ask for it.
    loopback: bool,
}

/// What streams are fed from.
#[derive(Debug, Default)]
struct Feed {
    series: Series,
    /// The newest points as JSON.
    recent: VecDeque<Arc<str>>,
    /// Points so far.
    count: u64,
    /// The plan as JSON, once it is known.
    plan: Option<Arc<str>>,
    /// How the run stands, as JSON.
    now: Option<Arc<str>>,
    /// How it ended, as JSON.
    end: Option<Arc<str>>,
}

#[derive(Serialize)]
struct Plan<'a> {
    id: &'a str,
    name: &'a str,
    host: &'a str,
    planned_s: f64,
    phases: &'a [Phase],
}

#[derive(Serialize)]
struct Now<'a> {
    elapsed_s: f64,
    phase: &'a str,
    answered: u64,
    failed: u64,
    started: u64,
    total: Option<Times>,
    steps: Vec<StepNow<'a>>,
    errors: Vec<(&'a str, u64)>,
    signs: Vec<Sign>,
}

#[derive(Serialize)]
struct StepNow<'a> {
    session: &'a str,
    name: &'a str,
    protocol: &'a str,
    answered: u64,
    failed: u64,
    times: Option<Times>,
}

#[derive(Serialize)]
struct End<'a> {
    duration_s: f64,
    outcome: &'a Outcome,
    passed: bool,
    refused: bool,
    doubts: Vec<&'a str>,
    thresholds: &'a [Threshold],
}

impl Page {
    /// Listens at `address`; port 0 takes any that is free.
    ///
    /// # Errors
    /// Where the address cannot be listened at, or no thread can be had.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            state: Mutex::new(Feed::default()),
            updates: watch::Sender::new(0),
            loopback: address.ip().is_loopback(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let router = Router::new()
            .route("/", get(document))
            .route("/events", get(events))
            .with_state(Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("load-page".into())
            .spawn(move || runtime.block_on(serve(listener, router, stopped)))?;
        let errors = std::collections::BTreeMap::new();
        Ok(Page { address, shared, errors, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it is: `http://127.0.0.1:40123/`.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Shows how far the run is.
    pub fn show(&mut self, progress: &Progress<'_>) {
        let result = progress.result;
        let Some(interval) = progress.interval else {
            let mut feed = self.shared.feed();
            if feed.plan.is_none() {
                feed.plan = Some(plan(progress));
                drop(feed);
                self.shared.updates.send_modify(|_| {});
            }
            return;
        };
        for (kind, count) in &interval.errors {
            *self.errors.entry(kind.clone()).or_default() += count;
        }
        let mut errors: Vec<(&str, u64)> =
            self.errors.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
        errors.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        let point = Point::of(interval);
        let steps = result.steps.iter().map(|step| StepNow {
            session: &step.session,
            name: &step.name,
            protocol: &step.protocol,
            answered: step.requests.answered,
            failed: step.requests.failed(),
            times: Times::of(&step.requests.response),
        });
        let now = json(&Now {
            elapsed_s: progress.elapsed_s,
            phase: progress.phase,
            answered: result.total.answered,
            failed: result.total.failed(),
            started: result.total.started,
            total: Times::of(&result.total.response),
            steps: steps.collect(),
            errors,
            signs: health::signs(&point, &result.generator),
        });
        let text = json(&point);
        let mut feed = self.shared.feed();
        feed.plan.get_or_insert_with(|| plan(progress));
        feed.series.push(point);
        feed.recent.push_back(text);
        if feed.recent.len() > RECENT_POINTS {
            feed.recent.pop_front();
        }
        feed.count += 1;
        feed.now = Some(now);
        drop(feed);
        self.shared.updates.send_modify(|updates| *updates += 1);
    }

    /// Shows how the run ended, gives open pages some time to show it, and closes.
    pub fn end(mut self, result: &RunResult) {
        self.shared.feed().end = Some(json(&End {
            duration_s: result.duration_s,
            outcome: &result.outcome,
            passed: result.passed(),
            refused: result.refused(),
            doubts: result.generator.doubts.iter().map(|doubt| doubt.text.as_str()).collect(),
            thresholds: &result.thresholds,
        }));
        self.shared.updates.send_modify(|updates| *updates += 1);
        self.close();
    }

    fn close(&mut self) {
        // Streams end when there is an end, or when the runtime goes: after GOODBYE at the latest.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.close();
    }
}

fn plan(progress: &Progress<'_>) -> Arc<str> {
    let result = progress.result;
    json(&Plan {
        id: &result.id,
        name: &result.name,
        host: &result.machine.host,
        planned_s: progress.planned_s,
        phases: &result.phases,
    })
}

/// What is written here has no map with keys that are no texts, nothing else can fail.
fn json(value: &impl Serialize) -> Arc<str> {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()).into()
}

impl Shared {
    fn feed(&self) -> MutexGuard<'_, Feed> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A page elsewhere whose name was pointed at this machine must not read it (DNS rebinding).
    fn welcomes(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let name = name.trim_start_matches('[').trim_end_matches(']');
        !self.loopback || name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
    }
}

async fn serve(listener: TcpListener, router: Router, stopped: oneshot::Receiver<()>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let (late, too_late) = oneshot::channel::<()>();
    let stopping = async move {
        let _ = stopped.await;
        drop(late);
    };
    let serving = axum::serve(listener, router).with_graceful_shutdown(stopping).into_future();
    let deadline = async move {
        let _ = too_late.await;
        tokio::time::sleep(GOODBYE).await;
    };
    tokio::select! {
        _ = serving => {}
        () = deadline => {}
    }
}

async fn document(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    if !shared.welcomes(&headers) {
        return (StatusCode::MISDIRECTED_REQUEST, "ask for this page by its address\n").into_response();
    }
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, Html(DOCUMENT)).into_response()
}

async fn events(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    if !shared.welcomes(&headers) {
        return StatusCode::MISDIRECTED_REQUEST.into_response();
    }
    let mut response = Sse::new(follow(shared)).keep_alive(KeepAlive::default()).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}

/// Where a stream is.
struct Place {
    shared: Arc<Shared>,
    updates: watch::Receiver<u64>,
    /// Points that it has been sent; nothing before the series.
    sent: Option<u64>,
    planned: bool,
    ended: bool,
    waiting: VecDeque<Event>,
}

impl Place {
    /// Puts what the stream misses into its queue: bounded, because a stream is asked only when that is empty.
    fn fill(&mut self) {
        let feed = self.shared.feed();
        if let (false, Some(plan)) = (self.planned, &feed.plan) {
            self.planned = true;
            self.waiting.push_back(Event::default().event("plan").data(plan.as_ref()));
        }
        if !self.planned {
            return;
        }
        let behind = self.sent.map(|sent| feed.count - sent);
        match behind {
            Some(0) => {}
            Some(behind) if behind <= feed.recent.len() as u64 => {
                let from = feed.recent.len() - behind as usize;
                for point in feed.recent.range(from..) {
                    self.waiting.push_back(Event::default().event("point").data(point.as_ref()));
                }
            }
            _ => {
                let points = json(&feed.series.points());
                self.waiting.push_back(Event::default().event("series").data(points.as_ref()));
            }
        }
        if behind != Some(0) {
            let now = feed.now.iter().map(|now| Event::default().event("now").data(now.as_ref()));
            self.waiting.extend(now);
            self.sent = Some(feed.count);
        }
        if let (false, Some(end)) = (self.ended, &feed.end) {
            self.ended = true;
            self.waiting.push_back(Event::default().event("end").data(end.as_ref()));
        }
    }
}

fn follow(shared: Arc<Shared>) -> impl Stream<Item = Result<Event, Infallible>> {
    let updates = shared.updates.subscribe();
    let place = Place { shared, updates, sent: None, planned: false, ended: false, waiting: VecDeque::new() };
    stream::unfold(place, |mut place| async move {
        loop {
            if let Some(event) = place.waiting.pop_front() {
                return Some((Ok(event), place));
            }
            if place.ended {
                return None;
            }
            place.updates.mark_unchanged();
            place.fill();
            if place.waiting.is_empty() && place.updates.changed().await.is_err() {
                return None;
            }
        }
    })
}

/// The page: style and script are in it.
const DOCUMENT: &str = concat!(
    include_str!("page/head.html"),
    "<style>\n",
    include_str!("page/page.css"),
    "</style>\n",
    include_str!("page/body.html"),
    "<script>\n",
    include_str!("page/page.js"),
    "</script>\n</body>\n</html>\n",
);

#[cfg(test)]
mod tests;
