//! The messages of other threads to a client's loop.

use std::sync::Arc;
use std::time::Duration;

use stadium_discovery::Snapshot;

use super::completion::{Completion, Items};
use super::resolver::Found;
use super::transfer::Transfer;
use crate::balance::{Explanation, KeyHash};
use crate::method::{Idempotency, Interaction};

/// A word to the loop.
pub(crate) enum Item {
    /// A service will be called.
    Service { name: Arc<str>, place: u16 },
    /// The instances of a service.
    Instances { service: u16, snapshot: Snapshot },
    /// The addresses of the instances' names.
    Resolved(Found),
    /// A call.
    Call(Box<NewCall>),
    /// A call whose request goes in a datagram.
    Datagram(Box<NewCall>),
    /// Nobody waits for it any more.
    Cancel { place: u32, serial: u32 },
    /// A stream's receiver takes more.
    Credit { items: Arc<Items>, n: u32 },
    /// A channel's caller sends, or completes.
    Send { items: Arc<Items>, message: Option<Vec<u8>> },
    /// The client ends: servers need not wait for it.
    Farewell,
    /// What would be chosen now, and why.
    Explain { service: u16, key: Option<KeyHash>, answer: std::sync::mpsc::SyncSender<Explained> },
}

/// What is known of a service's instances, and what would be chosen.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The choice.
    pub choice: Explanation,
    /// How far the list of instances can be trusted.
    pub discovery: String,
}

/// A call, before the loop has it.
pub(crate) struct NewCall {
    pub(crate) service: u16,
    pub(crate) route: Arc<str>,
    pub(crate) interaction: Interaction,
    pub(crate) idempotency: Idempotency,
    pub(crate) key: Option<KeyHash>,
    pub(crate) metadata: Vec<u8>,
    pub(crate) request: Vec<u8>,
    pub(crate) initial: u32,
    /// Only a channel's caller goes on sending.
    pub(crate) completes: bool,
    pub(crate) deadline: Option<Duration>,
    pub(crate) transfer: Option<Box<Transfer>>,
    pub(crate) completion: Completion,
}

impl NewCall {
    /// The call fails before it began.
    pub(crate) fn fail(self, error: crate::answer::CallError) {
        match self.completion {
            Completion::Future(answer) => answer.0.complete(Err(error)),
            Completion::Stream(items) => items.0.end(Err(error)),
            Completion::Callback(callback) => callback.call(Err(error)),
            Completion::Discard | Completion::Local => {}
        }
    }
}

/// Reports to a caller's future the place of its call; false where nobody waits for it any more.
pub(crate) fn report_place(completion: &Completion, place: u32, serial: u32) -> bool {
    match completion {
        Completion::Future(answer) => answer.0.place.set(place, serial),
        Completion::Stream(items) => items.0.place.set(place, serial),
        Completion::Callback(callback) => callback.place.set(place, serial),
        Completion::Discard | Completion::Local => true,
    }
}
