//! The fixture: shards with a clock, devices that connect and acknowledge, and what everybody can
//! see.
//!
//! It keeps each record, so that a shard can be replayed, and checks that none is larger than was promised.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write as _;

use stadium_push::live::LiveDispatch;
use stadium_push::{
    Answer, AppSettings, Arrival, Audience, Bounds, Command, ConnectionName, Content, Counts, Departure,
    Dispatch, Happened, NewPush, Options, Platform, PushId, PushView, Refusal, Step, Time, Trace,
    TransportCommand, When,
};
use stadium_registry::{AppName, Changes, DeviceId, Selector, Tag};
use stadium_state_machine::{Checkpointed as _, Delivery, Lookup, MachineState, Place, Record, StateMachine};

/// 2026-07-01T12:00:00Z.
pub const NOON: Time = Time(1_782_907_200_000);
pub const HOUR: u64 = 3_600_000;

pub fn app() -> AppName {
    AppName::new("default").unwrap()
}

pub fn device(name: &str) -> DeviceId {
    DeviceId::new(name).unwrap()
}

/// Shards, and what they wrote.
pub struct Scene {
    pub shards: Vec<Platform>,
    pub now: Time,
    pub records: Vec<Vec<(u64, Time, Vec<u8>)>>,
    pub bounds: Bounds,
    /// What went to the edge and was not looked at.
    pub sent: Vec<(usize, Dispatch)>,
    /// Live pushes that went to the edge.
    pub live: Vec<LiveDispatch>,
    pub cut: Vec<String>,
    connections: u64,
    connected: BTreeMap<String, ConnectionName>,
}

impl Scene {
    pub fn new(shards: u16) -> Self {
        Self::with(shards, Bounds::default())
    }

    pub fn with(shards: u16, bounds: Bounds) -> Self {
        let platform = |shard| Platform::new(Place { shard, shards, hash_seed: 7 }, bounds.clone());
        Self {
            shards: (0..shards).map(platform).collect(),
            now: NOON,
            records: vec![Vec::new(); usize::from(shards)],
            bounds: bounds.clone(),
            sent: Vec::new(),
            live: Vec::new(),
            cut: Vec::new(),
            connections: 0,
            connected: BTreeMap::new(),
        }
    }

    /// A shard that forgot everything but its records.
    pub fn replayed(&self, shard: usize) -> Platform {
        let place = Place { shard: shard as u16, shards: self.shards.len() as u16, hash_seed: 99 };
        let mut platform = Platform::new(place, self.bounds.clone());
        for (at, time, events) in &self.records[shard] {
            platform.apply(*at, *time, 0, events).unwrap();
        }
        platform
    }

    pub fn restart(&mut self) {
        for shard in 0..self.shards.len() {
            self.shards[shard] = self.replayed(shard);
        }
        self.connected.clear();
        self.sent.clear();
    }

    fn written(&mut self, shard: usize, record: &Record, bytes_max: usize) {
        assert!(
            record.events().len() <= bytes_max,
            "{} bytes in a record; {bytes_max} promised",
            record.events().len()
        );
        if !record.is_empty() {
            let at = self.records[shard].len() as u64 * 1_000;
            self.records[shard].push((at, self.now, record.events().to_vec()));
        }
        let mut out = Vec::new();
        self.shards[shard].take_transport_commands(&mut out);
        for what in out {
            match what {
                TransportCommand::Dispatch(dispatch) => self.sent.push((shard, dispatch)),
                TransportCommand::Live(dispatch) => self.live.push(dispatch),
                TransportCommand::Disconnect { device, .. } => self.cut.push(device.to_string()),
            }
        }
    }

    pub fn ask_shard(&mut self, shard: usize, command: &Command) -> Result<Answer, Refusal> {
        let platform = &mut self.shards[shard];
        if Platform::is_read(command) {
            return platform.read(self.now, command).map(in_memory);
        }
        let bytes_max = platform.record_bytes_max(command);
        let mut record = Record::new();
        record.begin(0);
        let answer = platform.execute(0, self.now, 0, command, &mut record);
        assert!(answer.is_ok() || record.is_empty(), "nothing is written where a command is refused");
        self.written(shard, &record, bytes_max);
        answer.map(|executed| executed.done().expect("no other shard is asked"))
    }

    pub fn ask(&mut self, command: Command) -> Result<Answer, Refusal> {
        let mut parts = command.parts(self.shards.len() as u16);
        let asked = std::mem::take(&mut parts.asked);
        let mut answers = self.ask_shards(asked);
        answers.extend(self.ask_shards(parts.then(&answers)));
        parts.merge(answers)
    }

    pub fn ask_shards(&mut self, asked: Vec<(u16, Command)>) -> Vec<Result<Answer, Refusal>> {
        asked.into_iter().map(|(shard, command)| self.ask_shard(usize::from(shard), &command)).collect()
    }

    /// Lets time go on to that time, with everything that it brings, messages included.
    pub fn run_until(&mut self, until: Time) {
        loop {
            self.pass_messages();
            let next = self.shards.iter().filter_map(MachineState::next_deadline).min();
            let Some(next) = next.filter(|&next| next <= until) else { break };
            self.now = self.now.max(next);
            for shard in 0..self.shards.len() {
                self.tick(shard);
            }
        }
        self.now = self.now.max(until);
    }

    pub fn wait(&mut self, span: u64) {
        self.run_until(self.now.after(span));
    }

    pub fn tick(&mut self, shard: usize) {
        for _ in 0..100_000 {
            let bytes_max = self.shards[shard].tick_bytes_max(4);
            let mut record = Record::new();
            record.begin(0);
            let more = self.shards[shard].tick(0, self.now, 0, &mut record, 4);
            self.written(shard, &record, bytes_max);
            if !more {
                return;
            }
        }
        panic!("time stands still");
    }

    /// Hands over all messages that are not confirmed, and confirms them.
    pub fn pass_messages(&mut self) {
        for from in 0..self.shards.len() {
            let mut messages = Vec::new();
            let first = self.shards[from].outgoing_first();
            self.shards[from].outgoing(first, &mut |_, _| None, &mut |to, number, message| {
                messages.push((to, number, message))
            });
            for (to, number, message) in messages {
                if self.receive(from, usize::from(to), number, &message).is_ok() {
                    self.confirm(from, number);
                }
            }
        }
    }

    pub fn receive(
        &mut self,
        from: usize,
        to: usize,
        number: u64,
        message: &stadium_push::ShardMessage,
    ) -> Result<(), Refusal> {
        let confirmed_below = self.shards[from].outgoing_first();
        let delivery = Delivery { shard: from as u16, number, confirmed_below, message: message.clone() };
        let bytes_max = self.shards[to].receive_bytes_max(&delivery);
        let mut record = Record::new();
        record.begin(0);
        let result = self.shards[to].receive(0, self.now, &delivery, &mut record);
        self.written(to, &record, bytes_max);
        result
    }

    pub fn confirm(&mut self, from: usize, number: u64) {
        let mut record = Record::new();
        record.begin(0);
        self.shards[from].confirm(0, self.now, number, &Ok(()), &mut record);
        self.written(from, &record, 64);
    }

    // Devices.

    pub fn change(&mut self, name: &str, changes: Changes) {
        let devices = vec![(device(name), changes)];
        match self.ask(Command::Change { app: app(), devices }).unwrap() {
            Answer::Changed(outcomes) => assert!(outcomes[0].is_ok(), "{:?}", outcomes[0]),
            other => panic!("{other:?}"),
        }
    }

    pub fn register(&mut self, names: &[&str]) {
        for name in names {
            self.change(name, Changes::default());
        }
    }

    pub fn tag(&mut self, name: &str, tag: &str) {
        let tags_added = vec![tag.parse::<Tag>().unwrap()];
        self.change(name, Changes { tags_added, ..Changes::default() });
    }

    pub fn connect(&mut self, name: &str) -> ConnectionName {
        self.connections += 1;
        // Loops and nodes in turn, one of them as in a standalone server.
        let connection = ConnectionName {
            node: [0, u32::MAX, 7][(self.connections % 3) as usize],
            loop_index: (self.connections % 2) as u16,
            connection: self.connections,
        };
        let arrival = Arrival { app: app(), device: device(name), connection, at: self.now };
        self.ask(Command::Presence { arrived: vec![arrival], left: Vec::new() }).unwrap();
        self.connected.insert(name.to_owned(), connection);
        connection
    }

    pub fn disconnect(&mut self, name: &str) {
        let Some(connection) = self.connected.remove(name) else { return };
        let departure = Departure { app: app(), device: device(name), connection, at: self.now };
        self.ask(Command::Presence { arrived: Vec::new(), left: vec![departure] }).unwrap();
    }

    /// The edge's report of one turn: the devices that arrived and left, each with its connection.
    pub fn present(&mut self, arrived: &[(&str, u64)], left: &[(&str, u64)]) {
        let name = |connection| ConnectionName { connection, ..ConnectionName::default() };
        let arrived = arrived.iter().map(|&(who, connection)| Arrival {
            app: app(),
            device: device(who),
            connection: name(connection),
            at: self.now,
        });
        let left = left.iter().map(|&(who, connection)| Departure {
            app: app(),
            device: device(who),
            connection: name(connection),
            at: self.now,
        });
        let presence = Command::Presence { arrived: arrived.collect(), left: left.collect() };
        self.ask(presence).unwrap();
    }

    /// The connection of a device, as the platform reports it.
    pub fn connection(&mut self, name: &str) -> Option<u64> {
        match self.ask(Command::Device { app: app(), device: device(name) }).unwrap() {
            Answer::Device(Some(view)) => view.connection.map(|name| name.connection),
            other => panic!("{other:?}"),
        }
    }

    /// The dispatches since the last call: device and payload, in its order.
    pub fn take_sent(&mut self) -> Vec<(String, String)> {
        let sent = std::mem::take(&mut self.sent);
        let mut taken = Vec::new();
        for (shard, dispatch) in sent {
            for to in &dispatch.to {
                taken.push((
                    self.name_of(shard, to.slot),
                    String::from_utf8(dispatch.payload.to_vec()).unwrap(),
                ));
            }
        }
        taken
    }

    /// Payloads that went out to a device since the last call of anything like this; others are put aside.
    pub fn payloads(&mut self) -> Vec<String> {
        self.take_sent().into_iter().map(|(_, payload)| payload).collect()
    }

    /// Whose slot it is.
    fn name_of(&self, shard: usize, slot: u32) -> String {
        self.shards[shard].device_at(&app(), slot).expect("what is dispatched has a device").to_string()
    }

    /// The edge reports the outcome of every delivery that went out: first sent, then this.
    pub fn answer_all(&mut self, what: Happened) -> usize {
        let sent = std::mem::take(&mut self.sent);
        let mut count = 0;
        for (shard, dispatch) in sent {
            let mut steps = Vec::new();
            for to in &dispatch.to {
                let connection = dispatch.connection(to);
                let step = Step {
                    push: dispatch.push,
                    slot: to.slot,
                    connection,
                    what: Happened::Sent,
                    at: self.now,
                };
                steps.push(step);
                if what != Happened::Sent {
                    steps.push(Step { what, at: self.now.after(40), ..step });
                }
                count += 1;
            }
            self.now = self.now.after(40);
            self.ask_shard(shard, &Command::Progress { steps }).unwrap();
        }
        count
    }

    pub fn acknowledge_all(&mut self) -> usize {
        let mut count = 0;
        while !self.sent.is_empty() {
            count += self.answer_all(Happened::Acknowledged);
        }
        count
    }

    // Pushes.

    pub fn send(&mut self, push: NewPush) -> Result<Answer, Refusal> {
        let answer = self.ask(Command::Send { push: Box::new(push) });
        self.pass_messages();
        answer
    }

    pub fn view(&mut self, id: u64) -> PushView {
        match self.ask(Command::Push { app: app(), push: push_id(id) }).unwrap() {
            Answer::Push(Some(view)) => *view,
            other => panic!("{other:?}"),
        }
    }

    pub fn counts(&mut self, id: u64) -> Counts {
        self.view(id).counts
    }

    pub fn trace(&mut self, id: u64, name: &str) -> Trace {
        match self.ask(Command::Trace { app: app(), push: push_id(id), device: device(name) }).unwrap() {
            Answer::Trace(trace) => *trace,
            other => panic!("{other:?}"),
        }
    }

    pub fn inbox(&mut self, name: &str) -> Vec<u64> {
        match self.ask(Command::Device { app: app(), device: device(name) }).unwrap() {
            Answer::Device(Some(view)) => view.inbox.iter().map(|owed| (owed.push.0 >> 64) as u64).collect(),
            other => panic!("{other:?}"),
        }
    }

    pub fn settings(&mut self, settings: AppSettings) {
        self.ask(Command::DeclareApp { app: app(), settings }).unwrap();
        self.pass_messages();
    }

    /// Each shard replayed from its records, and restored from its checkpoint, shows the same.
    pub fn check(&mut self) {
        for name in self.connected.keys().cloned().collect::<Vec<_>>() {
            self.disconnect(&name);
        }
        for shard in 0..self.shards.len() {
            let now = self.now;
            let shown = show(&mut self.shards[shard], now);
            let mut replayed = self.replayed(shard);
            assert_eq!(show(&mut replayed, now), shown, "replayed");
            let mut restored =
                restored(&checkpoint(&mut self.shards[shard]), &self.bounds, shard, self.shards.len());
            assert_eq!(show(&mut restored, now), shown, "restored");
            assert_eq!(restored.next_deadline().is_some(), self.shards[shard].next_deadline().is_some());
        }
    }
}

/// All chunks of a checkpoint.
pub fn checkpoint(platform: &mut Platform) -> Vec<Vec<u8>> {
    platform.checkpoint_begin();
    rest_of_checkpoint(platform)
}

pub fn rest_of_checkpoint(platform: &mut Platform) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    loop {
        let mut chunk = Vec::new();
        let more = platform.checkpoint_next(&mut chunk, 1_000);
        chunks.push(chunk);
        if !more {
            return chunks;
        }
    }
}

pub fn restored(chunks: &[Vec<u8>], bounds: &Bounds, shard: usize, shards: usize) -> Platform {
    let place = Place { shard: shard as u16, shards: shards as u16, hash_seed: 3 };
    let mut platform = Platform::new(place, bounds.clone());
    for chunk in chunks {
        platform.restore(chunk).unwrap();
    }
    platform.restore_finish().unwrap();
    platform
}

/// The answer of a read: the platform reads no records.
pub fn in_memory(found: Lookup<Answer, Infallible>) -> Answer {
    let Lookup::Answer(answer) = found;
    answer
}

/// The visible state of a shard, without the parts that are not durable: connections, and
/// deliveries in flight.
pub fn show(platform: &mut Platform, now: Time) -> String {
    let mut shown = String::new();
    let mut look = |command: Command| match platform.read(now, &command) {
        Ok(found) => in_memory(found),
        Err(refusal) => panic!("{refusal}"),
    };
    let Answer::Apps(mut apps) = look(Command::Apps { after: None, apps_max: 1_000 }) else { panic!() };
    for view in &mut apps {
        (view.connected, view.bytes) = (0, 0);
        let _ = writeln!(shown, "{view:?}");
        let of = view.app.clone();
        let page = Command::Devices {
            app: of.clone(),
            audience: None,
            prefix: String::new(),
            after: None,
            devices_max: 1_000,
        };
        let Answer::Devices(devices) = look(page) else { panic!() };
        for mut device in devices {
            device.connection = None;
            let _ = writeln!(shown, "{}", format!("{device:?}").replace("InFlight", "Owed"));
        }
        let Answer::Pushes(pushes) =
            look(Command::Pushes { app: of.clone(), before: None, pushes_max: 1_000 })
        else {
            panic!()
        };
        for mut push in pushes {
            push.counts.owed += std::mem::take(&mut push.counts.in_flight);
            let _ = writeln!(shown, "{push:?}");
            let all = Command::Deliveries {
                app: of.clone(),
                push: push.push.id,
                after: None,
                deliveries_max: 10_000,
            };
            let Answer::Deliveries(deliveries) = look(all) else { panic!() };
            let _ = writeln!(shown, "{}", format!("{deliveries:?}").replace("InFlight", "Owed"));
        }
        let _ = writeln!(shown, "{:?}", look(Command::Schedules { app: of.clone() }));
        let _ = writeln!(shown, "{:?}", look(Command::Audiences { app: of }));
    }
    let _ = writeln!(shown, "messages {} to {}", platform.outgoing_first(), platform.outgoing_next());
    shown
}

/// The push with this number in its id's upper half.
pub fn push_id(id: u64) -> PushId {
    PushId(u128::from(id) << 64)
}

/// A raw push whose payload is its id.
pub fn push(id: u64, audience: Audience) -> NewPush {
    NewPush {
        app: app(),
        id: push_id(id),
        audience,
        content: Content::Raw { payload: format!("{id}").into(), content_type: None, properties: Vec::new() },
        options: Options::default(),
        when: When::Now,
    }
}

pub fn to_one(id: u64, name: &str) -> NewPush {
    push(id, Audience::Device(device(name)))
}

pub fn to_all(id: u64) -> NewPush {
    push(id, Audience::Selector(Selector::All))
}

pub fn to_tag(id: u64, tag: &str) -> NewPush {
    push(id, Audience::Selector(Selector::Tag(tag.parse().unwrap())))
}
