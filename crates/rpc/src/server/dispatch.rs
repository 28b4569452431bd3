//! From a request to its function, and from the function to the answer.
//!
//! Everything here writes to one connection's output of the turn. A request that an inline function answers
//! never enters a table: its answer is encoded behind the answers before it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::Poll;
use std::time::{Duration, Instant};

use stadium_reactor::{ConnectionId, LoopHandle};
use stadium_rsocket::connection::{Connection, Payload, SendError, Tag};
use stadium_rsocket::frame::{Completes, ErrorCode, Interaction as Pattern, StreamId};

use super::admission::Gate;
use super::counts::LoopCounts;
use super::executor::Ready;
use super::letter::Letter;
use super::pace::Pace;
use super::pool::{PoolHandle, Work as PoolWork};
use super::shared::Shared;
use super::tickers::Tickers;
use super::work::{Kind, Running, Work, Works};
use crate::answer::Refusal;
use crate::method::Interaction;
use crate::service::{
    Call, Failure, Finished, Function, Inbound, InlineRun, Next, Outbound, Outcome, TickingRun,
};
use crate::wire;

/// Set in the tag of a ticking stream.
const TICKER: u32 = 1 << 31;

/// Everything of a loop but its connections.
pub(crate) struct Core {
    pub(crate) shared: Arc<Shared>,
    pub(crate) counts: Arc<LoopCounts>,
    pub(crate) inline: Vec<Option<Box<dyn InlineRun>>>,
    pub(crate) ticking: Vec<Option<Box<dyn TickingRun>>>,
    pub(crate) pace: Pace,
    pub(crate) gate: Gate,
    pub(crate) works: Works,
    pub(crate) tickers: Tickers,
    pub(crate) ready: Arc<Ready>,
    pub(crate) pool: PoolHandle,
    pub(crate) handle: LoopHandle<Letter>,
    /// Deadlines of calls under way: loop time, place, serial. Ends of calls leave theirs behind until then.
    pub(crate) deadlines: BinaryHeap<Reverse<(u64, u32, u64)>>,
}

/// A request as it came.
pub(crate) struct Request<'a> {
    pub(crate) connection: ConnectionId,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) stream: StreamId,
    pub(crate) pattern: Pattern,
    pub(crate) initial: u32,
    pub(crate) completes: Completes,
    pub(crate) now_ms: u64,
    pub(crate) metadata: &'a [u8],
    /// Whether metadata is composite, or a route alone.
    pub(crate) composite: bool,
    pub(crate) data: &'a [u8],
}

impl Core {
    /// A request: answers it, or gets its function going.
    pub(crate) fn request(&mut self, connection: &mut Connection, request: &Request<'_>, out: &mut Vec<u8>) {
        let head = if request.composite {
            wire::read_head(request.metadata)
        } else {
            wire::read_bare_route(request.metadata)
        };
        let Some(route) = head.route else {
            return refuse(
                connection,
                request,
                ErrorCode::INVALID,
                "RPC-001: the request's metadata names no route",
                out,
            );
        };
        let Some(place) = self.shared.methods.find(route) else {
            let text = format!("RPC-002: there is no route `{route}` here");
            return refuse(connection, request, ErrorCode::INVALID, &text, out);
        };
        let shared = Arc::clone(&self.shared);
        let method = shared.methods.at(place);
        if pattern_of(method.interaction) != request.pattern
            && !(method.interaction == Interaction::Unary && request.pattern == Pattern::FireAndForget)
        {
            self.counts.methods[usize::from(place)].count(Outcome::Rejected);
            let text = format!("RPC-003: `{route}` is called as {:?}", method.interaction);
            return refuse(connection, request, ErrorCode::INVALID, &text, out);
        }
        let left_ms = head.left_ms.map_or(shared.deadline_ms, |left| left.min(shared.deadline_max_ms));
        let call = Call { route, metadata: request.metadata, left_ms, peer: request.peer };
        let waited_ms = self.pace.waited_us() / 1000;
        if waited_ms >= u64::from(left_ms) {
            let text = "RPC-DEADLINE: the deadline passed before the request had its turn";
            self.count(place, Outcome::Expired);
            return refuse(connection, request, ErrorCode::CANCELED, text, out);
        }
        for interceptor in &shared.services[usize::from(method.service)].interceptors {
            if let Err(refusal) = interceptor.before(&call) {
                return self.decline(connection, request, place, &Failure::Refused(refusal), out);
            }
        }
        if !method.is_trait
            && let Err(refusal) = self.gate.admit(&self.pace, &method.function, self.works.len())
        {
            return self.decline(connection, request, place, &Failure::Refused(refusal), out);
        }
        match &method.function {
            Function::Inline(_) => self.run_inline(connection, request, place, &call, out),
            Function::Ticking(_) => self.open_ticking(connection, request, place, &call, out),
            Function::Blocking(function) => {
                let cancelled = Arc::new(AtomicBool::new(false));
                match function.start(call.to_context(Arc::clone(&cancelled)), request.data) {
                    Ok(job) => self.start_blocking(connection, request, place, &call, cancelled, job, out),
                    Err(error) => {
                        self.decline(connection, request, place, &Failure::Malformed(error), out);
                    }
                }
            }
            Function::Asynchronous(function) => {
                let cancelled = Arc::new(AtomicBool::new(false));
                let started = function.start(call.to_context(Arc::clone(&cancelled)), request.data);
                let running = started.map(|task| (task, None, None));
                self.start_future(connection, request, place, &call, cancelled, running, out);
            }
            Function::Streaming(function) => {
                let cancelled = Arc::new(AtomicBool::new(false));
                let outbound = Outbound::default();
                outbound.add_credit(request.initial);
                let context = call.to_context(Arc::clone(&cancelled));
                let started = function.start(context, request.data, outbound.clone());
                let running = started.map(|task| (task, Some(outbound), None));
                self.start_future(connection, request, place, &call, cancelled, running, out);
            }
            Function::Channel(function) => {
                let cancelled = Arc::new(AtomicBool::new(false));
                let (outbound, inbound) = (Outbound::default(), Inbound::default());
                outbound.add_credit(request.initial);
                inbound.push(request.data.to_vec());
                if request.completes == Completes::Yes {
                    inbound.end();
                }
                let context = call.to_context(Arc::clone(&cancelled));
                let task = function.start(context, inbound.clone(), outbound.clone());
                let running = Ok((task, Some(outbound), Some(inbound)));
                self.start_future(connection, request, place, &call, cancelled, running, out);
            }
        }
    }

    fn run_inline(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        place: u16,
        call: &Call<'_>,
        out: &mut Vec<u8>,
    ) {
        let function = self.inline[usize::from(place)].as_mut().expect("each loop has its inline functions");
        let run = std::panic::AssertUnwindSafe(|| function.run(call, request.data));
        let ran = std::panic::catch_unwind(run).unwrap_or_else(|_| {
            tracing::error!(route = call.route, "An inline function panicked");
            Err(Failure::Refused(Refusal::rejected("RPC-007", "the service failed on this request")))
        });
        if let Err(failure) = ran {
            return self.decline(connection, request, place, &failure, out);
        }
        if request.pattern == Pattern::RequestResponse {
            let encode = |out: &mut Vec<u8>| function.encode(out);
            if connection.payload(request.stream, Completes::Yes, None, encode, out).is_err() {
                return self.decline(connection, request, place, &too_large(), out);
            }
        }
        self.counts.methods[usize::from(place)].ok.add(1);
        if let Some(look) = self.pace.called() {
            self.gate.looked(look);
            self.counts.methods[usize::from(place)].latencies.record(look.waited_us, u64::from(look.calls));
        }
        self.tell_interceptors(place, Outcome::Ok);
    }

    fn open_ticking(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        place: u16,
        call: &Call<'_>,
        out: &mut Vec<u8>,
    ) {
        let function =
            self.ticking[usize::from(place)].as_mut().expect("each loop has its ticking functions");
        let open = std::panic::AssertUnwindSafe(|| function.open(call, request.data));
        let opened = std::panic::catch_unwind(open).unwrap_or_else(|_| {
            tracing::error!(route = call.route, "A ticking function panicked");
            Err(Failure::Refused(Refusal::rejected("RPC-007", "the service failed on this request")))
        });
        match opened {
            Ok((stream_place, first)) => {
                let due_ms = request.now_ms + first.as_millis() as u64;
                let index =
                    self.tickers.open(request.connection, request.stream, place, stream_place, due_ms);
                connection.set_tag(request.stream, Tag(TICKER | index));
            }
            Err(failure) => self.decline(connection, request, place, &failure, out),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a call's parts, handed on once")]
    fn start_blocking(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        method: u16,
        call: &Call<'_>,
        cancelled: Arc<AtomicBool>,
        job: crate::service::Job,
        out: &mut Vec<u8>,
    ) {
        let place = self.works.next_place();
        let serial = self.works.next_serial();
        let work = PoolWork {
            job,
            place,
            serial,
            deadline: Instant::now() + call.time_left(),
            cancelled: Arc::clone(&cancelled),
            handle: self.handle.clone(),
        };
        if self.pool.push(work).is_err() {
            let busy = Refusal::busy(self.gate.retry_after(), "the queue for blocking functions is full");
            return self.decline(connection, request, method, &Failure::Refused(busy), out);
        }
        self.keep(connection, request, method, call, cancelled, serial, Kind::Blocking);
    }

    #[expect(clippy::too_many_arguments, reason = "a call's parts, handed on once")]
    fn start_future(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        method: u16,
        call: &Call<'_>,
        cancelled: Arc<AtomicBool>,
        started: Result<(crate::service::Task, Option<Outbound>, Option<Inbound>), prost::DecodeError>,
        out: &mut Vec<u8>,
    ) {
        let (task, outbound, inbound) = match started {
            Ok(started) => started,
            Err(error) => {
                return self.decline(connection, request, method, &Failure::Malformed(error), out);
            }
        };
        let place = self.works.next_place();
        let serial = self.works.next_serial();
        let channel = inbound.is_some() && request.completes == Completes::No;
        let running = Running::new(task, &self.ready, place, outbound, inbound);
        self.keep(connection, request, method, call, cancelled, serial, Kind::Future(running));
        if channel {
            // The first request came with the channel itself; credit is for those after it.
            let _ = connection.request_n(request.stream, crate::service::INBOUND_CREDIT, out);
        }
        self.poll(connection, place, out);
    }

    #[expect(clippy::too_many_arguments, reason = "a call's parts, handed on once")]
    fn keep(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        method: u16,
        call: &Call<'_>,
        cancelled: Arc<AtomicBool>,
        serial: u64,
        kind: Kind,
    ) {
        let interaction = self.shared.methods.at(method).interaction;
        let place = self.works.insert(Work {
            connection: request.connection,
            stream: request.stream,
            serial,
            method,
            interaction,
            began: Instant::now(),
            cancelled,
            kind,
        });
        if request.pattern != Pattern::FireAndForget {
            connection.set_tag(request.stream, Tag(place));
        }
        if matches!(interaction, Interaction::Unary | Interaction::OneWay)
            || wire::read_head(call.metadata).left_ms.is_some()
        {
            let at_ms = request.now_ms + u64::from(call.left_ms);
            self.deadlines.push(Reverse((at_ms, place, serial)));
        }
    }

    /// Polls a call's future, sends what it produced, and ends it where it is done.
    pub(crate) fn poll(&mut self, connection: &mut Connection, place: u32, out: &mut Vec<u8>) {
        let Some(work) = self.works.at(place) else { return };
        let Kind::Future(running) = &mut work.kind else { return };
        let stream = work.stream;
        loop {
            let polled = running.poll();
            let mut sent = 0;
            if let Some(outbound) = &running.outbound {
                while let Some(message) = outbound.take() {
                    let encode = |out: &mut Vec<u8>| out.extend_from_slice(&message);
                    if connection.payload(stream, Completes::No, None, encode, out).is_err() {
                        outbound.disconnect();
                    }
                    sent += 1;
                }
            }
            self.counts.messages.add(sent);
            if let Some(inbound) = &running.inbound {
                let taken = inbound.credit_to_give();
                if taken > 0 {
                    let _ = connection.request_n(stream, taken, out);
                }
            }
            match polled {
                Poll::Ready(answer) => return self.finish(connection, place, answer, out),
                Poll::Pending if sent == 0 => return,
                // There is room again for what it sends next.
                Poll::Pending => {}
            }
        }
    }

    /// A call's function is done: its answer leaves.
    pub(crate) fn finish(
        &mut self,
        connection: &mut Connection,
        place: u32,
        answer: Result<Vec<u8>, Refusal>,
        out: &mut Vec<u8>,
    ) {
        let Some(work) = self.works.remove(place) else { return };
        let outcome = match (answer, work.interaction) {
            (Ok(_), Interaction::OneWay) => Outcome::Ok,
            (Ok(bytes), Interaction::Unary) => {
                let encode = |out: &mut Vec<u8>| out.extend_from_slice(&bytes);
                match connection.payload(work.stream, Completes::Yes, None, encode, out) {
                    Ok(()) | Err(SendError::UnknownStream) => Outcome::Ok,
                    Err(_) => {
                        let (code, text) = failure_text(&too_large());
                        let _ = connection.error(work.stream, code, &text, out);
                        Outcome::Rejected
                    }
                }
            }
            (Ok(_), _) => {
                let _ = connection.complete(work.stream, out);
                // A caller that still sends is told that nobody listens.
                let _ = connection.cancel(work.stream, out);
                Outcome::Ok
            }
            (Err(refusal), _) => {
                let outcome = outcome_of(&refusal);
                let (code, text) = wire::refusal(&refusal);
                let _ = connection.error(work.stream, code, &text, out);
                outcome
            }
        };
        self.ended(&work, outcome);
    }

    /// A blocking function came back.
    pub(crate) fn is_current(&mut self, place: u32, serial: u64) -> Option<ConnectionId> {
        self.works.at(place).filter(|work| work.serial == serial).map(|work| work.connection)
    }

    /// Calls whose deadline has passed; each is ended by [`Core::expire`].
    pub(crate) fn next_expired(&mut self, now_ms: u64) -> Option<(ConnectionId, u32)> {
        while let Some(Reverse((at_ms, place, serial))) = self.deadlines.peek().copied() {
            if at_ms > now_ms {
                return None;
            }
            self.deadlines.pop();
            if let Some(connection) = self.is_current(place, serial) {
                return Some((connection, place));
            }
        }
        None
    }

    /// Drops a call whose deadline has passed.
    pub(crate) fn expire(&mut self, connection: &mut Connection, place: u32, out: &mut Vec<u8>) {
        if let Some(work) = self.works.remove(place) {
            let text = "RPC-DEADLINE: the deadline passed before the service had an answer";
            let _ = connection.error(work.stream, ErrorCode::CANCELED, text, out);
            self.ended(&work, Outcome::Expired);
        }
    }

    /// The caller wants no more of a stream, or has gone.
    pub(crate) fn cancelled(&mut self, tag: Tag) {
        if tag.0 & TICKER != 0 {
            if let Some(ticker) = self.tickers.close(tag.0 & !TICKER) {
                if let Some(function) = &mut self.ticking[usize::from(ticker.method)] {
                    function.close(ticker.place);
                }
                self.count(ticker.method, Outcome::Cancelled);
            }
            return;
        }
        if let Some(work) = self.works.remove(tag.0) {
            if let Kind::Future(running) = &work.kind
                && let Some(outbound) = &running.outbound
            {
                outbound.disconnect();
            }
            self.ended(&work, Outcome::Cancelled);
        }
    }

    /// The caller of a channel goes on sending, and wants no more itself.
    pub(crate) fn unwanted(&mut self, tag: Tag) {
        if tag.0 & TICKER == 0
            && let Some(Work { kind: Kind::Future(running), .. }) = self.works.at(tag.0)
            && let Some(outbound) = &running.outbound
        {
            outbound.disconnect();
        }
    }

    /// The caller takes more messages.
    pub(crate) fn credit(&mut self, tag: Tag, n: u32) {
        if tag.0 & TICKER != 0 {
            self.tickers.release(tag.0 & !TICKER);
        } else if let Some(Work { kind: Kind::Future(running), .. }) = self.works.at(tag.0)
            && let Some(outbound) = &running.outbound
        {
            outbound.add_credit(n);
        }
    }

    /// A channel's next request.
    pub(crate) fn inbound(&mut self, tag: Tag, payload: Option<&Payload<'_>>, completes: Completes) {
        if tag.0 & TICKER == 0
            && let Some(Work { kind: Kind::Future(running), .. }) = self.works.at(tag.0)
            && let Some(inbound) = &running.inbound
        {
            if let Some(payload) = payload {
                inbound.push(payload.data.to_vec());
            }
            if completes == Completes::Yes {
                inbound.end();
            }
        }
    }

    /// The connection can be written again.
    pub(crate) fn writable(&mut self, tag: Tag) {
        if tag.0 & TICKER != 0 {
            self.tickers.release(tag.0 & !TICKER);
        } else if let Some(Work { kind: Kind::Future(running), .. }) = self.works.at(tag.0) {
            running.wake();
        }
    }

    /// Sends what is due on one connection's ticking streams.
    pub(crate) fn tick(&mut self, connection: &mut Connection, due: &[u32], now_ms: u64, out: &mut Vec<u8>) {
        let mut messages = 0;
        for index in due {
            let Some(ticker) = self.tickers.at(*index) else { continue };
            let (stream, method, place) = (ticker.stream, ticker.method, ticker.place);
            let function = self.ticking[usize::from(method)].as_mut().expect("it opened the stream");
            let mut next = Next::Last;
            let encode = |out: &mut Vec<u8>| {
                next = function.tick(place);
                function.encode(out);
            };
            match connection.payload(stream, Completes::No, None, encode, out) {
                Ok(()) => {
                    messages += 1;
                    if let Next::After(after) = next {
                        // Those that fell behind by more than their period go on from now.
                        ticker.due_ms += (after.as_millis() as u64).max(1);
                        if ticker.due_ms + STALE_MS < now_ms {
                            ticker.due_ms = now_ms;
                        }
                        self.tickers.arm(*index);
                    } else {
                        let _ = connection.complete(stream, out);
                        self.end_ticker(*index, Outcome::Ok);
                    }
                }
                Err(SendError::NoCredit) => ticker.waiting = true,
                Err(_) => {
                    let (code, text) = failure_text(&too_large());
                    let _ = connection.error(stream, code, &text, out);
                    self.end_ticker(*index, Outcome::Rejected);
                }
            }
        }
        self.counts.messages.add(messages);
    }

    /// What is due there must wait for a slow reader.
    pub(crate) fn hold(&mut self, due: &[u32]) {
        for index in due {
            if let Some(ticker) = self.tickers.at(*index) {
                ticker.waiting = true;
            }
        }
    }

    fn end_ticker(&mut self, index: u32, outcome: Outcome) {
        if let Some(ticker) = self.tickers.close(index) {
            if let Some(function) = &mut self.ticking[usize::from(ticker.method)] {
                function.close(ticker.place);
            }
            self.count(ticker.method, outcome);
        }
    }

    fn ended(&mut self, work: &Work, outcome: Outcome) {
        let took = work.began.elapsed();
        let counts = &self.counts.methods[usize::from(work.method)];
        counts.count(outcome);
        if outcome == Outcome::Ok && work.interaction == Interaction::Unary {
            counts.latencies.record(took.as_micros() as u64, 1);
            self.gate.finished(took, self.works.len() + 1);
        }
        self.tell(work.method, outcome, took);
    }

    fn count(&mut self, method: u16, outcome: Outcome) {
        self.counts.methods[usize::from(method)].count(outcome);
        self.tell_interceptors(method, outcome);
    }

    fn tell_interceptors(&self, method: u16, outcome: Outcome) {
        let service = self.shared.methods.at(method).service;
        if !self.shared.services[usize::from(service)].interceptors.is_empty() {
            let latency = self.pace.began().map_or(Duration::ZERO, |began| began.elapsed());
            self.tell(method, outcome, latency);
        }
    }

    fn tell(&self, method: u16, outcome: Outcome, latency: Duration) {
        let method = self.shared.methods.at(method);
        for interceptor in &self.shared.services[usize::from(method.service)].interceptors {
            interceptor.after(&Finished { route: &method.route, outcome, latency });
        }
    }

    /// Answers a request with a failure.
    fn decline(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        method: u16,
        failure: &Failure,
        out: &mut Vec<u8>,
    ) {
        let outcome = match failure {
            Failure::Malformed(_) => Outcome::Rejected,
            Failure::Refused(refusal) => outcome_of(refusal),
        };
        self.count(method, outcome);
        let (code, text) = failure_text(failure);
        refuse(connection, request, code, &text, out);
    }
}

/// A ticking stream that is further behind than this skips what it missed, in milliseconds.
const STALE_MS: u64 = 10_000;

fn refuse(
    connection: &mut Connection,
    request: &Request<'_>,
    code: ErrorCode,
    text: &str,
    out: &mut Vec<u8>,
) {
    if request.pattern != Pattern::FireAndForget {
        let _ = connection.error(request.stream, code, text, out);
    }
}

fn too_large() -> Failure {
    Failure::Refused(Refusal::rejected("RPC-006", "the answer is larger than this connection carries"))
}

pub(crate) fn failure_text(failure: &Failure) -> (ErrorCode, String) {
    match failure {
        Failure::Malformed(error) => {
            (ErrorCode::INVALID, format!("RPC-004: the request does not decode: {error}"))
        }
        Failure::Refused(refusal) => wire::refusal(refusal),
    }
}

fn outcome_of(refusal: &Refusal) -> Outcome {
    match refusal {
        Refusal::Busy { .. } => Outcome::Busy,
        Refusal::Rejected { .. } => Outcome::Rejected,
    }
}

pub(crate) fn pattern_of(interaction: Interaction) -> Pattern {
    match interaction {
        Interaction::Unary => Pattern::RequestResponse,
        Interaction::OneWay => Pattern::FireAndForget,
        Interaction::Stream => Pattern::RequestStream,
        Interaction::Channel => Pattern::RequestChannel,
    }
}
