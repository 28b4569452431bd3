//! Bytes, nanoseconds and allocations of items on their way: written into a warm batch and read.
//!
//! `cargo run -p stadium-shard-wire --example wire_cost`. docs/formats/shard-wire.md has a run of it.

use std::time::Instant;

use bytes::{Bytes, BytesMut};
use stadium_push::Recipient;
use stadium_queue::{JobId, Lease, NewJob, Placed, QueueName, Reserved};
use stadium_shard_wire::{
    Answer, Batch, Command, Dispatch, Item, Received, Request, Response, TransportBatch, TransportCommand,
    encode,
};
use stadium_state_machine::Time;
use stadium_wallet::{AssetCode, Booked, Kind, NewTransfer, TransferId, WalletName};

const ROUNDS: u32 = 20_000;

fn main() {
    println!(
        "{:24} {:>7} {:>10} {:>10} {:>12} {:>12}",
        "item", "bytes", "write ns", "read ns", "write alloc", "read alloc"
    );
    for (name, item) in items() {
        measure(name, &item);
    }
}

fn measure(name: &str, item: &Item) {
    let mut out = Vec::with_capacity(1 << 20);
    encode(item, &mut out).expect("it is short");
    let bytes = BytesMut::from(&out[..]).freeze();
    let mut write = || {
        out.clear();
        encode(item, &mut out).expect("it is short");
    };
    let read = || {
        let mut batch = Batch::new(bytes.clone()).expect("it is short");
        let read = batch.next();
        assert!(matches!(read, Some(Ok(Received::Item(_)))), "{read:?}");
    };
    let time = |run: &mut dyn FnMut()| {
        let began = Instant::now();
        (0..ROUNDS).for_each(|_| run());
        began.elapsed().as_nanos() / u128::from(ROUNDS)
    };
    let (write_ns, read_ns) = (time(&mut write), time(&mut { read }));
    let write_allocations = allocation_counter::measure(&mut write).count_total;
    let read_allocations = allocation_counter::measure(read).count_total;
    println!(
        "{name:24} {:>7} {write_ns:>10} {read_ns:>10} {write_allocations:>12} {read_allocations:>12}",
        bytes.len()
    );
}

fn items() -> Vec<(&'static str, Item)> {
    let queue = QueueName::new("mail.out").expect("a name");
    let payload = Bytes::from(vec![b'x'; 100]);
    let now = Time(1_800_000_000_000);
    let request = |command| {
        Item::Request(Request {
            id: 123_456,
            shard: 17,
            generation: 42,
            time_left: 5_000,
            command,
            searches: false,
            trace: None,
        })
    };
    let response = |answer| Item::Response(Response { id: 123_456, answer: Ok(answer) });
    let job = NewJob { payload: payload.clone(), ..NewJob::default() };
    let principal = Some("k_0011223344556677".parse().expect("an id"));
    let put =
        stadium_queue::Command::Put { queue: queue.clone(), jobs: vec![job], principal: principal.clone() };
    let placed = Placed { job: JobId::new(17, 1_000_000), duplicate: false };
    let reserve = stadium_queue::Command::Reserve { queue, jobs_max: 10, lease: None, wait: 0, worker: None };
    let reserved = (0..10).map(|number| Reserved {
        lease: Lease { job: JobId::new(17, 1_000_000 + number), reservation: 1 },
        until: now.after(30_000),
        attempt: 1,
        put_at: now,
        due: now,
        priority: 4,
        key: None,
        payload: payload.clone(),
    });
    let transfer = NewTransfer {
        id: TransferId(1 << 100 | 7),
        kind: Kind::Post {
            debit: WalletName::new("customer-4711").expect("a name"),
            credit: WalletName::new("@shop").expect("a name"),
            asset: AssetCode::new("EUR").expect("a code"),
            amount: 1_299,
        },
        reference: "order-2026-4711".to_owned(),
        metadata: Bytes::new(),
        effective: None,
    };
    let booked = Booked { transfer: transfer.id, at: now, duplicate: false };
    let transfers = stadium_wallet::Command::Transfer { transfers: vec![transfer], linked: false, principal };
    let dispatch = |devices: u32| {
        let recipient = |slot| Recipient { connection: 3 << 32 | u64::from(slot), slot };
        let dispatch = Dispatch {
            push: 4_711,
            payload: payload.clone(),
            content_type: Some("application/json".into()),
            properties: Vec::new(),
            qos: 1,
            expires_at: Some(now),
            trace: None,
            to: (0..devices).map(|slot| ((slot % 4) as u16, recipient(slot))).collect(),
        };
        let commands = vec![TransportCommand::Dispatch(dispatch)];
        Item::Transport(TransportBatch { node: 1_234_567, shard: 17, commands })
    };
    vec![
        ("put of one job of 100 B", request(Command::Queue(put))),
        ("its answer", response(Answer::Queue(stadium_queue::Answer::Placed(vec![placed])))),
        ("reserve of 10", request(Command::Queue(reserve))),
        (
            "its answer, 100 B each",
            response(Answer::Queue(stadium_queue::Answer::Reserved(reserved.collect()))),
        ),
        ("transfer", request(Command::Wallet(transfers))),
        ("its answer", response(Answer::Wallet(stadium_wallet::Answer::Booked(vec![Ok(booked)])))),
        ("push to 1 device", dispatch(1)),
        ("push to 1,000 devices", dispatch(1_000)),
    ]
}
