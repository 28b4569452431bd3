//! Ways to be wrong, each of which a case of the runner must find.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use stadium_rpc::client::Source;
use stadium_rpc::discovery::{Freshness, Versions, Watch};
use stadium_rpc::{Client, ClientConfig, ServiceClient};

/// True if this process is the mutant of that name.
pub fn is(name: &str) -> bool {
    static MUTANT: OnceLock<Option<String>> = OnceLock::new();
    MUTANT.get_or_init(|| std::env::var("STADIUM_MUTANT").ok()).as_deref() == Some(name)
}

/// Forgets all instances while the registry is away.
pub struct Forgetful {
    is_away: Arc<AtomicBool>,
    nobody: ServiceClient,
    _client: Client,
    _watch: Watch,
}

impl Forgetful {
    /// That mutant, where the client has discovery.
    pub fn of(config: &ClientConfig, service: &str) -> anyhow::Result<Option<Self>> {
        let Source::Discovery { discovery, .. } = &config.source else { return Ok(None) };
        if !is("forgets-without-registry") {
            return Ok(None);
        }
        let is_away = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_away);
        let watch = discovery.watch(service, Versions::Any, move |snapshot| {
            seen.store(matches!(snapshot.freshness, Freshness::Stale { .. }), Ordering::Relaxed);
        })?;
        let client = Client::start(ClientConfig::at(Vec::new()))?;
        Ok(Some(Self { is_away, nobody: client.service(service), _client: client, _watch: watch }))
    }

    /// The instances that it knows.
    pub fn knows<'a>(&'a self, all: &'a ServiceClient) -> &'a ServiceClient {
        if self.is_away.load(Ordering::Relaxed) { &self.nobody } else { all }
    }
}
