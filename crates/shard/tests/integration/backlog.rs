//! A shard that hangs gets no more than it may hold. When it goes on, it forgets which devices were
//! connected and has all of them arrive again.

use crate::fixture;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use fixture::{Data, put, until};
use stadium_push::{AppName, Arrival, Command, ConnectionName, Departure, DeviceId, Time, TransportCommand};
use stadium_shard::Shards;

#[derive(Default)]
struct Counting(AtomicUsize);

impl stadium_push::Transport for Counting {
    fn carry_out(&self, _: u16, _: Vec<TransportCommand>) {}

    fn announce_again(&self, _: u16) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn counted(&self, _: stadium_push::live::LiveToken, _: &stadium_push::live::LiveTally) {}
}

/// Holds the shard's thread, which wakes it, until it may go on.
struct Holding {
    holds: Mutex<Sender<()>>,
    go_on: Mutex<Receiver<()>>,
}

impl Wake for Holding {
    fn wake(self: Arc<Self>) {
        self.holds.lock().expect("nobody panics").send(()).expect("the test listens");
        // An error means that the test has ended.
        let _ = self.go_on.lock().expect("nobody panics").recv();
    }
}

const AT: Time = Time(1_700_000_000_000);

fn app() -> AppName {
    AppName::new("default").expect("a name")
}

fn device(number: usize) -> DeviceId {
    DeviceId::new(&format!("device-{number}")).expect("a name")
}

fn arrival(number: usize, connection: u64) -> Arrival {
    let connection = ConnectionName { connection, ..ConnectionName::default() };
    Arrival { app: app(), device: device(number), connection, at: AT }
}

fn connected(shards: &Shards) -> u64 {
    shards.metrics()[0].push.connected
}

#[test]
fn a_shard_that_hangs_gets_no_more_than_it_may_hold() {
    let data = Data::new(1);
    let shards = data.open();
    let transport = Arc::new(Counting::default());
    shards.attach_transport(transport.clone());
    shards.notify_push(0, Command::Presence { arrived: vec![arrival(1, 1), arrival(2, 2)], left: vec![] });
    until("two are connected", || connected(&shards) == 2);

    let (holds, is_held) = channel();
    let (go_on, may_go_on) = channel();
    let waker = Waker::from(Arc::new(Holding { holds: Mutex::new(holds), go_on: Mutex::new(may_go_on) }));
    let mut ticket = Box::pin(shards.submit(put("mail", "one")));
    while let Poll::Ready(answer) = ticket.as_mut().poll(&mut Context::from_waker(&waker)) {
        answer.expect("it is accepted");
        ticket = Box::pin(shards.submit(put("mail", "one more")));
    }
    is_held.recv_timeout(fixture::LONG).expect("the shard's thread hangs");

    let arrivals =
        Command::Presence { arrived: (100..1_100).map(|n| arrival(n, n as u64)).collect(), left: vec![] };
    let mut sent = 0;
    while shards.metrics()[0].mailbox_full == 0 {
        shards.notify_push(0, arrivals.clone());
        sent += 1;
        assert!(sent < 1_000, "the backlog has no bound");
    }
    // Nobody hears that this one has gone.
    let left = Departure { app: app(), device: device(1), connection: arrival(1, 1).connection, at: AT };
    shards.notify_push(0, Command::Presence { arrived: vec![], left: vec![left] });
    go_on.send(()).expect("the shard waits");
    until("everybody is to arrive again", || transport.0.load(Ordering::SeqCst) == 1);
    until("nobody is taken to be connected", || connected(&shards) == 0);
    shards.notify_push(0, Command::Presence { arrived: vec![arrival(2, 2)], left: vec![] });
    until("the present device has arrived again", || connected(&shards) == 1);
    drop(ticket);
    data.stop(shards);
}
