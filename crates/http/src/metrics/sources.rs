//! Everything that a scrape reads.

use std::sync::Arc;

use crate::connections::Connections;
use crate::metrics::requests::Requests;
use crate::queue::samples::Samples;
use crate::request::app::App;
use crate::topics::stream::StreamEnds;
use crate::wallet::figures::Figures;

/// The parts of the port that have figures.
#[derive(Clone)]
pub(crate) struct Sources {
    pub(crate) app: Arc<App>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) requests: Arc<Requests>,
    pub(crate) queues: Arc<Samples>,
    pub(crate) wallets: Arc<Figures>,
    pub(crate) stream_ends: Arc<StreamEnds>,
}
