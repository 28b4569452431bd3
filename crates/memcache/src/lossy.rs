//! Gets over UDP.
//!
//! They need no connection of their own in the server, and may be lost. The rest of the client does
//! not know them: they have no order with other operations, and do not eject a server.

use std::time::Instant;

use crate::client::Client;
use crate::driver::{Batch, Bounds, exchange};
use crate::error::Error;
use crate::protocol::{Key, Outcome};
use crate::value::Value;

/// Values that are asked for at a time.
type Results = Vec<Result<Option<Value>, Error>>;

impl Client {
    /// Reads a value over UDP, from the port [`ServerConfig::udp`](crate::ServerConfig::udp).
    ///
    /// Request and answer may be lost: that is [`Error::Timeout`], after
    /// [`Config::udp_timeout`](crate::Config::udp_timeout). It has no order with writes, and does not
    /// see those that were not sent.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`], [`Error::Disconnected`] where nothing listens, [`Error::BadKey`],
    /// [`Error::Protocol`], and [`Error::Config`] for a server without a UDP port.
    pub fn lossy_get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>, Error> {
        self.lossy_multiget(&[key]).pop().unwrap_or(Err(Error::Timeout))
    }

    /// Reads values over UDP, each with its own result, in the order of the keys. At most 64 requests
    /// to each server are under way at a time.
    pub fn lossy_multiget<K: AsRef<[u8]>>(&self, keys: &[K]) -> Results {
        let span = self.span();
        let mut results: Results = keys.iter().map(|_| Err(Error::Timeout)).collect();
        // Keys in the namespace live as long as the requests.
        let whole: Vec<Result<Vec<u8>, Error>> =
            keys.iter().map(|key| self.with_key(key.as_ref(), |key| Ok(key.bytes().to_vec()))).collect();
        let servers = self.servers();
        let mut of_server = vec![Vec::new(); servers.len()];
        for (at, key) in whole.iter().enumerate() {
            let routed = key.as_ref().map_err(Clone::clone).and_then(|key| {
                let key = Key::new(key)?;
                Ok((self.route(key)?, key))
            });
            match routed {
                Ok((server, key)) => of_server[server].push((at, key)),
                Err(error) => results[at] = Err(error),
            }
        }
        let mut batches = Vec::new();
        let mut value_bytes_max = 0;
        let mut server_at = vec![0; keys.len()];
        for (server, keys) in of_server.into_iter().enumerate().filter(|(_, keys)| !keys.is_empty()) {
            let connection = &servers[server].connection;
            value_bytes_max = connection.value_bytes_max();
            keys.iter().for_each(|(at, _)| server_at[*at] = server);
            let places: Vec<usize> = keys.iter().map(|(at, _)| *at).collect();
            let peer = connection.udp_peer(span.deadline);
            match peer.and_then(|peer| Batch::new(connection.sockets(), peer, keys)) {
                Ok(batch) => batches.push(batch),
                Err(error) => places.into_iter().for_each(|at| results[at] = Err(error.clone())),
            }
        }
        let bounds = Bounds { patience: self.udp_timeout(), deadline: span.deadline, value_bytes_max };
        exchange(&mut batches, bounds, |at, read| {
            let server = &servers[server_at[at]];
            let key = whole[at].as_deref().unwrap_or_default();
            server.connection.note_lossy(key, Instant::now() - span.begun, &read);
            results[at] = read.and_then(|(mut answer, mut bytes)| {
                server.expand(&mut answer, &mut bytes)?;
                let value = Value { bytes, flags: answer.client_flags, cas: None };
                Ok((answer.outcome == Outcome::Done).then_some(value))
            });
        });
        results
    }
}
