//! A client without a thread: its caller turns the loop while it waits.
//!
//! A call costs no change of thread, and an answer is read where the loop has put it. Only unary
//! calls can be made this way.

use std::collections::HashMap;
use std::time::Duration;

use stadium_rpc::client::{LocalClient, LocalService};
use stadium_rpc::{CallOptions, Interaction};

use crate::error::Error;
use crate::event::Failure;
use crate::fork::OfProcess;
use crate::method::MethodId;
use crate::settings::ClientSettings;

/// A client of one thread.
#[derive(Debug)]
pub struct Local {
    client: OfProcess<LocalClient>,
    services: HashMap<String, LocalService>,
    methods: Vec<(LocalService, MethodId)>,
}

/// A method of a [`Local`], by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalMethod(pub u32);

/// A call that has ended: its tag, and its answer as it lies in the client's memory.
pub type Ended<'a> = (u64, Result<&'a [u8], Failure>);

impl Local {
    /// A client; nothing happens until it is used.
    ///
    /// # Errors
    /// As [`crate::Client::start`].
    pub fn new(settings: &ClientSettings) -> Result<Self, Error> {
        let client = LocalClient::new(settings.config()?)
            .map_err(|error| Error::System(format!("the client does not start: {error}")))?;
        Ok(Self { client: OfProcess::new(client), services: HashMap::new(), methods: Vec::new() })
    }

    /// A method that can be called.
    ///
    /// # Errors
    /// [`Error::Invalid`]: it is not unary, or discovery does not take the service's name.
    pub fn method(&mut self, id: MethodId) -> Result<LocalMethod, Error> {
        let client = self.client.here_mut()?;
        if id.interaction != Interaction::Unary {
            let route = id.route();
            return Err(Error::invalid(format!("`{route}` is not unary, and needs a client with a thread")));
        }
        let service = match self.services.get(id.service()) {
            Some(service) => *service,
            None => {
                let service = client.service(id.service());
                let service = service.map_err(|error| Error::invalid(error.to_string()))?;
                self.services.insert(id.service().to_owned(), service);
                service
            }
        };
        self.methods.push((service, id));
        Ok(LocalMethod(self.methods.len() as u32 - 1))
    }

    /// Begins a call; it leaves when the caller waits.
    ///
    /// # Errors
    /// [`Error::Invalid`]: there is no such method.
    pub fn call(
        &mut self,
        method: LocalMethod,
        request: &[u8],
        options: &CallOptions<'_>,
    ) -> Result<(), Error> {
        let client = self.client.here_mut()?;
        let (service, id) = self
            .methods
            .get(method.0 as usize)
            .ok_or_else(|| Error::invalid(format!("there is no method {}", method.0)))?;
        client.call_bytes(*service, id.route(), id.idempotency, request, options);
        Ok(())
    }

    /// Hands up to `max` calls that have ended to `each`, after waiting until there is one, but no
    /// longer than `at_most`. Answers stay where they are until the next time. Returns how many
    /// there were.
    ///
    /// # Errors
    /// [`Error::System`] where waiting fails; [`Error::Forked`].
    pub fn take(
        &mut self,
        max: usize,
        at_most: Duration,
        mut each: impl FnMut(Ended<'_>),
    ) -> Result<usize, Error> {
        let client = self.client.here_mut()?;
        let failed = |error: std::io::Error| Error::System(format!("waiting for answers failed: {error}"));
        let Some(mut done) = client.next(at_most).map_err(failed)? else { return Ok(0) };
        let mut taken = 0;
        loop {
            let tag = done.tag();
            each((tag, client.read_bytes(done).map_err(Failure::from)));
            taken += 1;
            if taken >= max {
                return Ok(taken);
            }
            match client.done() {
                Some(next) => done = next,
                None => return Ok(taken),
            }
        }
    }
}
