//! A server with the services of a node over real shards, and callers of it.
//!
//! Callers have real connections, with and without TLS.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stadium_http::key_store::KeyStore;
use stadium_http::{ChangeLog, PushBounds};
use stadium_rpc::net::{ClientTls, ServerTls};
use stadium_rpc::proto::{LogLevel, LogLevelRequest};
use stadium_rpc::{
    CallError, CallOptions, Client, ClientConfig, Idempotency, Listen, Server, ServerConfig, ServiceClient,
};
use stadium_rpc_api::proto::{ListRequest, NewJob, PutRequest, queue as methods};
use stadium_rpc_api::{DEVICE_MIME, Principals, ShardsHandle, operators, platform, queue, wallet};
use stadium_rsocket::metadata::authentication::{self, Authentication};
use stadium_rsocket::metadata::{self, Mime};
use stadium_shard::{Settings, Shards};
use tempfile::TempDir;

/// The longest that anything may take that comes to pass at all.
pub const SOON: Duration = Duration::from_secs(20);

const LOG_LEVEL: stadium_rpc::Method<LogLevelRequest, LogLevel> =
    stadium_rpc::Method::unary("queue/log-level");

pub struct Scene {
    /// A client without certificates.
    client: Client,
    server: Server,
    shards: Shards,
    pub principals: Arc<Principals>,
    pub keys: Arc<KeyStore>,
    data: TempDir,
}

impl Scene {
    /// A server whose principals are the holders of API keys, and those that `more` adds.
    pub fn with(tls: Option<ServerTls>, more: impl FnOnce(Principals) -> Principals) -> Self {
        let data = tempfile::tempdir().expect("a directory");
        let keys = Arc::new(KeyStore::open(data.path()).expect("a store"));
        let log = ChangeLog::open(data.path(), 0);
        let principals = Arc::new(more(Principals::new(Arc::clone(&keys), log)));
        let shards = Shards::open(Settings::in_memory(1), |_, _| {}).expect("shards in memory");
        let handle = ShardsHandle::default();
        handle.open(shards.clone());
        let config = ServerConfig {
            listen: vec![Listen { tls, ..Listen::tcp(([127, 0, 0, 1], 0).into()) }],
            deadline: SOON,
            operations: operators(&principals),
            log_level: Some(Arc::new(|_| Ok("info".to_owned()))),
            ..ServerConfig::default()
        };
        let bounds = PushBounds { message_bytes_max: 1 << 10, audience_devices_max: 10 };
        let services = vec![
            queue::service(&handle, &principals),
            wallet::service(&handle, &principals, bounds),
            platform::service(&handle, &principals),
        ];
        let server = Server::start(config, services).expect("it starts");
        let client = ClientConfig { deadline: SOON, ..ClientConfig::at(server.bound().to_vec()) };
        let client = Client::start(client).expect("a thread can be had");
        Self { client, server, shards, principals, keys, data }
    }

    /// Calls a method with bytes, and returns its answer; of a stream, its first message.
    pub fn calls(
        &self,
        service: &str,
        method: &str,
        request: Vec<u8>,
        metadata: &[u8],
    ) -> Result<Vec<u8>, CallError> {
        let options = CallOptions { metadata, ..CallOptions::default() };
        let route = format!("{service}/{method}");
        let service = self.client.service(service);
        if ["queue/Work", "wallet/Statement"].contains(&&*route) {
            let mut stream = service.stream_bytes(&route, request, 1, &options);
            return stream.next_within(SOON).map(Option::unwrap_or_default);
        }
        service.call_bytes(&route, Idempotency::Unknown, request, &options).wait()
    }

    /// A caller with a connection of its own.
    pub fn caller(&self, tls: Option<ClientTls>) -> Caller {
        let config = ClientConfig { tls, deadline: SOON, ..ClientConfig::at(self.server.bound().to_vec()) };
        let client = Client::start(config).expect("a thread can be had");
        Caller { service: client.service("queue"), _client: client }
    }

    /// The lines of the audit log.
    pub fn audit_log(&self) -> String {
        std::fs::read_to_string(self.data.path().join("audit.ndjson")).unwrap_or_default()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.shards.stop(SOON);
    }
}

pub struct Caller {
    service: ServiceClient,
    _client: Client,
}

impl Caller {
    /// Puts a job, which the role `worker` may and the roles `sender` and `viewer` may not.
    pub fn puts(&self, metadata: &[u8]) -> Result<(), CallError> {
        let job = NewJob { payload: "x".into(), ..NewJob::default() };
        let request = PutRequest { queue: "votes".to_owned(), jobs: vec![job] };
        let options = CallOptions { metadata, ..CallOptions::default() };
        self.service.call_with(&methods::PUT, &request, &options).wait().map(drop)
    }

    /// Lists queues, which the roles `viewer` and `worker` may.
    pub fn lists(&self, metadata: &[u8]) -> Result<(), CallError> {
        let options = CallOptions { metadata, ..CallOptions::default() };
        self.service.call_with(&methods::LIST, &ListRequest::default(), &options).wait().map(drop)
    }

    /// Reads the log level, which the role `operator` may.
    pub fn operates(&self, metadata: &[u8]) -> Result<(), CallError> {
        let options = CallOptions { metadata, ..CallOptions::default() };
        self.service.call_with(&LOG_LEVEL, &LogLevelRequest::default(), &options).wait().map(drop)
    }

    /// Puts a job with a token, again while its key is being fetched.
    pub fn puts_soon(&self, token: &str) -> Result<(), CallError> {
        let end = Instant::now() + SOON;
        loop {
            match self.puts(&bearer(token)) {
                Err(CallError::Busy { .. }) if Instant::now() < end => std::thread::yield_now(),
                put => return put,
            }
        }
    }
}

/// Metadata that show a bearer token.
pub fn bearer(token: &str) -> Vec<u8> {
    let mut metadata = Vec::new();
    authentication::write(&mut metadata, Authentication::Bearer(token));
    metadata
}

/// Metadata of a device's request, as a node hands it on.
pub fn of_device() -> Vec<u8> {
    let mut metadata = Vec::new();
    metadata::write_entry(&mut metadata, Mime::Named(DEVICE_MIME), b"phone-1");
    metadata
}

/// The reason of a call that was refused for want of a right.
pub fn refused(called: Result<(), CallError>) -> String {
    match called {
        Err(CallError::Rejected { code, reason }) if &*code == "NODE-009" => reason.to_string(),
        other => panic!("it is not refused: {other:?}"),
    }
}
