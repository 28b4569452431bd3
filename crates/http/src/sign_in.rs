//! People sign in with their organisation's OpenID provider, in place of an API key.
//!
//! [`people`] holds the sessions and finds the one of a request, [`person`] is somebody who signed
//! in, [`config`] the settings. [`routes`] has the pages under `/auth`, and [`page`] shows their
//! errors. The protocol itself is in `stadium_oidc`.

pub(crate) mod config;
mod page;
pub(crate) mod people;
pub(crate) mod person;
pub(crate) mod routes;
