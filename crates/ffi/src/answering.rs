//! The future by which a server's loop waits for another language's answer.
//!
//! The limits, deadlines and cancellations of [`stadium_rpc::Service::asynchronous`] hold for it,
//! so that a slow interpreter shows as Busy. The language's side is [`crate::request::Request`].

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use stadium_rpc::{CallContext, Encoded, Refusal, StreamReceiver, StreamSender};

use crate::event::{Event, Kind};
use crate::queue::Queue;
use crate::request::{MESSAGES_MAX, Request, Shared};

/// The next step of a stream of answers.
enum Next {
    Message(Vec<u8>),
    End(Result<Vec<u8>, Refusal>),
}

/// The loop's end of a request. Dropped before the answer came, it reports that nobody waits.
pub(crate) struct Answering {
    request: Arc<Shared>,
    /// The tag of its method.
    tag: u64,
    queue: Queue,
}

impl Answering {
    /// Puts the request on the queue.
    pub(crate) fn begin(queue: &Queue, tag: u64, context: CallContext, request: Vec<u8>) -> Self {
        let (handle, shared) = Request::new(context);
        queue.push(Event {
            kind: Kind::Request,
            tag,
            request_id: shared.id,
            payload: Ok(request),
            request: Some(handle),
        });
        Self { request: shared, tag, queue: queue.clone() }
    }

    /// The answer of a unary method.
    pub(crate) async fn answer(self) -> Result<Encoded, Refusal> {
        match self.next().await {
            Next::End(end) => end.map(Encoded),
            Next::Message(_) => Err(Refusal::unknown("RPC-007", "a unary method was answered with a stream")),
        }
    }

    /// Sends the messages of a stream until its end.
    pub(crate) async fn stream(&self, out: StreamSender<Encoded>) -> Result<(), Refusal> {
        loop {
            match self.next().await {
                Next::Message(message) => out.send(Encoded(message)).await?,
                Next::End(end) => return end.map(|_| ()),
            }
        }
    }

    /// Sends and receives until the end of what is sent.
    pub(crate) async fn channel(
        self,
        requests: StreamReceiver<Encoded>,
        out: StreamSender<Encoded>,
    ) -> Result<(), Refusal> {
        let mut receiving = pin!(self.receive(requests));
        let mut sending = pin!(self.stream(out));
        let mut received = false;
        poll_fn(|context| {
            received = received || receiving.as_mut().poll(context).is_ready();
            sending.as_mut().poll(context)
        })
        .await
    }

    /// Puts the caller's messages on the queue, as far as they are wanted.
    async fn receive(&self, requests: StreamReceiver<Encoded>) {
        loop {
            poll_fn(|context| {
                let mut state = self.request.state.lock();
                if state.wanted > 0 {
                    state.wanted -= 1;
                    return Poll::Ready(());
                }
                state.receiving = Some(context.waker().clone());
                Poll::Pending
            })
            .await;
            match requests.next().await {
                Ok(Some(message)) => self.report(Kind::RequestItem, message.0),
                _ => return self.report(Kind::RequestEnd, Vec::new()),
            }
        }
    }

    fn report(&self, kind: Kind, payload: Vec<u8>) {
        let (tag, request_id) = (self.tag, self.request.id);
        self.queue.push(Event { kind, tag, request_id, payload: Ok(payload), request: None });
    }

    async fn next(&self) -> Next {
        let (next, writable) = poll_fn(|context| {
            let mut state = self.request.state.lock();
            if let Some(message) = state.messages.pop_front() {
                let writable = state.messages.len() < MESSAGES_MAX / 2 && std::mem::take(&mut state.full);
                return Poll::Ready((Next::Message(message), writable));
            }
            if let Some(end) = state.end.take() {
                return Poll::Ready((Next::End(end), false));
            }
            state.answering = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
        if writable {
            self.report(Kind::Writable, Vec::new());
        }
        next
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let waited = !std::mem::replace(&mut self.request.state.lock().ended, true);
        if waited {
            self.report(Kind::RequestCancelled, Vec::new());
        }
    }
}
