//! Streams whose messages are due at times: small state in a table, asked by the loop's timers.
//!
//! A loop holds all streams of a method in one slab of the method's own type: no box and no future for a
//! stream, and one message that is used again and again.

use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use slab::Slab;

use super::Call;
use super::function::Failure;
use crate::answer::Refusal;

/// What follows a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another one, that long after this one was due.
    After(Duration),
    /// Nothing: the stream completes with this message.
    Last,
}

/// One stream of [`super::Service::ticking`].
pub trait Ticks<A>: 'static {
    /// Fills in the message that is due now; it comes in empty. Runs on the loop and must not block.
    fn tick(&mut self, message: &mut A) -> Next;
}

/// A ticking function's streams on one loop.
pub(crate) trait TickingRun {
    /// Opens a stream: its place in the table, and when its first message is due.
    fn open(&mut self, call: &Call<'_>, data: &[u8]) -> Result<(u32, Duration), Failure>;
    /// Makes the message that is due; [`TickingRun::encode`] appends it.
    fn tick(&mut self, place: u32) -> Next;
    fn encode(&self, out: &mut Vec<u8>);
    fn close(&mut self, place: u32);
}

struct Table<Q, A, T, F> {
    open: Arc<F>,
    request: Q,
    message: A,
    streams: Slab<T>,
}

pub(super) fn table<Q, A, T, F>(open: Arc<F>) -> Box<dyn TickingRun>
where
    Q: Message + Default + 'static,
    A: Message + Default + 'static,
    T: Ticks<A>,
    F: Fn(&Call<'_>, &Q) -> Result<(Duration, T), Refusal> + 'static,
{
    Box::new(Table { open, request: Q::default(), message: A::default(), streams: Slab::new() })
}

impl<Q, A, T, F> TickingRun for Table<Q, A, T, F>
where
    Q: Message + Default,
    A: Message + Default,
    T: Ticks<A>,
    F: Fn(&Call<'_>, &Q) -> Result<(Duration, T), Refusal>,
{
    fn open(&mut self, call: &Call<'_>, data: &[u8]) -> Result<(u32, Duration), Failure> {
        self.request.clear();
        self.request.merge(data).map_err(Failure::Malformed)?;
        let (first, ticks) = (self.open)(call, &self.request).map_err(Failure::Refused)?;
        Ok((self.streams.insert(ticks) as u32, first))
    }

    fn tick(&mut self, place: u32) -> Next {
        self.message.clear();
        match self.streams.get_mut(place as usize) {
            Some(ticks) => ticks.tick(&mut self.message),
            None => Next::Last,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.message.encode_raw(out);
    }

    fn close(&mut self, place: u32) {
        self.streams.try_remove(place as usize);
    }
}
