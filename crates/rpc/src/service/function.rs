//! Functions with their types taken off, so that a loop holds all of them in one table.
//!
//! Decoding and encoding happen here; what a loop sees are bytes. A request that does not decode is a
//! [`Failure::Malformed`], and the function is not called.

use std::pin::Pin;
use std::sync::Arc;

use prost::{DecodeError, Message};

use super::pieces::{PieceReceiver, PieceSender};
use super::sender::{StreamReceiver, StreamSender};
use super::{Call, CallContext, Download, Inbound, Outbound, Upload};
use crate::answer::Refusal;

/// Why a function gave no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The request is not what the method takes.
    Malformed(DecodeError),
    /// The function declined.
    Refused(Refusal),
}

/// What a future on the loop ends with: the encoded answer, if there is one.
pub(crate) type Task = Pin<Box<dyn Future<Output = Result<Vec<u8>, Refusal>>>>;
/// What a thread of the pool runs.
pub(crate) type Job = Box<dyn FnOnce() -> Result<Vec<u8>, Refusal> + Send>;

/// An inline function on one loop.
pub(crate) trait InlineRun {
    /// Decodes, calls the function, and keeps its answer.
    fn run(&mut self, call: &Call<'_>, data: &[u8]) -> Result<(), Failure>;
    /// Appends the answer of the last run.
    fn encode(&self, out: &mut Vec<u8>);
}

/// An asynchronous function.
pub(crate) trait AsyncRun: Send + Sync {
    fn start(&self, context: CallContext, data: &[u8]) -> Result<Task, DecodeError>;
}

/// A blocking function.
pub(crate) trait BlockingRun: Send + Sync {
    fn start(&self, context: CallContext, data: &[u8]) -> Result<Job, DecodeError>;
}

/// A function that answers with a stream.
pub(crate) trait StreamingRun: Send + Sync {
    fn start(&self, context: CallContext, data: &[u8], out: Outbound) -> Result<Task, DecodeError>;
}

/// A function between two streams.
pub(crate) trait ChannelRun: Send + Sync {
    fn start(&self, context: CallContext, requests: Inbound, out: Outbound) -> Task;
}

/// A function that takes a request in pieces.
pub(crate) trait UploadRun: Send + Sync {
    fn start(&self, context: CallContext, pieces: Upload) -> Task;
}

/// A function that answers in pieces.
pub(crate) trait DownloadRun: Send + Sync {
    fn start(&self, context: CallContext, data: &[u8], out: Download) -> Result<Task, DecodeError>;
}

struct Inline<Q, A, F> {
    function: Arc<F>,
    request: Q,
    answer: A,
}

pub(crate) fn inline<Q, A, F>(function: Arc<F>) -> Box<dyn InlineRun>
where
    Q: Message + Default + 'static,
    A: Message + Default + 'static,
    F: Fn(&Call<'_>, &Q, &mut A) -> Result<(), Refusal> + 'static,
{
    Box::new(Inline { function, request: Q::default(), answer: A::default() })
}

impl<Q, A, F> InlineRun for Inline<Q, A, F>
where
    Q: Message + Default,
    A: Message + Default,
    F: Fn(&Call<'_>, &Q, &mut A) -> Result<(), Refusal>,
{
    fn run(&mut self, call: &Call<'_>, data: &[u8]) -> Result<(), Failure> {
        self.request.clear();
        self.answer.clear();
        self.request.merge(data).map_err(Failure::Malformed)?;
        (self.function)(call, &self.request, &mut self.answer).map_err(Failure::Refused)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.answer.encode_raw(out);
    }
}

// Futures are made by the first poll, so that a function that panics before its first await ends its call alone.

struct Asynchronous<Q, A, F>(Arc<F>, std::marker::PhantomData<fn(Q) -> A>);

pub(super) fn asynchronous<Q, A, F, T>(function: F) -> Arc<dyn AsyncRun>
where
    Q: Message + Default + 'static,
    A: Message + 'static,
    F: Fn(CallContext, Q) -> T + Send + Sync + 'static,
    T: Future<Output = Result<A, Refusal>> + 'static,
{
    Arc::new(Asynchronous(Arc::new(function), std::marker::PhantomData))
}

impl<Q, A, F, T> AsyncRun for Asynchronous<Q, A, F>
where
    Q: Message + Default + 'static,
    A: Message + 'static,
    F: Fn(CallContext, Q) -> T + Send + Sync + 'static,
    T: Future<Output = Result<A, Refusal>> + 'static,
{
    fn start(&self, context: CallContext, data: &[u8]) -> Result<Task, DecodeError> {
        let (function, request) = (Arc::clone(&self.0), Q::decode(data)?);
        Ok(Box::pin(async move { function(context, request).await.map(|answer| answer.encode_to_vec()) }))
    }
}

struct Blocking<Q, A, F>(Arc<F>, std::marker::PhantomData<fn(Q) -> A>);

pub(super) fn blocking<Q, A, F>(function: F) -> Arc<dyn BlockingRun>
where
    Q: Message + Default + 'static,
    A: Message + 'static,
    F: Fn(CallContext, Q) -> Result<A, Refusal> + Send + Sync + 'static,
{
    Arc::new(Blocking(Arc::new(function), std::marker::PhantomData))
}

impl<Q, A, F> BlockingRun for Blocking<Q, A, F>
where
    Q: Message + Default + 'static,
    A: Message,
    F: Fn(CallContext, Q) -> Result<A, Refusal> + Send + Sync + 'static,
{
    fn start(&self, context: CallContext, data: &[u8]) -> Result<Job, DecodeError> {
        let request = Q::decode(data)?;
        let function = Arc::clone(&self.0);
        Ok(Box::new(move || function(context, request).map(|answer| answer.encode_to_vec())))
    }
}

struct Streaming<Q, A, F>(Arc<F>, std::marker::PhantomData<fn(Q) -> A>);

pub(super) fn streaming<Q, A, F, T>(function: F) -> Arc<dyn StreamingRun>
where
    Q: Message + Default + 'static,
    A: Message + 'static,
    F: Fn(CallContext, Q, StreamSender<A>) -> T + Send + Sync + 'static,
    T: Future<Output = Result<(), Refusal>> + 'static,
{
    Arc::new(Streaming(Arc::new(function), std::marker::PhantomData))
}

impl<Q, A, F, T> StreamingRun for Streaming<Q, A, F>
where
    Q: Message + Default + 'static,
    A: Message + 'static,
    F: Fn(CallContext, Q, StreamSender<A>) -> T + Send + Sync + 'static,
    T: Future<Output = Result<(), Refusal>> + 'static,
{
    fn start(&self, context: CallContext, data: &[u8], out: Outbound) -> Result<Task, DecodeError> {
        let (function, request) = (Arc::clone(&self.0), Q::decode(data)?);
        Ok(Box::pin(
            async move { function(context, request, StreamSender::new(out)).await.map(|()| Vec::new()) },
        ))
    }
}

struct Channel<Q, A, F>(Arc<F>, std::marker::PhantomData<fn(Q) -> A>);

pub(super) fn channel<Q, A, F, T>(function: F) -> Arc<dyn ChannelRun>
where
    Q: Message + Default + 'static,
    A: Message + 'static,
    F: Fn(CallContext, StreamReceiver<Q>, StreamSender<A>) -> T + Send + Sync + 'static,
    T: Future<Output = Result<(), Refusal>> + 'static,
{
    Arc::new(Channel(Arc::new(function), std::marker::PhantomData))
}

impl<Q, A, F, T> ChannelRun for Channel<Q, A, F>
where
    Q: Message + Default + 'static,
    A: Message + 'static,
    F: Fn(CallContext, StreamReceiver<Q>, StreamSender<A>) -> T + Send + Sync + 'static,
    T: Future<Output = Result<(), Refusal>> + 'static,
{
    fn start(&self, context: CallContext, requests: Inbound, out: Outbound) -> Task {
        let function = Arc::clone(&self.0);
        Box::pin(async move {
            function(context, StreamReceiver::new(requests), StreamSender::new(out))
                .await
                .map(|()| Vec::new())
        })
    }
}

struct Uploading<A, F>(Arc<F>, std::marker::PhantomData<fn() -> A>);

pub(super) fn upload<A, F, T>(function: F) -> Arc<dyn UploadRun>
where
    A: Message + 'static,
    F: Fn(CallContext, PieceReceiver) -> T + Send + Sync + 'static,
    T: Future<Output = Result<A, Refusal>> + 'static,
{
    Arc::new(Uploading(Arc::new(function), std::marker::PhantomData))
}

impl<A, F, T> UploadRun for Uploading<A, F>
where
    A: Message,
    F: Fn(CallContext, PieceReceiver) -> T + Send + Sync + 'static,
    T: Future<Output = Result<A, Refusal>> + 'static,
{
    fn start(&self, context: CallContext, pieces: Upload) -> Task {
        let function = Arc::clone(&self.0);
        Box::pin(async move {
            function(context, PieceReceiver::new(pieces)).await.map(|answer| answer.encode_to_vec())
        })
    }
}

struct Downloading<Q, F>(Arc<F>, std::marker::PhantomData<fn(Q)>);

pub(super) fn download<Q, F, T>(function: F) -> Arc<dyn DownloadRun>
where
    Q: Message + Default + 'static,
    F: Fn(CallContext, Q, PieceSender) -> T + Send + Sync + 'static,
    T: Future<Output = Result<(), Refusal>> + 'static,
{
    Arc::new(Downloading(Arc::new(function), std::marker::PhantomData))
}

impl<Q, F, T> DownloadRun for Downloading<Q, F>
where
    Q: Message + Default + 'static,
    F: Fn(CallContext, Q, PieceSender) -> T + Send + Sync + 'static,
    T: Future<Output = Result<(), Refusal>> + 'static,
{
    fn start(&self, context: CallContext, data: &[u8], out: Download) -> Result<Task, DecodeError> {
        let (function, request) = (Arc::clone(&self.0), Q::decode(data)?);
        Ok(Box::pin(
            async move { function(context, request, PieceSender::new(out)).await.map(|()| Vec::new()) },
        ))
    }
}
