//! Servers and requests in Python.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use stadium_c::settings::ServerSettings;
use stadium_c::{Failure, Outcome, ServedMethod, Service};
use stadium_rpc::metadata::authentication::Authentication;

use crate::events::Queue;
use crate::failing::{method_id, raised, was_taken};

/// A running server.
#[pyclass(frozen, module = "stadium._stadium")]
pub(crate) struct Server(stadium_c::Server);

/// A service as the package describes it: name, version, descriptors, methods as (route, interaction, tag).
type Described = (String, String, Vec<u8>, Vec<(String, u8, u64)>);

#[pymethods]
impl Server {
    #[new]
    fn new(py: Python<'_>, settings: &str, services: Vec<Described>, queue: &Queue) -> PyResult<Self> {
        let settings = ServerSettings::from_json(settings).map_err(raised)?;
        let services = services.into_iter().map(service).collect::<PyResult<Vec<_>>>()?;
        py.detach(|| stadium_c::Server::start(&settings, services, &queue.0)).map(Self).map_err(raised)
    }

    /// The addresses that are listened on, as text.
    fn bound(&self) -> Vec<String> {
        self.0.bound().iter().map(ToString::to_string).collect()
    }

    /// Quiesces and stops; returns the connections that were cut. Somebody must go on taking events.
    fn shutdown(&self, py: Python<'_>, within: f64) -> PyResult<u64> {
        let within = Duration::try_from_secs_f64(within.clamp(0.0, 86_400.0)).unwrap_or_default();
        py.detach(|| self.0.shutdown(within)).map_err(raised)
    }
}

fn service((name, version, descriptors, methods): Described) -> PyResult<Service> {
    let method = |(route, interaction, tag): (String, u8, u64)| {
        Ok(ServedMethod { id: method_id(&route, interaction, false)?, tag })
    };
    let methods = methods.into_iter().map(method).collect::<PyResult<_>>()?;
    Ok(Service { name, version, descriptors, methods })
}

/// A request that a server has to answer.
#[pyclass(frozen, module = "stadium._stadium")]
pub(crate) struct Request(stadium_c::Request);

impl Request {
    pub(crate) fn new(request: stadium_c::Request) -> Self {
        Self(request)
    }
}

#[pymethods]
impl Request {
    /// Answers, or ends a stream: none where nobody waits any more.
    fn answer(&self, message: &[u8]) -> PyResult<Option<bool>> {
        was_taken(self.0.answer(Ok(message.to_vec())))
    }

    /// Refuses: none where nobody waits any more.
    fn refuse(
        &self,
        outcome: u8,
        code: String,
        text: String,
        retry_after: f64,
        number: u32,
    ) -> PyResult<Option<bool>> {
        let outcome = match outcome {
            1 => Outcome::Busy,
            2 => Outcome::Rejected,
            4 => Outcome::Application,
            _ => Outcome::Unknown,
        };
        let retry_after = Duration::try_from_secs_f64(retry_after.max(0.0)).unwrap_or_default();
        let failure = Failure { outcome, code, text, retry_after, number };
        let refusal = failure.into_refusal().ok_or_else(|| {
            let what = format!("{number:#x} is no application code: 0x201, or 0x301 to 0xFFFFFFFE");
            raised(stadium_c::Error::Invalid(what))
        })?;
        was_taken(self.0.answer(Err(refusal)))
    }

    /// Sends a message of a stream: false where it is full, none where it has ended.
    fn send(&self, message: &[u8]) -> PyResult<Option<bool>> {
        was_taken(self.0.send(message.to_vec()))
    }

    /// Takes `count` more messages of a channel's caller.
    fn want(&self, count: u32) -> PyResult<()> {
        self.0.want(count).map_err(raised)
    }

    /// Seconds that are left of the caller's deadline.
    fn time_left(&self) -> f64 {
        self.0.time_left().as_secs_f64()
    }

    /// `SERVICE/METHOD`.
    #[getter]
    fn route(&self) -> &str {
        self.0.context().route()
    }

    /// The affinity key.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.context().key().map(|key| PyBytes::new(py, key))
    }

    /// The bearer token that the caller showed.
    #[getter]
    fn bearer(&self) -> Option<&str> {
        match self.0.context().authentication() {
            Some(Authentication::Bearer(token)) => Some(token),
            _ => None,
        }
    }

    /// The composite metadata.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.context().metadata())
    }
}
