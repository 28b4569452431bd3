//! The facts of this process that the node knows once it runs: listeners, and the settings in force.
//!
//! Until they are set the endpoints answer without them: a suite of this crate has no node.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use utoipa::ToSchema;

/// The facts of a process.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Its open listeners.
    pub listeners: Vec<ListenerFact>,
    /// The configuration file that it read; none where there is none.
    pub file: Option<String>,
    /// Each setting in force, in the order of the reference.
    pub settings: Vec<SettingFact>,
}

/// A listener.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ListenerFact {
    /// `mqtt`, `mqtts`, `ws`, `wss`, `http`, `rpc`, `rpc-websocket` or `rpc-udp`.
    #[schema(example = "mqtts")]
    pub name: String,
    /// Its address, with the port that the system chose where port 0 was asked for.
    #[schema(value_type = String, example = "0.0.0.0:8883")]
    pub address: SocketAddr,
}

/// A setting in force. No setting holds a secret itself: secrets are in files that settings name.
/// Passwords within URLs are left out.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SettingFact {
    /// Its full name.
    #[schema(example = "limits.connections_max")]
    pub name: String,
    /// Its value, as the file spells it.
    #[schema(example = "100000")]
    pub value: String,
    /// Its default.
    pub default: String,
    /// The place that it comes from: `default`, a line of the file, a variable of the environment, a
    /// flag.
    #[schema(example = "default")]
    pub from: String,
    /// Whether something has set it.
    pub is_set: bool,
    /// Its unit; empty where it has none.
    #[schema(example = "connections")]
    pub unit: String,
    /// Its purpose.
    pub help: String,
}

/// Gives the facts to a server while it runs.
#[derive(Clone, Default)]
pub struct About(Arc<OnceLock<Facts>>);

impl About {
    /// Sets them; the first ones stay.
    pub fn set(&self, facts: Facts) {
        let _ = self.0.set(facts);
    }

    /// None before the node has set them.
    pub(crate) fn facts(&self) -> Option<&Facts> {
        self.0.get()
    }
}
