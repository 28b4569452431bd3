//! The caller's ends of a stream and of a channel.
//!
//! What comes is bounded by the credit given; what goes leaves as the service gives credit.

use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use prost::Message;
use stadium_reactor::LoopHandle;

use super::completion::Items;
use super::item::Item;
use crate::answer::CallError;

/// The messages of a stream. At most the credit that it was opened with is kept here; credit is given back as
/// messages are taken, unless [`Streaming::without_replenishment`] leaves that to the caller. Dropping it cancels
/// the stream.
#[must_use = "dropping it cancels the stream"]
pub struct Streaming<A> {
    items: Arc<Items>,
    handle: LoopHandle<Item>,
    /// Messages taken after which credit goes back in one frame; 0: none goes back.
    worth: u32,
    decode: fn(Vec<u8>) -> Result<A, CallError>,
    over: bool,
    message: PhantomData<fn() -> A>,
}

impl<A: Message + Default> Streaming<A> {
    pub(crate) fn new(items: Arc<Items>, handle: LoopHandle<Item>, credit: u32) -> Self {
        let decode = |bytes: Vec<u8>| {
            A::decode(bytes.as_slice()).map_err(|error| CallError::Protocol(error.to_string()))
        };
        Self { items, handle, worth: credit.div_ceil(2), decode, over: false, message: PhantomData }
    }
}

impl Streaming<Vec<u8>> {
    /// A stream whose messages are handed out as bytes.
    pub(crate) fn raw(items: Arc<Items>, handle: LoopHandle<Item>, credit: u32) -> Self {
        Self { items, handle, worth: credit.div_ceil(2), decode: Ok, over: false, message: PhantomData }
    }
}

impl<A> Streaming<A> {
    /// The same stream, whose credit is given by [`Streaming::request_n`] alone: for messages that the caller must
    /// not get before it asks for them, such as jobs.
    pub fn without_replenishment(mut self) -> Self {
        self.worth = 0;
        self
    }

    /// Asks for `n` more messages than before (RSocket 1.0, REQUEST_N Frame).
    pub fn request_n(&self, n: u32) {
        self.give(n);
    }

    /// The next message; `None` when the service has sent its last.
    ///
    /// # Errors
    /// How the stream ended instead.
    pub async fn next(&mut self) -> Result<Option<A>, CallError> {
        let (item, credit) = std::future::poll_fn(|context| self.items.poll(context, self.worth)).await;
        self.took(item, credit)
    }

    /// The next message, waited for on this thread; fails with [`CallError::Deadline`] where none comes within
    /// `at_most`, and the stream goes on.
    ///
    /// # Errors
    /// How the stream ended instead.
    pub fn next_within(&mut self, at_most: Duration) -> Result<Option<A>, CallError> {
        let (item, credit) = self.items.wait(at_most, self.worth).ok_or(CallError::Deadline)?;
        self.took(item, credit)
    }

    fn took(&mut self, item: super::completion::Item, credit: u32) -> Result<Option<A>, CallError> {
        if credit > 0 {
            self.give(credit);
        }
        match item {
            Ok(Some(bytes)) => (self.decode)(bytes).map(Some),
            Ok(None) => {
                self.over = true;
                Ok(None)
            }
            Err(error) => {
                self.over = true;
                Err(error)
            }
        }
    }

    fn give(&self, n: u32) {
        // Credit that is lost would leave the stream standing. There is one item for half of what
        // it may send ahead.
        self.handle.send_beyond_bound(Item::Credit { items: Arc::clone(&self.items), n });
    }
}

impl<A> Drop for Streaming<A> {
    fn drop(&mut self) {
        if !self.over
            && let Some((place, serial)) = self.items.place.give_up()
        {
            self.handle.send_beyond_bound(Item::Cancel { place, serial });
        }
    }
}

impl<A> std::fmt::Debug for Streaming<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Streaming").field("over", &self.over).finish_non_exhaustive()
    }
}

/// Sends a channel's further messages. Dropping it completes the caller's side.
pub struct ChannelSender<Q> {
    items: Arc<Items>,
    handle: LoopHandle<Item>,
    message: PhantomData<fn(Q)>,
}

impl<Q: Message> ChannelSender<Q> {
    pub(crate) fn new(items: Arc<Items>, handle: LoopHandle<Item>) -> Self {
        Self { items, handle, message: PhantomData }
    }

    /// Sends a message; it leaves when the service takes it. Up to 1,024 may wait for that.
    ///
    /// # Errors
    /// [`CallError::Busy`] where too many wait or the client's mailbox is full: the message was not taken.
    /// [`CallError::Cancelled`] where the channel has ended or the service takes no more.
    pub fn send(&self, message: &Q) -> Result<(), CallError> {
        self.items.give()?;
        let item = Item::Send { items: Arc::clone(&self.items), message: Some(message.encode_to_vec()) };
        self.handle.try_send(item).map_err(|_| {
            self.items.sent();
            CallError::Busy {
                retry_after: Duration::from_millis(1),
                reason: "this client's mailbox is full".to_owned(),
            }
        })
    }
}

impl<Q> ChannelSender<Q> {
    /// Whether [`ChannelSender::send`] has room; otherwise the task is woken when it has. Ready also where the
    /// channel has ended. One task at a time may wait.
    pub fn poll_ready(&self, context: &mut Context<'_>) -> Poll<()> {
        self.items.poll_room(context)
    }
}

impl<Q> Drop for ChannelSender<Q> {
    fn drop(&mut self) {
        self.handle.send_beyond_bound(Item::Send { items: Arc::clone(&self.items), message: None });
    }
}

impl<Q> std::fmt::Debug for ChannelSender<Q> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ChannelSender")
    }
}
