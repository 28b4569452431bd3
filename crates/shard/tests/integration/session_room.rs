//! Sessions on a full disk: a shard refuses to keep more, and still takes changes that free
//! something.

use std::sync::Arc;

use bytes::Bytes;
use stadium_session::{Answer, Change, Command, Connect, Keep, Message, Outcome, Receiver, Sessions};

use crate::fixture::machine::{Machine, Shard};

/// A batch, and what became of each change; the code where the shard refused it.
fn batch(shard: &mut Shard, changes: Vec<Change>) -> Result<Vec<Outcome>, &'static str> {
    let caller = shard.caller();
    shard.core.submit_to::<Sessions>(caller, Command::Batch(changes));
    match shard.answered(caller).expect("power is on") {
        Ok(answer) => match answer.from_machine::<Sessions>().expect("the sessions'") {
            Answer::Batch(outcomes) => Ok(outcomes),
            other => panic!("{other:?}"),
        },
        Err(refusal) => Err(refusal.code()),
    }
}

fn connect(client: &str, incarnation: u64) -> Change {
    Change::Connect(Box::new(Connect {
        client: client.into(),
        incarnation,
        version: 5,
        expiry_s: 600,
        identity: Bytes::from_static(b"me"),
        will: None,
    }))
}

fn keep(delivery: u32) -> Change {
    let mut message = Message::from_parts("t", b"", &[b'x'; 10 << 10]).expect("short parts");
    message.qos = 1;
    let receiver =
        Receiver { client: "away".into(), delivery, qos: 1, retain: false, shared: 0, ids: [].into() };
    Change::Keep(Box::new(Keep {
        message: Arc::new(message),
        receivers: vec![receiver],
        origin: None,
        publisher: None,
    }))
}

#[test]
fn a_full_disk_refuses_messages_and_takes_acknowledgements() {
    let machine = Machine::new();
    let mut shard = machine.boot();
    batch(&mut shard, vec![connect("away", 1)]).expect("there is room");
    shard.settle_down();
    machine.disk.set_capacity(Some(machine.disk.used() + (300 << 10)));
    let mut kept = 0;
    while batch(&mut shard, vec![keep(kept + 1)]).is_ok() {
        kept += 1;
        assert!(kept < 1_000, "the disk is not full");
    }
    // Small changes find the last room that a large one did not fit in.
    let refused =
        (2..100_000).find_map(|client| batch(&mut shard, vec![connect(&client.to_string(), client)]).err());
    assert_eq!(refused, Some("SHARD-002"), "a session takes room, too");
    for delivery in 1..=kept {
        let done = Change::Done { client: "away".into(), deliveries: vec![delivery] };
        batch(&mut shard, vec![done]).expect("an acknowledgement is taken");
    }
    let figures = shard.core.sessions().expect("it runs").figures();
    assert_eq!((figures.deliveries, figures.message_bytes), (0, 0), "nothing is owed any more");
}
