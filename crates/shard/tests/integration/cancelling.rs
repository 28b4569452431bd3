//! A cancellation asks one shard after the other; it is finished also where its client does not wait for it.

use crate::fixture;

use fixture::{Data, LONG, until};
use stadium_push::{
    Answer, AppName, Audience, Command, Content, DeviceId, NewPush, Options, PushId, PushView, Stage, When,
};
use stadium_registry::Selector;
use stadium_shard::Shards;

const SHARDS: u16 = 3;
const DEVICES: u64 = 30;

fn app() -> AppName {
    AppName::new("default").expect("a name")
}

fn ask(shards: &Shards, command: Command) -> Answer {
    shards.submit_push(command).wait(LONG).expect("it answers").expect("it is not refused")
}

fn view(shards: &Shards, push: PushId) -> PushView {
    match ask(shards, Command::Push { app: app(), push }) {
        Answer::Push(Some(view)) => *view,
        other => panic!("{other:?}"),
    }
}

/// A push to all devices, which all shards have.
fn send(shards: &Shards, id: u128) -> PushId {
    let push = NewPush {
        app: app(),
        id: PushId(id),
        audience: Audience::Selector(Selector::All),
        content: Content::Raw { payload: "x".into(), content_type: None, properties: Vec::new() },
        options: Options::default(),
        when: When::Now,
    };
    ask(shards, Command::Send { push: Box::new(push) });
    until("all shards have it", || view(shards, PushId(id)).counts.owed == DEVICES);
    PushId(id)
}

#[test]
fn a_cancellation_whose_client_leaves_is_carried_out_on_all_shards() {
    let data = Data::new(SHARDS);
    let shards = data.open();
    let devices = (0..DEVICES).map(|n| DeviceId::new(&format!("device-{n}")).expect("a name"));
    let devices = devices.map(|device| (device, Default::default())).collect();
    ask(&shards, Command::Change { app: app(), devices });

    // Its client leaves at once.
    let push = send(&shards, 1);
    drop(shards.submit_push(Command::Cancel { app: app(), push }));
    until("all have cancelled it", || view(&shards, push).counts.cancelled == DEVICES);

    // The home has answered when its client leaves: later commands at home are answered.
    let push = send(&shards, 2);
    let ticket = shards.submit_push(Command::Cancel { app: app(), push });
    ask(&shards, Command::Audiences { app: app() });
    drop(ticket);
    until("all have cancelled it", || view(&shards, push).counts.cancelled == DEVICES);

    // Its client waits.
    let push = send(&shards, 3);
    assert_eq!(ask(&shards, Command::Cancel { app: app(), push }), Answer::Done);
    let seen = view(&shards, push);
    assert_eq!((seen.stage, seen.counts.cancelled), (Stage::Cancelled, DEVICES));
    data.stop(shards);
}
