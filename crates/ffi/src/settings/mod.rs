//! Settings as bindings hand them over: JSON objects whose fields are all optional.
//!
//! A name that is not known is an error, so that a misspelt setting is found. Defaults are those of
//! [`stadium_rpc::ClientConfig`] and
//! [`stadium_rpc::ServerConfig`]. Certificates and keys are PEM texts: reading files is the
//! binding's business.

mod client;
mod place;
mod server;
mod tls;

pub use client::ClientSettings;
pub use place::Place;
pub use server::{Admission, ServerSettings};
pub use tls::{CallTls, ListenTls};

use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::error::Error;

/// Reads settings; an empty text is `{}`.
fn read<T: DeserializeOwned>(json: &str) -> Result<T, Error> {
    let json = if json.trim().is_empty() { "{}" } else { json };
    serde_json::from_str(json)
        .map_err(|error| Error::invalid(format!("the settings cannot be read: {error}")))
}

/// Puts a value that is set in its place.
fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn set_ms(place: &mut Duration, value: Option<u64>) {
    set(place, value.map(Duration::from_millis));
}

/// A number within its bounds, or an error that names the setting.
fn within<T: PartialOrd + std::fmt::Display>(
    name: &str,
    value: Option<T>,
    (min, max): (T, T),
) -> Result<(), Error> {
    match value {
        Some(value) if value < min || value > max => {
            Err(Error::invalid(format!("{name} is {value}, and must be {min} to {max}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
