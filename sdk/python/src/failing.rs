//! Errors as Python has them.
//!
//! The package turns outcomes of calls into its own exceptions; these are for functions that cannot do what they were
//! asked for.

use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use stadium_c::Error;
use stadium_rpc::{Idempotency, Interaction};

/// The exception for an error.
pub(crate) fn raised(error: Error) -> PyErr {
    match error {
        Error::Invalid(what) => PyValueError::new_err(what),
        Error::System(what) => PyOSError::new_err(what),
        Error::Full | Error::Ended | Error::Forked => PyRuntimeError::new_err(error.to_string()),
    }
}

/// Whether something was done: false where a bound is reached or it has ended.
pub(crate) fn was_taken(outcome: Result<(), Error>) -> Result<Option<bool>, PyErr> {
    match outcome {
        Ok(()) => Ok(Some(true)),
        Err(Error::Full) => Ok(Some(false)),
        Err(Error::Ended) => Ok(None),
        Err(other) => Err(raised(other)),
    }
}

/// A method as the package describes it.
pub(crate) fn method_id(
    route: &str,
    interaction: u8,
    is_idempotent: bool,
) -> Result<stadium_c::MethodId, PyErr> {
    let interaction = match interaction {
        0 => Interaction::Unary,
        1 => Interaction::OneWay,
        2 => Interaction::Stream,
        3 => Interaction::Channel,
        other => return Err(PyValueError::new_err(format!("there is no interaction {other}"))),
    };
    let idempotency = if is_idempotent { Idempotency::Idempotent } else { Idempotency::Unknown };
    stadium_c::MethodId::new(route, interaction, idempotency).map_err(raised)
}
