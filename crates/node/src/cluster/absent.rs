//! A build without clusters: settings that name one are refused, and nothing else can happen.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stadium_http::{ClusterUsers, SharedDocuments};
use stadium_push::{LiveOrigins, Transport};
use stadium_shard::Shards;
use stadium_telemetry::Tracer;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::BUILD;
use crate::error::Error;
use crate::fleet::SharedFleet;
use crate::settings::Settings;

/// There is none.
pub(crate) enum Plan {}

impl Plan {
    /// Refuses settings that name a cluster.
    pub(crate) fn make(settings: &Settings, _: &Path, _: Tracer) -> Result<Option<Self>, Error> {
        match &settings.cluster.name {
            None => Ok(None),
            Some(name) => Err(Error::Cluster(format!(
                "cluster.name = {name:?}, and this `stadium` was built without clusters: build it with `{BUILD}`"
            ))),
        }
    }

    pub(crate) fn shards(&self) -> u16 {
        match *self {}
    }

    pub(crate) fn documents(&self) -> Arc<dyn SharedDocuments> {
        match *self {}
    }

    pub(crate) fn join(self, _: BTreeMap<String, String>) -> Result<Member, Error> {
        match self {}
    }
}

/// There is none.
pub(crate) enum Member {}

impl Member {
    pub(crate) fn shards(&self) -> &Shards {
        match *self {}
    }

    pub(crate) fn users(
        &self,
        _: Arc<dyn SharedDocuments>,
        _: (&SharedFleet, &Shards),
        _: &Path,
        _: &Handle,
    ) -> Arc<ClusterUsers> {
        match *self {}
    }

    pub(crate) fn attach_transport(
        &self,
        _: Arc<dyn Transport>,
        _: impl Fn(u32) + Send + 'static,
    ) -> Option<Arc<dyn LiveOrigins>> {
        match *self {}
    }

    pub(crate) fn watch(&self, _: SharedFleet) -> Result<watch::Receiver<bool>, Error> {
        match *self {}
    }

    pub(crate) fn drain(&self, _: Duration) {
        match *self {}
    }
}
