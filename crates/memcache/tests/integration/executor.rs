//! The form for tokio: it does what the other form does, and never blocks the executor.
//!
//! A ticker shows that: a task that sleeps for 1 ms at a time, and notes how late it wakes.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use stadium_memcache::tokio::Client;
use stadium_memcache::{Config, Error, Expiry, Lookup, Recache, Stored, Utf8};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::memcached::{Memcached, SOON, free_port};

const NEVER: Expiry = Expiry::Never;

/// Lateness that no blocked executor keeps: what would block here takes 300 ms and more. Nearer bounds
/// fail on a machine that is busy with other tests.
const LATE_MAX: Duration = Duration::from_millis(150);

/// One of ten ticks may be later than this.
const LATE_SELDOM: Duration = Duration::from_millis(8);

fn runtimes() -> [Runtime; 2] {
    let one = Builder::new_current_thread().enable_all().build().unwrap();
    let two = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    [one, two]
}

/// Runs a future beside a ticker, and checks that the ticker was in time.
fn in_time(runtime: &Runtime, what: &str, future: impl Future<Output = ()> + Send + 'static) {
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let mut late = runtime.block_on(async move {
        let ticker = tokio::spawn(async move {
            let mut late = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                tokio::time::sleep(Duration::from_millis(1)).await;
                // Timers have a granularity of 1 ms.
                late.push(begun.elapsed().saturating_sub(Duration::from_millis(2)));
            }
            late
        });
        tokio::spawn(future).await.unwrap();
        is_over.store(true, Ordering::Relaxed);
        ticker.await.unwrap()
    });
    late.sort();
    let seldom = late[late.len() * 9 / 10];
    let longest = late[late.len() - 1];
    println!("{what}: {} ticks, nine of ten {seldom:?} late at most, the longest {longest:?}", late.len());
    assert!(longest < LATE_MAX && seldom < LATE_SELDOM, "{what}: {seldom:?}, {longest:?}");
}

#[test]
fn every_operation_is_awaited() {
    for runtime in runtimes() {
        let server = Memcached::tcp(&[]);
        let client = Client::with(server.config()).unwrap();
        runtime.block_on(async {
            assert_eq!(client.get("missing").await, Ok(None));
            client.set("a", "1", NEVER).await.unwrap().await.unwrap();
            client.set_flagged("a", "2", 7, NEVER).await.unwrap().ignore();
            let value = client.get("a").await.unwrap().unwrap();
            assert_eq!((value.bytes.as_slice(), value.flags), (&b"2"[..], 7));
            assert_eq!(client.add("a", "3", NEVER).await.unwrap().await, Ok(Stored::NotStored));
            assert_eq!(client.replace("a", "3", NEVER).await.unwrap().await, Ok(Stored::Stored));
            assert_eq!(client.append("a", "4").await.unwrap().await, Ok(Stored::Stored));
            assert_eq!(client.prepend("a", "2").await.unwrap().await, Ok(Stored::Stored));
            assert_eq!(client.incr("a", 6).await.unwrap().await, Ok(Some(240)));
            assert_eq!(client.decr("a", 40).await.unwrap().await, Ok(Some(200)));
            let cas = client.gets("a").await.unwrap().unwrap().cas.unwrap();
            assert_eq!(client.cas("a", "5", cas, NEVER).await.unwrap().await, Ok(Stored::Stored));
            assert_eq!(client.cas("a", "5", cas, NEVER).await.unwrap().await, Ok(Stored::Changed));
            assert_eq!(client.touch("a", Duration::from_secs(9)).await.unwrap().await, Ok(true));
            let many = client.multiget(&["a", "missing"]).await;
            assert_eq!(many[0].as_ref().unwrap().as_ref().unwrap().bytes, b"5");
            assert_eq!(many[1], Ok(None));
            client.set_as(&Utf8, "text", &"grüße".to_owned(), NEVER).await.unwrap().ignore();
            assert_eq!(client.read_as(&Utf8, "text").await.unwrap().as_deref(), Some("grüße"));
            assert_eq!(client.invalidate("a", None).await.unwrap().await, Ok(true));
            let how = Recache { lease: Duration::from_secs(5), early: Duration::ZERO };
            assert!(matches!(client.lookup("a", &how).await, Ok(Lookup::Won(_))));
            assert_eq!(client.delete("a").await.unwrap().await, Ok(true));
            assert!(matches!(client.get("").await, Err(Error::BadKey(_))));

            // One of many makes a value, the others wait for it.
            let made = Arc::new(AtomicU64::new(0));
            let mut tasks = JoinSet::new();
            for _ in 0..20 {
                let (client, made) = (client.clone(), Arc::clone(&made));
                tasks.spawn(async move {
                    let make = async || {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                        made.fetch_add(1, Ordering::Relaxed);
                        Ok::<_, Error>(b"made".to_vec())
                    };
                    client.read_through("through", &how, NEVER, make).await
                });
            }
            while let Some(result) = tasks.join_next().await {
                assert_eq!(result.unwrap().unwrap().bytes, b"made");
            }
            assert_eq!(made.load(Ordering::Relaxed), 1);
        });
    }
}

#[test]
fn a_thousand_tasks_see_their_own_writes_and_the_executor_goes_on() {
    for runtime in runtimes() {
        let server = Memcached::unix(&[]);
        let client = Client::with(server.config()).unwrap();
        let begun = Instant::now();
        in_time(&runtime, "1,000 tasks", async move {
            let mut tasks = JoinSet::new();
            for task in 0..1_000 {
                let client = client.clone();
                tasks.spawn(async move {
                    let key = format!("k{task}");
                    for round in 0..10 {
                        let value = format!("{task}:{round}");
                        client.set(&key, &value, NEVER).await.unwrap().ignore();
                        assert_eq!(client.get(&key).await.unwrap().unwrap().bytes, value.as_bytes());
                    }
                });
            }
            while let Some(result) = tasks.join_next().await {
                result.unwrap();
            }
        });
        println!("20,000 operations in {:?}", begun.elapsed());
    }
}

#[test]
fn tasks_that_are_dropped_leave_nothing_behind() {
    for runtime in runtimes() {
        let server = Memcached::unix(&[]);
        let client = Client::with(server.config()).unwrap();
        let same = client.clone();
        in_time(&runtime, "dropped tasks", async move {
            let mut random = fastrand::Rng::with_seed(1);
            for _ in 0..20 {
                let mut tasks = JoinSet::new();
                for task in 0..100 {
                    let client = client.clone();
                    tasks.spawn(async move {
                        for _ in 0..50 {
                            client.set(format!("k{task}"), "v", NEVER).await.unwrap().ignore();
                            client.get(format!("k{task}")).await.unwrap();
                        }
                    });
                }
                tokio::time::sleep(Duration::from_micros(random.u64(0..4_000))).await;
                tasks.shutdown().await;
            }
            client.set("k", "last", NEVER).await.unwrap().await.unwrap();
            assert_eq!(client.get("k").await.unwrap().unwrap().bytes, b"last");
        });
        let begun = Instant::now();
        while same.metrics().servers[0].operations > 0 {
            assert!(begun.elapsed() < SOON, "{:?}", same.metrics().servers[0].operations);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn a_paused_server_ends_every_task_by_its_deadline() {
    for runtime in runtimes() {
        let server = Memcached::tcp(&[]);
        let config = Config { stall: SOON, timeout: Duration::from_millis(300), ..server.config() };
        let client = Client::with(config).unwrap();
        runtime.block_on(client.get("k")).unwrap();
        server.pause();
        let same = client.clone();
        in_time(&runtime, "a paused server", async move {
            let mut tasks = JoinSet::new();
            for task in 0..1_000 {
                let client = client.clone();
                tasks.spawn(async move {
                    let begun = Instant::now();
                    let key = format!("k{}", task % 10);
                    assert_eq!(client.get(&key).await, Err(Error::Timeout));
                    let set = client.set(&key, "v", NEVER).await.unwrap();
                    assert_eq!(set.await, Err(Error::Timeout));
                    begun.elapsed()
                });
            }
            while let Some(elapsed) = tasks.join_next().await {
                let elapsed = elapsed.unwrap();
                assert!((600..1_000).contains(&elapsed.as_millis()), "{elapsed:?}");
            }
        });
        server.resume();
        assert_eq!(runtime.block_on(same.with_timeout(SOON).get("k1")).unwrap().unwrap().bytes, b"v");
    }
}

#[test]
fn connecting_and_its_failures_do_not_block() {
    for runtime in runtimes() {
        // It takes connections and never answers.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap().to_string();
        let config = Config { timeout: Duration::from_secs(2), ..Config::for_servers([&address]).unwrap() };
        let client = Client::with(config).unwrap();
        in_time(&runtime, "a silent server", async move {
            let mut tasks = JoinSet::new();
            for _ in 0..100 {
                let client = client.clone();
                tasks.spawn(async move {
                    let begun = Instant::now();
                    (client.get("k").await, begun.elapsed())
                });
            }
            // Some give up before.
            let impatient = client.with_timeout(Duration::from_millis(50));
            let begun = Instant::now();
            assert_eq!(impatient.get("k").await, Err(Error::Timeout));
            assert!(begun.elapsed() < Duration::from_millis(300));
            while let Some(result) = tasks.join_next().await {
                let (result, elapsed) = result.unwrap();
                assert!(matches!(result, Err(Error::Disconnected(_))), "{result:?}");
                assert!(elapsed < Duration::from_secs(2));
            }
        });
        let nobody = Client::new([format!("127.0.0.1:{}", free_port())]).unwrap();
        in_time(&runtime, "no server", async move {
            for _ in 0..50 {
                assert!(matches!(nobody.get("k").await, Err(Error::Disconnected(_))));
                assert!(nobody.set("k", "v", NEVER).await.is_err());
            }
        });
    }
}

#[test]
fn a_server_that_is_killed_is_found_again_and_threads_may_share_the_client() {
    for runtime in runtimes() {
        let mut server = Memcached::tcp(&[]);
        let client = Client::with(server.config()).unwrap();
        runtime.block_on(client.set("k", "v", NEVER)).unwrap().ignore();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // Turns the connection for the tasks as well.
                    client.blocking().get("k").ok();
                }
            });
            for _ in 0..2 {
                runtime.block_on(async {
                    let begun = Instant::now();
                    while client.get("k").await.is_err() {
                        assert!(begun.elapsed() < SOON);
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                    for _ in 0..200 {
                        client.set("k", "w", NEVER).await.unwrap().await.unwrap();
                        assert!(client.get("k").await.unwrap().is_some());
                    }
                });
                server.restart();
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
