//! A client on its caller's own thread: it turns its loop while it waits.
//!
//! A call costs no change of thread and, once warm, no allocation: requests live in places that are used again,
//! answers in a buffer that is emptied when they were read.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::Message;
use stadium_reactor::{Driven, Loop};

use super::client_loop::ClientLoop;
use super::config::{CallOptions, ClientConfig, Source};
use super::item::Item;
use super::resolver::resolver;
use crate::answer::CallError;
use crate::balance::KeyHash;
use crate::encoded::Encoded;
use crate::method::{Idempotency, Interaction, Method};
use crate::wire;

/// A client for one thread. Answers come while [`LocalClient::wait`], [`LocalClient::next`] or
/// [`LocalClient::turn`] run.
pub struct LocalClient {
    driven: Driven<ClientLoop>,
    config: Arc<ClientConfig>,
    watches: Vec<stadium_discovery::Watch>,
    services: u16,
    /// Calls that leave with the next turn: their places, and the deadlines that were asked for.
    begun: Vec<(u32, Option<Duration>)>,
    /// Counts the turns after which answers are gone.
    turns: u64,
}

/// Memory for answers that is kept between turns, in bytes.
const ANSWERS_BYTES_KEPT: usize = 1024 * 1024;

/// A service of a [`LocalClient`].
#[derive(Clone, Copy, Debug)]
pub struct LocalService(u16);

/// A call that has ended. Read its answer by [`LocalClient::read`].
pub struct Done {
    done: super::client_loop::Done,
    turns: u64,
}

impl Done {
    /// The [`CallOptions::tag`] that the call was made with.
    #[must_use]
    pub fn tag(&self) -> u64 {
        self.done.tag
    }

    /// Whether the call was answered.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.done.how.is_ok()
    }
}

impl std::fmt::Debug for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Done").field("tag", &self.done.tag).field("how", &self.done.how).finish()
    }
}

/// A call of a [`LocalClient`], to wait for.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Ticket<A> {
    place: u32,
    serial: u32,
    message: PhantomData<fn() -> A>,
}

impl LocalClient {
    /// Makes the client; nothing runs until it is used.
    ///
    /// # Errors
    /// The system gives no descriptor, or a name is not `HOST:PORT`.
    pub fn new(config: ClientConfig) -> std::io::Result<Self> {
        let one = Loop::new(config.loop_settings())?;
        let config = Arc::new(config);
        let resolver = resolver(&config, &one.handle())?;
        let driven = one.drive(ClientLoop::new(Arc::clone(&config), resolver));
        Ok(Self { driven, config, watches: Vec::new(), services: 0, begun: Vec::new(), turns: 0 })
    }

    /// A service by its name; ask once and keep it.
    ///
    /// # Errors
    /// Discovery does not take the name.
    pub fn service(&mut self, name: &str) -> Result<LocalService, stadium_discovery::Error> {
        let place = self.services;
        self.services += 1;
        let (handler, io) = self.driven.parts();
        handler.add_service(name.into(), place);
        handler.place_service(io, place);
        match &self.config.source {
            Source::Static(_) | Source::Names(_) => {}
            Source::Discovery { discovery, versions } => {
                let handle = self.driven.handle();
                let watch = discovery.watch(name, versions.clone(), move |snapshot| {
                    // Where the mailbox is full nobody turns the loop, and nobody calls.
                    let _ = handle.try_send(Item::Instances { service: place, snapshot });
                })?;
                self.watches.push(watch);
            }
        }
        Ok(LocalService(place))
    }

    /// Begins a call. It leaves with the next turn, and its deadline counts from then.
    pub fn call<Q, A>(
        &mut self,
        service: LocalService,
        method: &Method<Q, A>,
        request: &Q,
        options: &CallOptions<'_>,
    ) -> Ticket<A>
    where
        Q: Message,
    {
        let kind = (method.interaction(), method.idempotency());
        self.begin(service, method.route(), kind, |out| request.encode_raw(out), options)
    }

    /// Begins a unary call by route, with bytes that are encoded already. Its answer is read by
    /// [`LocalClient::read_bytes`].
    pub fn call_bytes(
        &mut self,
        service: LocalService,
        route: &str,
        idempotency: Idempotency,
        request: &[u8],
        options: &CallOptions<'_>,
    ) -> Ticket<Encoded> {
        let kind = (Interaction::Unary, idempotency);
        self.begin(service, route, kind, |out| out.extend_from_slice(request), options)
    }

    fn begin<A>(
        &mut self,
        service: LocalService,
        route: &str,
        (interaction, idempotency): (Interaction, Idempotency),
        request: impl FnOnce(&mut Vec<u8>),
        options: &CallOptions<'_>,
    ) -> Ticket<A> {
        let (place, slot) = self.driven.handler_mut().local(service.0, route);
        slot.interaction = interaction;
        slot.idempotency = idempotency;
        slot.tag = options.tag;
        slot.set_key(options.key.map(KeyHash::of));
        let metadata = |out: &mut Vec<u8>| {
            if let Some(key) = options.key {
                wire::write_key(out, key);
            }
            out.extend_from_slice(options.metadata);
        };
        slot.fill(metadata, request);
        let serial = slot.serial;
        self.begun.push((place, options.deadline));
        Ticket { place, serial, message: PhantomData }
    }

    /// Turns the loop once: sends what is to be sent, and waits up to that long for something to happen.
    ///
    /// # Errors
    /// Waiting failed.
    pub fn turn(&mut self, at_most: Duration) -> std::io::Result<()> {
        let has_news = self.send_begun();
        self.driven.turn(Some(if has_news { Duration::ZERO } else { at_most }))
    }

    /// Reads one connection that has something to read, or waits for one.
    fn step(&mut self, at_most: Option<Duration>) -> std::io::Result<()> {
        let has_news = self.send_begun();
        self.driven.step(if has_news { Some(Duration::ZERO) } else { at_most })
    }

    /// Sends the calls that were begun since the last turn. Returns whether one has ended by that.
    fn send_begun(&mut self) -> bool {
        let handler = self.driven.handler_mut();
        if handler.done.is_empty() {
            // All reported answers have been read, or are not wanted.
            self.turns += 1;
            handler.answers.clear();
            handler.answers.shrink_to(ANSWERS_BYTES_KEPT);
        }
        if self.begun.is_empty() {
            return false;
        }
        let (handler, io) = self.driven.parts();
        let ended = handler.done.len();
        for (place, deadline) in self.begun.drain(..) {
            handler.begin(io, place, deadline);
        }
        handler.done.len() > ended
    }

    /// A call that has ended, in the order of their ends; turns the loop until there is one or the time is
    /// over. Its answer can be read until the loop turns again.
    ///
    /// # Errors
    /// Waiting failed.
    pub fn next(&mut self, at_most: Duration) -> std::io::Result<Option<Done>> {
        if let Some(done) = self.done() {
            return Ok(Some(done));
        }
        let until = Instant::now() + at_most;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            self.step(Some(left))?;
            if let Some(done) = self.done() {
                return Ok(Some(done));
            }
            if left.is_zero() {
                return Ok(None);
            }
        }
    }

    /// A call that has ended and was not reported yet, without turning the loop.
    pub fn done(&mut self) -> Option<Done> {
        let turns = self.turns;
        self.driven.handler_mut().done.pop_front().map(|done| Done { done, turns })
    }

    /// Decodes a call's answer into `answer`.
    ///
    /// # Errors
    /// What became of the call instead; [`CallError::Protocol`] also where the loop has turned since.
    pub fn read<A: Message>(&self, done: Done, answer: &mut A) -> Result<(), CallError> {
        let bytes = self.read_bytes(done)?;
        answer.clear();
        answer.merge(bytes).map_err(|error| CallError::Protocol(error.to_string()))
    }

    /// A call's answer as it came. It is there until the loop turns.
    ///
    /// # Errors
    /// As for [`LocalClient::read`].
    pub fn read_bytes(&self, done: Done) -> Result<&[u8], CallError> {
        done.done.how?;
        if done.turns != self.turns {
            return Err(CallError::Protocol("the answer was read too late".to_owned()));
        }
        Ok(&self.driven.handler().answers[done.done.answer])
    }

    /// Waits for a call: turns the loop until it has ended. Others that end meanwhile are reported
    /// afterwards.
    ///
    /// # Errors
    /// What became of the call instead.
    pub fn wait<A: Message>(&mut self, ticket: &Ticket<A>, answer: &mut A) -> Result<(), CallError> {
        loop {
            let turns = self.turns;
            let done = &mut self.driven.handler_mut().done;
            let ours = done.iter().position(|one| one.place == ticket.place && one.serial == ticket.serial);
            if let Some(done) = ours.and_then(|place| done.remove(place)) {
                return self.read(Done { done, turns }, answer);
            }
            if self.driven.handler_mut().slots.find(ticket.place, ticket.serial).is_none() {
                return Err(CallError::Cancelled);
            }
            self.step(None).map_err(|error| CallError::unavailable(error.to_string()))?;
        }
    }

    /// Connections that are open.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.driven.handler().connections()
    }

    /// Calls under way.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.driven.handler().slots.len()
    }
}

impl Drop for LocalClient {
    fn drop(&mut self) {
        if self.config.resume.is_some() {
            self.send_begun();
            let (handler, io) = self.driven.parts();
            handler.take_leave(io);
            // Where it does not leave in this turn, servers wait for nothing.
            let _ = self.driven.turn(Some(Duration::ZERO));
        }
    }
}

impl std::fmt::Debug for LocalClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalClient").field("calls", &self.calls()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
