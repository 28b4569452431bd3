//! Clients, calls and streams in Python.

use std::sync::Mutex;
use std::time::Duration;

use pyo3::prelude::*;
use stadium_c::settings::ClientSettings;
use stadium_rpc::CallOptions;

use crate::events::Queue;
use crate::failing::{method_id, raised, was_taken};

/// A client with a thread of its own.
#[pyclass(frozen, module = "stadium._stadium")]
pub(crate) struct Client(stadium_c::Client);

#[pymethods]
impl Client {
    #[new]
    fn new(py: Python<'_>, settings: &str, queue: &Queue) -> PyResult<Self> {
        let settings = ClientSettings::from_json(settings).map_err(raised)?;
        py.detach(|| stadium_c::Client::start(&settings, queue.0.clone())).map(Self).map_err(raised)
    }

    /// A method that can be called.
    fn method(&self, route: &str, interaction: u8, is_idempotent: bool) -> PyResult<Method> {
        let id = method_id(route, interaction, is_idempotent)?;
        self.0.method(id).map(Method).map_err(raised)
    }
}

/// A method of a client's service.
#[pyclass(frozen, module = "stadium._stadium")]
pub(crate) struct Method(stadium_c::calls::Method);

#[pymethods]
impl Method {
    /// Begins a call. Returns what can cancel it; nothing for a one-way call.
    #[pyo3(signature = (request, tag, deadline=None, key=None, metadata=None))]
    fn call(
        &self,
        request: &[u8],
        tag: u64,
        deadline: Option<f64>,
        key: Option<&[u8]>,
        metadata: Option<&[u8]>,
    ) -> PyResult<Option<Call>> {
        let options = options(tag, deadline, key, metadata);
        let call = self.0.call(request.to_vec(), &options).map_err(raised)?;
        Ok(call.map(|call| Call(Mutex::new(Some(call)))))
    }

    /// Opens a stream or a channel.
    #[pyo3(signature = (request, tag, credit, deadline=None, key=None, metadata=None))]
    fn open(
        &self,
        request: &[u8],
        tag: u64,
        credit: u32,
        deadline: Option<f64>,
        key: Option<&[u8]>,
        metadata: Option<&[u8]>,
    ) -> PyResult<Stream> {
        let options = options(tag, deadline, key, metadata);
        let stream = self.0.open(request.to_vec(), credit, &options).map_err(raised)?;
        Ok(Stream(Mutex::new(Some(stream))))
    }

    /// The instances that are known, and the one that would be chosen, as text.
    #[pyo3(signature = (key=None))]
    fn explain(&self, py: Python<'_>, key: Option<&[u8]>) -> PyResult<String> {
        let key = key.map(<[u8]>::to_vec);
        py.detach(|| self.0.explain(key.as_deref())).map_err(raised)
    }
}

fn options<'a>(
    tag: u64,
    deadline: Option<f64>,
    key: Option<&'a [u8]>,
    metadata: Option<&'a [u8]>,
) -> CallOptions<'a> {
    let deadline =
        deadline.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX));
    // A day is longer than any call, and short enough to be added to a time.
    let deadline = deadline.map(|deadline| deadline.min(Duration::from_secs(86_400)));
    CallOptions { deadline, key, metadata: metadata.unwrap_or_default(), tag }
}

/// A unary call that can be cancelled.
#[pyclass(frozen, module = "stadium._stadium")]
pub(crate) struct Call(Mutex<Option<stadium_c::Call>>);

#[pymethods]
impl Call {
    /// Gives the call up; it ends as cancelled, unless it has ended.
    fn cancel(&self) {
        let call = self.0.lock().ok().and_then(|mut call| call.take());
        if let Some(call) = call {
            call.cancel();
        }
    }
}

/// A stream or a channel of a client.
#[pyclass(frozen, module = "stadium._stadium")]
pub(crate) struct Stream(Mutex<Option<stadium_c::Stream>>);

impl Stream {
    fn with<T>(&self, otherwise: T, then: impl FnOnce(&stadium_c::Stream) -> T) -> T {
        match self.0.lock() {
            Ok(stream) => stream.as_ref().map_or(otherwise, then),
            Err(_) => otherwise,
        }
    }
}

#[pymethods]
impl Stream {
    /// Takes `count` more messages.
    fn want(&self, count: u32) {
        self.with((), |stream| stream.want(count));
    }

    /// Sends a message of a channel: false where it is full, none where it has ended.
    fn send(&self, message: &[u8]) -> PyResult<Option<bool>> {
        self.with(Ok(None), |stream| was_taken(stream.send(message.to_vec())))
    }

    /// Ends the caller's side of a channel.
    fn complete(&self) {
        self.with((), stadium_c::Stream::complete);
    }

    /// Gives the stream up, without an event.
    fn close(&self) {
        if let Ok(mut stream) = self.0.lock() {
            *stream = None;
        }
    }
}
