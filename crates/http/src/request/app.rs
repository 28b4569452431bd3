//! The parts of the port that every request shares, whatever it is about.
//!
//! All of it is behind one `Arc`, made when the port is bound; only the shards come later. Parts
//! that one feature alone reads belong to that feature.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use stadium_grants::{Grant, Grants, Role, Verb};
use stadium_shard::Shards;
use tokio::sync::watch;

use crate::about::facts::About;
use crate::audit_log::AuditLog;
use crate::config::Config;
use crate::fleet::Fleet;
use crate::key_store::KeyStore;
use crate::request::endpoint_rights::Rights;
use crate::request::live_views::LiveViews;
use crate::request::peer::Keyless;
use crate::request::query::Parameters;
use crate::sign_in::people::People;
use crate::start_error::StartError;

/// The parts of the HTTP port that every request may need.
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) fleet: Arc<dyn Fleet>,
    /// Empty until the node hands the shards over; until then, requests that need them are answered
    /// that they are starting.
    pub(crate) shards: OnceLock<Shards>,
    pub(crate) keys: Arc<KeyStore>,
    pub(crate) audit: Arc<AuditLog>,
    /// Empty until the node says what it runs with.
    pub(crate) about: About,
    /// Set where people can sign in.
    pub(crate) people: Option<Arc<People>>,
    pub(crate) keyless: Keyless,
    /// Set when the router is made, which knows the endpoints.
    pub(crate) parameters: OnceLock<Parameters>,
    /// As `parameters`.
    pub(crate) rights: OnceLock<Rights>,
    /// The grants of whoever reaches the port, where reading is open.
    pub(crate) open: Arc<Grants>,
    pub(crate) views: LiveViews,
    /// Becomes true once the server stops: requests that wait for work are answered then.
    pub(crate) draining: watch::Sender<bool>,
    pub(crate) started: Instant,
}

impl App {
    /// Reads the keys in the data directory or of the cluster, or makes them.
    pub(crate) fn open(config: Config, fleet: Arc<dyn Fleet>) -> Result<Self, StartError> {
        let keys = match &config.shared {
            Some(shared) => KeyStore::open_shared(&config.data_dir, Arc::clone(shared)),
            None => KeyStore::open(&config.data_dir),
        };
        let keys = Arc::new(keys.map_err(StartError::Keys)?);
        for id in keys.changed_in_meaning() {
            tracing::warn!(
                key = id,
                "An API key of the role `send` no longer moves amounts and no longer reaches queues of \
                 `events.` and `stadium.`: see docs/upgrading.md"
            );
        }
        let people = config.oidc.as_ref().map(|oidc| {
            let by_address = config.keyless_requests_per_second_max > 0;
            People::open(oidc, &config.allowed_origins, by_address)
        });
        let people = people.transpose().map_err(StartError::SignIn)?.map(Arc::new);
        let payloads =
            [Verb::PushPayload, Verb::QueuePayload, Verb::StreamSubscribe].map(|verb| Grant::new(verb, "*"));
        let payloads: Vec<Grant> = payloads.into_iter().flatten().collect();
        Ok(Self {
            views: LiveViews::new(config.live_views_max),
            audit: Arc::new(AuditLog::of(&config.data_dir, config.audit_files_max)),
            about: About::default(),
            parameters: OnceLock::new(),
            rights: OnceLock::new(),
            open: Arc::new(Grants::new(&[Role::Viewer], None, &payloads).unwrap_or_default()),
            people,
            keyless: Keyless::new(config.keyless_requests_per_second_max),
            config,
            fleet,
            shards: OnceLock::new(),
            keys,
            draining: watch::Sender::new(false),
            started: Instant::now(),
        })
    }
}
