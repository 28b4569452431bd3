//! A client on its caller's own thread: it turns its loop while it waits.
//!
//! A call costs no change of thread and, once warm, no allocation: request and answer live in the call's place,
//! which is used again.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::Message;
use stadium_reactor::{Driven, Loop, LoopSettings};

use super::client_loop::ClientLoop;
use super::config::{CallOptions, ClientConfig, Source};
use super::letter::Letter;
use crate::answer::CallError;
use crate::balance::KeyHash;
use crate::method::Method;
use crate::wire;

/// A client for one thread. Answers come while [`LocalClient::wait`], [`LocalClient::next`] or
/// [`LocalClient::turn`] run.
pub struct LocalClient {
    driven: Driven<ClientLoop>,
    config: Arc<ClientConfig>,
    watches: Vec<stadium_discovery::Watch>,
    services: u16,
}

/// A service of a [`LocalClient`].
#[derive(Clone, Copy, Debug)]
pub struct LocalService(u16);

/// A call of a [`LocalClient`]: give it back to learn how it ended.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Ticket<A> {
    place: u32,
    serial: u32,
    message: PhantomData<fn() -> A>,
}

impl<A> Ticket<A> {
    /// A number that no other call under way has; [`LocalClient::next`] tells it.
    #[must_use]
    pub fn place(&self) -> u32 {
        self.place
    }
}

impl LocalClient {
    /// Makes the client; nothing runs until it is used.
    ///
    /// # Errors
    /// The system gives no descriptor.
    pub fn new(config: ClientConfig) -> std::io::Result<Self> {
        let one = Loop::new(LoopSettings { name: config.name.clone(), ..LoopSettings::default() })?;
        let config = Arc::new(config);
        let driven = one.drive(ClientLoop::new(Arc::clone(&config)));
        Ok(Self { driven, config, watches: Vec::new(), services: 0 })
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
        match &self.config.source {
            Source::Static(addresses) => handler.fixed(io, place, addresses),
            Source::Discovery { discovery, versions } => {
                let handle = self.driven.handle();
                let watch = discovery.watch(name, versions.clone(), move |snapshot| {
                    // Where the mailbox is full nobody turns the loop, and nobody calls.
                    let _ = handle.try_send(Letter::Instances { service: place, snapshot });
                })?;
                self.watches.push(watch);
            }
        }
        Ok(LocalService(place))
    }

    /// Begins a call. It leaves with the next turn.
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
        let (handler, io) = self.driven.parts();
        let (place, slot) = handler.local(service.0, method.route());
        slot.interaction = method.interaction();
        slot.idempotency = method.idempotency();
        slot.key = options.key.map(KeyHash::of);
        if let Some(key) = options.key {
            wire::write_key(&mut slot.metadata, key);
        }
        slot.metadata.extend_from_slice(options.metadata);
        request.encode_raw(&mut slot.request);
        let serial = slot.serial;
        handler.begin(io, place, options.deadline);
        Ticket { place, serial, message: PhantomData }
    }

    /// Turns the loop once: sends what is to be sent, and waits up to that long for something to happen.
    ///
    /// # Errors
    /// Waiting failed.
    pub fn turn(&mut self, at_most: Duration) -> std::io::Result<()> {
        self.driven.turn(Some(at_most))
    }

    /// The place of a call that has ended, in the order of their ends; turns the loop until there is one or
    /// the time is over. Take its answer by [`LocalClient::take`].
    ///
    /// # Errors
    /// Waiting failed.
    pub fn next(&mut self, at_most: Duration) -> std::io::Result<Option<u32>> {
        if let Some(place) = self.driven.handler_mut().done.pop_front() {
            return Ok(Some(place));
        }
        let until = Instant::now() + at_most;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            self.driven.turn(Some(left))?;
            if let Some(place) = self.driven.handler_mut().done.pop_front() {
                return Ok(Some(place));
            }
            if left.is_zero() {
                return Ok(None);
            }
        }
    }

    /// The place of a call that has ended and was not told yet, without turning the loop.
    pub fn done(&mut self) -> Option<u32> {
        self.driven.handler_mut().done.pop_front()
    }

    /// Decodes a finished call's answer into `answer`, and frees its place.
    ///
    /// # Errors
    /// What became of the call instead; [`CallError::Cancelled`] for one that is not finished.
    pub fn take<A: Message>(&mut self, ticket: &Ticket<A>, answer: &mut A) -> Result<(), CallError> {
        let slots = &mut self.driven.handler_mut().slots;
        let Some(slot) = slots.find(ticket.place, ticket.serial) else { return Err(CallError::Cancelled) };
        let Some(ended) = slot.ended.take() else { return Err(CallError::Cancelled) };
        let taken = ended.and_then(|()| {
            answer.clear();
            answer.merge(slot.answer.as_slice()).map_err(|error| CallError::Protocol(error.to_string()))
        });
        slots.give_back(ticket.place);
        taken
    }

    /// Waits for a call: turns the loop until it has ended.
    ///
    /// # Errors
    /// What became of the call instead.
    pub fn wait<A: Message>(&mut self, ticket: &Ticket<A>, answer: &mut A) -> Result<(), CallError> {
        loop {
            let handler = self.driven.handler_mut();
            let Some(slot) = handler.slots.find(ticket.place, ticket.serial) else {
                return Err(CallError::Cancelled);
            };
            if slot.ended.is_some() {
                handler.done.retain(|place| *place != ticket.place);
                return self.take(ticket, answer);
            }
            self.driven.turn(None).map_err(|error| CallError::Unavailable(error.to_string()))?;
        }
    }

    /// Calls under way, and those whose answers were not taken.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.driven.handler().slots.len()
    }
}

impl std::fmt::Debug for LocalClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalClient").field("calls", &self.calls()).finish_non_exhaustive()
    }
}
