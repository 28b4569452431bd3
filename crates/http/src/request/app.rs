//! What every request shares.
//!
//! All of it is behind one `Arc`, made when the port is bound; only the shards come later.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;
use stadium_shard::Shards;
use tokio::sync::watch;

use crate::audit_log::AuditLog;
use crate::config::Config;
use crate::connections::Connections;
use crate::fleet::Fleet;
use crate::key_store::KeyStore;
use crate::live::samples::Views;
use crate::metrics::Requests;
use crate::queue::samples::Samples;
use crate::request::idempotency::Answers;
use crate::server::StartError;
use crate::wallet::figures::Figures;
use crate::wallet::movers::Movers;
use crate::webpush::WebPush;

/// The parts of the HTTP port, shared by its connections.
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) fleet: Arc<dyn Fleet>,
    /// Empty until the node hands the shards over; what needs them answers that they are starting until then.
    pub(crate) shards: OnceLock<Shards>,
    pub(crate) keys: Arc<KeyStore>,
    pub(crate) audit: AuditLog,
    pub(crate) answers: Mutex<Answers>,
    pub(crate) views: Views,
    pub(crate) requests: Requests,
    pub(crate) connections: Connections,
    pub(crate) samples: Samples,
    pub(crate) wallet_figures: Figures,
    pub(crate) movers: Movers,
    pub(crate) webpush: WebPush,
    /// Becomes true once the server stops: whoever waits for work then is answered.
    pub(crate) draining: watch::Sender<bool>,
    pub(crate) started: Instant,
}

impl App {
    /// Reads the keys and the secret of Web Push in the data directory, or makes them.
    pub(crate) fn open(config: Config, fleet: Arc<dyn Fleet>) -> Result<Self, StartError> {
        let keys = Arc::new(KeyStore::open(&config.data_dir).map_err(StartError::Keys)?);
        let webpush = WebPush::open(&config.data_dir).map_err(StartError::WebPush)?;
        Ok(Self {
            views: Views::new(config.live_views_max),
            audit: AuditLog::of(&config.data_dir),
            config,
            fleet,
            shards: OnceLock::new(),
            keys,
            answers: Mutex::new(Answers::default()),
            requests: Requests::default(),
            connections: Connections::default(),
            samples: Samples::default(),
            wallet_figures: Figures::default(),
            movers: Movers::default(),
            webpush,
            draining: watch::Sender::new(false),
            started: Instant::now(),
        })
    }
}
