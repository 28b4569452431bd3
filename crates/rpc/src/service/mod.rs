//! A service: a name, a version, and a function for each method.
//!
//! Functions come in kinds. *Inline* runs on the loop and never blocks; *asynchronous* is a future on the loop;
//! *blocking* runs on a bounded pool. Streams are answered by a future that sends ([`Service::streaming`]), or,
//! where there are very many, by small state that the loop's own timers ask for messages ([`Service::ticking`]).

mod call;
mod function;
mod interceptor;
mod pieces;
mod sender;
mod ticks;

use std::borrow::Cow;
use std::sync::Arc;

use prost::Message;

pub use call::{Call, CallContext};
pub use interceptor::{Finished, Interceptor, Outcome};
pub use pieces::{PieceReceiver, PieceSender};
pub use sender::{Disconnected, StreamReceiver, StreamSender};
pub use ticks::{Next, Ticks};

pub(crate) use function::{
    AsyncRun, BlockingRun, ChannelRun, DownloadRun, Failure, InlineRun, Job, StreamingRun, Task, UploadRun,
    inline,
};
pub(crate) use pieces::{Download, Upload};
pub(crate) use sender::{INBOUND_CREDIT, Inbound, Outbound};
pub(crate) use ticks::TickingRun;

use crate::answer::Refusal;
use crate::method::{Interaction, Method, Raw};

/// Makes a loop's own copy of an inline function, with the messages that it uses again and again.
pub(crate) type MakeInline = dyn Fn() -> Box<dyn InlineRun> + Send + Sync;
/// Makes a loop's own table of a ticking function's streams.
pub(crate) type MakeTicking = dyn Fn() -> Box<dyn TickingRun> + Send + Sync;

/// A method's function, by its kind.
#[derive(Clone)]
pub(crate) enum Function {
    Inline(Arc<MakeInline>),
    Asynchronous(Arc<dyn AsyncRun>),
    Blocking(Arc<dyn BlockingRun>),
    Streaming(Arc<dyn StreamingRun>),
    Channel(Arc<dyn ChannelRun>),
    Ticking(Arc<MakeTicking>),
    Upload(Arc<dyn UploadRun>),
    Download(Arc<dyn DownloadRun>),
}

/// What the loop has to know of a function before it calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FunctionKind {
    /// Answers at once.
    Inline,
    /// Opens a ticking stream at once.
    Ticking,
    /// Answers once, later.
    Unary,
    /// Answers with a stream.
    Stream,
    /// Answers once, and its request or its answer comes in pieces.
    Pieces,
}

impl Function {
    pub(crate) fn kind(&self) -> FunctionKind {
        match self {
            Self::Inline(_) => FunctionKind::Inline,
            Self::Ticking(_) => FunctionKind::Ticking,
            Self::Asynchronous(_) | Self::Blocking(_) => FunctionKind::Unary,
            Self::Streaming(_) | Self::Channel(_) => FunctionKind::Stream,
            Self::Upload(_) | Self::Download(_) => FunctionKind::Pieces,
        }
    }
}

/// A method that a service answers.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) route: String,
    pub(crate) interaction: Interaction,
    pub(crate) function: Function,
}

/// A named, versioned set of methods with their functions; see the module.
pub struct Service {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) served: Vec<Served>,
    pub(crate) descriptors: Cow<'static, [u8]>,
    pub(crate) interceptors: Vec<Arc<dyn Interceptor>>,
}

impl Service {
    /// A service without methods. Name and version are its place in discovery: `/services/NAME/VERSION`.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            served: Vec::new(),
            descriptors: Cow::Borrowed(&[]),
            interceptors: Vec::new(),
        }
    }

    /// The serialised file descriptor set, which `NAME/describe` answers with.
    #[must_use]
    pub fn descriptors(mut self, file_descriptor_set: impl Into<Cow<'static, [u8]>>) -> Self {
        self.descriptors = file_descriptor_set.into();
        self
    }

    /// Adds an interceptor. The first one added is the outermost.
    #[must_use]
    pub fn interceptor(mut self, interceptor: impl Interceptor + 'static) -> Self {
        self.interceptors.push(Arc::new(interceptor));
        self
    }

    /// Answers on the loop, at once; the function must never block. Both messages are used again for the next
    /// call: the answer comes in empty, and nothing is allocated once they have grown to their size.
    #[must_use]
    pub fn inline<Q, A, F>(self, method: &Method<Q, A>, function: F) -> Self
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
        F: Fn(&Call<'_>, &Q, &mut A) -> Result<(), Refusal> + Send + Sync + 'static,
    {
        let function = Arc::new(function);
        self.serve(method, Function::Inline(Arc::new(move || function::inline(Arc::clone(&function)))))
    }

    /// Answers by a future that lives on the loop: it must not block between its awaits. It is dropped when the
    /// caller cancels, goes, or runs out of time.
    #[must_use]
    pub fn asynchronous<Q, A, F, T>(self, method: &Method<Q, A>, function: F) -> Self
    where
        Q: Message + Default + 'static,
        A: Message + 'static,
        F: Fn(CallContext, Q) -> T + Send + Sync + 'static,
        T: Future<Output = Result<A, Refusal>> + 'static,
    {
        self.serve(method, Function::Asynchronous(function::asynchronous(function)))
    }

    /// Answers on a bounded pool of threads, for functions that wait or calculate.
    #[must_use]
    pub fn blocking<Q, A, F>(self, method: &Method<Q, A>, function: F) -> Self
    where
        Q: Message + Default + 'static,
        A: Message + 'static,
        F: Fn(CallContext, Q) -> Result<A, Refusal> + Send + Sync + 'static,
    {
        self.serve(method, Function::Blocking(function::blocking(function)))
    }

    /// Answers with a stream: a future on the loop that sends as far as the caller's credit goes.
    #[must_use]
    pub fn streaming<Q, A, F, T>(self, method: &Method<Q, A>, function: F) -> Self
    where
        Q: Message + Default + 'static,
        A: Message + 'static,
        F: Fn(CallContext, Q, StreamSender<A>) -> T + Send + Sync + 'static,
        T: Future<Output = Result<(), Refusal>> + 'static,
    {
        self.serve(method, Function::Streaming(function::streaming(function)))
    }

    /// Answers a stream of requests with a stream.
    #[must_use]
    pub fn channel<Q, A, F, T>(self, method: &Method<Q, A>, function: F) -> Self
    where
        Q: Message + Default + 'static,
        A: Message + 'static,
        F: Fn(CallContext, StreamReceiver<Q>, StreamSender<A>) -> T + Send + Sync + 'static,
        T: Future<Output = Result<(), Refusal>> + 'static,
    {
        self.serve(method, Function::Channel(function::channel(function)))
    }

    /// Answers with a stream whose messages are due at times, for very many streams at once: each costs its
    /// [`Ticks`] and some 60 bytes, and nothing is allocated for a message. `open` decides what the
    /// stream is and how long its first message takes.
    #[must_use]
    pub fn ticking<Q, A, T, F>(self, method: &Method<Q, A>, open: F) -> Self
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
        T: Ticks<A>,
        F: Fn(&Call<'_>, &Q) -> Result<(std::time::Duration, T), Refusal> + Send + Sync + 'static,
    {
        let open = Arc::new(open);
        self.serve(method, Function::Ticking(Arc::new(move || ticks::table(Arc::clone(&open)))))
    }

    /// Answers a request whose data are bytes, and come piece by piece: however many they are, few are in memory. A
    /// future on the loop takes them; the call has a deadline as any other.
    #[must_use]
    pub fn upload<A, F, T>(self, method: &Method<Raw, A>, function: F) -> Self
    where
        A: Message + 'static,
        F: Fn(CallContext, PieceReceiver) -> T + Send + Sync + 'static,
        T: Future<Output = Result<A, Refusal>> + 'static,
    {
        self.serve(method, Function::Upload(function::upload(function)))
    }

    /// Answers with bytes that leave piece by piece, as fast as the caller reads. A future on the loop sends them;
    /// the call has a deadline as any other.
    #[must_use]
    pub fn download<Q, F, T>(self, method: &Method<Q, Raw>, function: F) -> Self
    where
        Q: Message + Default + 'static,
        F: Fn(CallContext, Q, PieceSender) -> T + Send + Sync + 'static,
        T: Future<Output = Result<(), Refusal>> + 'static,
    {
        self.serve(method, Function::Download(function::download(function)))
    }

    fn serve<Q, A>(mut self, method: &Method<Q, A>, function: Function) -> Self {
        self.served.push(Served {
            route: method.route().to_owned(),
            interaction: method.interaction(),
            function,
        });
        self
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let routes: Vec<&str> = self.served.iter().map(|served| served.route.as_str()).collect();
        f.debug_struct("Service")
            .field("name", &self.name)
            .field("version", &self.version)
            .field("routes", &routes)
            .finish_non_exhaustive()
    }
}
