//! The fleet as the HTTP API sees it, over the edge's handle.
//!
//! Translates words and nothing more: pushes in [`push`], devices in [`device`], figures in [`stats`]. Questions that
//! wait for a loop run beside the control plane's threads, so that none of those ever blocks.

mod device;
mod push;
mod stats;
mod trace;

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use stadium_edge::{EdgeHandle, Gathered};
use stadium_http::fleet::{
    BoxFuture, DeviceId, DevicePage, DeviceQuery, DeviceReport, Fleet, FleetStats, KickOutcome, NewPush,
    NoTrace, PushId, PushReport, Readiness, Refusal, Trace, Traced,
};

use stats::Observer;

use crate::locations;
use crate::services::Services;

/// Where the node is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Not all listeners are open, or shards read their journals.
    Starting = 0,
    /// Everything works.
    Ready = 1,
    /// It is leaving.
    Draining = 2,
}

/// [`Fleet`] over a running edge.
pub(crate) struct EdgeFleet {
    edge: EdgeHandle,
    phase: AtomicU8,
    /// What is being done while it starts, in words.
    starting: Mutex<String>,
    observer: Observer,
    services: OnceLock<Arc<Services>>,
    locations: Arc<locations::Figures>,
}

impl EdgeFleet {
    /// Over this edge, starting.
    pub(crate) fn new(edge: EdgeHandle) -> Self {
        Self {
            edge,
            phase: AtomicU8::new(Phase::Starting as u8),
            starting: Mutex::new("listeners are being opened".to_owned()),
            observer: Observer::default(),
            services: OnceLock::new(),
            locations: Arc::default(),
        }
    }

    /// The node serves these, whose figures are shown too.
    pub(crate) fn serve(&self, services: Arc<Services>) {
        // Set once, when the node starts.
        let _ = self.services.set(services);
    }

    /// What is counted of locations that are taken from a service.
    pub(crate) fn locations(&self) -> &Arc<locations::Figures> {
        &self.locations
    }

    /// What a node that is starting does now, in words.
    pub(crate) fn starting(&self, what: String) {
        *self.starting.lock() = what;
    }

    /// Where the node is from now on.
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }

    /// Asks the edge a question that may take a loop's turn or two.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&EdgeHandle) -> Gathered<T> + Send + 'static,
    ) -> Option<Gathered<T>> {
        let edge = self.edge.clone();
        tokio::task::spawn_blocking(move || question(&edge)).await.ok()
    }
}

impl Fleet for EdgeFleet {
    fn push(&self, push: NewPush) -> Result<PushId, Refusal> {
        match self.edge.push(&push::to_edge(push)) {
            Ok(record) => {
                let id = push::api_id(record.id());
                self.observer.accepted(record);
                Ok(id)
            }
            Err(refused) => {
                self.observer.refused();
                Err(push::refusal(refused))
            }
        }
    }

    fn pushes(&self, limit: usize) -> Vec<PushReport> {
        self.edge.newest_pushes(limit).iter().map(|record| push::report(&record.progress())).collect()
    }

    fn push_report(&self, id: PushId) -> Option<PushReport> {
        self.edge.find_push(push::edge_id(id)).map(|record| push::report(&record.progress()))
    }

    fn devices(&self, query: DeviceQuery) -> BoxFuture<'_, DevicePage> {
        Box::pin(async move {
            // One more than asked for tells whether there is a next page.
            let limit = query.limit;
            let asked = device::query(query, limit.saturating_add(1));
            let Some(Gathered { answers, missing }) = self.ask(move |edge| edge.devices(&asked)).await else {
                return DevicePage::default();
            };
            if missing > 0 {
                tracing::warn!(
                    loops = missing,
                    "Loops did not answer in time; the list of devices is incomplete"
                );
            }
            let more = answers.len() > limit;
            DevicePage { devices: answers.into_iter().take(limit).filter_map(device::report).collect(), more }
        })
    }

    fn device(&self, id: DeviceId) -> BoxFuture<'_, Option<DeviceReport>> {
        Box::pin(async move {
            let gathered = self.ask(move |edge| edge.device(id.as_str())).await?;
            gathered.answers.and_then(device::report)
        })
    }

    fn kick(&self, id: DeviceId, _reason: String) -> BoxFuture<'_, Result<KickOutcome, Refusal>> {
        Box::pin(async move {
            let answer = self.ask(move |edge| edge.kick(id.as_str())).await;
            answer.and_then(|gathered| gathered.answers).map(device::kicked).ok_or_else(|| Refusal::Unknown {
                reason: "the device's loop did not answer in time".to_owned(),
            })
        })
    }

    fn trace(&self, traced: Traced) -> Result<Trace, NoTrace> {
        trace::begin(&self.edge, traced)
    }

    fn stats(&self) -> FleetStats {
        let mut stats = self.observer.stats(&self.edge);
        if let Some(services) = self.services.get() {
            (stats.services, stats.discovery) = services.figures();
        }
        stats.locations = self.locations.stats();
        stats
    }

    fn readiness(&self) -> Readiness {
        match self.phase.load(Ordering::Acquire) {
            phase if phase == Phase::Starting as u8 => Readiness::Starting(self.starting.lock().clone()),
            phase if phase == Phase::Ready as u8 => Readiness::Ready,
            _ => Readiness::Draining,
        }
    }
}

/// Shared with the HTTP port.
pub(crate) type SharedFleet = Arc<EdgeFleet>;
