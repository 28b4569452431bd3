//! The C ABI: pointers in, numbers and events out. The header is generated from here.
//!
//! Each function checks its pointers for null, catches panics, and reports why it failed by
//! [`stadium_last_error`]. Functions return 0 or more when they did what they were asked for, and a
//! negative [`stadium_status`] or null otherwise. Objects may be used by any thread, unless their
//! comment names one; freeing one while another thread uses it is the caller's mistake. A null
//! object is refused; freeing null does nothing.

#![allow(unsafe_code, non_camel_case_types)]

mod call;
mod events;
mod failing;
mod local;
mod options;
mod queue;
mod request;
mod server;
mod text;

pub use call::*;
pub use events::*;
pub use failing::*;
pub use local::*;
pub use options::*;
pub use queue::*;
pub use request::*;
pub use server::*;
pub use text::stadium_bytes;

/// The version of this header. It grows with each change that programs have to be compiled again for.
pub const STADIUM_ABI_VERSION: u32 = 1;

/// The version of the library; compare it with `STADIUM_ABI_VERSION` where the library is loaded at
/// run time.
#[unsafe(no_mangle)]
pub extern "C" fn stadium_abi_version() -> u32 {
    STADIUM_ABI_VERSION
}
