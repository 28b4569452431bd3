//! A request comes: it is refused, answered at once, kept until its turn, or its function gets going.
//!
//! What an inline function answers is encoded here and leaves no trace but a count. Every other call that begins
//! has a place in [`Works`](crate::server::work::Works), which is its stream's tag, and leaves it in
//! [`super::progress`].

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use stadium_rsocket::connection::{Connection, Tag};
use stadium_rsocket::frame::{Completes, ErrorCode, Interaction as Pattern, More};

use super::failures::{panicked, refuse, too_large};
use super::{Core, Displaced, Request, pattern_of};
use crate::admission::{self, Entry, Pushed};
use crate::answer::Refusal;
use crate::method::Interaction;
use crate::server::pool::Work as PoolWork;
use crate::server::work::{HeldRequest, Kind, Pieces, Running, Work};
use crate::service::{Call, Failure, Function, FunctionKind, Inbound, Outbound, Outcome, Task};
use crate::wire;

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
            let text =
                format!("RPC-003: `{}` is {}, and is not called so", method.route, interaction.words());
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
        let call = request.call(&method.route, left_ms);
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

    /// As many calls as may be are worked on: this one waits, or gets Busy.
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
            certificate: request.certificate.cloned(),
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
            certificate: held.certificate.as_ref(),
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
        let call = request.call(route, left_ms);
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
        let call = request.call(route, left_ms);
        let function = self.inline[usize::from(place)].as_mut().expect("each loop has its inline functions");
        let run = std::panic::AssertUnwindSafe(|| function.run(&call, request.data));
        let ran = std::panic::catch_unwind(run).unwrap_or_else(|_| {
            tracing::error!(route, "An inline function panicked");
            Err(panicked())
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
            self.notify_interceptors(place, Outcome::Ok);
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
}
