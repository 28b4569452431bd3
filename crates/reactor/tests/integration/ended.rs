//! A loop whose handler panics leaves nobody waiting for an answer.
//!
//! What is sent to it, before the end or after it, is dropped, and with it the sender's end of the answer.

use std::sync::mpsc::{Sender, TryRecvError, channel};

use stadium_reactor::{CloseReason, ConnectionId, Handler, Io, Loop, LoopHandle, LoopSettings};

/// Sends itself what it got, and panics before it reads that.
struct Fragile {
    own: LoopHandle<Sender<()>>,
}

impl Handler for Fragile {
    type Message = Sender<()>;

    fn received(&mut self, _io: &mut Io<Sender<()>>, _id: ConnectionId, bytes: &[u8]) -> usize {
        bytes.len()
    }

    fn closed(&mut self, _io: &mut Io<Sender<()>>, _id: ConnectionId, _reason: CloseReason) {}

    fn message(&mut self, _io: &mut Io<Sender<()>>, sender: Sender<()>) {
        self.own.try_send(sender).expect("the mailbox has room");
        panic!("as the test wants");
    }
}

#[test]
fn what_is_sent_to_a_loop_that_panicked_is_dropped() {
    let fragile = Loop::new(LoopSettings::default()).expect("a loop");
    let handle = fragile.handle();
    let (sender, receiver) = channel();
    handle.try_send(sender.clone()).expect("the mailbox has room");
    let own = fragile.handle();
    let ended = std::thread::spawn(move || fragile.run(Fragile { own }).map(|_| ())).join();
    assert!(ended.is_err(), "the handler panicked");
    handle.try_send(sender).expect("a loop that has ended refuses nothing");
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
}
