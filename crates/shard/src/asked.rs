//! The span of a command that a traced request asked a shard for.
//!
//! It lasts from the mailbox to the answer. Below it stands the wait for the journal, from the end
//! of the turn that carried the command out until its record is durable: a sync of the disk, or an
//! append to a replicated log.

use std::sync::Arc;

use stadium_push::Platform;
use stadium_queue::Queues;
use stadium_session::Sessions;
use stadium_state_machine::Refusal;
use stadium_telemetry::{Kind, Span, Trace, TraceContext};
use stadium_wallet::Ledger;

use crate::frame::MachineId;

/// A traced command under way.
#[derive(Debug)]
pub(crate) struct Asked {
    trace: Arc<Trace>,
    span: Span,
    /// The wait for the journal, once the command is carried out.
    commit: Option<Span>,
}

impl Asked {
    /// A command for this machine of a shard; none for several of them.
    pub(crate) fn new(trace: Arc<Trace>, machine: Option<MachineId>, shard: u16) -> Self {
        let span = trace.span(name(machine), Kind::Internal).with("stadium.shard", i64::from(shard));
        Self { trace, span, commit: None }
    }

    /// The span that the command's effects belong to.
    pub(crate) fn context(&self) -> TraceContext {
        self.span.context
    }

    /// Another node is asked.
    pub(crate) fn forwarded(&mut self) {
        self.span.kind = Kind::Client;
        self.span.happened("forwarded to the owner of the shard");
    }

    /// The shard's thread took it out of the mailbox.
    pub(crate) fn taken(&mut self) {
        self.span.happened("taken");
    }

    /// It is carried out, and waits for the journal.
    pub(crate) fn waits(&mut self) {
        self.commit = Some(Span::below(self.span.context, "journal.commit", Kind::Internal));
    }

    /// It is answered.
    pub(crate) fn answered(self, refusal: Option<&Refusal>) {
        let Self { trace, mut span, commit } = self;
        if let Some(commit) = commit {
            trace.record(commit.ended());
        }
        if let Some(refusal) = refusal {
            span.set("stadium.error.code", refusal.code());
            if !matches!(refusal, Refusal::Rejected { .. }) {
                span.error = Some(refusal.code().into());
            }
        }
        trace.record(span.ended());
    }
}

fn name(machine: Option<MachineId>) -> &'static str {
    let is = |other: MachineId| machine.is_some_and(|machine| machine.is_machine(other));
    if is(MachineId::of::<Platform>()) {
        "shard.push"
    } else if is(MachineId::of::<Queues>()) {
        "shard.queue"
    } else if is(MachineId::of::<Ledger>()) {
        "shard.wallet"
    } else if is(MachineId::of::<Sessions>()) {
        "shard.session"
    } else {
        "shard.command"
    }
}
