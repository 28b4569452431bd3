//! Access to the node's own services: holders of API keys, by the right that each method asks for.
//!
//! A key is the same one as at the HTTP port, sent as a bearer token in the authentication
//! metadata; so devices, whose requests carry none, can call nothing here. Each service has a table
//! of its methods and their rights; a method that is not in it is closed. A key that was found good
//! is believed for [`BELIEVED`], because looking it up costs a hash and a look at a file, which is
//! more than a small call costs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use foldhash::fast::RandomState;
use parking_lot::Mutex;
use stadium_grants::{Asking, Refused, Right, Verb};
use stadium_http::key_store::{Key, KeyStore};
use stadium_http::rights::Stop;
use stadium_http::{ChangeLog, LoggedChange};
use stadium_rpc::{Call, CallContext, Interceptor, Operations, Refusal};
use stadium_rsocket::metadata::authentication::Authentication;
use stadium_wallet::PrincipalId;

use crate::request::refusal;

/// How long a key is believed without looking again: so long after it was revoked it may still work here.
const BELIEVED: Duration = Duration::from_millis(250);

/// The code of a call without a right.
const NO_RIGHT: &str = "NODE-009";

/// Keys that are believed at once. Beyond it all are looked up anew; a fleet of services has a handful.
const BELIEVED_MAX: usize = 256;

/// The rights of a service: each method with the rights that it asks for.
pub type Rights = &'static [(&'static str, &'static [&'static str])];

/// The keys, and the rights of one service's methods.
pub(crate) struct Access {
    keys: Arc<KeyStore>,
    /// By route.
    rights: HashMap<String, Vec<Right>, RandomState>,
    log: ChangeLog,
    believed: Mutex<HashMap<Box<str>, Believed, RandomState>>,
}

/// A key that was looked up.
#[derive(Clone)]
struct Believed {
    key: Arc<Key>,
    until: Instant,
}

/// The key of a thread's last call. The calls of a connection come one after the other and show the
/// same key, each at the gate and again in its function: most need no lock and no hash.
struct Last {
    /// The address of the [`Access`] that looked it up.
    access: usize,
    secret: Box<str>,
    believed: Believed,
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// The caller of a method.
pub(crate) struct Caller {
    pub(crate) key: Arc<Key>,
    pub(crate) address: Option<IpAddr>,
    bytes: u64,
    now: Duration,
}

impl Caller {
    /// The principal that records name for what the caller asks for.
    pub(crate) fn principal(&self) -> Option<PrincipalId> {
        PrincipalId::new(&self.key.id).ok()
    }

    /// The call as the grants see it.
    pub(crate) fn asking(&self) -> Asking<'_> {
        Asking { grants: &self.key.grants, bytes: self.bytes, now: self.now }
    }

    /// The refusal of a call that has no right to its command.
    pub(crate) fn stopped(&self, stop: Stop) -> Refusal {
        match stop {
            Stop::Refused(refused) => denied(&self.key, &refused),
            Stop::NotFound(not_found) => refusal(not_found),
        }
    }
}

/// Operators: holders of a key that may operate the node.
pub fn operators(keys: Arc<KeyStore>, log: ChangeLog) -> Operations {
    let access = Access::new(keys, log, "", &[]);
    Operations::Authorised(Arc::new(move |call| {
        let caller = access.of(call.route(), call.authentication(), address(call), 0)?;
        let may = caller.asking().may(Verb::NodeOperate, "*");
        let may = may.map_err(|refused| denied(&caller.key, &refused));
        access.record(&caller, call.route(), "", may.as_ref().err());
        may
    }))
}

impl Access {
    /// By these keys, to the methods of a service.
    pub(crate) fn new(keys: Arc<KeyStore>, log: ChangeLog, service: &str, rights: Rights) -> Arc<Self> {
        let right = |text: &&str| text.parse().expect("a test reads every right of the tables");
        let of = |(method, texts): &(&str, &[&str])| {
            (format!("{service}/{method}"), texts.iter().map(right).collect())
        };
        let rights = rights.iter().map(of).collect();
        Arc::new(Self { keys, rights, log, believed: Mutex::default() })
    }

    /// The caller of a method whose request has so many bytes.
    ///
    /// # Errors
    /// The refusal of a call without a key that is known.
    pub(crate) fn caller(&self, context: &CallContext, bytes: usize) -> Result<Caller, Refusal> {
        let address = context.peer().map(|peer| peer.ip());
        self.of(context.route(), context.authentication(), address, bytes as u64)
    }

    pub(crate) fn of(
        &self,
        route: &str,
        authentication: Option<Authentication<'_>>,
        address: Option<IpAddr>,
        bytes: u64,
    ) -> Result<Caller, Refusal> {
        let Some(Authentication::Bearer(secret)) = authentication else {
            return Err(refused(format!("{route} needs an API key, sent as a bearer token")));
        };
        let now = Instant::now();
        let key = self.key(secret, address, now)?;
        Ok(Caller { key, address, bytes, now: self.keys.clock(now) })
    }

    /// Writes a change down, made or refused.
    fn record(&self, caller: &Caller, route: &str, target: &str, refused: Option<&Refusal>) {
        let (status, code) = match refused {
            None => (200, None),
            Some(Refusal::Busy { .. }) => (503, None),
            Some(Refusal::Rejected { code, .. }) if code == NO_RIGHT => (403, Some(&**code)),
            Some(Refusal::Rejected { code, .. }) => (422, Some(&**code)),
            Some(Refusal::Unknown { code, .. }) => (504, Some(&**code)),
            Some(Refusal::Application { .. }) => (500, None),
        };
        self.log.record(&LoggedChange {
            key: &caller.key,
            address: caller.address,
            route: &format!("RPC {route}"),
            target,
            status,
            code,
        });
    }

    /// Writes the outcome of a call down, if its method changes something that has no history of
    /// its own.
    pub(crate) fn answered<T>(
        &self,
        caller: &Caller,
        route: &str,
        target: impl FnOnce() -> String,
        outcome: &Result<T, Refusal>,
    ) {
        let changes = |right: &Right| !right.is_optional() && is_logged(right.verb());
        if self.rights.get(route).is_some_and(|rights| rights.iter().any(changes)) {
            self.record(caller, route, &target(), outcome.as_ref().err());
        }
    }

    fn key(&self, secret: &str, address: Option<IpAddr>, now: Instant) -> Result<Arc<Key>, Refusal> {
        let access = std::ptr::from_ref(self) as usize;
        let last = LAST.with_borrow(|last| {
            let same = |last: &&Last| last.access == access && *last.secret == *secret;
            let last = last.as_ref().filter(same)?;
            (last.believed.until > now).then(|| Arc::clone(&last.believed.key))
        });
        if let Some(key) = last {
            return Ok(key);
        }
        let believed = self.believed(secret, address, now)?;
        let key = Arc::clone(&believed.key);
        LAST.set(Some(Last { access, secret: secret.into(), believed }));
        Ok(key)
    }

    fn believed(&self, secret: &str, address: Option<IpAddr>, now: Instant) -> Result<Believed, Refusal> {
        if let Some(known) = self.believed.lock().get(secret).filter(|known| known.until > now) {
            return Ok(known.clone());
        }
        let found = self.keys.authenticate(secret);
        let mut all = self.believed.lock();
        match found {
            Ok(key) => {
                self.keys.used(&key, address, SystemTime::now());
                if all.len() >= BELIEVED_MAX {
                    all.clear();
                }
                let believed = Believed { key, until: now + BELIEVED };
                all.insert(secret.into(), believed.clone());
                Ok(believed)
            }
            Err(unknown) => {
                all.remove(secret);
                Err(refused(unknown.to_string()))
            }
        }
    }
}

/// Lets calls through whose key has a right to the method. The resource is asked for once the
/// request is read.
pub(crate) struct Gate(pub(crate) Arc<Access>);

impl Interceptor for Gate {
    fn before(&self, call: &Call<'_>) -> Result<(), Refusal> {
        let Self(access) = self;
        let Some(rights) = access.rights.get(call.route()) else {
            // Methods of the framework begin with a small letter; it guards those that operate.
            let method = call.route().split_once('/').map_or("", |(_, method)| method);
            return match method.starts_with(|first: char| first.is_ascii_uppercase()) {
                true => Err(refused(format!("{} names no right, so nobody may call it", call.route()))),
                false => Ok(()),
            };
        };
        let caller = access.of(call.route(), call.authentication(), address(call), 0)?;
        let missing = rights
            .iter()
            .find(|right| !right.is_optional() && caller.asking().grants.of(right.verb()).is_empty());
        let Some(right) = missing else { return Ok(()) };
        let resource = right.to_string();
        let resource = resource.split_once(':').map_or("*", |(_, resource)| resource).to_owned();
        let refused = Refused { verb: right.verb(), resource, after: None };
        let refused: Result<(), Refusal> = Err(denied(&caller.key, &refused));
        access.answered(&caller, call.route(), String::new, &refused);
        refused
    }
}

/// Whether changes by this verb are in the audit log: jobs and transfers have histories of their
/// own.
fn is_logged(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::AudienceWrite
            | Verb::DeviceWrite
            | Verb::DeviceManage
            | Verb::PushSend
            | Verb::QueueControl
            | Verb::QueueManage
            | Verb::WalletManage
    )
}

fn address(call: &Call<'_>) -> Option<IpAddr> {
    call.peer().map(|peer| peer.ip())
}

fn denied(key: &Key, refused: &Refused) -> Refusal {
    match refused.after {
        Some(wait) => Refusal::busy(wait, format!("key {}: {refused} (HTTP-032)", key.id)),
        None => self::refused(format!("key {}: {refused}", key.id)),
    }
}

fn refused(reason: String) -> Refusal {
    Refusal::rejected(NO_RIGHT, reason)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prost::Message as _;
    use prost_types::FileDescriptorSet;

    use super::Rights;
    use crate::{platform, proto, push, queue, wallet};

    #[test]
    fn every_method_of_the_contracts_names_its_rights() {
        let services: [(&str, &[u8], Rights); 4] = [
            (push::NAME, proto::stadium::FILE_DESCRIPTOR_SET, push::RIGHTS),
            (queue::NAME, proto::queue::FILE_DESCRIPTOR_SET, queue::RIGHTS),
            (wallet::NAME, proto::wallet::FILE_DESCRIPTOR_SET, wallet::RIGHTS),
            (platform::NAME, proto::push::FILE_DESCRIPTOR_SET, platform::RIGHTS),
        ];
        for (name, descriptors, rights) in services {
            let files = FileDescriptorSet::decode(descriptors).expect("our own descriptors").file;
            let contract = files.iter().flat_map(|file| &file.service);
            let contract = contract.filter(|service| service.name().eq_ignore_ascii_case(name));
            let methods: BTreeSet<_> =
                contract.flat_map(|service| &service.method).map(|method| method.name().to_owned()).collect();
            let named: BTreeSet<_> = rights.iter().map(|(method, _)| (*method).to_owned()).collect();
            assert!(!methods.is_empty(), "{name}");
            assert_eq!(methods, named, "{name}");
        }
    }
}
