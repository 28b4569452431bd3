//! Stadium's HTTP port: the JSON API with its OpenAPI description, API keys, metrics, health and
//! the live page.
//!
//! This crate knows nothing of MQTT or of the event loops. It reaches the devices through one small
//! trait, [`Fleet`], which the node implements, and gives sockets that ask for `/mqtt` away, with
//! their TLS, through [`SocketTaker`]. It runs on Tokio: nothing here touches a loop's thread.
//!
//! Errors are RFC 9457 problems with a stable code; docs/reference/errors/ explains each.

mod about;
mod apps;
mod audiences;
mod audit_log;
mod change_log;
mod cluster;
mod config;
mod connections;
mod console;
mod csv_text;
mod devices;
mod docs;
mod endpoints;
mod error_pages;
pub mod fleet;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod key_store;
mod keys;
mod live;
mod me;
mod metrics;
mod openapi;
mod platform;
mod port;
mod principal;
mod push;
mod queue;
mod request;
mod retained;
mod rfc3339;
pub mod rights;
mod router;
mod rules;
mod sampling;
mod secret_file;
mod server;
mod shards;
mod shared_documents;
mod sign_in;
mod spelling;
mod start_error;
mod topics;
mod users;
mod wallet;
mod webpush;

/// The audit log of a data directory, for readers without a server.
pub mod audit {
    pub use crate::audit_log::verify::{Broken, Verified, each_line, verify};
}

pub use about::facts::{About, Facts, ListenerFact, SettingFact};
pub use change_log::{ChangeLog, LoggedChange};
pub use config::{CertificateNeed, ClientCertificates, Config, PushBounds, TlsFiles};
pub use fleet::Fleet;
pub use metrics::exported::MetricReader;
pub use openapi::description;
pub use platform::ids::new_push_id;
pub use principal::{Holder, HolderRights, Principal};
pub use push::direct::fields::{PUSHES_QUEUE, read_push};
pub use request::problem::{CODES, Code};
pub use server::socket_taker::{SocketTaker, TakenPath, TakenSocket, TakenTls};
pub use server::{Queues, Reloader, Server};
pub use shared_documents::{Documents, NotChanged, SharedDocuments, Texts};
pub use sign_in::config::{OidcConfig, WrongSetting};
pub use start_error::StartError;
pub use topics::event::{TopicEvent, render as render_topic_event};
pub use users::at_start::erase_at_start;
pub use users::cluster::{ClusterUsers, NodeOfUsers};
pub use users::elsewhere::OtherNodes;
pub use users::receipt::{WrongReceipt, verify_receipt};
pub use users::record::restored;
pub use users::restored::erased_after;
