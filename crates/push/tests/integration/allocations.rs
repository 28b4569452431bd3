//! The hot path: a push to one device that is connected, and its acknowledgement, cost a bounded number of allocations.
//!
//! Twelve and four are what it takes today, with some room.

use allocation_counter::measure;
use stadium_push::{
    Arrival, Audience, Bounds, Command, ConnectionName, Content, Happened, NewPush, Options, Platform,
    PushId, Step, Time, TransportCommand, When,
};
use stadium_registry::{AppName, DeviceId};
use stadium_state_machine::{Place, Record, StateMachine as _};

fn run(platform: &mut Platform, record: &mut Record, command: &Command) {
    record.begin(64);
    platform.execute(0, Time(1_782_907_200_000), 0, command, record).unwrap();
}

#[test]
fn a_push_to_one_device_costs_a_few_allocations() {
    let app = AppName::new("default").unwrap();
    let device = DeviceId::new("phone-7").unwrap();
    let mut platform = Platform::new(Place { shard: 0, shards: 1, hash_seed: 1 }, Bounds::default());
    let (mut record, mut out) = (Record::new(), Vec::new());
    let connection = ConnectionName { connection: 1, ..ConnectionName::default() };
    let at = Time(1_782_907_200_000);
    let arrival = Arrival { app: app.clone(), device: device.clone(), connection, at };
    run(&mut platform, &mut record, &Command::Presence { arrived: vec![arrival], left: Vec::new() });
    let mut once = |number: u64| {
        let push = NewPush {
            app: app.clone(),
            id: PushId(u128::from(number)),
            audience: Audience::Device(device.clone()),
            content: Content::Raw {
                payload: vec![b'x'; 200].into(),
                content_type: None,
                properties: Vec::new(),
            },
            options: Options::default(),
            when: When::Now,
        };
        let send = Command::Send { push: Box::new(push) };
        let sent = measure(|| run(&mut platform, &mut record, &send));
        platform.take_transport_commands(&mut out);
        let Some(TransportCommand::Dispatch(dispatch)) = out.pop() else { panic!("it goes out at once") };
        let step = |what| Step { push: dispatch.push, slot: dispatch.to[0].slot, connection, what, at };
        let steps = vec![step(Happened::Sent), step(Happened::Acknowledged)];
        let progress = Command::Progress { steps };
        let acknowledged = measure(|| run(&mut platform, &mut record, &progress));
        (sent.count_total, acknowledged.count_total)
    };
    for number in 0..1_000 {
        once(number);
    }
    let mut all: Vec<_> = (1_000..2_000).map(&mut once).collect();
    all.sort_unstable();
    // Tables and trees grow now and then: half of the pushes show the cost of the rest.
    let (sent, _) = all[500];
    assert!(sent <= 12, "{sent} allocations for a push");
    all.sort_unstable_by_key(|&(_, acknowledged)| acknowledged);
    let (_, acknowledged) = all[500];
    assert!(acknowledged <= 4, "{acknowledged} allocations for an acknowledgement");
}
