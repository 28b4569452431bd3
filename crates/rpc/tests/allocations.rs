//! What a warm call allocates: nothing on the server's loop, nothing on a local client.
//!
//! The allocator counts for each thread by itself. A loop's thread is read from inside of its functions, which
//! run there: what lies between two readings is all that the loop has done between two calls or ticks.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stadium_rpc::{
    Call, CallOptions, Client, ClientConfig, Listen, LocalClient, Method, Next, Server, ServerConfig,
    Service, Ticks,
};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Allocations of this thread so far.
fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

// SAFETY: every call goes to the system's allocator as it came; counting allocates nothing, because the cell is
// constant-initialised and has no destructor.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The longest that anything may take.
const SOON: Duration = Duration::from_secs(20);

/// A message with something to keep in memory.
#[derive(Clone, PartialEq, prost::Message)]
struct Sample {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(message, repeated, tag = "2")]
    elements: Vec<Element>,
    #[prost(uint64, tag = "3")]
    number: u64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct Element {
    #[prost(fixed64, tag = "1")]
    value: u64,
}

const ECHO: Method<Sample, Sample> = Method::unary("samples/Echo");
const TICKS: Method<Sample, Sample> = Method::stream("samples/Ticks");

fn start(service: Service) -> Server {
    let mut config = ServerConfig {
        listen: vec![Listen::tcp(([127, 0, 0, 1], 0).into())],
        tick_ms: 1,
        ..ServerConfig::default()
    };
    config.admission.inline_wait_max = SOON;
    Server::start(config, vec![service]).expect("there are free ports")
}

/// Answers with the number of allocations that the loop's thread has made so far.
fn telling() -> Service {
    Service::new("samples", "1").inline(&ECHO, |_: &Call<'_>, request: &Sample, answer: &mut Sample| {
        answer.elements.extend_from_slice(&request.elements);
        answer.number = allocations();
        Ok(())
    })
}

fn request() -> Sample {
    Sample { elements: vec![Element { value: 7 }; 20], ..Sample::default() }
}

/// Calls during which nothing may be allocated, and those before. A loop looks at its load four times a second,
/// and tells it where it has changed; that is no call's cost, so that a quiet stretch is looked for.
const WARM: usize = 2_000;
const STRETCH: usize = 500;

#[test]
fn warm_inline_call_allocates_nothing_on_the_servers_loop() {
    let server = start(telling());
    let config = ClientConfig::at(server.bound().to_vec());
    let mut client = LocalClient::new(config).expect("a loop can be had");
    let samples = client.service("samples").expect("a static list takes any name");
    let (request, mut answer) = (request(), Sample::default());
    let mut call = || {
        let ticket = client.call(samples, &ECHO, &request, &CallOptions::default());
        client.wait(&ticket, &mut answer).expect("it is answered");
        answer.number
    };
    for _ in 0..WARM {
        call();
    }
    let stretches: Vec<u64> = (0..20)
        .map(|_| {
            let before = call();
            (0..STRETCH).map(|_| call()).last().unwrap_or(before) - before
        })
        .collect();
    assert!(stretches.contains(&0), "allocations in stretches of {STRETCH} calls: {stretches:?}");
    assert!(stretches.iter().sum::<u64>() < 200, "{stretches:?}");
}

#[test]
fn warm_call_allocates_nothing_on_a_local_client() {
    let server = start(telling());
    let config = ClientConfig::at(server.bound().to_vec());
    let mut client = LocalClient::new(config).expect("a loop can be had");
    let samples = client.service("samples").expect("a static list takes any name");
    let (request, mut answer) = (request(), Sample::default());
    let options = CallOptions { key: Some(b"device-1"), ..CallOptions::default() };
    let mut call = |options: &CallOptions<'_>| {
        let ticket = client.call(samples, &ECHO, &request, options);
        client.wait(&ticket, &mut answer).expect("it is answered");
    };
    for _ in 0..WARM {
        call(&CallOptions::default());
        call(&options);
    }
    let stretches: Vec<u64> = (0..20)
        .map(|_| {
            let before = allocations();
            for _ in 0..STRETCH {
                call(&CallOptions::default());
                call(&options);
            }
            allocations() - before
        })
        .collect();
    assert!(stretches.contains(&0), "allocations in stretches of {} calls: {stretches:?}", 2 * STRETCH);
    assert!(stretches.iter().sum::<u64>() < 200, "{stretches:?}");
}

/// Tells the allocations of the loop's thread.
struct Telling;

impl Ticks<Sample> for Telling {
    fn tick(&mut self, message: &mut Sample) -> Next {
        message.number = allocations();
        Next::After(Duration::from_millis(1))
    }
}

#[test]
fn warm_ticking_streams_allocate_nothing_on_the_servers_loop() {
    let service = Service::new("samples", "1")
        .ticking(&TICKS, |_: &Call<'_>, _: &Sample| Ok((Duration::from_millis(1), Telling)));
    let server = start(service);
    let client = Client::start(ClientConfig::at(server.bound().to_vec())).expect("a thread can be had");
    let samples = client.service("samples");
    // Credit that is not given back while the test looks: frames of credit are calls of a kind too.
    let credit = 1_000_000;
    let mut streams: Vec<_> =
        (0..20).map(|_| samples.stream(&TICKS, &request(), credit, &CallOptions::default())).collect();
    let mut message = || {
        let messages = streams.iter_mut().map(|stream| {
            let message = stream.next_within(SOON).expect("it goes on");
            message.expect("it has no end").number
        });
        messages.max().unwrap_or(0)
    };
    for _ in 0..500 {
        message();
    }
    let stretches: Vec<u64> = (0..20)
        .map(|_| {
            let before = message();
            (0..50).map(|_| message()).last().unwrap_or(before) - before
        })
        .collect();
    assert!(stretches.contains(&0), "allocations in stretches of 1,000 messages: {stretches:?}");
    assert!(stretches.iter().sum::<u64>() < 200, "{stretches:?}");
}

#[test]
fn allocations_are_counted_where_they_happen() {
    let elsewhere = Arc::new(AtomicU64::new(0));
    let before = allocations();
    let kept: Vec<String> = (0..10).map(|number| format!("{number}")).collect();
    let here = allocations() - before;
    assert!((10..=12).contains(&here), "{here} allocations for {} strings and their list", kept.len());
    let told = Arc::clone(&elsewhere);
    let thread = std::thread::spawn(move || {
        let before = allocations();
        drop(std::hint::black_box(Box::new(7_u64)));
        told.store(allocations() - before, Ordering::SeqCst);
    });
    thread.join().expect("it counts");
    assert_eq!(elsewhere.load(Ordering::SeqCst), 1);
}
