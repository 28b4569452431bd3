//! The shards as a service's methods reach them: with the rights of the caller.

use std::sync::Arc;

use stadium_http::key_store::KeyStore;
use stadium_http::{ChangeLog, rights};
use stadium_queue::Command;
use stadium_rpc::{CallContext, Refusal, Service};
use stadium_shard::{Ticket, Together};
use stadium_wallet::Seal;

use crate::access::{Access, Caller, Gate, Rights};
use crate::shards::{ShardsHandle, Wanted};

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
        (keys, log): (Arc<KeyStore>, ChangeLog),
        service: &str,
        rights: Rights,
    ) -> Self {
        Self { shards: shards.clone(), access: Access::new(keys, log, service, rights) }
    }

    /// The service with the gate before its methods.
    pub(crate) fn gate(&self, service: Service) -> Service {
        service.interceptor(Gate(Arc::clone(&self.access)))
    }

    /// The caller of a method whose request has so many bytes.
    ///
    /// # Errors
    /// The refusal of a call without a key that is known.
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

    /// Gives leases back, or does another thing that needs no right.
    pub(crate) fn unguarded(&self) -> &ShardsHandle {
        &self.shards
    }

    /// Hands a command to the queues.
    ///
    /// # Errors
    /// Busy while the shards are not there; the caller has no right to it.
    pub(crate) async fn queue(&self, caller: &Caller, command: Command) -> Result<Ticket, Refusal> {
        let may = rights::queue(self.shards.shards()?, caller.asking(), &command).await;
        may.map_err(|stop| caller.stopped(stop))?;
        self.shards.submit(command)
    }

    /// Hands a command to the wallets.
    ///
    /// # Errors
    /// As [`Self::queue`].
    pub(crate) async fn wallet(
        &self,
        caller: &Caller,
        command: stadium_wallet::Command,
    ) -> Result<Ticket<stadium_wallet::Answer>, Refusal> {
        let may = rights::wallet(self.shards.shards()?, caller.asking(), &command).await;
        may.map_err(|stop| caller.stopped(stop))?;
        self.shards.submit_wallet(command)
    }

    /// Hands a command to the push platform.
    ///
    /// # Errors
    /// As [`Self::queue`].
    pub(crate) fn push(
        &self,
        caller: &Caller,
        command: stadium_push::Command,
    ) -> Result<Ticket<stadium_push::Answer>, Refusal> {
        rights::push(caller.asking(), &command).map_err(|refused| caller.stopped(refused.into()))?;
        self.shards.submit_push(command)
    }

    /// Refuses transfers and jobs of one record that the caller has no right to.
    ///
    /// # Errors
    /// As [`Self::queue`].
    pub(crate) async fn may_together(&self, caller: &Caller, together: &Together) -> Result<(), Refusal> {
        let may = rights::together(self.shards.shards()?, caller.asking(), together).await;
        may.map_err(|stop| caller.stopped(stop))
    }

    /// Seals of the wallets' chains, oldest first.
    ///
    /// # Errors
    /// As [`Self::queue`].
    pub(crate) fn seals(&self, caller: &Caller, wanted: Wanted) -> Result<Ticket<Vec<(u16, Seal)>>, Refusal> {
        let may = caller.asking().may(stadium_grants::Verb::WalletRead, "*");
        may.map_err(|refused| caller.stopped(refused.into()))?;
        self.shards.seals(wanted)
    }
}
