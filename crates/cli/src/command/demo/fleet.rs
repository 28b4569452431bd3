//! The demo's devices: a swarm of simulated devices in worker processes, watched from here.
//!
//! The swarm runs on a thread that forwards its progress; dropping the [`Fleet`] stops it and
//! waits, so that no worker outlives the demo. Workers end by themselves should this process die,
//! because their input closes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use stadium_load::Error;
use stadium_load::run::{Control, Swarm};
use stadium_load::swarm::{Answer, ConnectPace, Progress, SwarmConfig, SwarmReport, Target};

use crate::failure::{Context, Failure};

/// A device's id is this, followed by its number.
pub(super) const ID_PREFIX: &str = "seat-";

/// Devices between their SYN and their SUBACK: enough to keep both cores busy, few enough that none
/// times out.
const HANDSHAKES_MAX: u32 = 1_000;

/// A swarm while it runs.
pub(super) struct Fleet {
    control: Control,
    newest: Arc<Mutex<Progress>>,
    thread: Option<JoinHandle<Result<SwarmReport, Error>>>,
}

impl Fleet {
    /// Sends `devices` devices to these servers, in turn. A device whose server is gone tries the next one.
    pub(super) fn start(
        servers: &[SocketAddr],
        devices: u32,
        answer: Option<Answer>,
    ) -> Result<Self, Failure> {
        let defaults = SwarmConfig::default();
        let swarm = Swarm::start(SwarmConfig {
            targets: servers.iter().copied().map(Target::at).collect(),
            next_target: true,
            devices,
            id_prefix: ID_PREFIX.to_owned(),
            answer,
            connect: ConnectPace { per_second: 0.0, in_flight_max: HANDSHAKES_MAX, ..defaults.connect },
            ..defaults
        })
        .context("the fleet cannot start")?;
        let control = swarm.control();
        let newest = Arc::new(Mutex::new(Progress::default()));
        let seen = Arc::clone(&newest);
        let watch = move || {
            swarm.wait(&mut |progress: &Progress| {
                seen.lock().unwrap_or_else(PoisonError::into_inner).clone_from(progress);
            })
        };
        let thread = std::thread::Builder::new()
            .name("fleet".to_owned())
            .spawn(watch)
            .context("the fleet cannot start")?;
        Ok(Self { control, newest, thread: Some(thread) })
    }

    /// How far it is, a quarter of a second ago at most.
    pub(super) fn progress(&self) -> Progress {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it ended by itself, which it never should.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Disconnects all devices and waits for their report.
    pub(super) fn leave(mut self) -> Result<SwarmReport, Failure> {
        self.control.stop();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(report)) => report.context("the fleet failed"),
            _ => Err(Failure::new("the fleet's thread panicked; this is a bug")),
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.control.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
