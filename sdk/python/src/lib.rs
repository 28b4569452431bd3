//! The native module of the Python SDK: the completion queue, clients and servers of `stadium-ffi`.
//!
//! It is a thin layer: bytes in, events out. Methods, messages, errors, asyncio and threads are Python's, in the
//! package `stadium`. The interpreter's lock is released where a function waits.

mod calls;
mod events;
mod failing;
mod serving;

use pyo3::prelude::*;

/// The module `stadium._stadium`.
#[pymodule]
fn _stadium(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<events::Queue>()?;
    module.add_class::<calls::Client>()?;
    module.add_class::<calls::Method>()?;
    module.add_class::<calls::Call>()?;
    module.add_class::<calls::Stream>()?;
    module.add_class::<serving::Server>()?;
    module.add_class::<serving::Request>()?;
    Ok(())
}
