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
use stadium_rsocket::connection::{Connection, Payload, Piece, SendError, Tag};
use stadium_rsocket::frame::{Completes, ErrorCode, Interaction as Pattern, More, StreamId};

use super::admission::{Gate, Held};
use super::counts::LoopCounts;
use super::executor::Ready;
use super::letter::Letter;
use super::pace::Pace;
use super::pool::{PoolHandle, Work as PoolWork};
use super::recent::RecentRoute;
use super::shared::Shared;
use super::tickers::{Ticker, Tickers};
use super::work::{HeldRequest, Kind, Pieces, Running, Work, Works};
use crate::admission::{self, Entry, Pushed};
use crate::answer::Refusal;
use crate::method::Interaction;
use crate::service::{
    Call, Failure, Finished, Function, FunctionKind, Inbound, InlineRun, Next, Outbound, Outcome, Task,
    TickingRun,
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
    /// Connections that were not read because of an upload, which goes on or has ended.
    pub(crate) caught_up: Vec<ConnectionId>,
    /// Calls that lost their place in the queue, to be told.
    pub(crate) displaced: Vec<(Held, Displaced)>,
    /// The route of the request before.
    pub(crate) recent: RecentRoute,
    /// Microseconds of loop time, as of the turn.
    pub(crate) now_us: u64,
}

/// What is known of a call whose function has begun.
struct Begun<'a> {
    method: u16,
    call: &'a Call<'a>,
    cancelled: Arc<AtomicBool>,
    entry: Option<Entry>,
}

/// A function that has begun.
enum Started {
    Job(crate::service::Job),
    Task(Task, Option<Outbound>, Option<Inbound>),
    Pieces(Task, Pieces),
}

/// How a call lost its place in the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Displaced {
    /// Its deadline has passed.
    Expired,
    /// It stood for too long.
    Stale,
}

/// A request as it came.
pub(crate) struct Request<'a> {
    pub(crate) connection: ConnectionId,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) stream: StreamId,
    pub(crate) pattern: Pattern,
    pub(crate) initial: u32,
    pub(crate) completes: Completes,
    /// Whether the rest of the data comes in pieces.
    pub(crate) more: More,
    pub(crate) now_ms: u64,
    pub(crate) metadata: &'a [u8],
    /// Whether metadata is composite, or a route alone.
    pub(crate) composite: bool,
    pub(crate) data: &'a [u8],
}

impl Core {
    /// A request: answers it, or gets its function going.
    pub(crate) fn request(&mut self, connection: &mut Connection, request: &Request<'_>, out: &mut Vec<u8>) {
        let (place, head) = match self.recent.find(request.metadata, request.composite) {
            Some((place, rest)) => (Some(place), wire::read_head(rest)),
            None => {
                let head = if request.composite {
                    wire::read_head(request.metadata)
                } else {
                    wire::read_bare_route(request.metadata)
                };
                let place = head.route.and_then(|route| self.shared.methods.find(route));
                if let Some(place) = place {
                    self.recent.remember(place, request.metadata, request.composite);
                }
                (place, head)
            }
        };
        let Some(place) = place else {
            let text = match head.route {
                None => "RPC-001: the request's metadata names no route".to_owned(),
                Some(route) => format!("RPC-002: there is no route `{route}` here"),
            };
            return refuse(connection, request, ErrorCode::INVALID, &text, out);
        };
        let method = self.shared.methods.at(place);
        let (interaction, kind) = (method.interaction, method.function.kind());
        let (is_trait, intercepted) = (method.is_trait, method.intercepted);
        if pattern_of(interaction) != request.pattern
            && !(interaction == Interaction::Unary && request.pattern == Pattern::FireAndForget)
        {
            let text = format!("RPC-003: `{}` is called as {interaction:?}", method.route);
            self.count(place, Outcome::Rejected);
            return refuse(connection, request, ErrorCode::INVALID, &text, out);
        }
        let left_ms =
            head.left_ms.map_or(self.shared.deadline_ms, |left| left.min(self.shared.deadline_max_ms));
        if self.pace.waited_us() / 1000 >= u64::from(left_ms) {
            let text = "RPC-DEADLINE: the deadline passed before the request had its turn";
            self.count(place, Outcome::Expired);
            return refuse(connection, request, ErrorCode::CANCELED, text, out);
        }
        if kind == FunctionKind::Inline && !intercepted {
            if !is_trait && let Err(refusal) = self.gate.admit_inline(&self.pace) {
                return self.decline(connection, request, place, &Failure::Refused(refusal), out);
            }
            return self.run_inline(connection, request, place, left_ms, out);
        }
        let shared = Arc::clone(&self.shared);
        let method = shared.methods.at(place);
        let call = Call { route: &method.route, metadata: request.metadata, left_ms, peer: request.peer };
        for interceptor in &shared.services[usize::from(method.service)].interceptors {
            if let Err(refusal) = interceptor.before(&call) {
                return self.decline(connection, request, place, &Failure::Refused(refusal), out);
            }
        }
        match kind {
            FunctionKind::Inline | FunctionKind::Ticking => {
                if !is_trait && let Err(refusal) = self.gate.admit_inline(&self.pace) {
                    return self.decline(connection, request, place, &Failure::Refused(refusal), out);
                }
                if kind == FunctionKind::Inline {
                    self.run_inline(connection, request, place, left_ms, out);
                } else {
                    self.open_ticking(connection, request, place, &call, out);
                }
            }
            FunctionKind::Unary => match self.gate.try_enter(self.now_us) {
                Some(entry) => self.start(connection, request, place, &call, Some(entry), out),
                None => self.hold_back(connection, request, place, &call, out),
            },
            FunctionKind::Stream | FunctionKind::Pieces => {
                self.start(connection, request, place, &call, None, out);
            }
        }
    }

    /// Gets a function going that outlives the turn.
    fn start(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        place: u16,
        call: &Call<'_>,
        entry: Option<Entry>,
        out: &mut Vec<u8>,
    ) {
        let shared = Arc::clone(&self.shared);
        let cancelled = Arc::new(AtomicBool::new(false));
        let context = || call.to_context(Arc::clone(&cancelled));
        let started = match &shared.methods.at(place).function {
            Function::Blocking(function) => function.start(context(), request.data).map(Started::Job),
            Function::Asynchronous(function) => {
                function.start(context(), request.data).map(|task| Started::Task(task, None, None))
            }
            Function::Streaming(function) => {
                let outbound = Outbound::default();
                outbound.add_credit(request.initial);
                let task = function.start(context(), request.data, outbound.clone());
                task.map(|task| Started::Task(task, Some(outbound), None))
            }
            Function::Channel(function) => {
                let (outbound, inbound) = (Outbound::default(), Inbound::default());
                outbound.add_credit(request.initial);
                inbound.push(request.data.to_vec());
                if request.completes == Completes::Yes {
                    inbound.end();
                }
                let task = function.start(context(), inbound.clone(), outbound.clone());
                Ok(Started::Task(task, Some(outbound), Some(inbound)))
            }
            Function::Upload(function) => {
                let upload = crate::service::Upload::default();
                upload.push(request.data);
                if request.more == More::Whole {
                    upload.end();
                }
                Ok(Started::Pieces(function.start(context(), upload.clone()), Pieces::In(upload)))
            }
            Function::Download(function) => {
                let download = crate::service::Download::default();
                let task = function.start(context(), request.data, download.clone());
                task.map(|task| Started::Pieces(task, Pieces::Out(download)))
            }
            Function::Inline(_) | Function::Ticking(_) => unreachable!("they answer within the turn"),
        };
        let begun = Begun { method: place, call, cancelled, entry };
        match started {
            Ok(Started::Job(job)) => self.start_blocking(connection, request, begun, job, out),
            Ok(Started::Task(task, outbound, inbound)) => {
                self.start_future(connection, request, begun, (task, outbound, inbound), out);
            }
            Ok(Started::Pieces(task, pieces)) => {
                let (place, serial) = (self.works.next_place(), self.works.next_serial());
                let mut running = Running::new(task, &self.ready, place, None, None);
                running.pieces = Some(pieces);
                self.keep(connection, request, begun, serial, Kind::Future(running));
                self.poll(connection, place, out);
            }
            Err(error) => {
                self.abandon(begun.entry);
                self.decline(connection, request, place, &Failure::Malformed(error), out);
            }
        }
    }

    /// As many calls as may be are worked on: this one waits, or is told Busy.
    fn hold_back(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        method: u16,
        call: &Call<'_>,
        out: &mut Vec<u8>,
    ) {
        let deadline_ms = request.now_ms + u64::from(call.left_ms);
        let serial = self.works.next_serial();
        let held = HeldRequest {
            peer: request.peer,
            metadata: request.metadata.to_vec(),
            composite: request.composite,
            data: request.data.to_vec(),
            pattern: request.pattern,
            deadline_ms,
        };
        let place = self.works.next_place();
        let pushed = self.gate.push((place, serial), self.now_us, deadline_ms * 1_000);
        if let Pushed::Full { retry_after_ms, .. } = pushed {
            let after = Duration::from_millis(u64::from(retry_after_ms));
            let busy = Refusal::busy(after, "as many calls wait as may");
            return self.decline(connection, request, method, &Failure::Refused(busy), out);
        }
        let begun = Begun { method, call, cancelled: Arc::new(AtomicBool::new(false)), entry: None };
        self.keep(connection, request, begun, serial, Kind::Held(Box::new(held)));
        match pushed {
            Pushed::DisplacedExpired(displaced) => self.displaced.push((displaced, Displaced::Expired)),
            Pushed::DisplacedStale(displaced) => self.displaced.push((displaced, Displaced::Stale)),
            Pushed::Waiting | Pushed::Full { .. } => {}
        }
    }

    /// A call that waited has its turn.
    pub(crate) fn start_held(
        &mut self,
        connection: &mut Connection,
        place: u32,
        entry: Entry,
        now_ms: u64,
        out: &mut Vec<u8>,
    ) {
        let Some(Work { kind: Kind::Held(held), stream, connection: id, method, .. }) =
            self.works.remove(place)
        else {
            return self.abandon(Some(entry));
        };
        let request = Request {
            connection: id,
            peer: held.peer,
            stream,
            pattern: held.pattern,
            initial: 0,
            completes: Completes::Yes,
            more: More::Whole,
            now_ms,
            metadata: &held.metadata,
            composite: held.composite,
            data: &held.data,
        };
        let left_ms = u32::try_from(held.deadline_ms.saturating_sub(now_ms)).unwrap_or(u32::MAX);
        let shared = Arc::clone(&self.shared);
        let route = &shared.methods.at(method).route;
        let call = Call { route, metadata: &held.metadata, left_ms, peer: held.peer };
        self.start(connection, &request, method, &call, Some(entry), out);
    }

    fn abandon(&mut self, entry: Option<Entry>) {
        if let Some(entry) = entry {
            self.gate.left(entry, admission::Work::Abandoned, self.now_us);
        }
    }

    #[inline]
    fn run_inline(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        place: u16,
        left_ms: u32,
        out: &mut Vec<u8>,
    ) {
        let method = self.shared.methods.at(place);
        let (route, intercepted) = (method.route.as_str(), method.intercepted);
        let call = Call { route, metadata: request.metadata, left_ms, peer: request.peer };
        let function = self.inline[usize::from(place)].as_mut().expect("each loop has its inline functions");
        let run = std::panic::AssertUnwindSafe(|| function.run(&call, request.data));
        let ran = std::panic::catch_unwind(run).unwrap_or_else(|_| {
            tracing::error!(route, "An inline function panicked");
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
        if intercepted {
            self.tell_interceptors(place, Outcome::Ok);
        }
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

    fn start_blocking(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        begun: Begun<'_>,
        job: crate::service::Job,
        out: &mut Vec<u8>,
    ) {
        let serial = self.works.next_serial();
        let work = PoolWork {
            job,
            place: self.works.next_place(),
            serial,
            deadline: Instant::now() + begun.call.time_left(),
            cancelled: Arc::clone(&begun.cancelled),
            handle: self.handle.clone(),
        };
        if self.pool.push(work).is_err() {
            self.abandon(begun.entry);
            let busy = Refusal::busy(self.gate.retry_after(), "the queue for blocking functions is full");
            return self.decline(connection, request, begun.method, &Failure::Refused(busy), out);
        }
        self.keep(connection, request, begun, serial, Kind::Blocking);
    }

    fn start_future(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        begun: Begun<'_>,
        (task, outbound, inbound): (Task, Option<Outbound>, Option<Inbound>),
        out: &mut Vec<u8>,
    ) {
        let place = self.works.next_place();
        let serial = self.works.next_serial();
        let channel = inbound.is_some() && request.completes == Completes::No;
        let running = Running::new(task, &self.ready, place, outbound, inbound);
        self.keep(connection, request, begun, serial, Kind::Future(running));
        if channel {
            // The first request came with the channel itself; credit is for those after it.
            let _ = connection.request_n(request.stream, crate::service::INBOUND_CREDIT, out);
        }
        self.poll(connection, place, out);
    }

    fn keep(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        begun: Begun<'_>,
        serial: u64,
        kind: Kind,
    ) {
        let Begun { method, call, cancelled, entry } = begun;
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
            entry,
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
        let start = out.len();
        loop {
            let mut polled = running.poll();
            let mut sent = 0;
            if let Some(outbound) = &running.outbound {
                while let Some(message) = outbound.take() {
                    let encode = |out: &mut Vec<u8>| out.extend_from_slice(&message);
                    match connection.payload(stream, Completes::No, None, encode, out) {
                        Ok(()) => sent += 1,
                        Err(SendError::TooLarge) => {
                            outbound.disconnect();
                            polled = Poll::Ready(Err(answer_too_large()));
                        }
                        Err(_) => outbound.disconnect(),
                    }
                }
            }
            self.counts.messages.add(sent);
            match &running.pieces {
                Some(Pieces::Out(download)) => sent += send_pieces(connection, stream, download, out),
                Some(Pieces::In(upload)) if upload.catches_up() => self.caught_up.push(work.connection),
                Some(Pieces::In(_)) | None => {}
            }
            if let Some(inbound) = &running.inbound {
                let taken = inbound.credit_to_give();
                if taken > 0 {
                    let _ = connection.request_n(stream, taken, out);
                }
            }
            match polled {
                Poll::Ready(answer) => return self.finish(connection, place, answer, out),
                Poll::Pending if sent == 0 => return,
                // The caller's credit may be without end: others have their turn too, and its connection must
                // take what there is.
                Poll::Pending if out.len() - start > POLL_BYTES_MAX => return running.wake(),
                // There is room again for what it sends next.
                Poll::Pending => {}
            }
        }
    }

    /// Polls a one-way call whose caller has gone: it was accepted, and nobody waits for its answer. Other
    /// calls were cancelled when their caller went.
    pub(crate) fn poll_alone(&mut self, place: u32) {
        let Some(work) = self.works.at(place) else { return };
        let Kind::Future(running) = &mut work.kind else { return };
        let Poll::Ready(answer) = running.poll() else { return };
        let Some(work) = self.works.remove(place) else { return };
        self.ended(work, answer.map_or_else(|refusal| outcome_of(&refusal), |_| Outcome::Ok));
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
            (Ok(_), _) if work.sends_pieces() => {
                let last = Piece { metadata: None, data: &[], more: More::Whole, completes: Completes::Yes };
                let _ = connection.piece(work.stream, last, out);
                Outcome::Ok
            }
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
        self.ended(work, outcome);
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
            self.ended(work, Outcome::Expired);
        }
    }

    /// The caller wants no more of a stream, or has gone.
    pub(crate) fn cancelled(&mut self, tag: Tag) {
        if tag.0 & TICKER != 0 {
            self.end_ticker(tag.0 & !TICKER, Outcome::Cancelled);
            return;
        }
        if let Some(work) = self.works.remove(tag.0) {
            if let Kind::Future(running) = &work.kind
                && let Some(outbound) = &running.outbound
            {
                outbound.disconnect();
            }
            self.ended(work, Outcome::Cancelled);
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

    /// A piece of an upload. Whether its function has fallen so far behind that its caller should wait.
    pub(crate) fn piece(&mut self, tag: Tag, data: &[u8], more: More) -> bool {
        if tag.0 & TICKER == 0
            && let Some(Work { kind: Kind::Future(running), .. }) = self.works.at(tag.0)
            && let Some(Pieces::In(upload)) = &running.pieces
        {
            let falls_behind = upload.push(data);
            if more == More::Whole {
                upload.end();
            }
            return falls_behind;
        }
        false
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
            let Some(&Ticker { stream, method, place, due_ms, .. }) = self.tickers.at(*index) else {
                continue;
            };
            let function = self.ticking[usize::from(method)].as_mut().expect("it opened the stream");
            let mut next = Next::Last;
            let encode = |out: &mut Vec<u8>| {
                next = function.tick(place);
                function.encode(out);
            };
            let start = out.len();
            let payload = || connection.payload(stream, Completes::No, None, encode, out);
            // The connection changes nothing before the message is encoded.
            let Ok(sent) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(payload)) else {
                tracing::error!(stream = stream.0, "A ticking function panicked");
                out.truncate(start);
                let (code, text) = failure_text(&panicked());
                let _ = connection.error(stream, code, &text, out);
                self.end_ticker(*index, Outcome::Rejected);
                continue;
            };
            match sent {
                Ok(()) => {
                    messages += 1;
                    if let Next::After(after) = next {
                        // Those that fell behind by more than their period go on from now.
                        let next_ms = due_ms + (after.as_millis() as u64).max(1);
                        self.tickers
                            .again(*index, if next_ms + STALE_MS < now_ms { now_ms } else { next_ms });
                    } else {
                        let _ = connection.complete(stream, out);
                        self.end_ticker(*index, Outcome::Ok);
                    }
                }
                Err(SendError::NoCredit) => self.tickers.wait(*index),
                Err(_) => {
                    let (code, text) = failure_text(&too_large());
                    let _ = connection.error(stream, code, &text, out);
                    self.end_ticker(*index, Outcome::Rejected);
                }
            }
        }
        self.counts.messages.add(messages);
    }

    /// A session has another socket: its calls and streams go there.
    pub(crate) fn move_to(&mut self, old: ConnectionId, new: ConnectionId) {
        self.works.move_to(old, new);
        self.tickers.move_to(old, new);
    }

    /// What is due there must wait for a slow reader.
    pub(crate) fn hold(&mut self, due: &[u32]) {
        due.iter().for_each(|&index| self.tickers.wait(index));
    }

    fn end_ticker(&mut self, index: u32, outcome: Outcome) {
        if let Some((method, place)) = self.tickers.close(index) {
            if let Some(function) = &mut self.ticking[usize::from(method)] {
                function.close(place);
            }
            self.count(method, outcome);
        }
    }

    /// A call that nobody can be told of any more.
    pub(crate) fn discard(&mut self, place: u32) {
        if let Some(work) = self.works.remove(place) {
            self.ended(work, Outcome::Cancelled);
        }
    }

    fn ended(&mut self, mut work: Work, outcome: Outcome) {
        if let Kind::Future(running) = &work.kind
            && let Some(Pieces::In(upload)) = &running.pieces
            && upload.abandon()
        {
            self.caught_up.push(work.connection);
        }
        let took = work.began.elapsed();
        let counts = &self.counts.methods[usize::from(work.method)];
        counts.count(outcome);
        if outcome == Outcome::Ok && work.interaction == Interaction::Unary {
            counts.latencies.record(took.as_micros() as u64, 1);
        }
        if let Some(entry) = work.entry.take() {
            let done = match outcome {
                Outcome::Ok | Outcome::Expired => admission::Work::Done,
                Outcome::Busy | Outcome::Rejected | Outcome::Cancelled => admission::Work::Abandoned,
            };
            self.gate.left(entry, done, self.now_us);
        }
        self.tell(work.method, outcome, took);
    }

    pub(crate) fn count(&mut self, method: u16, outcome: Outcome) {
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
        // The first one is the outermost: it is the last to hear of the end.
        for interceptor in self.shared.services[usize::from(method.service)].interceptors.iter().rev() {
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
        let outcome = outcome_of_failure(failure);
        self.count(method, outcome);
        let (code, text) = failure_text(failure);
        refuse(connection, request, code, &text, out);
    }
}

/// Sends what a download's function has given. Returns how many pieces that were.
fn send_pieces(
    connection: &mut Connection,
    stream: StreamId,
    download: &crate::service::Download,
    out: &mut Vec<u8>,
) -> u64 {
    let mut sent = 0;
    while let Some(piece) = download.take() {
        for data in piece.chunks(connection.piece_bytes_max()) {
            let piece = Piece { metadata: None, data, more: More::Follows, completes: Completes::No };
            if connection.piece(stream, piece, out).is_err() {
                download.disconnect();
            }
        }
        sent += 1;
    }
    sent
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

/// What a poll of one stream may produce before others have their turn, in bytes.
const POLL_BYTES_MAX: usize = 256 * 1024;

fn too_large() -> Failure {
    Failure::Refused(answer_too_large())
}

fn answer_too_large() -> Refusal {
    Refusal::rejected("RPC-006", "the answer is larger than this connection carries")
}

pub(crate) fn panicked() -> Failure {
    Failure::Refused(Refusal::rejected("RPC-007", "the service failed on this request"))
}

pub(crate) fn failure_text(failure: &Failure) -> (ErrorCode, String) {
    match failure {
        Failure::Malformed(error) => {
            (ErrorCode::INVALID, format!("RPC-004: the request does not decode: {error}"))
        }
        Failure::Refused(refusal) => wire::refusal(refusal),
    }
}

pub(crate) fn outcome_of_failure(failure: &Failure) -> Outcome {
    match failure {
        Failure::Malformed(_) => Outcome::Rejected,
        Failure::Refused(refusal) => outcome_of(refusal),
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
