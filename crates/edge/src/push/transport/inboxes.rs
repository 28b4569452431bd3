//! The connections of a loop that read their inbox, and the notices about them for shards.
//!
//! A connection counts from the time at which its device is connected and has a subscription that
//! matches its inbox, until either ends. Notices are batched for each shard and leave at the end of
//! the turn.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stadium_mqtt::broker::{Drop, Progress, TRANSIENT_RECEIPT};
use stadium_mqtt::packet::QoS;
use stadium_push::{AppName, Arrival, Command, ConnectionName, Departure, DeviceId, Happened, Step, Time};
use stadium_reactor::ConnectionId;

use super::PushShards;

/// Bits of a receipt token that hold the push's number on its shard; above them stands the shard.
const PUSH_BITS: u32 = 48;

/// A connection that reads its inbox, or a place without one. Twelve bytes a connection: who it is, its session knows.
#[derive(Debug, Clone, Copy)]
struct Inbox {
    generation: u32,
    /// The device's place on its shard; known when something is delivered.
    slot: u32,
    /// Where the device lives; [`NOBODY`] where there is none.
    shard: u16,
    /// Whether its arrival stands in a batch: to report it twice would hide which report about it
    /// was the last.
    unreported: Unreported,
}

/// What stands in a batch of a connection that reads its inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unreported {
    Nothing,
    /// That it arrived.
    Arrival,
    /// The same, which was reported before: the shard has started over.
    Again,
}

/// The shard of no device: there are 1,024 at most.
const NOBODY: u16 = u16::MAX;

/// What one shard is to hear at the end of the turn.
#[derive(Debug, Default)]
struct Batch {
    arrived: Vec<Arrival>,
    left: Vec<Departure>,
    steps: Vec<Step>,
    /// No time in it is before this one, also where the clock was set back: a shard orders arrivals
    /// and departures by their times.
    latest: Time,
}

impl Batch {
    fn time(&mut self) -> Time {
        self.latest = self.latest.max(wall());
        self.latest
    }
}

/// The connections of a loop that read their inbox.
#[derive(Debug)]
pub(crate) struct Inboxes {
    shards: Option<Arc<dyn PushShards>>,
    /// Stands in the name of each connection, see [`ConnectionName::node`].
    node: u32,
    loop_index: u16,
    /// By their places in the reactor's slab.
    places: Vec<Inbox>,
    batches: Vec<Batch>,
    /// Shards whose batches are not empty.
    unreported: Vec<u16>,
}

impl Inboxes {
    pub(crate) fn new(shards: Option<Arc<dyn PushShards>>, loop_index: usize) -> Self {
        let loop_index = u16::try_from(loop_index).expect("there are at most 64 loops");
        Self { shards, node: 0, loop_index, places: Vec::new(), batches: Vec::new(), unreported: Vec::new() }
    }

    /// The node that stands in the names of connections.
    pub(super) fn node(&self) -> u32 {
        self.node
    }

    /// Names connections by another node from now on. To shards, the connections of the old names
    /// end, and these devices, which are all that read their inbox, arrive.
    pub(super) fn rename(&mut self, node: u32, connected: &[(ConnectionId, &str)]) {
        if self.node == node {
            return;
        }
        connected.iter().for_each(|(id, client_id)| self.end(*id, client_id));
        self.node = node;
        connected.iter().for_each(|(id, client_id)| self.begin(*id, client_id));
    }

    /// Whether there is no push platform.
    pub(crate) fn is_off(&self) -> bool {
        self.shards.is_none()
    }

    fn at(&self, id: ConnectionId) -> Option<&Inbox> {
        let inbox = self.places.get(id.index as usize)?;
        (inbox.shard != NOBODY && inbox.generation == id.generation).then_some(inbox)
    }

    /// Whether this connection reads its inbox, as far as shards were notified.
    pub(crate) fn reads(&self, id: ConnectionId) -> bool {
        self.at(id).is_some()
    }

    /// It reads its inbox from now on.
    pub(crate) fn begin(&mut self, id: ConnectionId, client_id: &str) {
        let (Some(shards), Some((app, device))) = (&self.shards, named(client_id)) else { return };
        let shard = shards.shard_of(&app, &device);
        let at = id.index as usize;
        if self.places.len() <= at {
            self.places.resize(
                at + 1,
                Inbox { generation: 0, slot: 0, shard: NOBODY, unreported: Unreported::Nothing },
            );
        }
        let unreported = match self.at(id) {
            Some(inbox) if inbox.unreported != Unreported::Nothing => return,
            Some(_) => Unreported::Again,
            None => Unreported::Arrival,
        };
        // One that arrives again has the slot that its deliveries on the way were given.
        let slot = self.at(id).map_or(0, |inbox| inbox.slot);
        self.places[at] = Inbox { generation: id.generation, slot, shard, unreported };
        let connection = self.name(id);
        let batch = self.batch(shard);
        let at = batch.time();
        batch.arrived.push(Arrival { app, device, connection, at });
    }

    /// It does no longer, or is gone.
    pub(crate) fn end(&mut self, id: ConnectionId, client_id: &str) {
        let Some(&Inbox { shard, unreported, .. }) = self.at(id) else { return };
        self.places[id.index as usize].shard = NOBODY;
        if let Some((app, device)) = named(client_id) {
            let connection = self.name(id);
            let batch = self.batch(shard);
            if unreported == Unreported::Again {
                // The shard must be notified that it is gone, independent of earlier reports.
                batch.arrived.retain(|arrival| arrival.connection != connection);
            }
            let at = batch.time();
            batch.left.push(Departure { app, device, connection, at });
        }
    }

    /// Connections that read their inbox, of devices of this shard or of all.
    pub(crate) fn connections(&self, shard: Option<u16>) -> Vec<ConnectionId> {
        let inboxes = self.places.iter().enumerate();
        inboxes
            .filter(|(_, one)| shard.map_or(one.shard != NOBODY, |shard| one.shard == shard))
            .map(|(index, one)| ConnectionId { index: index as u32, generation: one.generation })
            .collect()
    }

    /// Notes the place of a device on its shard, which names deliveries to it. False where the
    /// connection does not read its inbox.
    pub(super) fn note_slot(&mut self, id: ConnectionId, slot: u32) -> bool {
        let reads = self.reads(id);
        if reads {
            self.places[id.index as usize].slot = slot;
        }
        reads
    }

    /// What became of a delivery, by the token that its publication carried.
    pub(crate) fn progressed(&mut self, token: u64, link: Option<ConnectionId>, progress: Progress) {
        let what = match progress {
            Progress::Sent(_) => Happened::Sent,
            Progress::Acknowledged => Happened::Acknowledged,
            Progress::Dropped(Drop::TooLarge) => Happened::TooLarge,
            Progress::Dropped(_) | Progress::Expired => Happened::Returned,
            Progress::Targeted | Progress::Queued => return,
        };
        let Some(id) = link else { return };
        let Some(slot) = self.at(id).map(|inbox| inbox.slot) else { return };
        let (shard, push) = parts(token);
        let connection = self.name(id);
        self.step(shard, Step { push, slot, connection, what, at: wall() });
    }

    /// Reports one delivery.
    pub(super) fn step(&mut self, shard: u16, step: Step) {
        self.batch(shard).steps.push(step);
    }

    /// Notifies the shards, at the end of a turn.
    pub(crate) fn notify_shards(&mut self) {
        let Some(shards) = &self.shards else { return };
        for shard in self.unreported.drain(..) {
            let Batch { arrived, left, steps, .. } = std::mem::take(&mut self.batches[usize::from(shard)]);
            for arrival in &arrived {
                let ConnectionId { index, generation } = connection(arrival.connection.connection);
                let inbox = self.places.get_mut(index as usize);
                if let Some(inbox) = inbox.filter(|inbox| inbox.generation == generation) {
                    inbox.unreported = Unreported::Nothing;
                }
            }
            if !steps.is_empty() {
                shards.notify(shard, Command::Progress { steps });
            }
            if !arrived.is_empty() || !left.is_empty() {
                shards.notify(shard, Command::Presence { arrived, left });
            }
        }
    }

    fn batch(&mut self, shard: u16) -> &mut Batch {
        let at = usize::from(shard);
        if self.batches.len() <= at {
            self.batches.resize_with(at + 1, Batch::default);
        }
        let batch = &mut self.batches[at];
        if batch.arrived.is_empty() && batch.left.is_empty() && batch.steps.is_empty() {
            self.unreported.push(shard);
        }
        batch
    }

    fn name(&self, id: ConnectionId) -> ConnectionName {
        ConnectionName { node: self.node, loop_index: self.loop_index, connection: number(id) }
    }
}

/// The device that a client id names: `APP/DEVICE`, or one of the app `default`.
pub(crate) fn named(client_id: &str) -> Option<(AppName, DeviceId)> {
    let (app, device) = split(client_id);
    Some((AppName::new(app).ok()?, DeviceId::new(device).ok()?))
}

/// The app and the device of a client id, whether or not they may be called so.
pub(crate) fn split(client_id: &str) -> (&str, &str) {
    client_id.split_once('/').unwrap_or((AppName::DEFAULT, client_id))
}

/// The receipt token of a shard's push.
pub(super) fn token(shard: u16, push: u64) -> u64 {
    TRANSIENT_RECEIPT | u64::from(shard) << PUSH_BITS | push
}

fn parts(token: u64) -> (u16, u64) {
    let token = token & !TRANSIENT_RECEIPT;
    ((token >> PUSH_BITS) as u16, token & ((1 << PUSH_BITS) - 1))
}

/// A connection as a number.
fn number(id: ConnectionId) -> u64 {
    u64::from(id.generation) << 32 | u64::from(id.index)
}

/// The connection of a number.
pub(super) fn connection(number: u64) -> ConnectionId {
    ConnectionId { index: number as u32, generation: (number >> 32) as u32 }
}

/// The QoS of a dispatch.
pub(crate) fn mqtt_qos(number: u8) -> QoS {
    if number == 0 { QoS::AtMostOnce } else { QoS::AtLeastOnce }
}

/// The wall clock.
pub(crate) fn wall() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use stadium_push::{AppName, Command, ConnectionName, DeviceId};

    use super::super::PushShards;
    use super::{ConnectionId, Inboxes, connection, named, number, parts, token};

    /// The connections that arrived and left in each batch.
    #[derive(Debug, Default)]
    struct Notified(Mutex<Vec<(Vec<ConnectionName>, Vec<ConnectionName>)>>);

    impl PushShards for Notified {
        fn shard_of(&self, _: &AppName, _: &DeviceId) -> u16 {
            0
        }

        fn notify(&self, _: u16, command: Command) {
            if let Command::Presence { arrived, left } = command {
                let arrived = arrived.iter().map(|arrival| arrival.connection).collect();
                let left = left.iter().map(|departure| departure.connection).collect();
                self.0.lock().unwrap().push((arrived, left));
            }
        }
    }

    #[test]
    fn a_node_that_is_renamed_ends_the_old_names_and_announces_the_others() {
        let notified = Arc::new(Notified::default());
        let mut inboxes = Inboxes::new(Some(notified.clone()), 3);
        let ids = [0, 1].map(|index| ConnectionId { index, generation: 1 });
        inboxes.begin(ids[0], "phone");
        inboxes.notify_shards();
        // Its arrival waits while the node is renamed.
        inboxes.begin(ids[1], "tablet");
        inboxes.rename(7, &[(ids[0], "phone"), (ids[1], "tablet")]);
        inboxes.rename(7, &[(ids[0], "phone"), (ids[1], "tablet")]);
        inboxes.notify_shards();
        inboxes.end(ids[0], "phone");
        inboxes.notify_shards();
        let names =
            |node: u32| ids.map(|id| ConnectionName { node, loop_index: 3, connection: number(id) }).to_vec();
        let (old, new) = (names(0), names(7));
        let expected =
            [(vec![old[0]], vec![]), ([vec![old[1]], new.clone()].concat(), old), (vec![], vec![new[0]])];
        assert_eq!(*notified.0.lock().unwrap(), expected);
    }

    #[test]
    fn a_batch_says_once_that_a_connection_arrived() {
        let notified = Arc::new(Notified::default());
        let mut inboxes = Inboxes::new(Some(notified.clone()), 0);
        let id = ConnectionId { index: 3, generation: 1 };
        // A shard that has started over asks for it again before it was notified.
        inboxes.begin(id, "phone");
        inboxes.begin(id, "phone");
        inboxes.end(id, "phone");
        inboxes.notify_shards();
        // It comes, goes and comes: each is reported, and again later when it is asked for.
        inboxes.begin(id, "phone");
        inboxes.end(id, "phone");
        inboxes.begin(id, "phone");
        inboxes.notify_shards();
        inboxes.begin(id, "phone");
        inboxes.notify_shards();
        // Asked for again, and gone before that is reported.
        inboxes.begin(id, "phone");
        inboxes.end(id, "phone");
        inboxes.notify_shards();
        let counts: Vec<_> =
            notified.0.lock().unwrap().iter().map(|(arrived, left)| (arrived.len(), left.len())).collect();
        assert_eq!(counts, [(1, 1), (2, 1), (1, 0), (0, 1)]);
    }

    #[test]
    fn a_client_id_names_an_app_and_a_device() {
        let cases = [
            ("phone-1", Some(("default", "phone-1"))),
            ("shop/phone-1", Some(("shop", "phone-1"))),
            ("Shop/phone-1", None),
            ("shop/a/b", None),
            ("", None),
        ];
        for (client_id, expected) in cases {
            let found = named(client_id);
            let found = found.as_ref().map(|(app, device)| (app.as_str(), device.as_str()));
            assert_eq!(found, expected, "{client_id:?}");
        }
    }

    #[test]
    fn tokens_and_connections_come_back() {
        assert_eq!(parts(token(1_023, (1 << 48) - 1)), (1_023, (1 << 48) - 1));
        let id = ConnectionId { index: 7, generation: u32::MAX };
        assert_eq!(connection(number(id)), id);
    }
}
