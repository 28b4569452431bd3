//! Items one behind the other: what a turn produced for a node.
//!
//! A batch is a message whose only field is a list of items, so that batches can be joined as they
//! are. Each item is read by itself: one that a newer node sent, or that holds a wrong value, is
//! answered with a refusal and leaves the others alone.

use bytes::Bytes;
use stadium_shard::TOO_OLD;
use stadium_state_machine::{Milliseconds, Refusal, busy, rejected, unknown};

use crate::Error;
use crate::item::{Confirmation, Item, Machine, Response};
use crate::reader::{Budget, Reader};
use crate::value::{Value, part_bytes, put_head, take_inner};

/// Bytes of an item at most: a command or a message is a record, of at most 17 MiB, and an answer
/// has as many jobs as fit.
pub const ITEM_BYTES_MAX: usize = 32 << 20;

/// Bytes of a batch at most. A sender closes a batch before an item would exceed it.
pub const BATCH_BYTES_MAX: usize = 64 << 20;

/// The number of a batch's only field.
const ITEMS: u32 = 1;

/// Milliseconds after which a refused request or delivery is sent again, to a node that may have
/// been upgraded.
const RETRY_AFTER: Milliseconds = 5_000;

/// Appends an item to a batch, which may be empty.
///
/// # Errors
///
/// The item is longer than [`ITEM_BYTES_MAX`], or the batch would be longer than
/// [`BATCH_BYTES_MAX`]: nothing is appended.
pub fn encode(item: &Item, batch: &mut Vec<u8>) -> Result<(), Error> {
    let bytes = item.bytes();
    if bytes > ITEM_BYTES_MAX {
        return Err(Error::too_large(bytes, ITEM_BYTES_MAX));
    }
    let end = batch.len() + part_bytes(ITEMS, bytes);
    if end > BATCH_BYTES_MAX {
        return Err(Error::too_large(end, BATCH_BYTES_MAX));
    }
    put_head(ITEMS, bytes, batch);
    item.put(batch);
    debug_assert_eq!(batch.len(), end, "its length is known before it is written");
    Ok(())
}

/// What was read of a batch.
#[derive(Debug)]
pub enum Received {
    /// An item. The response to a request whose answer this version cannot read is Unknown, CLU-004.
    Item(Item),
    /// A request or a delivery that this version cannot read.
    Refused {
        /// Why.
        error: Error,
        /// For its sender: nothing of it happened.
        reply: Item,
    },
    /// An item of another kind that a newer version added: it is passed over.
    PassedOver(Error),
}

/// The items of a batch, one after the other.
///
/// An error is the end of the batch: the bytes are none that a node writes, and the connection that
/// brought them is of no use any more.
pub struct Batch {
    rest: Bytes,
    budget: Budget,
}

impl Batch {
    /// The items in these bytes, which they share.
    ///
    /// # Errors
    ///
    /// There are more than [`BATCH_BYTES_MAX`] bytes.
    pub fn new(bytes: Bytes) -> Result<Self, Error> {
        if bytes.len() > BATCH_BYTES_MAX {
            return Err(Error::too_large(bytes.len(), BATCH_BYTES_MAX));
        }
        let budget = Budget::of(bytes.len());
        Ok(Self { rest: bytes, budget })
    }

    /// The bytes of the next item.
    fn next_item(&mut self) -> Result<Option<Bytes>, Error> {
        let rest = std::mem::take(&mut self.rest);
        let mut input = Reader::new(&rest, &self.budget);
        while let Some((tag, wire)) = input.key()? {
            if tag != ITEMS {
                input.skip(tag, wire)?;
                continue;
            }
            let item = take_inner(wire, &mut input)?.take_bytes();
            if item.len() > ITEM_BYTES_MAX {
                return Err(Error::too_large(item.len(), ITEM_BYTES_MAX));
            }
            self.rest = input.take_bytes();
            return Ok(Some(item));
        }
        Ok(None)
    }
}

impl Iterator for Batch {
    type Item = Result<Received, Error>;

    fn next(&mut self) -> Option<Result<Received, Error>> {
        let received =
            self.next_item().and_then(|item| item.map(|item| read(&item, &self.budget)).transpose());
        if received.is_err() {
            self.rest.clear();
        }
        received.transpose()
    }
}

fn read(item: &Bytes, budget: &Budget) -> Result<Received, Error> {
    match Item::take(&mut Reader::new(item, budget)) {
        Ok(item) => Ok(Received::Item(item)),
        Err(error) => match Head::take(&mut Reader::new(item, budget)) {
            Ok(head) => Ok(head.refused(error)),
            Err(_) if error.is_newer() => Ok(Received::PassedOver(error)),
            Err(_) => Err(error),
        },
    }
}

/// The part of an item by which it can be answered: the numbers are those of [`Item`]. All else is
/// passed over, whatever it is.
enum Head {
    Request(Id),
    Response(Id),
    Delivery(Numbered),
}

/// Of a request and of a response.
struct Id {
    id: u64,
}

/// Of a delivery.
struct Numbered {
    from: u16,
    number: u64,
    message: Of,
}

/// The machine of a delivery's message.
enum Of {
    Queue,
    Wallet,
    Push,
}

oneof! {
    Head = "ItemHead" { 1 Request[request], 2 Response[response], 3 Delivery[delivery] }
    Of = "MessageHead" { 1 Queue, 2 Wallet, 3 Push }
}

message! {
    Id = "IdHead" { 1 id }
    Numbered = "DeliveryHead" { 3 from, 4 number, 6 message }
}

impl Head {
    /// What stands for an item that cannot be read.
    fn refused(self, error: Error) -> Received {
        let reply = match self {
            Head::Response(Id { id }) => {
                let reason =
                    format!("the answer of another node cannot be read, it may have happened: {error}");
                let answer = Err(unknown(TOO_OLD, RETRY_AFTER, reason));
                return Received::Item(Item::Response(Response { id, answer }));
            }
            Head::Request(Id { id }) => {
                let answer = Err(refusal(&error));
                Item::Response(Response { id, answer })
            }
            Head::Delivery(Numbered { from: to, number, message }) => {
                let machine = match message {
                    Of::Queue => Machine::Queue,
                    Of::Wallet => Machine::Wallet,
                    Of::Push => Machine::Push,
                };
                // Busy, so that it is sent again: a rejection is an answer to some messages.
                let taken = Err(busy(TOO_OLD, RETRY_AFTER, too_old(&error)));
                Item::Confirmation(Confirmation { to, machine, number, taken })
            }
        };
        Received::Refused { error, reply }
    }
}

fn refusal(error: &Error) -> Refusal {
    if error.is_newer() {
        return busy(TOO_OLD, RETRY_AFTER, too_old(error));
    }
    rejected(TOO_OLD, format!("the shard's node cannot read it: {error}"))
}

fn too_old(error: &Error) -> String {
    format!("the shard's node is too old for it: {error}")
}
