//! A warm edge allocates nothing for a delivery: counted, not believed.
//!
//! The allocator counts what every thread but the test's own allocates, which is the loop. The stories
//! run one after the other in one test, because they share that count.
#![allow(unsafe_code)]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use stadium_mqtt::packet::QoS;
use support::{Client, Heard, open_edge};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_TEST: Cell<bool> = const { Cell::new(false) };
}

fn count() {
    if !IS_TEST.try_with(Cell::get).unwrap_or(true) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const DEVICES: usize = 50;
const WARM_UP: usize = 200;
const ROUNDS: usize = 200;

/// One message to every device, acknowledged where its QoS asks for it.
fn fan_out(sender: &mut Client, devices: &mut [Client], qos: QoS) {
    sender.publish("channels/everybody", &[7; 100], qos, 1);
    for device in devices.iter_mut() {
        let Heard::Publish { packet_id, .. } = device.hear() else { panic!("a delivery") };
        if qos == QoS::AtLeastOnce {
            device.acknowledge(packet_id);
        }
    }
    if qos == QoS::AtLeastOnce {
        assert_eq!(sender.hear(), Heard::Puback(1));
    }
}

fn counted(mut round: impl FnMut()) -> u64 {
    (0..WARM_UP).for_each(|_| round());
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    (0..ROUNDS).for_each(|_| round());
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn a_warm_delivery_allocates_nothing() {
    IS_TEST.with(|is_test| is_test.set(true));
    let edge = open_edge(1);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let mut devices: Vec<Client> = (0..DEVICES)
        .map(|number| {
            let inbox = format!("inbox/d{number}");
            Client::device(&edge, &format!("d{number}"), &[&inbox, "channels/everybody"])
        })
        .collect();
    assert!(ALLOCATIONS.load(Ordering::Relaxed) > before, "the counter counts the loop");
    let mut sender = Client::device(&edge, "sender", &[]);

    for qos in [QoS::AtMostOnce, QoS::AtLeastOnce] {
        let allocations = counted(|| fan_out(&mut sender, &mut devices, qos));
        assert_eq!(allocations, 0, "for {} deliveries by fan-out at {qos:?}", ROUNDS * DEVICES);

        let device = &mut devices[0];
        let allocations = counted(|| {
            sender.publish("inbox/d0", &[7; 100], qos, 1);
            let Heard::Publish { packet_id, .. } = device.hear() else { panic!("a delivery") };
            if qos == QoS::AtLeastOnce {
                device.acknowledge(packet_id);
                assert_eq!(sender.hear(), Heard::Puback(1));
            }
        });
        assert_eq!(allocations, 0, "for {ROUNDS} deliveries one to one at {qos:?}");
    }
}
