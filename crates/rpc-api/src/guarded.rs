//! The shards as a service's methods reach them: with the rights of the caller.

use std::sync::Arc;

use stadium_grants::Verb;
use stadium_http::rights;
use stadium_queue::Command;
use stadium_rpc::{CallContext, Refusal, Service};
use stadium_shard::{Ticket, Together};

use crate::access::{Access, Caller, Gate, Rights};
use crate::principals::Principals;
use crate::request::refusal;
use crate::shards::ShardsHandle;

/// The way from a service's methods to the shards. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Guarded {
    shards: ShardsHandle,
    access: Arc<Access>,
}

impl Guarded {
    /// For a service whose methods ask for these rights.
    pub(crate) fn new(
        shards: &ShardsHandle,
        principals: &Arc<Principals>,
        service: &str,
        rights: Rights,
    ) -> Self {
        Self { shards: shards.clone(), access: Access::new(principals, service, rights) }
    }

    /// The service with the gate before its methods.
    pub(crate) fn gate(&self, service: Service) -> Service {
        service.interceptor(Gate(Arc::clone(&self.access)))
    }

    /// The caller of a method whose request has so many bytes.
    ///
    /// # Errors
    /// The refusal of a call whose principal is not known.
    pub(crate) fn caller(&self, context: &CallContext, bytes: usize) -> Result<Caller, Refusal> {
        self.access.caller(context, bytes)
    }

    /// Writes the outcome of a call down, if its method is one for the audit log.
    pub(crate) fn answered<T>(
        &self,
        caller: &Caller,
        context: &CallContext,
        target: impl FnOnce() -> String,
        outcome: &Result<T, Refusal>,
    ) {
        self.access.answered(caller, context.route(), target, outcome);
    }

    /// The shards, for a command that the caller may hand them, or that needs no right.
    pub(crate) fn shards(&self) -> &ShardsHandle {
        &self.shards
    }

    /// Refuses a command to the queues that the caller has no right to.
    ///
    /// # Errors
    /// That refusal; Busy while the shards are not there.
    pub(crate) async fn may_ask_queue(&self, caller: &Caller, command: &Command) -> Result<(), Refusal> {
        let may = rights::queue(self.shards.shards()?, caller.asking(), command).await;
        may.map_err(|stop| caller.stopped(stop))
    }

    /// Refuses a command to the wallets that the caller has no right to.
    ///
    /// # Errors
    /// As [`Self::may_ask_queue`].
    pub(crate) async fn may_ask_wallet(
        &self,
        caller: &Caller,
        command: &stadium_wallet::Command,
    ) -> Result<(), Refusal> {
        let may = rights::wallet(self.shards.shards()?, caller.asking(), command).await;
        may.map_err(|stop| caller.stopped(stop))
    }

    /// Refuses a command to the push platform that the caller has no right to.
    ///
    /// # Errors
    /// That refusal.
    pub(crate) fn may_ask_push(
        &self,
        caller: &Caller,
        command: &stadium_push::Command,
    ) -> Result<(), Refusal> {
        rights::push(caller.asking(), command).map_err(|refused| caller.stopped(refused.into()))
    }

    /// Refuses transfers and jobs of one record that the caller has no right to.
    ///
    /// # Errors
    /// As [`Self::may_ask_queue`].
    pub(crate) async fn may_ask_together(&self, caller: &Caller, together: &Together) -> Result<(), Refusal> {
        let may = rights::together(self.shards.shards()?, caller.asking(), together).await;
        may.map_err(|stop| caller.stopped(stop))
    }

    /// Refuses a look at the seals of all wallets.
    ///
    /// # Errors
    /// That refusal.
    pub(crate) fn may_see_seals(&self, caller: &Caller) -> Result<(), Refusal> {
        caller.asking().may(Verb::WalletRead, "*").map_err(|refused| caller.stopped(refused.into()))
    }
}

/// The answer of the shards to a command, or the refusal with which it did not reach them.
pub(crate) async fn answer_of<A>(ticket: Result<Ticket<A>, Refusal>) -> Result<A, Refusal> {
    ticket?.await.map_err(refusal)
}
