//! The C ABI, used as C uses it: programs in tests/c, compiled against the header of the repository
//! and linked with the shared library.

mod guide;
mod programs;
