//! Two nodes back to back: each has a transport of its own and that of the cluster, and items pass
//! between them in their real encoding.

use std::collections::VecDeque;
use std::sync::{Mutex, Weak};

use bytes::Bytes;
use stadium_push::live::{LiveDispatch, Message, Qos};
use stadium_push::{AppName, DeviceId, Dispatch, Recipient};
use stadium_shard_wire::{Batch, Received, encode};
use stadium_state_machine::TraceContext;

use super::*;

/// What reached the transport of a node, and what its shards heard.
#[derive(Debug, Default)]
struct Local {
    carried_out: Mutex<Vec<TransportCommand>>,
    announced: Mutex<Vec<u16>>,
    counted: Mutex<Vec<(LiveToken, LiveTally)>>,
    notified: Mutex<Vec<(u16, Vec<Step>)>>,
}

impl Local {
    fn take(&self) -> Vec<TransportCommand> {
        std::mem::take(&mut *self.carried_out.lock().unwrap())
    }
}

impl Transport for Local {
    fn carry_out(&self, _: u16, commands: Vec<TransportCommand>) {
        self.carried_out.lock().unwrap().extend(commands);
    }

    fn announce_again(&self, shard: u16) {
        self.announced.lock().unwrap().push(shard);
    }

    fn counted(&self, token: LiveToken, counts: &LiveTally) {
        self.counted.lock().unwrap().push((token, *counts));
    }
}

impl PushNotices for Local {
    fn notify(&self, shard: u16, command: Command) {
        let Command::Progress { steps } = command else { panic!("{command:?}") };
        self.notified.lock().unwrap().push((shard, steps));
    }
}

/// The way to the other node.
#[derive(Debug, Default)]
struct Wire {
    other: Mutex<Option<(u32, Weak<ClusterTransport>)>>,
    /// Whether each of the next items is refused; all that follow are taken.
    refuses: Mutex<VecDeque<bool>>,
    bytes: Mutex<Vec<usize>>,
}

impl Wire {
    fn pass(&self, item: &Item) {
        let mut batch = Vec::new();
        encode(item, &mut batch).expect("it is short enough");
        self.bytes.lock().unwrap().push(batch.len());
        let (_, other) = self.other.lock().unwrap().clone().expect("there is another node");
        for received in Batch::new(batch.into()).expect("it is a batch") {
            let Ok(Received::Item(item)) = received else { panic!("{received:?}") };
            let left = other.upgrade().expect("the other node is there").receive(item);
            assert!(left.is_none(), "{left:?}");
        }
    }

    fn bytes(&self) -> Vec<usize> {
        std::mem::take(&mut *self.bytes.lock().unwrap())
    }
}

impl NodeSender for Wire {
    fn send(&self, node: u32, item: &Item) -> Result<(), NotSent> {
        if self.other.lock().unwrap().as_ref().is_none_or(|(other, _)| *other != node) {
            return Err(NotSent::Gone);
        }
        if self.refuses.lock().unwrap().pop_front() == Some(true) {
            return Err(NotSent::Busy);
        }
        self.pass(item);
        Ok(())
    }

    fn broadcast(&self, item: &Item) {
        self.pass(item);
    }
}

struct Node {
    local: Arc<Local>,
    wire: Arc<Wire>,
    transport: Arc<ClusterTransport>,
}

const ONE: u32 = 5;
const OTHER: u32 = u32::MAX;
const BYTES_MAX: usize = 64 << 10;

/// The nodes [`ONE`] and [`OTHER`].
fn nodes() -> [Node; 2] {
    let nodes = [ONE, OTHER].map(|number| {
        let (local, wire) = (Arc::new(Local::default()), Arc::new(Wire::default()));
        let transport = ClusterTransport::new(local.clone(), wire.clone(), local.clone(), BYTES_MAX);
        transport.set_node(number);
        Node { local, wire, transport: Arc::new(transport) }
    });
    for (node, number, other) in [(&nodes[0], OTHER, &nodes[1]), (&nodes[1], ONE, &nodes[0])] {
        *node.wire.other.lock().unwrap() = Some((number, Arc::downgrade(&other.transport)));
    }
    nodes
}

fn dispatch(node: u32, loop_index: u16, push: u64, payload: &Bytes, to: &[u64]) -> TransportCommand {
    TransportCommand::Dispatch(Dispatch {
        node,
        loop_index,
        push,
        payload: payload.clone(),
        content_type: Some("text/plain".into()),
        properties: vec![("name".into(), "value".into())],
        qos: 1,
        expires_at: Some(Time(1_800_000_000_000)),
        trace: Some(TraceContext { trace_id: [1; 16], span_id: [2; 8], flags: 1 }),
        to: to.iter().map(|&connection| Recipient { connection, slot: connection as u32 }).collect(),
    })
}

fn live(token: LiveToken, node: u32, payload: &Bytes, to: &[u64]) -> TransportCommand {
    let message = Message { payload: payload.clone(), content_type: None, properties: Vec::new() };
    let (loop_index, qos, to) = (1, Qos::AtLeastOnce, to.to_vec());
    TransportCommand::Live(LiveDispatch { token, node, loop_index, message, qos, trace: None, to })
}

fn disconnect(name: &str) -> TransportCommand {
    TransportCommand::Disconnect { app: AppName::default(), device: DeviceId::new(name).unwrap() }
}

/// For each connection of dispatches, the pushes and payloads that it gets, in their order.
fn by_connection(commands: &[TransportCommand]) -> BTreeMap<ConnectionName, Vec<(u64, Bytes)>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for command in commands {
        let TransportCommand::Dispatch(dispatch) = command else { continue };
        for to in &dispatch.to {
            let got = all.entry(dispatch.connection(to)).or_default();
            got.push((dispatch.push, dispatch.payload.clone()));
        }
    }
    all
}

#[test]
fn commands_go_to_the_node_of_their_connections_with_each_payload_once() {
    let [one, other] = nodes();
    let payload = Bytes::from(vec![b'x'; 10_000]);
    let devices: Vec<u64> = (0..1_000).collect();
    let here = [dispatch(ONE, 0, 1, &payload, &[1]), dispatch(0, 0, 2, &payload, &[1])];
    let there = [0, 1, 2, 3].map(|loop_index| dispatch(OTHER, loop_index, 1, &payload, &devices));
    one.transport.carry_out(3, [&here[..], &there[..]].concat());
    assert_eq!(one.local.take(), here);
    assert!(by_connection(&other.local.take()) == by_connection(&there));
    let bytes = one.wire.bytes();
    let least = 4 * devices.len() * 14 + payload.len();
    assert_eq!(bytes.len(), 2, "more than one item has room for");
    assert!(
        (least..least + payload.len() + 512).contains(&bytes.iter().sum()),
        "{bytes:?}, at least {least}"
    );
    assert!(bytes.iter().all(|&bytes| bytes <= BYTES_MAX), "{bytes:?}");
    assert!(one.local.notified.lock().unwrap().is_empty());
}

#[test]
fn each_connection_gets_its_pushes_in_their_order() {
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let [one, other] = nodes();
        // A payload stands for a variant of a push, and loops share it.
        let payloads: Vec<Bytes> =
            (0..9).map(|number: u8| Bytes::from(vec![number; random.usize(..40_000)])).collect();
        let mut commands = Vec::new();
        for push in 0..random.u64(1..8) {
            for group in 0..random.u64(1..9) {
                let payload = &payloads[random.usize(..payloads.len())];
                let first = group * 1_000;
                let to: Vec<u64> = (first..first + random.u64(1..300)).collect();
                let node = [ONE, OTHER][random.usize(..2)];
                commands.push(dispatch(node, random.u16(..4), push, payload, &to));
            }
            if random.u8(..4) == 0 {
                commands.push(disconnect("phone"));
            }
        }
        one.transport.carry_out(0, commands.clone());
        let is_there = |name: &ConnectionName| name.node == OTHER;
        let (mut there, mut here) = (by_connection(&commands), by_connection(&commands));
        there.retain(|name, _| is_there(name));
        here.retain(|name, _| !is_there(name));
        assert!(by_connection(&one.local.take()) == here, "seed {seed}: this node");
        assert!(by_connection(&other.local.take()) == there, "seed {seed}: the other node");
        let bytes = one.wire.bytes();
        assert!(bytes.iter().all(|&bytes| bytes <= BYTES_MAX), "seed {seed}: {bytes:?}");
    }
}

#[test]
fn a_payload_that_fills_an_item_goes_to_its_devices_one_by_one() {
    let [one, other] = nodes();
    let payload = Bytes::from(vec![b'x'; 2 * BYTES_MAX]);
    let all = dispatch(OTHER, 0, 1, &payload, &[1, 2, 3]);
    one.transport.carry_out(0, vec![all.clone()]);
    assert_eq!(by_connection(&other.local.take()), by_connection(&[all]));
    assert_eq!(one.wire.bytes().len(), 3);
}

#[test]
fn dispatches_that_are_not_sent_are_returned_and_nothing_overtakes_them() {
    let payload = Bytes::from(vec![b'x'; BYTES_MAX / 2]);
    let push = |push| dispatch(OTHER, 2, push, &payload, &[push]);
    let step = |push: u64| {
        let connection = ConnectionName { node: OTHER, loop_index: 2, connection: push };
        (push, push as u32, connection, Happened::Returned)
    };
    // Each push fills an item. The second one is refused, and there is room again for the third.
    let [one, other] = nodes();
    one.wire.refuses.lock().unwrap().extend([false, true]);
    one.transport.carry_out(7, vec![push(1), push(2), push(3)]);
    assert_eq!(other.local.take(), [push(1)]);
    let returned = |node: &Node| -> Vec<_> {
        let notified = std::mem::take(&mut *node.local.notified.lock().unwrap());
        assert!(notified.iter().all(|(shard, _)| *shard == 7));
        let steps = notified.iter().flat_map(|(_, steps)| steps);
        steps.map(|step| (step.push, step.slot, step.connection, step.what)).collect()
    };
    assert_eq!(returned(&one), [step(2), step(3)]);
    one.transport.carry_out(7, vec![push(4)]);
    assert_eq!((other.local.take(), returned(&one)), (vec![push(4)], vec![]));
    // Its node has started again: the name is nobody's.
    *one.wire.other.lock().unwrap() = Some((9, Arc::downgrade(&other.transport)));
    one.transport.carry_out(7, vec![push(5)]);
    assert_eq!((other.local.take(), returned(&one)), (vec![], vec![step(5)]));
}

#[test]
fn a_device_is_disconnected_on_every_node_in_its_order() {
    let [one, other] = nodes();
    let payload = Bytes::from_static(b"x");
    let push = |push| dispatch(OTHER, 0, push, &payload, &[1]);
    let commands = vec![push(1), disconnect("phone"), disconnect("tablet"), push(2)];
    one.transport.carry_out(0, commands.clone());
    assert_eq!(other.local.take(), commands);
    assert_eq!(one.local.take(), [disconnect("phone"), disconnect("tablet")]);
    assert_eq!(one.wire.bytes().len(), 3, "both disconnects are in one item");
    let many = vec![disconnect("phone"); 1_000];
    one.transport.carry_out(0, many.clone());
    assert_eq!(other.local.take(), many);
    assert!(one.wire.bytes().iter().all(|&bytes| bytes <= BYTES_MAX));
}

#[test]
fn devices_of_all_nodes_are_announced_again() {
    let nodes = nodes();
    nodes[0].transport.announce_again(12);
    for node in &nodes {
        assert_eq!(*node.local.announced.lock().unwrap(), [12]);
    }
}

#[test]
fn counts_of_live_pushes_come_back_to_the_node_that_accepted_them() {
    let [one, other] = nodes();
    let (payload, token) = (Bytes::from_static(b"goal"), LiveToken::new(ONE, 3));
    let (here, there) = (live(token, ONE, &payload, &[1]), live(token, OTHER, &payload, &[2, 3]));
    // The shard that sends it need not be where it was accepted.
    other.transport.carry_out(0, vec![here.clone(), there.clone()]);
    assert_eq!((one.local.take(), other.local.take()), (vec![here], vec![there.clone()]));
    let sent = LiveTally { targeted: 2, sent: 2, ..LiveTally::default() };
    assert!(other.transport.send_counts(token, &sent));
    let own = LiveTally { targeted: 1, dropped: 1, ..LiveTally::default() };
    assert!(one.transport.send_counts(token, &own));
    assert_eq!(*one.local.counted.lock().unwrap(), [(token, sent), (token, own)]);
    assert_eq!(*other.local.counted.lock().unwrap(), []);
    // There is no room: the transport offers them again, and devices that are not reached count.
    one.local.counted.lock().unwrap().clear();
    other.wire.refuses.lock().unwrap().push_back(true);
    assert!(!other.transport.send_counts(token, &sent));
    one.wire.refuses.lock().unwrap().push_back(true);
    one.transport.carry_out(0, vec![there]);
    let not_connected = LiveTally { not_connected: 2, ..LiveTally::default() };
    assert_eq!(*one.local.counted.lock().unwrap(), [(token, not_connected)]);
    // The record of a push ends with its node, and so do its counts.
    assert!(one.transport.send_counts(LiveToken::new(77, 1), &sent));
}
