//! Devices' requests on their way to services.
//!
//! The edge asks on its loops, so nothing here blocks: a request goes into the mailbox of an RPC client, whose thread
//! gives the answer back. A service knows who asked by two metadata entries that no device can write, and calls of one
//! device go to the same instance while that lives. The framework's own methods (`quiesce`, `log-level`, ...) are not for devices.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use stadium_discovery::{Discovery, Freshness, Snapshot, Versions, Watch};
use stadium_edge::requests::{Answer, DeviceRequest, Refused, Reply, Requests};
use stadium_reactor::tls::ClientTls;
use stadium_rpc::{CallError, CallOptions, Client, ClientConfig, ServiceClient};
use stadium_rsocket::metadata::{self, Mime};

/// Content: the client id of the device that asks.
const DEVICE_MIME: &[u8] = b"message/x.stadium.device.v1";

/// Content: the principal that the device was authenticated as; absent for an anonymous one.
const USER_MIME: &[u8] = b"message/x.stadium.user.v1";

/// Services that devices may ask for by name, each watched. Names come from devices, within what the rules allow
/// them; a request for one more is refused as for a service that there is not.
const NAMES_MAX: usize = 1_024;

/// When to come back to a node that is starting or leaving, or to a service without instances that can be reached.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Takes devices' requests. Busy until it is opened, and after it was closed.
#[derive(Default)]
pub(crate) struct Bridge {
    calls: RwLock<Option<Arc<Calls>>>,
}

/// An open bridge.
struct Calls {
    client: Client,
    discovery: Discovery,
    by_name: RwLock<HashMap<Box<str>, Known>>,
}

/// A service that a device has asked for.
#[derive(Clone)]
struct Known {
    service: ServiceClient,
    heard: Arc<Heard>,
    _watch: Arc<Watch>,
}

/// How many instances discovery knows, plus one; 0 before it was heard, or while it is in doubt.
#[derive(Default)]
struct Heard(AtomicUsize);

impl Heard {
    fn note(&self, snapshot: &Snapshot) {
        let sure = snapshot.revision > 0 && !matches!(snapshot.freshness, Freshness::Stale { .. });
        self.0.store(if sure { snapshot.instances.len() + 1 } else { 0 }, Ordering::Release);
    }

    fn is_nobody(&self) -> bool {
        self.0.load(Ordering::Acquire) == 1
    }
}

impl Bridge {
    /// Takes requests from now on, and calls what discovery knows.
    pub(crate) fn open(&self, discovery: &Discovery, tls: Option<ClientTls>) -> std::io::Result<()> {
        let config = ClientConfig {
            name: "devices-rpc".to_owned(),
            tls,
            ..ClientConfig::discovered(discovery.clone())
        };
        let client = Client::start(config)?;
        let calls = Calls { client, discovery: discovery.clone(), by_name: RwLock::default() };
        *self.calls.write() = Some(Arc::new(calls));
        Ok(())
    }

    /// Takes no more requests; what is under way is cancelled.
    pub(crate) fn close(&self) {
        drop(self.calls.write().take());
    }
}

impl Calls {
    fn service(&self, name: &str) -> Result<ServiceClient, Refused> {
        let known = self.by_name.read().get(name).cloned();
        let known = match known {
            Some(known) => known,
            None => self.look_for(name)?,
        };
        if known.heard.is_nobody() {
            return Err(Refused::NoSuchService);
        }
        Ok(known.service)
    }

    fn look_for(&self, name: &str) -> Result<Known, Refused> {
        let mut by_name = self.by_name.write();
        if by_name.len() >= NAMES_MAX {
            return Err(Refused::NoSuchService);
        }
        let heard = Arc::new(Heard::default());
        let noted = Arc::clone(&heard);
        let watch = self.discovery.watch(name, Versions::Any, move |snapshot| noted.note(&snapshot));
        let watch = watch.map_err(|error| match error {
            stadium_discovery::Error::Name(_) => Refused::NoSuchService,
            _ => Refused::Busy { retry_after: RETRY_AFTER },
        })?;
        let known = Known { service: self.client.service(name), heard, _watch: Arc::new(watch) };
        by_name.insert(name.into(), known.clone());
        Ok(known)
    }
}

impl Requests for Bridge {
    fn request(&self, request: &DeviceRequest<'_>, reply: Reply) -> Result<(), Refused> {
        // A service's own methods start with a capital letter, the framework's do not.
        if !request.method().starts_with(|first: char| first.is_ascii_uppercase()) {
            return Err(Refused::NotForDevices);
        }
        let calls = self.calls.read().clone().ok_or(Refused::Busy { retry_after: RETRY_AFTER })?;
        let service = calls.service(request.service())?;
        let mut metadata = Vec::new();
        metadata::write_entry(&mut metadata, Mime::Named(DEVICE_MIME), request.client_id.as_bytes());
        if let Some(user) = request.user {
            metadata::write_entry(&mut metadata, Mime::Named(USER_MIME), user.as_bytes());
        }
        let options = CallOptions {
            deadline: Some(request.deadline),
            key: Some(request.client_id.as_bytes()),
            metadata: &metadata,
            ..CallOptions::default()
        };
        let payload = request.payload.to_vec();
        if reply.is_wanted() {
            service.call_bytes_then(request.route, payload, &options, move |answered| {
                reply.send(answer(answered));
            });
        } else {
            service.one_way_bytes(request.route, payload, &options);
        }
        Ok(())
    }
}

/// What became of a call, for the device that asked.
fn answer(answered: Result<&[u8], CallError>) -> Answer {
    match answered {
        Ok(payload) => Answer::Ok(payload.to_vec()),
        Err(CallError::Busy { retry_after, reason }) => Answer::Busy { retry_after, reason: reason.into() },
        Err(CallError::Rejected { code, reason }) => {
            Answer::Rejected { code: code.into(), reason: reason.into() }
        }
        Err(CallError::Deadline) => Answer::Deadline,
        Err(CallError::Unavailable(why)) => Answer::Busy { retry_after: RETRY_AFTER, reason: why.into() },
        Err(error @ (CallError::Broken(_) | CallError::Cancelled | CallError::Protocol(_))) => {
            Answer::Unknown { reason: error.to_string().into() }
        }
    }
}
