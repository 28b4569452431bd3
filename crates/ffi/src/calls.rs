//! A client on a thread of its own, whose calls end as events.

use std::time::Duration;

use stadium_rpc::{CallHandle, CallOptions, Interaction, ServiceClient};

use crate::error::Error;
use crate::event::{Event, Kind};
use crate::fork::OfProcess;
use crate::method::MethodId;
use crate::queue::Queue;
use crate::settings::ClientSettings;
use crate::streams::Stream;

/// The time in which a client's loop answers what it would choose.
const EXPLAINED_WITHIN: Duration = Duration::from_secs(1);

/// A client. Any thread may call.
#[derive(Debug)]
pub struct Client {
    client: OfProcess<stadium_rpc::Client>,
    queue: Queue,
}

/// A method of a client's service: what every call of it needs.
#[derive(Debug)]
pub struct Method {
    service: OfProcess<ServiceClient>,
    id: MethodId,
    queue: Queue,
}

/// A unary call that may be cancelled.
#[derive(Debug)]
pub struct Call(CallHandle);

impl Call {
    /// Gives the call up; it ends as cancelled, unless it has ended.
    pub fn cancel(self) {
        self.0.cancel();
    }
}

impl Client {
    /// Starts a client's thread. Its calls end on `queue`.
    ///
    /// # Errors
    /// [`Error::Invalid`] names the setting; [`Error::System`]: no thread or no descriptor can be had.
    pub fn start(settings: &ClientSettings, queue: Queue) -> Result<Self, Error> {
        let client = stadium_rpc::Client::start(settings.config()?)
            .map_err(|error| Error::System(format!("the client does not start: {error}")))?;
        Ok(Self { client: OfProcess::new(client), queue })
    }

    /// A method, by which its service is known. The first one of a service has its instances looked up.
    ///
    /// # Errors
    /// [`Error::Forked`].
    pub fn method(&self, id: MethodId) -> Result<Method, Error> {
        let service = self.client.here()?.service(id.service());
        Ok(Method { service: OfProcess::new(service), id, queue: self.queue.clone() })
    }
}

impl Method {
    /// Begins a unary call; it ends by [`Kind::Answer`] with this tag. A one-way call has no event.
    ///
    /// # Errors
    /// [`Error::Invalid`]: the method answers with a stream; [`Error::Forked`].
    pub fn call(&self, request: Vec<u8>, options: &CallOptions<'_>) -> Result<Option<Call>, Error> {
        let service = self.service.here()?;
        match self.id.interaction {
            Interaction::Unary => {}
            Interaction::OneWay => {
                service.one_way_bytes(self.id.route(), request, options);
                return Ok(None);
            }
            Interaction::Stream | Interaction::Channel => {
                let route = self.id.route();
                return Err(Error::invalid(format!("`{route}` answers with a stream; open one")));
            }
        }
        let (queue, tag) = (self.queue.clone(), options.tag);
        let then = move |answer: Result<&[u8], _>| {
            queue.push(Event::of_call(Kind::Answer, tag, answer.map(<[u8]>::to_vec)));
        };
        let (route, idempotency) = (self.id.route(), self.id.idempotency);
        Ok(Some(Call(service.call_bytes_then(route, idempotency, request, options, then))))
    }

    /// Opens a stream or a channel. Its messages are [`Kind::Item`] with this tag, as many as
    /// `credit` until [`Stream::want`] asks for more.
    ///
    /// # Errors
    /// [`Error::Invalid`]: the method answers with one message; [`Error::Forked`].
    pub fn open(&self, request: Vec<u8>, credit: u32, options: &CallOptions<'_>) -> Result<Stream, Error> {
        let service = self.service.here()?;
        let (route, credit) = (self.id.route(), credit.max(1));
        let (sender, messages) = match self.id.interaction {
            Interaction::Stream => (None, service.stream_bytes(route, request, credit, options)),
            Interaction::Channel => {
                let (sender, messages) = service.channel_bytes(route, request, credit, options);
                (Some(sender), messages)
            }
            Interaction::Unary | Interaction::OneWay => {
                return Err(Error::invalid(format!("`{route}` answers with one message; call it")));
            }
        };
        Ok(Stream::new(options.tag, self.queue.clone(), messages, sender, credit))
    }

    /// The instances that are known, and the one that would be chosen now, as text for people.
    ///
    /// # Errors
    /// [`Error::Ended`]: the client does not answer within a second; [`Error::Forked`].
    pub fn explain(&self, key: Option<&[u8]>) -> Result<String, Error> {
        let explained = self.service.here()?.explain(key, EXPLAINED_WITHIN).ok_or(Error::Ended)?;
        Ok(format!("{}\n{}", explained.discovery, explained.choice))
    }
}
