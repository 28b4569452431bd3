//! How a store that this process talks to (etcd, ZooKeeper, Kafka) knows this process, and how this
//! process knows the store.
//!
//! `[discovery]`, `[cluster.etcd]` and `[cluster.kafka]` have these settings in their tables.

use std::path::PathBuf;

use crate::settings::define::group;

group! {
    /// A user and TLS towards the servers of a store.
    pub struct Access {
        /// The user to log in as. Empty logs in as nobody.
        user: Option<String> = None;
        /// The file with that user's password, one line.
        password_file: Option<PathBuf> = None;
        /// Authorities that may sign the certificates of the servers, PEM.
        ca: Option<PathBuf> = None;
        /// Our certificate towards the servers, PEM, where they ask for one.
        certificate: Option<PathBuf> = None;
        /// Its private key, PEM.
        key: Option<PathBuf> = None;
    }
}

impl Access {
    /// Certificate and key, where both are named.
    #[must_use]
    pub fn identity(&self) -> Option<(PathBuf, PathBuf)> {
        self.certificate.clone().zip(self.key.clone())
    }
}
