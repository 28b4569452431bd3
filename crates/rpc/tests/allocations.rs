//! What a warm call allocates: nothing on the server's loop, nothing on a local client.
//!
//! The allocator counts for each thread by itself. A loop's thread is read from inside of its functions, which
//! run there: what lies between two readings is all that the loop has done between two calls or ticks.

#[path = "../../../testing/counting.rs"]
mod counting;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use counting::Counting;
use stadium_rpc::{
    Call, CallOptions, Client, ClientConfig, Listen, LocalClient, Method, Next, Server, ServerConfig,
    Service, Ticks,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting::no_thread_but();

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
fn counting_service() -> Service {
    Service::new("samples", "1").inline(&ECHO, |_: &Call<'_>, request: &Sample, answer: &mut Sample| {
        answer.elements.extend_from_slice(&request.elements);
        answer.number = counting::here();
        Ok(())
    })
}

fn request() -> Sample {
    Sample { elements: vec![Element { value: 7 }; 20], ..Sample::default() }
}

/// Calls during which nothing may be allocated, and those before. A loop looks at its load four times a second,
/// and reports it where it has changed; that is no call's cost, so that a quiet stretch is looked
/// for.
const WARM: usize = 2_000;
const STRETCH: usize = 500;

#[test]
fn warm_inline_call_allocates_nothing_on_the_servers_loop() {
    let server = start(counting_service());
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
    let server = start(counting_service());
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
            let before = counting::here();
            for _ in 0..STRETCH {
                call(&CallOptions::default());
                call(&options);
            }
            counting::here() - before
        })
        .collect();
    assert!(stretches.contains(&0), "allocations in stretches of {} calls: {stretches:?}", 2 * STRETCH);
    assert!(stretches.iter().sum::<u64>() < 200, "{stretches:?}");
}

/// Reports the allocations of the loop's thread.
struct AllocationTicks;

impl Ticks<Sample> for AllocationTicks {
    fn tick(&mut self, message: &mut Sample) -> Next {
        message.number = counting::here();
        Next::After(Duration::from_millis(1))
    }
}

#[test]
fn warm_ticking_streams_allocate_nothing_on_the_servers_loop() {
    let service = Service::new("samples", "1")
        .ticking(&TICKS, |_: &Call<'_>, _: &Sample| Ok((Duration::from_millis(1), AllocationTicks)));
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
    let before = counting::here();
    let kept: Vec<String> = (0..10).map(|number| format!("{number}")).collect();
    let here = counting::here() - before;
    assert!((10..=12).contains(&here), "{here} allocations for {} strings and their list", kept.len());
    let counter = Arc::clone(&elsewhere);
    let thread = std::thread::spawn(move || {
        let before = counting::here();
        drop(std::hint::black_box(Box::new(7_u64)));
        counter.store(counting::here() - before, Ordering::SeqCst);
    });
    thread.join().expect("it counts");
    assert_eq!(elsewhere.load(Ordering::SeqCst), 1);
}
