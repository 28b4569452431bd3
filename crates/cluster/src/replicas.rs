//! The replicas of a node: what each is to do, what it does, and the next step between the two.
//!
//! Orders come while a replica is still being opened, still claims, or still hands over. So an order
//! only sets the aim. A step is taken when the one before has been answered by a state.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stadium_journal::Options;
use stadium_journal_log::{ClusterId, Log, Topic};
use stadium_membership::{Shard, ShardSet};
use stadium_shard::{ReplicaState, Shards};

use crate::archive::ArchiveSettings;
use crate::bell::Done;
use crate::keeper::Keeper;
use crate::openers::Openers;
use crate::store::{ReplicatedStore, folder_of};

/// The time after which a replica that could not be opened is tried again, and after which a
/// hand-over is asked for that is not done: a shard that starts over forgets that it was asked.
const AGAIN: Duration = Duration::from_secs(1);

/// The time after which an owner that is stalled is to give its shard up. Longer than a standby that
/// cannot reach the log either takes to notice it: a request to Kafka is given up after 3 s.
const STALLED_MAX: Duration = Duration::from_secs(3);

/// The aim of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    Follow,
    /// By the map's entry of this generation.
    Claim(u64),
    Serve,
    /// Follow after a farewell, and say so.
    HandOver,
    /// Be closed.
    Stop,
}

/// The present step of a replica, as far as its states tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Opening,
    /// It could not be opened, and is tried again then.
    Failed(Instant),
    Closing,
    /// It follows, or is away.
    Following,
    Claiming(u64),
    Claimed(u64),
    Serving,
    /// It serves, and its log has confirmed nothing since then, while a standby could read it.
    Stalled(Instant),
    /// It was asked to follow, last at this time.
    Leaving(Instant),
}

/// The end of a step of a replica, for the succession.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Claimed(u64),
    /// It claimed or served, and does so no more, by no order of this node.
    Fenced,
    HandedOver,
    CaughtUp,
    FellBehind,
}

struct Replica {
    aim: Aim,
    doing: Doing,
    /// The number of its last claim; 0 where it was not asked to claim since it was opened.
    claim: u64,
}

/// The replicas of a node.
pub(crate) struct Replicas {
    shards: Shards,
    openers: Openers,
    topic: Arc<dyn Topic>,
    cluster: ClusterId,
    folder: PathBuf,
    mirror: Options,
    archive: Option<ArchiveSettings>,
    keeper: Option<Arc<Keeper>>,
    replicas: BTreeMap<u16, Replica>,
    /// Claims so far, of all replicas.
    claims: u64,
    has_data: ShardSet,
}

impl Replicas {
    pub(crate) fn new(
        shards: Shards,
        openers: Openers,
        topic: Arc<dyn Topic>,
        cluster: ClusterId,
        folder: PathBuf,
        mirror: Options,
    ) -> Self {
        let has_data =
            (0..shards.count()).filter(|shard| folder_of(&folder, *shard).exists()).map(number).collect();
        let replicas = BTreeMap::new();
        Self {
            shards,
            openers,
            topic,
            cluster,
            folder,
            mirror,
            archive: None,
            keeper: None,
            replicas,
            claims: 0,
            has_data,
        }
    }

    /// With the store that replicas without data are restored from, and the thread that stores what
    /// the node serves.
    pub(crate) fn with_archive(self, archive: Option<ArchiveSettings>, keeper: Option<Arc<Keeper>>) -> Self {
        Self { archive, keeper, ..self }
    }

    /// Shards with state on disk: of a life before, or that were in step once in this one.
    pub(crate) fn has_data(&self) -> ShardSet {
        self.has_data
    }

    /// Shards that a replica serves, or that it has not stopped to serve yet.
    pub(crate) fn owned(&self) -> ShardSet {
        let owns = |replica: &Replica| {
            matches!(replica.doing, Doing::Serving | Doing::Stalled(_) | Doing::Leaving(_))
        };
        self.replicas.iter().filter(|(_, replica)| owns(replica)).map(|(shard, _)| number(*shard)).collect()
    }

    /// Shards that this node serves, and whose logs have confirmed nothing to it for so long that a
    /// standby should have them: one that could read the log all that time, as `has_standby` tells.
    pub(crate) fn stalled(&mut self, now: Instant, has_standby: impl Fn(Shard) -> bool) -> Vec<u16> {
        let mut stalled = Vec::new();
        for (shard, replica) in &mut self.replicas {
            match &mut replica.doing {
                Doing::Stalled(since) if !has_standby(number(*shard)) => *since = now,
                Doing::Stalled(since) if now.saturating_duration_since(*since) >= STALLED_MAX => {
                    stalled.push(*shard);
                }
                _ => {}
            }
        }
        stalled
    }

    /// Sets the aim, and takes the first step to it.
    pub(crate) fn order(&mut self, shard: u16, aim: Aim) {
        match self.replicas.get_mut(&shard) {
            Some(replica) => replica.aim = aim,
            None if aim == Aim::Stop => return,
            None => {
                self.replicas.insert(shard, Replica { aim, doing: Doing::Opening, claim: 0 });
                self.open(shard);
                return;
            }
        }
        self.step(shard);
    }

    /// A replica told its state, when it had taken up this claim. What that means for the succession is
    /// given to `tell`.
    pub(crate) fn on_state(
        &mut self,
        shard: u16,
        state: &ReplicaState,
        claim: u64,
        mut tell: impl FnMut(Outcome),
    ) {
        if let Some(keeper) = &self.keeper {
            keeper.on_state(shard, state);
        }
        let Some(replica) = self.replicas.get_mut(&shard) else { return };
        match (state, replica.doing) {
            (ReplicaState::Claimed { .. }, Doing::Claiming(generation)) => {
                replica.doing = Doing::Claimed(generation);
                self.has_data.insert(number(shard));
                if replica.aim == Aim::Claim(generation) {
                    tell(Outcome::Claimed(generation));
                }
            }
            (ReplicaState::Stalled { .. }, Doing::Serving) => replica.doing = Doing::Stalled(Instant::now()),
            (ReplicaState::Serving { .. }, Doing::Stalled(_)) => replica.doing = Doing::Serving,
            (
                ReplicaState::Claimed { .. } | ReplicaState::Serving { .. } | ReplicaState::Stalled { .. },
                _,
            ) => {}
            (ReplicaState::Following { .. } | ReplicaState::Away(_), doing) => {
                let is_away = matches!(state, ReplicaState::Away(_));
                let is_in_step = *state == ReplicaState::Following { is_in_step: true };
                match doing {
                    // It was told before the replica knew of the claim, and ends nothing.
                    _ if claim < replica.claim => {}
                    Doing::Claiming(_) | Doing::Claimed(_) | Doing::Serving | Doing::Stalled(_) => {
                        replica.doing = Doing::Following;
                        replica.aim = Aim::Follow;
                        tell(Outcome::Fenced);
                    }
                    Doing::Leaving(_) => {
                        replica.doing = Doing::Following;
                        if replica.aim == Aim::HandOver {
                            replica.aim = Aim::Follow;
                            tell(if is_away { Outcome::Fenced } else { Outcome::HandedOver });
                        }
                    }
                    _ => {}
                }
                if is_in_step {
                    self.has_data.insert(number(shard));
                }
                tell(if is_in_step { Outcome::CaughtUp } else { Outcome::FellBehind });
            }
        }
        self.step(shard);
    }

    /// An opener has done its work.
    pub(crate) fn on_done(&mut self, shard: u16, done: Done) {
        let Some(replica) = self.replicas.get_mut(&shard) else { return };
        match done {
            Done::Opened(Ok(())) => replica.doing = Doing::Following,
            Done::Opened(Err(error)) => {
                tracing::warn!(shard, error, "Replica cannot be opened now; it is tried again");
                replica.doing = Doing::Failed(Instant::now() + AGAIN);
            }
            Done::Closed(false) => self.openers.close(shard),
            Done::Closed(true) if replica.aim == Aim::Stop => {
                self.replicas.remove(&shard);
                return;
            }
            Done::Closed(true) => {
                (replica.doing, replica.claim) = (Doing::Opening, 0);
                self.open(shard);
            }
        }
        self.step(shard);
    }

    /// Does what is due by time alone.
    pub(crate) fn tick(&mut self, now: Instant) {
        let is_due = |replica: &Replica| match replica.doing {
            Doing::Failed(until) => now >= until,
            Doing::Leaving(asked) => now >= asked + AGAIN,
            _ => false,
        };
        let due: Vec<u16> =
            self.replicas.iter().filter(|(_, replica)| is_due(replica)).map(|(shard, _)| *shard).collect();
        for shard in due {
            let Some(replica) = self.replicas.get_mut(&shard) else { continue };
            match replica.doing {
                Doing::Failed(_) if replica.aim == Aim::Stop => _ = self.replicas.remove(&shard),
                Doing::Failed(_) => {
                    replica.doing = Doing::Opening;
                    self.open(shard);
                }
                _ => self.leave(shard),
            }
        }
    }

    /// Has all replicas follow that own their shards.
    pub(crate) fn leave_all(&mut self) {
        for shard in self.owned().iter() {
            if let Ok(shard) = u16::try_from(shard.0) {
                self.order(shard, Aim::Follow);
            }
        }
    }

    /// Closes all replicas. Blocks for as long as they take, at most 10 s for each of four at a time.
    pub(crate) fn close(self) {
        for (shard, replica) in &self.replicas {
            if !matches!(replica.doing, Doing::Failed(_) | Doing::Closing) {
                self.openers.close(*shard);
            }
        }
        // Dropping the openers waits for them.
    }

    fn step(&mut self, shard: u16) {
        let Some(replica) = self.replicas.get_mut(&shard) else { return };
        match (replica.aim, replica.doing) {
            (_, Doing::Opening | Doing::Failed(_) | Doing::Closing | Doing::Leaving(_)) => {}
            (Aim::Stop, Doing::Following) => {
                replica.doing = Doing::Closing;
                self.openers.close(shard);
            }
            (Aim::Claim(generation), Doing::Following) => {
                replica.doing = Doing::Claiming(generation);
                self.claims += 1;
                replica.claim = self.claims;
                self.shards.claim(shard, self.claims);
            }
            (Aim::Claim(wanted), Doing::Claiming(begun) | Doing::Claimed(begun)) if wanted == begun => {}
            (Aim::Serve, Doing::Claimed(_)) => {
                replica.doing = Doing::Serving;
                self.shards.serve(shard);
            }
            (Aim::Serve, _) | (Aim::Follow | Aim::HandOver, Doing::Following) => {}
            // A fence by another entry may be an old one: the claim begins anew from following.
            (Aim::Follow | Aim::HandOver | Aim::Stop | Aim::Claim(_), _) => self.leave(shard),
        }
    }

    fn leave(&mut self, shard: u16) {
        if let Some(replica) = self.replicas.get_mut(&shard) {
            replica.doing = Doing::Leaving(Instant::now());
            self.shards.hand_over(shard);
        }
    }

    fn open(&self, shard: u16) {
        let log = Log { cluster: self.cluster, shard: u32::from(shard) };
        let folder = folder_of(&self.folder, shard);
        let store = ReplicatedStore::new(Arc::clone(&self.topic), folder, log, self.mirror.clone())
            .with_archive(self.archive.clone());
        self.openers.open(shard, store);
    }
}

fn number(shard: u16) -> Shard {
    Shard(u32::from(shard))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stadium_journal_log::ClusterId;
    use stadium_journal_replicated::memory::MemoryTopic;
    use stadium_shard::Settings;

    use super::*;
    use crate::bell::Bell;

    #[test]
    fn a_state_from_before_a_claim_does_not_end_it() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let shards = Shards::open_none(Settings::in_directory(folder.path().join("data"), 1));
        let shards = shards.expect("its threads start");
        // Nobody looks at this bell: the states are the test's.
        let openers = Openers::start(&shards, &Arc::new(Bell::default())).expect("its threads start");
        let topic = Arc::new(MemoryTopic::new(1));
        let place = folder.path().join("replicas");
        let mut replicas = Replicas::new(shards, openers, topic, ClusterId(1), place, Options::default());
        replicas.order(0, Aim::Follow);
        replicas.on_done(0, Done::Opened(Ok(())));
        replicas.order(0, Aim::Claim(1));

        let following = ReplicaState::Following { is_in_step: true };
        let mut told = Vec::new();
        replicas.on_state(0, &following, 0, |outcome| told.push(outcome));
        replicas.on_state(0, &ReplicaState::Claimed { epoch: 1 }, 1, |outcome| told.push(outcome));
        assert_eq!(told, [Outcome::CaughtUp, Outcome::Claimed(1)]);

        // The same state from after it does.
        replicas.on_state(0, &following, 1, |outcome| told.push(outcome));
        assert_eq!(told[2..], [Outcome::Fenced, Outcome::CaughtUp]);
        replicas.close();
    }
}
