//! Calling: every call is a future at once; a blocking call is the same future waited for.
//!
//! [`Client`] has a thread of its own and is called from any other. [`LocalClient`] lives on its caller's thread and
//! turns its loop while it waits, which saves two changes of thread for each call.

mod client_loop;
mod completion;
mod config;
mod item;
mod link;
mod local;
mod pending;
mod resolver;
mod resuming;
mod slot;
mod streaming;
mod transfer;

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use prost::Message;
use stadium_discovery::Watch;
use stadium_reactor::{Full, Loop, LoopHandle};

pub use config::{CallOptions, ClientConfig, ResumeSettings, Source};
pub use item::Explained;
pub use local::{Done, LocalClient, LocalService, Ticket};
pub use pending::{CallHandle, Pending};
pub use stadium_discovery::Resolve;
pub use streaming::{ChannelSender, Streaming};

use crate::answer::CallError;
use crate::balance::KeyHash;
use crate::encoded::Encoded;
use crate::method::{Idempotency, Interaction, Method, Raw};
use crate::wire;
use client_loop::ClientLoop;
use completion::{Answer, AnswerEnd, CallbackEnd, Completion, Items, ItemsEnd, Place};
use item::{Item, NewCall};
use resolver::resolver;
use transfer::{Transfer, Upload};

/// Services that one client may call; each place is kept.
const SERVICES_MAX: usize = 10_000;

/// A client on a thread of its own. Cheap to clone; the last one dropped ends the thread.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

/// The services that were asked for: their places, and the sources of their instances.
type Known = HashMap<Arc<str>, (u16, Option<Watch>)>;

struct Shared {
    config: Arc<ClientConfig>,
    handle: LoopHandle<Item>,
    services: Mutex<Known>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.services.lock().clear();
        if self.config.resume.is_some() {
            self.send(Item::Farewell);
        }
        self.handle.stop();
        if let Some(thread) = self.thread.lock().take()
            && thread.thread().id() != std::thread::current().id()
            && thread.join().is_err()
        {
            tracing::error!("The client's thread ended by a panic");
        }
    }
}

impl Client {
    /// Starts the client's thread. It connects when a service is first asked for.
    ///
    /// # Errors
    /// The system gives no descriptor or no thread, or a name is not `HOST:PORT`.
    pub fn start(config: ClientConfig) -> std::io::Result<Self> {
        let one = Loop::new(config.loop_settings())?;
        let handle = one.handle();
        let config = Arc::new(config);
        let resolver = resolver(&config, &handle)?;
        let handler = {
            let config = Arc::clone(&config);
            move || ClientLoop::new(config, resolver)
        };
        let thread = std::thread::Builder::new().name(config.name.clone()).spawn(move || {
            if let Err(error) = one.run(handler()) {
                tracing::error!(%error, "The RPC client's loop ended");
            }
        })?;
        let shared = Shared { config, handle, services: Mutex::default(), thread: Mutex::new(Some(thread)) };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// A service by its name. The first time, its instances are looked up and connected to.
    #[must_use]
    pub fn service(&self, name: &str) -> ServiceClient {
        let mut services = self.shared.services.lock();
        if let Some((place, _)) = services.get(name) {
            return ServiceClient { shared: Arc::clone(&self.shared), place: *place };
        }
        let place = services.len().min(SERVICES_MAX) as u16;
        let name: Arc<str> = name.into();
        self.shared.send(Item::Service { name: Arc::clone(&name), place });
        let watch = match &self.shared.config.source {
            Source::Static(_) | Source::Names(_) => None,
            Source::Discovery { discovery, versions } => {
                let handle = self.shared.handle.clone();
                let on_change =
                    move |snapshot| handle.send_beyond_bound(Item::Instances { service: place, snapshot });
                let watch = discovery.watch(&name, versions.clone(), on_change);
                if let Err(error) = &watch {
                    tracing::warn!(service = %name, %error, "The service cannot be watched");
                }
                watch.ok()
            }
        };
        services.insert(name, (place, watch));
        ServiceClient { shared: Arc::clone(&self.shared), place }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Shared {
    /// Sends an item that must arrive: there are few for each service, stream and client.
    fn send(&self, item: Item) {
        self.handle.send_beyond_bound(item);
    }

    fn call(&self, call: NewCall) {
        self.send_call(Item::Call(Box::new(call)));
    }

    /// Sends a call, or answers its caller Busy.
    fn send_call(&self, item: Item) {
        if let Err(Full(Item::Call(call) | Item::Datagram(call))) = self.handle.try_send(item) {
            call.fail(CallError::Busy {
                retry_after: Duration::from_millis(10),
                reason: "this client has more calls than its loop takes".to_owned(),
            });
        }
    }
}

/// One service, as a client calls it. Cheap to clone.
#[derive(Clone)]
pub struct ServiceClient {
    shared: Arc<Shared>,
    place: u16,
}

impl ServiceClient {
    /// Calls with the client's default deadline.
    pub fn call<Q, A>(&self, method: &Method<Q, A>, request: &Q) -> Pending<A>
    where
        Q: Message,
        A: Message + Default,
    {
        self.call_with(method, request, &CallOptions::default())
    }

    /// Calls. The request is encoded before this returns.
    pub fn call_with<Q, A>(&self, method: &Method<Q, A>, request: &Q, options: &CallOptions<'_>) -> Pending<A>
    where
        Q: Message,
        A: Message + Default,
    {
        let answer = Arc::new(Answer::default());
        let call =
            self.new_call(method, request, options, Completion::Future(AnswerEnd(Arc::clone(&answer))));
        self.shared.call(call);
        Pending::new(answer, self.shared.handle.clone())
    }

    /// Calls by a datagram to the instance's UDP port, which has its TCP port's number: for small data that may
    /// be lost, either way. Nothing is sent again, and without a deadline in the options an answer is waited for
    /// one second. The service must serve UDP, and the method's function be inline. A one-way call ends at once.
    ///
    /// A request of more than 1,400 bytes with its metadata is rejected as RPC-011.
    pub fn datagram<Q, A>(&self, method: &Method<Q, A>, request: &Q, options: &CallOptions<'_>) -> Pending<A>
    where
        Q: Message,
        A: Message + Default,
    {
        let answer = Arc::new(Answer::default());
        let completion = Completion::Future(AnswerEnd(Arc::clone(&answer)));
        let call = self.new_call(method, request, options, completion);
        self.shared.send_call(Item::Datagram(Box::new(call)));
        Pending::new(answer, self.shared.handle.clone())
    }

    /// Calls by route, with bytes that are encoded already; for tools that know the types only at run time.
    pub fn call_bytes(
        &self,
        route: &str,
        idempotency: Idempotency,
        request: Vec<u8>,
        options: &CallOptions<'_>,
    ) -> Pending<Vec<u8>> {
        let answer = Arc::new(Answer::default());
        let completion = Completion::Future(AnswerEnd(Arc::clone(&answer)));
        let mut call = self.raw_call(route, Interaction::Unary, request, options, completion);
        call.idempotency = idempotency;
        self.shared.call(call);
        Pending::raw(answer, self.shared.handle.clone())
    }

    /// Calls, and has `then` called once, on the client's thread, with the encoded answer. `then` must not block; its
    /// panic is logged. For callers that have an event loop of their own. Dropping the returned handle cancels
    /// nothing.
    pub fn call_bytes_then(
        &self,
        route: &str,
        idempotency: Idempotency,
        request: Vec<u8>,
        options: &CallOptions<'_>,
        then: impl FnOnce(Result<&[u8], CallError>) + Send + 'static,
    ) -> CallHandle {
        let place = Arc::new(Place::default());
        let completion = Completion::Callback(CallbackEnd::new(Box::new(then), Arc::clone(&place)));
        let mut call = self.raw_call(route, Interaction::Unary, request, options, completion);
        call.idempotency = idempotency;
        self.shared.call(call);
        CallHandle::new(place, self.shared.handle.clone())
    }

    /// Sends a request that has no answer. Nobody learns whether it arrived.
    pub fn one_way<Q, A>(&self, method: &Method<Q, A>, request: &Q, options: &CallOptions<'_>)
    where
        Q: Message,
    {
        let mut call = self.new_call(method, request, options, Completion::Discard);
        call.interaction = Interaction::OneWay;
        self.shared.call(call);
    }

    /// Like [`ServiceClient::one_way`], with bytes that are encoded already.
    pub fn one_way_bytes(&self, route: &str, request: Vec<u8>, options: &CallOptions<'_>) {
        self.shared.call(self.raw_call(route, Interaction::OneWay, request, options, Completion::Discard));
    }

    /// Asks for a stream; the service sends at most `credit` messages ahead of what was taken.
    pub fn stream<Q, A>(
        &self,
        method: &Method<Q, A>,
        request: &Q,
        credit: u32,
        options: &CallOptions<'_>,
    ) -> Streaming<A>
    where
        Q: Message,
        A: Message + Default,
    {
        let items = self.open(credit, |completion| self.new_call(method, request, options, completion));
        Streaming::new(items, self.shared.handle.clone(), credit.max(1))
    }

    /// Asks for a stream by route, with bytes; messages come as bytes.
    pub fn stream_bytes(
        &self,
        route: &str,
        request: Vec<u8>,
        credit: u32,
        options: &CallOptions<'_>,
    ) -> Streaming<Vec<u8>> {
        let call = |completion| self.raw_call(route, Interaction::Stream, request, options, completion);
        let items = self.open(credit, call);
        Streaming::raw(items, self.shared.handle.clone(), credit.max(1))
    }

    /// Opens a channel with its first message. More are sent by the sender; the service takes them as it gives
    /// credit.
    pub fn channel<Q, A>(
        &self,
        method: &Method<Q, A>,
        first: &Q,
        credit: u32,
        options: &CallOptions<'_>,
    ) -> (ChannelSender<Q>, Streaming<A>)
    where
        Q: Message,
        A: Message + Default,
    {
        let call = |completion| self.new_call(method, first, options, completion);
        let items = self.open(credit, |completion| NewCall { completes: false, ..call(completion) });
        let sender = ChannelSender::new(Arc::clone(&items), self.shared.handle.clone());
        (sender, Streaming::new(items, self.shared.handle.clone(), credit.max(1)))
    }

    /// Opens a channel by route, with bytes; messages come as bytes.
    pub fn channel_bytes(
        &self,
        route: &str,
        first: Vec<u8>,
        credit: u32,
        options: &CallOptions<'_>,
    ) -> (ChannelSender<Encoded>, Streaming<Vec<u8>>) {
        let call = |completion| self.raw_call(route, Interaction::Channel, first, options, completion);
        let items = self.open(credit, |completion| NewCall { completes: false, ..call(completion) });
        let sender = ChannelSender::new(Arc::clone(&items), self.shared.handle.clone());
        (sender, Streaming::raw(items, self.shared.handle.clone(), credit.max(1)))
    }

    /// Calls with a request of bytes that are taken piece by piece, as the connection takes them. `pieces` runs on the
    /// client's thread and must not block; where it panics the call is cancelled. The call is not made again where it
    /// fails; a client with a `Busy` answer begins anew.
    pub fn upload<A>(
        &self,
        method: &Method<Raw, A>,
        pieces: impl Iterator<Item = Vec<u8>> + Send + 'static,
        options: &CallOptions<'_>,
    ) -> Pending<A>
    where
        A: Message + Default,
    {
        let answer = Arc::new(Answer::default());
        let completion = Completion::Future(AnswerEnd(Arc::clone(&answer)));
        let mut call = self.new_call(method, &(), options, completion);
        call.idempotency = Idempotency::Unknown;
        call.transfer = Some(Box::new(Transfer::Upload(Upload::new(Box::new(pieces)))));
        self.shared.call(call);
        Pending::new(answer, self.shared.handle.clone())
    }

    /// Calls for an answer of bytes, which comes piece by piece: where one ends means nothing. A receiver that takes
    /// none for long keeps the whole connection from being read. The call is not made again once a piece has come.
    pub fn download<Q>(
        &self,
        method: &Method<Q, Raw>,
        request: &Q,
        options: &CallOptions<'_>,
    ) -> Streaming<Vec<u8>>
    where
        Q: Message,
    {
        let items = Arc::new(Items::default());
        let completion = Completion::Stream(ItemsEnd(Arc::clone(&items)));
        let mut call = self.new_call(method, request, options, completion);
        call.idempotency = Idempotency::Unknown;
        call.transfer = Some(Box::new(Transfer::Download { behind: None }));
        self.shared.call(call);
        Streaming::raw(items, self.shared.handle.clone(), 1)
    }

    /// The instances that are known, and which would be chosen now and why; `None` where the client does not
    /// answer in time.
    #[must_use]
    pub fn explain(&self, key: Option<&[u8]>, within: Duration) -> Option<Explained> {
        let (answer, answered) = std::sync::mpsc::sync_channel(1);
        self.shared.send(Item::Explain { service: self.place, key: key.map(KeyHash::of), answer });
        answered.recv_timeout(within).ok()
    }

    /// Begins a call that is answered by a stream, with this credit.
    fn open(&self, credit: u32, call: impl FnOnce(Completion) -> NewCall) -> Arc<Items> {
        let items = Arc::new(Items::default());
        let mut call = call(Completion::Stream(ItemsEnd(Arc::clone(&items))));
        call.initial = credit.max(1);
        self.shared.call(call);
        items
    }

    fn new_call<Q, A, M>(
        &self,
        method: &Method<Q, A>,
        request: &M,
        options: &CallOptions<'_>,
        completion: Completion,
    ) -> NewCall
    where
        M: Message,
    {
        let (route, interaction) = (method.route(), method.interaction());
        let mut call = self.raw_call(route, interaction, request.encode_to_vec(), options, completion);
        call.idempotency = method.idempotency();
        call
    }

    /// A call by route, of which nothing more is known.
    fn raw_call(
        &self,
        route: &str,
        interaction: Interaction,
        request: Vec<u8>,
        options: &CallOptions<'_>,
        completion: Completion,
    ) -> NewCall {
        NewCall {
            service: self.place,
            route: route.into(),
            interaction,
            idempotency: Idempotency::Unknown,
            key: options.key.map(KeyHash::of),
            metadata: metadata_of(options),
            request,
            initial: 0,
            completes: true,
            deadline: options.deadline,
            transfer: None,
            completion,
        }
    }
}

impl std::fmt::Debug for ServiceClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceClient").field("place", &self.place).finish_non_exhaustive()
    }
}

fn metadata_of(options: &CallOptions<'_>) -> Vec<u8> {
    let mut metadata = Vec::new();
    if let Some(key) = options.key {
        wire::write_key(&mut metadata, key);
    }
    metadata.extend_from_slice(options.metadata);
    metadata
}
