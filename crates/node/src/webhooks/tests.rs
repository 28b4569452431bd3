//! Webhooks against a receiver that answers, fails, stalls and leads elsewhere, over real shards.
//! The receiver is a real HTTP server in the test, and the queue's back-off is short.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use stadium_push::feed::{FeedName, Kind, Kinds};
use stadium_push::{AppName, AppSettings};
use stadium_queue::{Command as Work, JobState, NewJob, Refusal};
use stadium_shard::Settings;
use tokio::runtime::Runtime;

use super::*;

/// Far more than anything takes, so that a machine under load fails no test.
const LONG: Duration = Duration::from_secs(60);

/// What a receiver got.
struct Got {
    path: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// How a receiver answers a path.
type Manners = Arc<dyn Fn(&Got) -> Option<String> + Send + Sync>;

/// An HTTP server that reports its requests. Where its manners give nothing, it holds the
/// connection and never answers.
struct Hook {
    address: SocketAddr,
    got: Receiver<Got>,
    held: Arc<Mutex<Vec<TcpStream>>>,
}

impl Hook {
    fn new(manners: impl Fn(&Got) -> Option<String> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
        let address = listener.local_addr().expect("it has one");
        let (sender, got) = channel();
        let held = Arc::new(Mutex::new(Vec::new()));
        let (manners, keeps): (Manners, _) = (Arc::new(manners), Arc::clone(&held));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (manners, sender, keeps) = (Arc::clone(&manners), sender.clone(), Arc::clone(&keeps));
                std::thread::spawn(move || serve(stream.expect("it accepts"), &manners, &sender, &keeps));
            }
        });
        Self { address, got, held }
    }

    fn webhook(&self, path: &str) -> Webhook {
        Webhook { url: format!("http://{}{path}", self.address), secret: vec![7; 32] }
    }

    fn next(&self) -> Got {
        self.got.recv_timeout(LONG).expect("something is posted")
    }
}

fn serve(stream: TcpStream, manners: &Manners, sender: &Sender<Got>, keeps: &Mutex<Vec<TcpStream>>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let path = line.split(' ').nth(1).expect("a request line").to_owned();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a header");
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").map_or(0, |length| length.parse().expect("a number"));
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        let got = Got { path, headers, body };
        let answer = manners(&got);
        let _ = sender.send(got);
        match answer {
            Some(answer) => (&stream).write_all(answer.as_bytes()).expect("it is read"),
            None => return keeps.lock().expect("nobody fails with it").push(stream),
        }
    }
}

fn answer(status: &str, more: &str) -> Option<String> {
    Some(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n{more}\r\n"))
}

/// Shards, a runtime, and the webhooks over them.
struct Scene {
    _directory: tempfile::TempDir,
    shards: Shards,
    runtime: Runtime,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut settings = Settings::in_directory(directory.path().join("shards"), 2);
        settings.journal.segment_bytes = 4 << 20;
        settings.journal.reserve_bytes = 1 << 20;
        settings.journal.record_bytes_max = 2 << 20;
        let shards = Shards::open(settings, |_, _| ()).expect("the shards start");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Self { _directory: directory, shards, runtime: runtime.expect("a runtime starts") }
    }

    fn ask(&self, command: Work) -> Result<stadium_queue::Answer<Bytes>, Refusal> {
        self.shards.submit(command).wait(LONG).expect("it answers")
    }

    /// A queue whose jobs are tried again at once.
    fn queue(&self, name: &str, attempts_max: u16) -> QueueName {
        let queue = QueueName::new(name).expect("a name");
        let backoff = Backoff { first: 1, factor: 1.0, max: 1, jitter: 0.0 };
        let settings =
            QueueSettings { attempts_max, backoff, spread: Spread::AllShards, ..QueueSettings::default() };
        self.ask(Work::Declare { queue: queue.clone(), settings }).expect("it is made");
        queue
    }

    fn put(&self, queue: &QueueName, payload: &'static str) {
        let job = NewJob { payload: Bytes::from_static(payload.as_bytes()), ..NewJob::default() };
        self.ask(Work::Put { queue: queue.clone(), jobs: vec![job], principal: None }).expect("it is put");
    }

    /// A worker on a queue, with a time-out; stopped by the sender.
    fn work(
        &self,
        queue: &QueueName,
        webhook: Webhook,
        timeout: Duration,
        reach: Reach,
    ) -> watch::Sender<bool> {
        let (stop, stopped) = watch::channel(false);
        let turns = Arc::new(Semaphore::new(POSTS_MAX));
        let (shards, queue) = (self.shards.clone(), queue.clone());
        self.runtime.spawn(async move {
            let means = Means { shards, poster: Poster::new(reach, timeout), turns };
            worker::work(means, queue, Arc::new(webhook), stopped).await;
        });
        stop
    }

    fn jobs(&self, queue: &QueueName, state: JobState) -> Vec<Option<String>> {
        let peek =
            Work::Peek { queue: queue.clone(), state: Some(state), key: None, after: None, jobs_max: 100 };
        match self.ask(peek).expect("it is looked at") {
            stadium_queue::Answer::Jobs(jobs) => jobs.into_iter().map(|job| job.reason).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn until(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let deadline = Instant::now() + LONG;
        while !holds(self) {
            assert!(Instant::now() < deadline, "waited for {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn is_empty(&self, queue: &QueueName) -> bool {
        [JobState::Due, JobState::Reserved, JobState::Delayed, JobState::Dead]
            .map(|state| self.jobs(queue, state).len())
            == [0; 4]
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.shards.clone().stop(LONG);
    }
}

#[test]
fn a_job_is_posted_signed_and_settled() {
    let (scene, hook) = (Scene::new(), Hook::new(|_| answer("204 No Content", "")));
    let queue = scene.queue("events.default.crm", 3);
    scene.put(&queue, r#"{"events": []}"#);
    let _work = scene.work(&queue, hook.webhook("/hook?a=1"), TIMEOUT, Reach::Everywhere);
    let got = hook.next();
    assert_eq!((got.path.as_str(), got.body.as_slice()), ("/hook?a=1", &br#"{"events": []}"#[..]));
    assert_eq!(got.headers["content-type"], "application/json");
    let timestamp = got.headers["webhook-timestamp"].parse().expect("seconds");
    let expected = signature::sign(&[7; 32], &got.headers["webhook-id"], timestamp, &got.body);
    assert_eq!(got.headers["webhook-signature"], expected);
    scene.until("it is settled", |scene| scene.is_empty(&queue));
}

#[test]
fn a_failed_post_is_repeated_under_its_id_and_its_job_is_dead_with_the_reason_in_the_end() {
    let count = Mutex::new(0);
    let (scene, hook) = (
        Scene::new(),
        Hook::new(move |got| {
            let mut count = count.lock().expect("nobody fails with it");
            *count += 1;
            match got.path.as_str() {
                "/second" if *count == 2 => answer("200 OK", ""),
                _ => answer("500 Internal Server Error", ""),
            }
        }),
    );
    let second = scene.queue("events.default.second", 5);
    scene.put(&second, "{}");
    let stop = scene.work(&second, hook.webhook("/second"), TIMEOUT, Reach::Everywhere);
    let ids = [hook.next(), hook.next()].map(|got| got.headers["webhook-id"].clone());
    assert_eq!(ids[0], ids[1]);
    scene.until("it is settled", |scene| scene.is_empty(&second));
    stop.send_replace(true);

    let never = scene.queue("events.default.never", 2);
    scene.put(&never, "{}");
    let _work = scene.work(&never, hook.webhook("/never"), TIMEOUT, Reach::Everywhere);
    scene.until("it is dead", |scene| scene.jobs(&never, JobState::Dead).len() == 1);
    let reason = scene.jobs(&never, JobState::Dead)[0].clone().expect("there is a reason");
    assert!(reason.contains("status 500"), "{reason}");
}

#[test]
fn a_receiver_that_stalls_is_given_up_and_delays_nobody_and_a_redirect_is_not_followed() {
    let elsewhere = Hook::new(|_| answer("200 OK", ""));
    let location = format!("location: http://{}/stolen\r\n", elsewhere.address);
    let (scene, hook) = (
        Scene::new(),
        Hook::new(move |got| match got.path.as_str() {
            "/stall" => None,
            "/moved" => answer("307 Temporary Redirect", &location),
            _ => answer("200 OK", ""),
        }),
    );
    let (stalls, moved, good) = (
        scene.queue("events.a.stalls", 1),
        scene.queue("events.a.moved", 1),
        scene.queue("events.a.good", 1),
    );
    for queue in [&stalls, &moved, &good] {
        scene.put(queue, "{}");
    }
    let short = Duration::from_millis(500);
    let _stalls = scene.work(&stalls, hook.webhook("/stall"), short, Reach::Everywhere);
    let _moved = scene.work(&moved, hook.webhook("/moved"), TIMEOUT, Reach::Everywhere);
    let _good = scene.work(&good, hook.webhook("/good"), TIMEOUT, Reach::Everywhere);
    scene.until("the others are done", |scene| {
        scene.is_empty(&good) && scene.jobs(&moved, JobState::Dead).len() == 1
    });
    assert!(scene.jobs(&moved, JobState::Dead)[0].as_ref().expect("a reason").contains("status 307"));
    scene.until("it is given up", |scene| scene.jobs(&stalls, JobState::Dead).len() == 1);
    assert!(scene.jobs(&stalls, JobState::Dead)[0].as_ref().expect("a reason").contains("timeout"));
    assert!(elsewhere.got.try_recv().is_err(), "nothing went elsewhere");
    assert_eq!(hook.held.lock().expect("nobody fails with it").len(), 1);
}

#[test]
fn at_most_four_of_a_feed_are_on_their_way_and_a_private_address_is_refused_by_setting() {
    let (scene, hook) = (Scene::new(), Hook::new(|_| None));
    let queue = scene.queue("events.default.many", 1);
    for _ in 0..9 {
        scene.put(&queue, "{}");
    }
    let _work = scene.work(&queue, hook.webhook("/"), Duration::from_secs(2), Reach::Everywhere);
    for _ in 0..4 {
        hook.next();
    }
    assert!(hook.got.recv_timeout(Duration::from_millis(100)).is_err(), "a fifth");
    assert_eq!(scene.jobs(&queue, JobState::Reserved).len(), 4);
    hook.held.lock().expect("nobody fails with it").clear();

    let private = scene.queue("events.default.private", 1);
    scene.put(&private, "{}");
    let _work = scene.work(&private, hook.webhook("/"), TIMEOUT, Reach::PublicOnly);
    scene.until("it is refused", |scene| scene.jobs(&private, JobState::Dead).len() == 1);
    assert!(scene.jobs(&private, JobState::Dead)[0].as_ref().expect("a reason").contains("private"));
}

#[test]
fn a_webhook_in_an_apps_settings_is_posted_to_and_its_end_is_heeded() {
    let (scene, hook) = (Scene::new(), Hook::new(|_| answer("200 OK", "")));
    let app = AppName::new("matchday").expect("a name");
    let feed = |webhook| Feed {
        name: FeedName::new("crm").expect("a name"),
        kinds: Kinds::of([Kind::Opened]),
        topics: Vec::new(),
        webhook,
    };
    let declare = |webhook| {
        let settings = AppSettings { feeds: vec![feed(webhook)], ..AppSettings::default() };
        let command = Command::DeclareApp { app: app.clone(), settings };
        scene.shards.submit_push(command).wait(LONG).expect("it answers").expect("it is declared");
    };
    declare(Some(hook.webhook("/crm")));
    let webhooks = Webhooks::start(scene.shards.clone(), Box::new(drop), Reach::Everywhere, &scene.runtime);
    let queue = QueueName::new("events.matchday.crm").expect("a name");
    scene.until("the queue is made", |scene| scene.ask(Work::Stats { queue: queue.clone() }).is_ok());
    scene.put(&queue, r#"{"app": "matchday"}"#);
    assert_eq!(hook.next().body, br#"{"app": "matchday"}"#);
    scene.until("it is settled", |scene| scene.is_empty(&queue));

    declare(None);
    scene.runtime.block_on(webhooks.stop(LONG));
    scene.put(&queue, "{}");
    let webhooks = Webhooks::start(scene.shards.clone(), Box::new(drop), Reach::Everywhere, &scene.runtime);
    assert!(hook.got.recv_timeout(Duration::from_millis(200)).is_err(), "nobody is posted to any more");
    assert_eq!(scene.jobs(&queue, JobState::Due).len(), 1, "it waits for somebody else");
    scene.runtime.block_on(webhooks.stop(LONG));
}
