//! The state machines of Stadium side by side in one shard, and all that knows more than one of
//! them.
//!
//! The queues are the direct machine ([`direct`]). Transfers and jobs share a record
//! ([`together`]), events of the push platform become jobs ([`feeds`]), and the platform's
//! deliveries go to the edge. Everything else in the core sees slots, and a direct machine.

pub(super) mod bounds;
pub(super) mod carried;
mod direct;
mod feeds;
mod together;

use stadium_journal::Journal;
use stadium_push::{Platform, TransportCommand};
use stadium_queue::Queues;
use stadium_session::Sessions;
use stadium_state_machine::{MachineState as _, Time};
use stadium_wallet::Ledger;

use self::bounds::MachineBounds;
use self::carried::Beside;
use super::Core;
use super::direct::Direct;
use super::input::Input;
use super::kinds::{Kind, Kinds};
use super::machines::Machines;
use super::ports::{Caller, Output, Store};
use super::running::Running;
use super::settings::CoreSettings;
use super::slot::AnyCommand;
use crate::frame::MachineId;
use crate::{Contents, ShardMetrics, Together};

/// Connections that one command reports as ended, where all are forgotten.
const DEPARTURES_AT_ONCE: usize = 256;

impl CoreSettings {
    /// The kinds of state machines that the shard runs: a row for each.
    pub(crate) fn kinds(&self) -> Kinds {
        let MachineBounds { queue, wallet, push, session } = self.bounds.clone();
        let mut kinds = vec![
            Kind::of(move |place| Queues::new(place, queue.clone())),
            Kind::of(move |place| Ledger::new(place, wallet.clone())),
            Kind::of(move |place| Platform::new(place, push.clone())),
            Kind::of(move |place| Sessions::new(place, session)),
        ];
        kinds.extend_from_slice(&self.more_machines);
        Kinds::new(kinds)
    }
}

impl Beside {
    /// The transfers and jobs as they were handed in.
    pub(crate) fn into_together(self) -> Together {
        let Beside { transfers, jobs } = self;
        match transfers {
            stadium_wallet::Command::Transfer { transfers, principal, .. } => {
                Together { transfers, jobs, principal }
            }
            other => unreachable!("transfers are handed in with jobs, not {other:?}"),
        }
    }
}

impl<S: Store, C: Caller, M: Direct> Core<S, C, M> {
    /// Hands in transfers and jobs for the next turn: all or none, in one record. The driver bounds
    /// how many.
    pub fn submit_together(&mut self, caller: C, together: Together) {
        let Together { transfers, jobs, principal } = together;
        let transfers = stadium_wallet::Command::Transfer { transfers, linked: true, principal };
        self.inbox.push_back(Input::Together(caller, Box::new(Beside { transfers, jobs })));
    }

    /// Has the push platform forget all connections, as if all had ended, since notices of them were
    /// dropped. All connections are to be announced again.
    pub fn forget_connections(&mut self, now: Time, caller: impl Fn() -> C) {
        let Some(running) = &self.running else { return };
        let left = running.machines.machine::<Platform>().connected(now);
        for left in left.chunks(DEPARTURES_AT_ONCE) {
            let (arrived, left) = (Vec::new(), left.to_vec());
            let command = stadium_push::Command::Presence { arrived, left };
            self.submit_command(caller(), AnyCommand::of::<Platform>(command));
        }
    }

    /// The queues, to be looked at; none while the journal is not open.
    pub fn queues(&self) -> Option<&Queues> {
        self.machine()
    }

    /// The wallets, to be looked at; none while the journal is not open.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.machine()
    }

    /// The push platform, to be looked at; none while the journal is not open.
    pub fn platform(&self) -> Option<&Platform> {
        self.machine()
    }

    /// The MQTT sessions, to be looked at; none while the journal is not open.
    pub fn sessions(&self) -> Option<&Sessions> {
        self.machine()
    }
}

impl Machines {
    /// The contents of the machines, for a replay of a journal.
    pub(super) fn contents(&self) -> Contents {
        let (ledger, platform) = (self.machine::<Ledger>(), self.machine::<Platform>().figures());
        let sessions = self.machine::<Sessions>().figures();
        Contents {
            jobs: self.machine::<Queues>().jobs(),
            accounts: ledger.figures().accounts,
            apps: platform.apps,
            devices: platform.devices,
            sessions: sessions.sessions,
            retained: sessions.retained,
            seals: ledger.seals().copied().collect(),
        }
    }
}

impl<C, M: Direct> Output<C, M> {
    /// Takes the commands for the transport of pushes.
    pub fn take_transport_commands(&mut self) -> Vec<TransportCommand> {
        let mut commands = Vec::new();
        for (_, effects) in
            self.effects.extract_if(.., |(machine, _)| *machine == MachineId::of::<Platform>())
        {
            let mut more = effects.downcast().expect("the push platform has commands for its transport");
            if commands.is_empty() {
                commands = *more;
            } else {
                commands.append(&mut more);
            }
        }
        commands
    }
}

impl<J: Journal, C: Caller, M: Direct> Running<J, C, M> {
    /// Notes figures of the machines.
    pub(super) fn measure(&self, metrics: &mut ShardMetrics) {
        let (queues, ledger) = (self.machines.machine::<Queues>(), self.machines.machine::<Ledger>());
        let (platform, sessions) = (self.machines.machine::<Platform>(), self.machines.machine::<Sessions>());
        metrics.jobs = queues.jobs();
        metrics.queue_bytes = queues.bytes() as u64;
        metrics.wallet_bytes = ledger.bytes() as u64;
        metrics.push_bytes = platform.bytes() as u64;
        metrics.session_bytes = sessions.bytes() as u64;
        metrics.state_bytes = self.machines.all().map(|(_, slot)| slot.bytes() as u64).sum();
        metrics.push = platform.figures();
        metrics.wallet = ledger.figures();
        metrics.newest_seal = ledger.seals().next_back().copied();
    }
}
