//! Hands what waits to the shards: every so often one command for each app and shard, up to a thousand devices in it.
//!
//! A shard that is full is asked again until it takes its part; meanwhile nothing else is taken
//! out, so that the waiting locations stay bounded.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stadium_push::{Answer, AppName, Command, DeviceId, Refusal, Sighting, device_home};
use stadium_shard::Shards;
use tokio::sync::watch;

use super::Means;
use super::pending::Newest;
use stadium_rpc_api::proto::location_event::Significance;

/// Devices of one command.
const DEVICES_MAX: usize = 1_000;

/// The longest pause before a shard that was full is asked again.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Writes until it is stopped.
pub(super) async fn write(
    means: Arc<Means>,
    shards: Shards,
    every: Duration,
    mut stopped: watch::Receiver<bool>,
) {
    let writing = async {
        loop {
            tokio::time::sleep(every).await;
            let waiting = means.pending.drain();
            means.figures.waiting(0);
            let Some(since) = waiting.values().map(|newest| newest.since).min() else { continue };
            for (app, sightings) in commands(waiting, shards.count(), means.minor_metres) {
                one(&means, &shards, app, sightings).await;
            }
            means.figures.lag(Instant::now().duration_since(since));
        }
    };
    tokio::select! {
        biased;
        // Also where nobody can stop it any more.
        _ = stopped.wait_for(|stop| *stop) => {}
        () = writing => {}
    }
}

/// What is written, each part of one app and of one shard.
fn commands(
    waiting: BTreeMap<(AppName, DeviceId), Newest>,
    shards: u16,
    minor_metres: u32,
) -> Vec<(AppName, Vec<Sighting>)> {
    let mut parts: BTreeMap<(AppName, u16), Vec<Sighting>> = BTreeMap::new();
    let mut full = Vec::new();
    for ((app, device), Newest { at, location, significance, .. }) in waiting {
        let shard = device_home(&app, &device, shards);
        let metres_min = if significance == Significance::Minor { minor_metres } else { 0 };
        let part = parts.entry((app.clone(), shard)).or_default();
        part.push(Sighting { device, at, location, metres_min });
        if part.len() >= DEVICES_MAX {
            full.push((app, std::mem::take(part)));
        }
    }
    let rest = parts.into_iter().filter(|(_, part)| !part.is_empty());
    full.extend(rest.map(|((app, _), part)| (app, part)));
    full
}

/// Asks a shard until it has taken its part, or never will.
async fn one(means: &Means, shards: &Shards, app: AppName, sightings: Vec<Sighting>) {
    loop {
        let command = Command::Locate { app: app.clone(), sightings: sightings.clone() };
        match shards.submit_push(command).await {
            Ok(Answer::Located(located)) => return means.figures.written(located),
            Ok(_) => {
                tracing::error!("A shard's answer to locations is of another kind");
                return means.figures.lost(sightings.len());
            }
            Err(Refusal::Busy { retry_after, .. } | Refusal::Unknown { retry_after, .. }) => {
                tokio::time::sleep(Duration::from_millis(retry_after).min(PAUSE_MAX)).await;
            }
            Err(refusal @ Refusal::Rejected { .. }) => {
                tracing::error!(%refusal, "Locations cannot be written");
                return means.figures.lost(sightings.len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use stadium_push::Time;
    use stadium_registry::Location;

    use super::*;

    #[test]
    fn each_command_is_of_one_app_and_one_shard_and_of_a_thousand_devices_at_most() {
        let mut waiting = BTreeMap::new();
        for (app, devices, significance) in
            [("default", 5_000, Significance::Minor), ("shop", 10, Significance::Significant)]
        {
            for number in 0..devices {
                let key = (
                    AppName::new(app).expect("a name"),
                    DeviceId::new(&format!("d{number}")).expect("a name"),
                );
                let location = Location::new(1.0, 2.0).expect("a place");
                let newest = Newest { at: Time(number), location, significance, since: Instant::now() };
                waiting.insert(key, newest);
            }
        }
        let commands = commands(waiting.clone(), 3, 10);
        let mut left = waiting;
        for (app, sightings) in commands {
            assert!((1..=DEVICES_MAX).contains(&sightings.len()));
            let shard = device_home(&app, &sightings[0].device, 3);
            for sighting in sightings {
                assert_eq!(device_home(&app, &sighting.device, 3), shard);
                assert_eq!(sighting.metres_min, if app.as_str() == "default" { 10 } else { 0 });
                left.remove(&(app.clone(), sighting.device)).expect("each of them once");
            }
        }
        assert!(left.is_empty());
    }
}
