//! RPC clients and servers for other languages: a C ABI over [`stadium_rpc`].
//!
//! Nothing calls back. Calls that end, messages of streams and requests to be answered are events;
//! [`queue::Queue`] keeps them until the language's own thread takes many at a time, and its
//! descriptor is readable while there are some. [`local::Local`] has no thread: its caller turns
//! the loop while it waits. [`abi`] turns these types into C; `sdk/c/include/stadium.h` is
//! generated from it.

#![deny(unsafe_op_in_unsafe_fn)]

pub mod abi;
mod answering;
pub mod calls;
pub mod error;
pub mod event;
pub mod fork;
pub mod local;
pub mod method;
pub mod queue;
pub mod request;
pub mod server;
pub mod settings;
pub mod streams;
mod sys;

pub use calls::{Call, Client};
pub use error::Error;
pub use event::{Event, Failure, Kind, Outcome};
pub use local::Local;
pub use method::MethodId;
pub use queue::Queue;
pub use request::Request;
pub use server::{ServedMethod, Server, Service};
pub use streams::Stream;
