//! The integration tests of this crate, one program: principals over real connections, with tokens
//! that are really signed and certificates that are really shown, and the rights of every method.

mod certificates;
mod fixture;
mod provider;
mod rights;
mod tokens;
