//! Two connections talk through a pipe that cuts bytes anywhere: what one side sends arrives whole, once and
//! in order, credit is never exceeded, and both sides agree on which streams are open. With sessions all of
//! that holds across any number of cuts, wherever they fall.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use proptest::prelude::*;
use stadium_rsocket::connection::{
    Assembly, Payload, Piece, Reassembly, ResumeConfig, Scope, SendError, Suspended,
};
use stadium_rsocket::frame::{Completes, ErrorCode, Interaction, More, Next, StreamId};
use stadium_rsocket::{Config, Connection, Event, SetupOptions, Tag};

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// What a driver may do, or the pipe.
#[derive(Debug, Clone)]
enum Step {
    Request {
        side: usize,
        interaction: Interaction,
        initial: u32,
        value: Value,
        completes: bool,
    },
    Send {
        side: usize,
        nth: usize,
        value: Value,
        completes: bool,
    },
    /// The same in pieces, which the other side puts together.
    Pieces {
        side: usize,
        nth: usize,
        value: Value,
        completes: bool,
    },
    Complete {
        side: usize,
        nth: usize,
    },
    Credit {
        side: usize,
        nth: usize,
        n: u32,
    },
    Cancel {
        side: usize,
        nth: usize,
    },
    Fail {
        side: usize,
        nth: usize,
    },
    Deliver {
        to: usize,
        bytes: usize,
    },
    /// The transport is gone, and what was under way with it.
    Cut,
    /// The client has a new transport.
    Resume,
}

/// Metadata and data.
type Said = (Option<Vec<u8>>, Vec<u8>);

/// Sizes of metadata and data.
#[derive(Debug, Clone, Copy)]
struct Value {
    metadata: Option<usize>,
    data: usize,
}

fn value() -> impl Strategy<Value = Value> {
    let size = prop_oneof![0..40usize, 40..200usize, 200..2_000usize];
    (proptest::option::of(size.clone()), size).prop_map(|(metadata, data)| Value { metadata, data })
}

fn step() -> impl Strategy<Value = Step> {
    let side = 0..2usize;
    let nth = 0..8usize;
    let interaction = prop_oneof![
        Just(Interaction::RequestResponse),
        Just(Interaction::FireAndForget),
        Just(Interaction::RequestStream),
        Just(Interaction::RequestChannel),
    ];
    prop_oneof![
        3 => (side.clone(), interaction, 1..4u32, value(), any::<bool>()).prop_map(
            |(side, interaction, initial, value, completes)| Step::Request { side, interaction, initial, value, completes }
        ),
        5 => (side.clone(), nth.clone(), value(), proptest::bool::weighted(0.2))
            .prop_map(|(side, nth, value, completes)| Step::Send { side, nth, value, completes }),
        2 => (side.clone(), nth.clone(), value(), proptest::bool::weighted(0.2))
            .prop_map(|(side, nth, value, completes)| Step::Pieces { side, nth, value, completes }),
        1 => (side.clone(), nth.clone()).prop_map(|(side, nth)| Step::Complete { side, nth }),
        2 => (side.clone(), nth.clone(), 0..3u32).prop_map(|(side, nth, n)| Step::Credit { side, nth, n }),
        1 => (side.clone(), nth.clone()).prop_map(|(side, nth)| Step::Cancel { side, nth }),
        1 => (side.clone(), nth).prop_map(|(side, nth)| Step::Fail { side, nth }),
        8 => (side, 1..700usize).prop_map(|(to, bytes)| Step::Deliver { to, bytes }),
    ]
}

fn step_or_cut() -> impl Strategy<Value = Step> {
    prop_oneof![18 => step(), 1 => Just(Step::Cut), 1 => Just(Step::Resume)]
}

/// One side of one stream, as its driver sees it.
#[derive(Debug, Default)]
struct View {
    tag: Tag,
    /// Values that this side has sent, and has received.
    sent: Vec<Said>,
    got: Vec<Said>,
    /// Values that this side has asked for.
    granted: u64,
    /// Whether it wanted no more: what is under way to it then is lost.
    has_cancelled: bool,
    /// Whether nothing of it will happen any more, by this side's knowledge.
    is_over: bool,
}

struct Pipe {
    config: Arc<Config>,
    sides: [Connection; 2],
    /// The server's side of a new transport, until a RESUME states which session it is.
    stranger: Option<Connection>,
    /// Bytes on their way to each side.
    way: [Vec<u8>; 2],
    views: [HashMap<StreamId, View>; 2],
    /// Values of fire-and-forget requests.
    fired: [Vec<Said>; 2],
    heard: [Vec<Said>; 2],
    counter: u32,
}

impl Pipe {
    fn new(config: Config) -> Self {
        let config = Arc::new(config);
        let mut up = Vec::new();
        let options = SetupOptions { resume_token: Some(b"token"), ..SetupOptions::default() };
        let client = Connection::client(config.clone(), &options, 0, &mut up);
        let mut server = Connection::server(config.clone(), 0);
        let received = server.receive(0, &up, &mut Vec::new());
        assert!(matches!(received.event, Some(Event::Setup(_))));
        server.accept();
        Self {
            config,
            stranger: None,
            sides: [client, server],
            way: Default::default(),
            views: Default::default(),
            fired: Default::default(),
            heard: Default::default(),
            counter: 0,
        }
    }

    /// Bytes that are found nowhere else.
    fn make(&mut self, value: Value) -> Said {
        self.counter += 1;
        let bytes = |size: usize, salt: u32| {
            (0..size as u32).map(|at| (at.wrapping_mul(31) ^ self.counter.wrapping_mul(salt)) as u8).collect()
        };
        (value.metadata.map(|size| bytes(size, 7)), bytes(value.data, 13))
    }

    /// The nth of a side's open streams, in the order of their ids.
    fn nth(&self, side: usize, nth: usize) -> Option<StreamId> {
        let mut open: Vec<StreamId> = self.sides[side].streams().map(|(id, ..)| id).collect();
        open.sort();
        (!open.is_empty()).then(|| open[nth % open.len()])
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Request { side, interaction, initial, value, completes } => {
                let made = self.make(value);
                self.counter += 1;
                let tag = Tag(self.counter);
                let completes = if completes { Completes::Yes } else { Completes::No };
                let data = made.1.clone();
                let write = |out: &mut Vec<u8>| out.extend_from_slice(&data);
                let out = &mut self.way[1 - side];
                let sent = self.sides[side]
                    .request(interaction, initial, completes, tag, made.0.as_deref(), write, out)
                    .expect("few streams, small values");
                if interaction == Interaction::FireAndForget {
                    return self.fired[side].push(made);
                }
                let granted = if interaction == Interaction::RequestResponse { 1 } else { initial.into() };
                let view = View { tag, sent: vec![made], granted, ..View::default() };
                assert!(self.views[side].insert(sent, view).is_none(), "a stream id is used once");
            }
            Step::Send { side, nth, value, completes } => {
                let Some(id) = self.nth(side, nth) else { return };
                let made = self.make(value);
                let completes = if completes { Completes::Yes } else { Completes::No };
                let credit = self.sides[side].credit(id);
                let data = made.1.clone();
                let write = |out: &mut Vec<u8>| out.extend_from_slice(&data);
                let out = &mut self.way[1 - side];
                let before = out.len();
                match self.sides[side].payload(id, completes, made.0.as_deref(), write, out) {
                    Ok(()) => {
                        assert!(credit > 0, "a value takes credit");
                        self.view(side, id).sent.push(made);
                        self.check_over(side, id);
                    }
                    Err(error) => {
                        assert_ne!(error, SendError::TooLarge);
                        assert_eq!(self.way[1 - side].len(), before, "an error writes nothing");
                    }
                }
            }
            Step::Pieces { side, nth, value, completes } => {
                let Some(id) = self.nth(side, nth) else { return };
                let made = self.make(value);
                let completes = if completes { Completes::Yes } else { Completes::No };
                let (a, b) = made.1.split_at(made.1.len() / 3);
                let pieces = [
                    Piece { metadata: made.0.as_deref(), data: a, more: More::Follows, completes },
                    Piece { metadata: None, data: b, more: More::Whole, completes },
                ];
                let can = self.sides[side].credit(id) > 0;
                for piece in pieces {
                    let sent = match self.sides[side].piece(id, piece, &mut self.way[1 - side]) {
                        // Larger than a frame of this configuration: only the first piece is refused, here.
                        Err(SendError::TooLarge) if piece.more == More::Follows => return,
                        Err(SendError::TooLarge) => {
                            let (code, out) = (ErrorCode::APPLICATION_ERROR, &mut self.way[1 - side]);
                            self.sides[side].error(id, code, "GEO-001: no", out).expect("a stream under way");
                            return self.check_over(side, id);
                        }
                        sent => sent,
                    };
                    assert!(sent.is_ok() || !can || sent == Err(SendError::UnknownStream));
                    if sent.is_err() {
                        return;
                    }
                }
                self.view(side, id).sent.push(made);
                self.check_over(side, id);
            }
            Step::Complete { side, nth } => {
                let Some(id) = self.nth(side, nth) else { return };
                let _ = self.sides[side].complete(id, &mut self.way[1 - side]);
                self.check_over(side, id);
            }
            Step::Credit { side, nth, n } => {
                let Some(id) = self.nth(side, nth) else { return };
                if self.sides[side].request_n(id, n, &mut self.way[1 - side]).is_ok() {
                    self.view(side, id).granted += u64::from(n);
                }
            }
            Step::Cancel { side, nth } => {
                let Some(id) = self.nth(side, nth) else { return };
                if self.sides[side].cancel(id, &mut self.way[1 - side]).is_ok() {
                    self.view(side, id).has_cancelled = true;
                }
                self.check_over(side, id);
            }
            Step::Fail { side, nth } => {
                let Some(id) = self.nth(side, nth) else { return };
                let code = ErrorCode::APPLICATION_ERROR;
                let _ = self.sides[side].error(id, code, "GEO-001: no", &mut self.way[1 - side]);
                self.check_over(side, id);
            }
            Step::Deliver { to, bytes } => self.deliver(to, bytes),
            Step::Cut => {
                for side in [CLIENT, SERVER] {
                    self.way[side].clear();
                    assert_eq!(self.sides[side].suspend(1), Suspended::Waits);
                }
                self.stranger = None;
            }
            Step::Resume => {
                if self.stranger.is_none() {
                    // A new transport may come before anybody has noticed that the old one is dead.
                    self.step(&Step::Cut);
                    self.stranger = Some(Connection::server(self.config.clone(), 1));
                    self.sides[CLIENT].resume_client(1, &mut self.way[SERVER]);
                }
            }
        }
    }

    /// The first bytes on a new transport.
    fn meet(&mut self) {
        let Some(stranger) = &mut self.stranger else { return };
        let bytes = std::mem::take(&mut self.way[SERVER]);
        let received = stranger.receive(1, &bytes, &mut Vec::new());
        match received.event {
            Some(Event::Resume(resume)) => {
                assert_eq!(self.sides[SERVER].resume_token(), Some(resume.token));
                self.sides[SERVER].resume_server(&resume, 1, &mut self.way[CLIENT]).expect("all is kept");
                self.way[SERVER] = bytes[received.used..].to_vec();
                self.stranger = None;
            }
            None => self.way[SERVER] = bytes,
            other => panic!("{other:?}"),
        }
    }

    fn view(&mut self, side: usize, id: StreamId) -> &mut View {
        self.views[side].get_mut(&id).expect("a stream that the driver knows")
    }

    /// A stream that the connection has forgotten stays so.
    fn check_over(&mut self, side: usize, id: StreamId) {
        if self.sides[side].tag(id).is_none() {
            let view = self.view(side, id);
            assert!(!view.is_over, "stream {id:?} ended twice");
            view.is_over = true;
        }
    }

    /// Gives a side up to so many bytes of what is on its way: the last frame may be cut anywhere.
    fn deliver(&mut self, to: usize, bytes: usize) {
        if to == SERVER && self.stranger.is_some() {
            return self.meet();
        }
        let bytes = bytes.min(self.way[to].len());
        let chunk: Vec<u8> = self.way[to][..bytes].to_vec();
        let mut at = 0;
        loop {
            let mut answers = Vec::new();
            let received = self.sides[to].receive(1, &chunk[at..], &mut answers);
            let (used, event) = (received.used, received.event);
            at += used;
            if used == 0 {
                assert!(event.is_none());
                break;
            }
            self.way[1 - to].extend_from_slice(&answers);
            if let Some(event) = event {
                self.happened(to, event);
            }
        }
        self.way[to].drain(..at);
    }

    fn happened(&mut self, side: usize, event: Event<'_>) {
        match event {
            Event::Request { stream, interaction, initial, payload, more, .. } => {
                assert_eq!(more, More::Whole);
                if interaction == Interaction::FireAndForget {
                    return self.heard[side].push(owned(&payload));
                }
                let tag = Tag(stream.0 * 7 + 1);
                self.sides[side].set_tag(stream, tag);
                assert_eq!(self.sides[side].credit(stream), initial);
                // The request's own value needs no asking.
                let view = View { tag, got: vec![owned(&payload)], granted: 1, ..View::default() };
                assert!(self.views[side].insert(stream, view).is_none(), "a request is handed out once");
            }
            Event::Payload { stream, tag, next, payload, more, .. } => {
                assert_eq!(more, More::Whole);
                let view = self.view(side, stream);
                assert_eq!(view.tag, tag);
                assert!(!view.is_over, "nothing comes on a stream that is over");
                if next == Next::Value {
                    view.got.push(owned(&payload));
                    assert!(view.got.len() as u64 <= view.granted, "{stream:?} got more than it asked for");
                }
                self.check_over(side, stream);
            }
            Event::Credit { stream, tag, .. } => {
                assert_eq!(self.view(side, stream).tag, tag);
                assert!(!self.view(side, stream).is_over);
            }
            Event::Cancelled { stream, tag, scope } => {
                assert_eq!(self.view(side, stream).tag, tag);
                assert_eq!(scope == Scope::Stream, self.sides[side].tag(stream).is_none());
                self.check_over(side, stream);
            }
            Event::Failed { stream, tag, code, text } => {
                assert_eq!(self.view(side, stream).tag, tag);
                assert_eq!((code, text), (ErrorCode::APPLICATION_ERROR, b"GEO-001: no".as_slice()));
                self.check_over(side, stream);
                assert!(self.view(side, stream).is_over);
            }
            Event::Resumed => assert_eq!(side, CLIENT),
            other => panic!("{other:?}"),
        }
    }

    /// Everything has arrived: both sides must have seen the same.
    fn settle(&mut self) {
        while self.way.iter().any(|way| !way.is_empty()) {
            let before = [self.way[CLIENT].len(), self.way[SERVER].len()];
            self.deliver(CLIENT, usize::MAX);
            self.deliver(SERVER, usize::MAX);
            assert_ne!(before, [self.way[CLIENT].len(), self.way[SERVER].len()], "whole frames are taken");
        }
        let open = |side: &Connection| side.streams().map(|(id, ..)| id).collect::<HashSet<_>>();
        assert_eq!(open(&self.sides[CLIENT]), open(&self.sides[SERVER]));
        for side in [CLIENT, SERVER] {
            assert_eq!(self.fired[side], self.heard[1 - side], "fire-and-forget");
            for (id, view) in &self.views[side] {
                assert_eq!(view.is_over, self.sides[side].tag(*id).is_none());
                let Some(peer) = self.views[1 - side].get(id) else {
                    assert!(view.is_over, "{id:?} was cancelled before it was whole");
                    continue;
                };
                // What was under way when the stream ended may be missing, nothing else.
                assert!(view.got.len() <= peer.sent.len());
                assert!(view.got == peer.sent[..view.got.len()], "{id:?} arrives in order");
                if !view.is_over && !view.has_cancelled {
                    assert_eq!(view.got.len(), peer.sent.len(), "{id:?} arrives completely");
                }
            }
        }
    }
}

fn owned(payload: &Payload<'_>) -> Said {
    (payload.metadata.as_deref().map(<[u8]>::to_vec), payload.data.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_said_arrives_once_and_in_order(
        fragment_bytes in prop_oneof![Just(0usize), Just(64), 64..400usize, Just(64 * 1024)],
        steps in proptest::collection::vec(step(), 1..300),
    ) {
        let mut pipe = Pipe::new(Config { fragment_bytes, ..Config::default() });
        for step in &steps {
            pipe.step(step);
        }
        pipe.settle();
    }

    #[test]
    fn cuts_lose_nothing_and_repeat_nothing(
        fragment_bytes in prop_oneof![Just(64usize), Just(64 * 1024)],
        steps in proptest::collection::vec(step_or_cut(), 1..300),
    ) {
        let resume = Some(ResumeConfig { store_bytes_max: 1 << 24, session_ms: 1_000 });
        let mut pipe = Pipe::new(Config { fragment_bytes, resume, ..Config::default() });
        for step in &steps {
            pipe.step(step);
        }
        pipe.step(&Step::Cut);
        pipe.step(&Step::Resume);
        pipe.settle();
    }

    /// A request that is handed out in pieces has the same bytes as a whole one.
    #[test]
    fn pieces_are_the_whole(
        fragment_bytes in 64..400usize,
        metadata in 0..600usize,
        data in 500..5_000usize,
        chunk in 1..900usize,
    ) {
        let decide = |_: Interaction, metadata: Option<&[u8]>| {
            assert!(metadata.is_some_and(|metadata| metadata.iter().all(|&byte| byte == 0xAB)));
            Assembly::Pieces
        };
        let config = Config {
            fragment_bytes,
            reassembly: Reassembly::Pieces(Arc::new(decide)),
            ..Config::default()
        };
        let mut pipe = Pipe::new(config);
        let (metadata, data) = (vec![0xAB; metadata], (0..data).map(|at| at as u8).collect::<Vec<_>>());
        let write = |out: &mut Vec<u8>| out.extend_from_slice(&data);
        let out = &mut pipe.way[SERVER];
        let client = &mut pipe.sides[CLIENT];
        let tag = Tag(1);
        let id = client
            .request(Interaction::RequestResponse, 1, Completes::Yes, tag, Some(&metadata), write, out)
            .expect("room");
        let (mut got_metadata, mut got, mut last) = (Vec::new(), Vec::new(), More::Follows);
        let way = std::mem::take(&mut pipe.way[SERVER]);
        let (mut begin, mut end) = (0, 0);
        while end < way.len() {
            end = (end + chunk).min(way.len());
            loop {
                let received = pipe.sides[SERVER].receive(1, &way[begin..end], &mut Vec::new());
                begin += received.used;
                match received.event {
                    None if received.used == 0 => break,
                    None => {}
                    Some(Event::Request { stream, payload, more, .. }) => {
                        assert_eq!((stream, more), (id, More::Follows));
                        assert!(payload.metadata() == metadata, "metadata is complete first");
                        got_metadata.extend_from_slice(payload.metadata());
                        got.extend_from_slice(&payload.data);
                    }
                    Some(Event::Piece { stream, metadata, data, more, completes, .. }) => {
                        assert_eq!((stream, metadata), (id, None));
                        assert_eq!(completes.is_yes(), more == More::Whole);
                        got.extend_from_slice(data);
                        last = more;
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!(last, More::Whole);
        assert!(got_metadata == metadata && got == data);
        pipe.sides[SERVER].payload(id, Completes::Yes, None, |_| {}, &mut Vec::new()).expect("it can be answered");
        assert_eq!(pipe.sides[SERVER].streams_open(), 0);
    }
}
