//! The shared parts of a node's partitions: settings, threads, and the client that finds leaders.
//!
//! rskafka waits without end for a broker that is stopped. The client is given up then, and the next
//! one asks other brokers.

use std::sync::Arc;
use std::time::Duration;

use rskafka::BackoffConfig;
use rskafka::client::{Client, ClientBuilder, Credentials, SaslConfig};
use rustls::ClientConfig;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, Semaphore};

use crate::settings::{BATCH_BYTES_MAX, Mechanism, Settings, SettingsError};

/// Bytes of the longest answer that is taken: one batch of the largest size, and a read beside it.
const ANSWER_BYTES_MAX: usize = 2 * BATCH_BYTES_MAX;

/// Threads that drive all partitions.
const THREADS: usize = 2;

/// The runtime, which ends with the node and the last partition.
pub(super) struct Threads(Option<Runtime>);

/// The shared parts of a node's tasks.
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) topic: String,
    tls: Option<Arc<ClientConfig>>,
    /// The client that finds leaders, and connects. Made again when a broker that it asks does not answer.
    client: Mutex<Option<Arc<Client>>>,
    /// Bytes of unacknowledged messages that are left.
    pub(super) bytes: Arc<Semaphore>,
}

impl Threads {
    pub(super) fn start() -> Result<Self, SettingsError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("kafka")
            .enable_all()
            .build()
            .map_err(|error| SettingsError::new(format!("cannot start threads: {error}")))?;
        Ok(Self(Some(runtime)))
    }

    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.as_ref().expect("it is there until the drop").spawn(task);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Tasks hold nothing that must be put in order.
            runtime.shutdown_background();
        }
    }
}

impl Shared {
    pub(super) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        Ok(Self {
            settings: settings.clone(),
            topic: settings.topic(),
            tls: settings.tls.as_ref().map(crate::tls::configuration).transpose()?,
            client: Mutex::new(None),
            bytes: Arc::new(Semaphore::new(settings.unacknowledged_bytes_max)),
        })
    }

    /// The client, made if there is none.
    pub(super) async fn client(&self) -> Result<Arc<Client>, rskafka::client::error::Error> {
        let mut client = self.client.lock().await;
        if let Some(client) = &*client {
            return Ok(Arc::clone(client));
        }
        let made = Arc::new(self.builder().build().await?);
        *client = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Gives a client up whose broker does not answer.
    pub(super) async fn give_up(&self, broken: &Arc<Client>) {
        let mut client = self.client.lock().await;
        if client.as_ref().is_some_and(|client| Arc::ptr_eq(client, broken)) {
            *client = None;
        }
    }

    fn builder(&self) -> ClientBuilder {
        let settings = &self.settings;
        // Nothing is tried twice by the client: so a message goes out once, and its outcome is exact.
        let once = BackoffConfig { deadline: Some(Duration::ZERO), ..BackoffConfig::default() };
        let mut builder = ClientBuilder::new(settings.bootstrap.clone())
            .client_id("stadium")
            .max_message_size(ANSWER_BYTES_MAX)
            .backoff_config(once);
        if let Some(tls) = &self.tls {
            builder = builder.tls_config(Arc::clone(tls));
        }
        if let Some(sasl) = &settings.sasl {
            let credentials = Credentials::new(sasl.user.clone(), sasl.password.reveal().to_owned());
            builder = builder.sasl_config(match sasl.mechanism {
                Mechanism::Plain => SaslConfig::Plain(credentials),
                Mechanism::ScramSha256 => SaslConfig::ScramSha256(credentials),
                Mechanism::ScramSha512 => SaslConfig::ScramSha512(credentials),
            });
        }
        builder
    }
}
