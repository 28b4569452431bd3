//! `[webhooks]`: where feeds of events may be posted.
//!
//! Which feeds there are, and where each goes, are settings of apps and not of the server.

use crate::settings::define::group;

group! {
    /// Events of apps, posted to addresses that apps name.
    pub struct Webhooks {
        /// Whether an address of this machine or of its network may be posted to. Turn it off where those who set apps up may not reach
        /// all that the server reaches.
        private_addresses: bool = true, cost "who may set an app up can have the server post to its neighbours";
    }
}
