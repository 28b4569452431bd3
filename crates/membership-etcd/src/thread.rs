//! The thread `membership`: reaches a member of etcd, speaks with it until contact is lost, and again.
//!
//! It has a runtime of its own, so that nothing else of the process delays a keep-alive.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use stadium_etcd::Members;
use stadium_etcd::messages::RangeRequest;
use stadium_membership::Error;
use tokio::sync::{mpsc, watch};

use crate::command::Command;
use crate::config::Config;
use crate::keys::Keys;
use crate::lease::Certainty;
use crate::session::{self, Ended, Memory};
use crate::shared::{Connection, Report, Shared};

/// How long a call may take. With a beat of half a second, a member that fell silent is left early
/// enough for another to be reached and asked before the lease is uncertain.
pub(crate) const TIMEOUT: Duration = Duration::from_millis(450);

/// How much later each further member is tried.
const STAGGER: Duration = Duration::from_millis(40);

/// The pause between two attempts to reach a member. Short: a lease lives for two seconds, and after
/// an outage of all of etcd each node must be back within that.
const RETRY: Duration = Duration::from_millis(150);

/// Starts the thread.
pub(crate) fn start(
    config: Config,
    shared: Arc<Shared>,
    certainty: Certainty,
    report: watch::Receiver<Report>,
    commands: mpsc::Receiver<Command>,
) -> Result<JoinHandle<()>, Error> {
    let ended = |why: std::io::Error| Error::Ended(format!("cannot start the thread `membership`: {why}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ended)?;
    let run = move || {
        runtime.block_on(serve(config, shared, certainty, report, commands));
        // Sockets of a member that is away must not hold the process.
        runtime.shutdown_background();
    };
    std::thread::Builder::new().name("membership".to_owned()).spawn(run).map_err(ended)
}

async fn serve(
    config: Config,
    shared: Arc<Shared>,
    certainty: Certainty,
    report: watch::Receiver<Report>,
    mut commands: mpsc::Receiver<Command>,
) {
    let keys = Keys::of(&config.cluster);
    let mut members = Members::new(config.etcd.clone(), STAGGER);
    let mut memory = Memory::new(config, keys.clone(), shared.clone(), certainty, report);
    let probe = RangeRequest::probe(keys.root());
    loop {
        let connection = tokio::select! {
            reached = members.reach(&probe, TIMEOUT) => match reached {
                Ok(client) => {
                    shared.count(|counts| counts.contacts += 1);
                    match session::run(&client, &mut memory, &mut commands).await {
                        Ended::Closed => return session::leave(&client, &memory).await,
                        Ended::Lost(why) => Connection::Away(why),
                        Ended::Refused(why) => Connection::Refused(why),
                    }
                }
                Err(why) => Connection::Away(why),
            },
            // Nobody writes while etcd is away: what waits is of an old view.
            () = closed(&mut commands) => return,
        };
        if shared.snapshot().connection != connection {
            match &connection {
                Connection::Refused(why) => {
                    tracing::error!(error = %why, "This node cannot join its cluster")
                }
                Connection::Away(why) => tracing::warn!(error = why, "Lost contact with the cluster's etcd"),
                Connection::Connected => {}
            }
            shared.change(|snapshot| snapshot.connection = connection);
        }
        tokio::select! {
            () = tokio::time::sleep(RETRY.mul_f64(0.75 + 0.5 * fastrand::f64())) => {}
            () = closed(&mut commands) => return,
        }
    }
}

/// Drops what comes until the last handle is gone.
async fn closed(commands: &mut mpsc::Receiver<Command>) {
    while commands.recv().await.is_some() {}
}
