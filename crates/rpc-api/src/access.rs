//! Access to the node's own services: principals, by the right that each method asks for.
//!
//! [`crate::principals`] finds the principal of a call. Each service has a table of its methods and
//! their rights; a method that is not in it is closed. The gate asks whether the principal may call
//! the method at all, the method then whether it may do so with what the request names.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use stadium_grants::{Asking, Refused, Right, Verb};
use stadium_http::rights::Stop;
use stadium_http::{LoggedChange, Principal};
use stadium_rpc::{Call, Interceptor, Operations, Refusal};
use stadium_wallet::PrincipalId;

use crate::principals::{Principals, Shown};
use crate::refused::{NO_RIGHT, refused};
use crate::request::refusal;

/// The rights of a service: each method with the rights that it asks for.
pub type Rights = &'static [(&'static str, &'static [&'static str])];

/// The principals, and the rights of one service's methods.
pub(crate) struct Access {
    principals: Arc<Principals>,
    /// By route.
    rights: HashMap<String, Vec<Right>, RandomState>,
}

/// The caller of a method.
pub(crate) struct Caller {
    principal: Arc<dyn Principal>,
    address: Option<IpAddr>,
    bytes: u64,
    now: Duration,
}

impl Caller {
    /// The principal that records name for what the caller asks for.
    pub(crate) fn principal(&self) -> Option<PrincipalId> {
        PrincipalId::new(self.principal.id()).ok()
    }

    /// The call as the grants see it.
    pub(crate) fn asking(&self) -> Asking<'_> {
        Asking { grants: self.principal.grants(), bytes: self.bytes, now: self.now }
    }

    /// The refusal of a call that has no right to its command.
    pub(crate) fn stopped(&self, stop: Stop) -> Refusal {
        match stop {
            Stop::Refused(refused) => self.denied(&refused),
            Stop::NotFound(not_found) => refusal(not_found),
        }
    }

    fn denied(&self, denied: &Refused) -> Refusal {
        let id = self.principal.id();
        match denied.after {
            Some(wait) => Refusal::busy(wait, format!("principal {id}: {denied} (HTTP-032)")),
            None => refused(format!("principal {id}: {denied}")),
        }
    }
}

/// Operators: principals that may operate the node.
pub fn operators(principals: &Arc<Principals>) -> Operations {
    let access = Access::new(principals, "", &[]);
    Operations::Authorised(Arc::new(move |call| {
        let caller = access.caller(call, 0)?;
        let may = caller.asking().may(Verb::NodeOperate, "*");
        let may = may.map_err(|refused| caller.denied(&refused));
        access.record(&caller, call.route(), "", may.as_ref().err());
        may
    }))
}

impl Access {
    /// Of these principals to the methods of a service.
    pub(crate) fn new(principals: &Arc<Principals>, service: &str, rights: Rights) -> Arc<Self> {
        let right = |text: &&str| text.parse().expect("a test reads every right of the tables");
        let of = |(method, texts): &(&str, &[&str])| {
            (format!("{service}/{method}"), texts.iter().map(right).collect())
        };
        let rights = rights.iter().map(of).collect();
        Arc::new(Self { principals: Arc::clone(principals), rights })
    }

    /// The caller of a method whose request has so many bytes.
    ///
    /// # Errors
    /// The refusal of a call whose principal is not known.
    pub(crate) fn caller<'a>(&self, call: impl Into<Shown<'a>>, bytes: usize) -> Result<Caller, Refusal> {
        let (shown, now) = (call.into(), Instant::now());
        let principal = self.principals.of(&shown, now)?;
        let now = self.principals.clock(now);
        Ok(Caller { principal, address: shown.address, bytes: bytes as u64, now })
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
        self.principals.log.record(&LoggedChange {
            caller: &caller.principal,
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
}

/// Lets calls through whose principal has a right to the method. The resource is asked for once the
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
        let caller = access.caller(call, 0)?;
        let missing = rights
            .iter()
            .find(|right| !right.is_optional() && caller.asking().grants.of(right.verb()).is_empty());
        let Some(right) = missing else { return Ok(()) };
        let resource = right.to_string();
        let resource = resource.split_once(':').map_or("*", |(_, resource)| resource).to_owned();
        let refused = Refused { verb: right.verb(), resource, after: None };
        let refused: Result<(), Refusal> = Err(caller.denied(&refused));
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
