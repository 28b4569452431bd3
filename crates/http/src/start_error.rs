//! Why the HTTP port did not start.

use std::net::SocketAddr;
use std::{fmt, io};

use crate::key_store;
use crate::sign_in::config::WrongSetting;

/// Why the HTTP port did not start.
#[derive(Debug)]
pub enum StartError {
    /// The address cannot be listened on.
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The API keys cannot be read or made.
    Keys(key_store::Error),
    /// The secret of Web Push cannot be read or made.
    WebPush(io::Error),
    /// The secret of device tokens cannot be read or made.
    DeviceTokens(io::Error),
    /// The secret of tickets of topics cannot be read or made.
    Tickets(io::Error),
    /// The certificate or its key cannot be used.
    Certificate(io::Error),
    /// The settings of sign-in, or their files, cannot be used.
    SignIn(WrongSetting),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { address, error } => write!(f, "HTTP cannot listen on {address}: {error}"),
            Self::Keys(error) => write!(f, "API keys: {error}"),
            Self::WebPush(error) => write!(f, "Web Push: {error}"),
            Self::SignIn(error) => write!(f, "sign-in: {error}"),
            Self::DeviceTokens(error) => write!(f, "device tokens: {error}"),
            Self::Tickets(error) => write!(f, "tickets of topics: {error}"),
            Self::Certificate(error) => write!(f, "HTTPS certificate: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
