//! What an app's home writes to all other shards.
//!
//! Messages are sent until they are confirmed, and taken in once however often they come.

use std::sync::Arc;

use stadium_registry::AppName;

use crate::{AppSettings, NewPush, ScheduleName, Time};

/// A message from an app's home.
#[derive(Debug, Clone, PartialEq)]
pub enum ShardMessage {
    /// The app is there, with these settings.
    Settings {
        /// Which.
        app: AppName,
        /// Counts the changes of its settings: an older one is ignored.
        version: u64,
        /// All of them.
        settings: AppSettings,
    },
    /// A push starts.
    Start {
        /// What, with saved audiences resolved.
        push: Arc<NewPush>,
        /// When the home accepted it.
        accepted_at: Time,
        /// The schedule that made it.
        schedule: Option<ScheduleName>,
    },
}
