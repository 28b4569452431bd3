//! Credentials that the registry of devices holds, and devices that it revoked.
//!
//! The registry is asked first about each device whose client id names one, before all other
//! methods: a revoked device stays out with the best certificate, and where everybody is let in.
//! Where a method proves a principal that is not the client id, the registry is asked about that
//! too. Its verdict about a device's secret counts at its place in the order of methods. Only the
//! SHA-256 of a secret leaves this process's memory of a connection.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use stadium_push::{AppName, DeviceId};

use super::{Credentials, Identity, Via};
use crate::push::transport::named;

/// The registry of devices, as the authenticator meets it.
pub trait DeviceRegistry: Send + Sync + fmt::Debug {
    /// Asks about a device, and never waits: `answer` is called exactly once, on any thread, and does not wait either. Where the registry
    /// cannot answer, it returns when to reconnect.
    fn ask(&self, question: Question, answer: Box<dyn FnOnce(Result<Standing, Duration>) + Send>);
}

/// Who knocked, and what it showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The app that the device claims to belong to.
    pub app: AppName,
    /// Which.
    pub device: DeviceId,
    /// SHA-256 of the password; none where there was none.
    pub secret: Option<[u8; 32]>,
}

/// What the registry knows of a device that knocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It has a credential, and showed it.
    Proved,
    /// It has a credential, and showed another one, or none.
    Unproved,
    /// It may not come in.
    Revoked {
        /// Whether it showed its credential: then it may be notified that it is revoked.
        proved: bool,
    },
    /// It has the name of an app: topics of that name are those of the app's devices.
    NamedAsApp,
    /// There is no credential for it, or no such device.
    Unknown,
}

/// A device that the registry was asked about, and that others decide about: for [`Authenticator::go_on`](super::Authenticator::go_on).
#[derive(Debug)]
pub struct Asked {
    pub(super) credentials: Credentials,
    pub(super) standing: Standing,
}

impl Question {
    /// What to ask about these credentials; none where their client id names no device.
    pub(super) fn of(shown: &Credentials) -> Option<Self> {
        let secret = shown.password.as_deref().map(|password| {
            let digest = ring::digest::digest(&ring::digest::SHA256, password);
            digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
        });
        Self::about(&shown.client_id).map(|question| Self { secret, ..question })
    }

    /// The question about a device of this name, which shows no secret; none where it names no
    /// device.
    pub(super) fn about(name: &str) -> Option<Self> {
        let (app, device) = named(name)?;
        Some(Self { app, device, secret: None })
    }
}

/// Whom a device is that proved its credential: its client id.
pub(super) fn identity(client_id: &str) -> Identity {
    Identity { principal: client_id.into(), via: Via::Registry, expires_at: None, groups: Arc::from([]) }
}
