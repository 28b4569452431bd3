//! The completion queue in Python: events are tuples, many at a time.

use std::os::fd::AsRawFd as _;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use stadium_c::{Event, Failure, Kind, Outcome};

use crate::failing::raised;
use crate::serving::Request;

/// The events of any number of clients and servers.
#[pyclass(frozen, module = "stadium._stadium")]
pub(crate) struct Queue(pub(crate) stadium_c::Queue);

#[pymethods]
impl Queue {
    #[new]
    fn new() -> PyResult<Self> {
        stadium_c::Queue::new().map(Self).map_err(raised)
    }

    /// A descriptor that is readable while there are events.
    fn fileno(&self) -> i32 {
        self.0.descriptor().as_raw_fd()
    }

    /// Takes up to `most` events, after waiting until there is one, but no longer than `timeout` seconds.
    fn take<'py>(&self, py: Python<'py>, most: usize, timeout: f64) -> PyResult<Bound<'py, PyList>> {
        let mut events = Vec::new();
        let at_most = Duration::try_from_secs_f64(timeout.max(0.0)).unwrap_or(Duration::from_secs(86_400));
        if at_most.is_zero() {
            self.0.take(most, at_most, &mut events).map_err(raised)?;
        } else {
            py.detach(|| self.0.take(most, at_most, &mut events)).map_err(raised)?;
        }
        let list = PyList::empty(py);
        for event in events {
            list.append(tuple(py, event)?)?;
        }
        Ok(list)
    }

    /// Drops what waits, and what follows.
    fn close(&self) {
        self.0.close();
    }
}

/// `(kind, tag, request_id, payload, request, failure)`; a failure is `(outcome, code, text, retry_after, number)`.
fn tuple(py: Python<'_>, event: Event) -> PyResult<Bound<'_, PyTuple>> {
    let Event { kind, tag, request_id, payload, request } = event;
    let request = request.map(Request::new);
    match payload {
        Ok(bytes) => {
            let payload = PyBytes::new(py, &bytes);
            (kind_number(kind), tag, request_id, payload, request, py.None()).into_pyobject(py)
        }
        Err(failure) => {
            let Failure { outcome, code, text, retry_after, number } = failure;
            let failure = (outcome_number(outcome), code, text, retry_after.as_secs_f64(), number);
            (kind_number(kind), tag, request_id, py.None(), request, failure).into_pyobject(py)
        }
    }
}

fn kind_number(kind: Kind) -> u8 {
    match kind {
        Kind::Answer => 0,
        Kind::Item => 1,
        Kind::End => 2,
        Kind::Writable => 3,
        Kind::Request => 4,
        Kind::RequestItem => 5,
        Kind::RequestEnd => 6,
        Kind::RequestCancelled => 7,
    }
}

fn outcome_number(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Ok => 0,
        Outcome::Busy => 1,
        Outcome::Rejected => 2,
        Outcome::Unknown => 3,
        Outcome::Application => 4,
        Outcome::Deadline => 5,
        Outcome::Unavailable => 6,
        Outcome::Broken => 7,
        Outcome::Cancelled => 8,
        Outcome::Protocol => 9,
    }
}
