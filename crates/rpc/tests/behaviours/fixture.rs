//! Fixture: one message, the methods of a service named `words`, servers and clients on free ports,
//! and ways to wait for something that another thread does.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use stadium_rpc::{
    Call, CallContext, Client, ClientConfig, Listen, Method, Pending, Refusal, Server, ServerConfig, Service,
    ServiceClient,
};

/// The longest that anything may take that comes to pass at all.
pub const SOON: Duration = Duration::from_secs(20);

/// The only message.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Word {
    #[prost(string, tag = "1")]
    pub text: String,
    #[prost(uint64, tag = "2")]
    pub number: u64,
    #[prost(bytes = "vec", tag = "3")]
    pub bytes: Vec<u8>,
}

pub const ECHO: Method<Word, Word> = Method::unary("words/Echo");
/// The same route, by a contract that allows to call it twice.
pub const ECHO_TWICE: Method<Word, Word> = Method::unary("words/Echo").idempotent();
pub const TELL: Method<Word, Word> = Method::one_way("words/Tell");
pub const COUNT: Method<Word, Word> = Method::stream("words/Count");
pub const TALK: Method<Word, Word> = Method::channel("words/Talk");

pub fn word(text: &str) -> Word {
    Word { text: text.to_owned(), ..Word::default() }
}

pub fn number(number: u64) -> Word {
    Word { number, ..Word::default() }
}

/// The service without methods.
pub fn words() -> Service {
    Service::new("words", "1")
}

/// The service with an inline echo.
pub fn echo() -> Service {
    words().inline(&ECHO, |_: &Call<'_>, request: &Word, answer: &mut Word| {
        answer.clone_from(request);
        Ok(())
    })
}

/// The service with an echo that answers the server's name.
pub fn named(name: &'static str) -> Service {
    words().inline(&ECHO, move |_: &Call<'_>, _: &Word, answer: &mut Word| {
        answer.text.push_str(name);
        Ok(())
    })
}

/// The service with an echo that waits for the bell before it answers with the server's name.
pub fn named_waiting(name: &'static str, bell: &Bell, begun: &Tally) -> Service {
    let (bell, begun) = (bell.clone(), begun.clone());
    words().asynchronous(&ECHO, move |_: CallContext, _: Word| {
        let (bell, begun) = (bell.clone(), begun.clone());
        async move {
            begun.add();
            bell.rung().await;
            Ok(word(name))
        }
    })
}

/// The service with an echo that never answers. It counts what it begins, and what is dropped.
pub fn never_answering(begun: &Tally, dropped: &Tally) -> Service {
    let (begun, dropped) = (begun.clone(), dropped.clone());
    words().asynchronous(&ECHO, move |_: CallContext, _: Word| {
        let counts = CountsDrop(dropped.clone());
        begun.add();
        async move {
            let _counts = counts;
            std::future::pending().await
        }
    })
}

/// Settings for a machine that may be busy: nothing is refused because the test's threads had to wait.
pub fn server_config() -> ServerConfig {
    let mut config = ServerConfig {
        listen: vec![Listen::tcp(([127, 0, 0, 1], 0).into())],
        deadline: SOON,
        ..ServerConfig::default()
    };
    config.admission.inline_wait_max = SOON;
    config.admission.concurrency_min = config.admission.concurrency_max;
    config
}

pub fn serve(service: Service) -> Server {
    serve_with(server_config(), service)
}

pub fn serve_with(config: ServerConfig, service: Service) -> Server {
    Server::start(config, vec![service]).expect("there are free ports")
}

/// Settings of a client of these servers that waits long.
pub fn client_config(servers: &[&Server]) -> ClientConfig {
    let mut config = ClientConfig::at(servers.iter().map(|server| server.bound()[0]).collect());
    config.deadline = SOON;
    // Servers that restart in these behaviours may take their time.
    config.unreachable_grace = SOON;
    config
}

pub fn client_of(servers: &[&Server]) -> Client {
    Client::start(client_config(servers)).expect("a thread can be had")
}

/// The service as a client calls it that makes no call twice, over a connection that is there.
pub fn words_tried_once(server: &Server) -> ServiceClient {
    let mut config = client_config(&[server]);
    config.retry.attempts_max = 1;
    connected_client(&[server], config).service("words")
}

/// A client that has a connection to every one of these servers, so that each may be chosen.
pub fn connected_client(servers: &[&Server], config: ClientConfig) -> Client {
    let client = Client::start(config).expect("a thread can be had");
    drop(client.service("words"));
    for server in servers {
        let before = connections(server);
        until("the client is connected", || connections(server) > before.saturating_sub(1));
    }
    until("the client knows that it is connected", || {
        let explained = client.service("words").explain(None, SOON).expect("the client answers");
        let up = |one: &stadium_rpc::balance::Explanation| {
            one.instances.iter().all(|one| one.state == stadium_rpc::balance::State::Serving)
        };
        up(&explained.choice)
    });
    client
}

pub fn connections(server: &Server) -> u32 {
    server.statistics("words").expect("it serves words").connections
}

/// What a server has counted for a route.
pub fn counted(server: &Server, route: &str) -> stadium_rpc::proto::MethodStatistics {
    let statistics = server.statistics("words").expect("it serves words");
    statistics.methods.into_iter().find(|one| one.route == route).expect("it serves the route")
}

/// Waits until it is so.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !so() {
        assert!(Instant::now() < deadline, "not within {SOON:?}: {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// Waits for a future on this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let deadline = Instant::now() + SOON;
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        assert!(Instant::now() < deadline, "the future is not ready within {SOON:?}");
        std::thread::park_timeout(SOON);
    }
}

/// Makes a call and waits until its function has begun, which counts that.
pub fn call_begun(words: &ServiceClient, begun: &Tally) -> Pending<Word> {
    let before = begun.count();
    let call = words.call(&ECHO, &word(""));
    until("the call has begun", || begun.count() > before);
    call
}

/// Waits for a call, for as long as a test may take.
pub fn answer<A: prost::Message + Default>(pending: Pending<A>) -> Result<A, stadium_rpc::CallError> {
    block_on(pending)
}

/// Rung once, for all who wait: threads and futures.
#[derive(Clone, Default)]
pub struct Bell(Arc<(Mutex<Rung>, Condvar)>);

#[derive(Default)]
struct Rung {
    rung: bool,
    wakers: Vec<Waker>,
}

impl Bell {
    pub fn ring(&self) {
        let mut state = lock(&self.0.0);
        state.rung = true;
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.0.1.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    pub fn is_rung(&self) -> bool {
        lock(&self.0.0).rung
    }

    /// Waits for the bell on a loop.
    pub async fn rung(&self) {
        poll_fn(|context| {
            let mut state = lock(&self.0.0);
            if state.rung {
                return Poll::Ready(());
            }
            state.wakers.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Waits for the bell on a thread.
    pub fn wait(&self) {
        let state = lock(&self.0.0);
        let waited = self.0.1.wait_timeout_while(state, SOON, |state| !state.rung);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(state.rung, "the bell was not rung within {SOON:?}");
    }
}

/// Counts something that happens elsewhere.
#[derive(Clone, Default)]
pub struct Tally(Arc<std::sync::atomic::AtomicU64>);

impl Tally {
    pub fn add(&self) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }

    pub fn count(&self) -> u64 {
        self.0.load(std::sync::atomic::Ordering::SeqCst)
    }
}

/// Counts when it is dropped.
pub struct CountsDrop(pub Tally);

impl Drop for CountsDrop {
    fn drop(&mut self) {
        self.0.add();
    }
}

/// A list that several threads write.
#[derive(Clone, Default)]
pub struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub fn add(&self, note: impl Into<String>) {
        lock(&self.0).push(note.into());
    }

    pub fn all(&self) -> Vec<String> {
        lock(&self.0).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The code and the reason of a rejection.
pub fn rejection<A: std::fmt::Debug>(answer: Result<A, stadium_rpc::CallError>) -> (String, String) {
    match answer {
        Err(stadium_rpc::CallError::Rejected { code, reason }) => (code, reason),
        other => panic!("not a rejection: {other:?}"),
    }
}

/// The code and the reason of an answer that leaves open whether it happened.
pub fn unknown<A: std::fmt::Debug>(answer: Result<A, stadium_rpc::CallError>) -> (String, String) {
    match answer {
        Err(stadium_rpc::CallError::Unknown { code, reason }) => (code, reason),
        other => panic!("not unknown: {other:?}"),
    }
}

/// A port where nobody listens.
pub fn nobody() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there are free ports");
    listener.local_addr().expect("it is bound")
}

/// A refusal for tests.
pub fn no() -> Refusal {
    Refusal::rejected("WORDS-001", "not this word")
}
