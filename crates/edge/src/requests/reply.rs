//! The way back of one request: where its answer goes, and the place it holds until then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use stadium_mqtt::broker::{AnswerTo, SessionKey};
use stadium_mqtt::packet::QoS;
use stadium_reactor::LoopHandle;

use super::Answer;
use super::outbox::{Outbox, Outgoing};
use crate::message::{Kind, Message};

/// Answers one request, from any thread. Dropping it gives the request's place back and answers nothing;
/// so does answering a request that wanted no answer.
#[derive(Debug)]
pub struct Reply {
    pub(super) envelope: Option<Envelope>,
    pub(super) place: Place,
    pub(super) outbox: Arc<Outbox>,
    pub(super) handle: LoopHandle<Message>,
}

impl Reply {
    /// Whether the device waits for an answer.
    pub fn is_wanted(&self) -> bool {
        self.envelope.is_some()
    }

    /// Sends the answer on its way. It waits in the loop's outbox, which holds at most one for each request
    /// in flight, so none is lost to a busy loop.
    pub fn send(self, answer: Answer) {
        let Some(envelope) = self.envelope else { return };
        let first = self.outbox.put(Outgoing { envelope, answer, place: Some(self.place) });
        if first {
            // A loop whose mailbox is full looks into its outbox at the end of its turn all the same.
            let _ = self.handle.try_send(Message(Kind::Answers));
        }
    }
}

/// Where an answer goes, and how.
#[derive(Debug)]
pub(crate) struct Envelope {
    pub(crate) session: SessionKey,
    pub(crate) topic: Box<str>,
    pub(crate) correlation: Option<Box<[u8]>>,
    pub(crate) qos: QoS,
}

impl Envelope {
    pub(super) fn new(session: SessionKey, to: &AnswerTo<'_>, qos: QoS) -> Self {
        let correlation = to.correlation.map(Box::from);
        Self { session, topic: to.topic.into(), correlation, qos }
    }
}

/// One of the places for requests in flight; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Place {
    of_loop: Arc<AtomicUsize>,
    of_device: Arc<AtomicU32>,
}

impl Place {
    /// A place, where neither the loop nor the device has as many as it may. Only the loop takes places.
    pub(super) fn take(
        of_loop: &Arc<AtomicUsize>,
        loop_max: usize,
        of_device: &Arc<AtomicU32>,
        device_max: u32,
    ) -> Option<Self> {
        if of_loop.load(Ordering::Acquire) >= loop_max || of_device.load(Ordering::Acquire) >= device_max {
            return None;
        }
        of_loop.fetch_add(1, Ordering::AcqRel);
        of_device.fetch_add(1, Ordering::AcqRel);
        Some(Self { of_loop: Arc::clone(of_loop), of_device: Arc::clone(of_device) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.of_loop.fetch_sub(1, Ordering::AcqRel);
        self.of_device.fetch_sub(1, Ordering::AcqRel);
    }
}
