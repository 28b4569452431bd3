//! Servers whose functions are in another language.

use std::net::SocketAddr;
use std::time::Duration;

use parking_lot::Mutex;
use stadium_rpc::{CallContext, Encoded, Interaction, StreamReceiver, StreamSender};

use crate::answering::Answering;
use crate::error::Error;
use crate::fork::OfProcess;
use crate::method::MethodId;
use crate::queue::Queue;

use crate::settings::ServerSettings;

/// A method that a service answers; its requests carry the tag.
#[derive(Clone, Debug)]
pub struct ServedMethod {
    /// The method.
    pub id: MethodId,
    /// The tag of its requests.
    pub tag: u64,
}

/// A service: a name, a version, and methods.
#[derive(Clone, Debug)]
pub struct Service {
    /// The first half of every route, and the name in discovery.
    pub name: String,
    /// The version in discovery.
    pub version: String,
    /// An encoded `google.protobuf.FileDescriptorSet`, for `NAME/describe`; empty where there is none.
    pub descriptors: Vec<u8>,
    /// The methods.
    pub methods: Vec<ServedMethod>,
}

/// A running server. Dropping it stops it at once.
#[derive(Debug)]
pub struct Server {
    server: OfProcess<Mutex<Option<stadium_rpc::Server>>>,
    bound: Vec<SocketAddr>,
}

impl Server {
    /// Starts to serve. Requests arrive on `queue` as [`crate::Kind::Request`].
    ///
    /// # Errors
    /// [`Error::Invalid`]: the settings or the services contradict themselves. [`Error::System`]:
    /// an address cannot be listened on, or the system refuses a thread.
    pub fn start(settings: &ServerSettings, services: Vec<Service>, queue: &Queue) -> Result<Self, Error> {
        let config = settings.config()?;
        let services = services.into_iter().map(|service| bytes_service(service, queue)).collect();
        let server = stadium_rpc::Server::start(config, services).map_err(|error| match error {
            stadium_rpc::StartError::Settings(what) => Error::Invalid(what),
            other => Error::System(other.to_string()),
        })?;
        let bound = server.bound().to_vec();
        Ok(Self { server: OfProcess::new(Mutex::new(Some(server))), bound })
    }

    /// The addresses that are listened on, in the order of the settings.
    #[must_use]
    pub fn bound(&self) -> &[SocketAddr] {
        &self.bound
    }

    /// Takes on nothing new, withdraws from discovery, waits for the work under way, but no longer than
    /// `within`, and stops. Returns the connections that were cut. Blocks; a second call returns 0.
    ///
    /// # Errors
    /// [`Error::Forked`].
    pub fn shutdown(&self, within: Duration) -> Result<u64, Error> {
        let server = self.server.here()?.lock().take();
        Ok(server.map_or(0, |server| server.shutdown(within).wait()))
    }
}

/// The service with functions that hand requests to the queue.
fn bytes_service(service: Service, queue: &Queue) -> stadium_rpc::Service {
    let Service { name, version, descriptors, methods } = service;
    let mut served = stadium_rpc::Service::new(name, version).descriptors(descriptors);
    for ServedMethod { id, tag } in methods {
        // A method's route lives as long as the process: a server has a few, and programs have few servers.
        let route: &'static str = Box::leak(id.route().to_owned().into_boxed_str());
        let queue = queue.clone();
        let begin = move |context, request: Encoded| Answering::begin(&queue, tag, context, request.0);
        served = match id.interaction {
            Interaction::Unary => {
                let method = stadium_rpc::Method::unary(route);
                served.asynchronous(&method, move |context, request| begin(context, request).answer())
            }
            Interaction::OneWay => {
                let method = stadium_rpc::Method::one_way(route);
                served.asynchronous(&method, move |context, request| begin(context, request).answer())
            }
            Interaction::Stream => {
                let method = stadium_rpc::Method::stream(route);
                let function = move |context: CallContext, request, out: StreamSender<Encoded>| {
                    let answering = begin(context, request);
                    async move { answering.stream(out).await }
                };
                served.streaming(&method, function)
            }
            Interaction::Channel => {
                let method = stadium_rpc::Method::channel(route);
                let function = move |context: CallContext,
                                     requests: StreamReceiver<Encoded>,
                                     out: StreamSender<Encoded>| {
                    begin(context, Encoded::default()).channel(requests, out)
                };
                served.channel(&method, function)
            }
        };
    }
    served
}
