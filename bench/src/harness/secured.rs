//! A lane of one connection over TLS 1.3: what the inner lane writes is encrypted, and the other way round.
//!
//! The inner lane begins when the handshake is over. rustls does no I/O of its own here, as a lane doesn't.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::{Dialogue, Event, Lane, READ_BYTES};

/// A lane inside TLS.
pub(crate) struct Secured<D: Dialogue> {
    inner: Box<dyn Lane<D>>,
    tls: ClientConnection,
    /// What the inner lane wrote and is not encrypted yet: one buffer, as it has one connection.
    plain: Vec<Vec<u8>>,
    /// What was decrypted and the inner lane has not taken yet.
    heard: Vec<u8>,
}

impl<D: Dialogue> Secured<D> {
    /// `inner`, which has one connection, to a server of `config`'s.
    pub(crate) fn lane(inner: Box<dyn Lane<D>>, config: &Arc<ClientConfig>) -> Result<Box<dyn Lane<D>>>
    where
        D: 'static,
    {
        let mut tls = ClientConnection::new(Arc::clone(config), ServerName::try_from("localhost")?)?;
        // The lane's socket keeps what the kernel does not take.
        tls.set_buffer_limit(None);
        Ok(Box::new(Self { inner, tls, plain: vec![Vec::new()], heard: Vec::new() }))
    }

    /// Encrypts what the inner lane wrote, and writes the bytes that TLS itself sends.
    fn seal(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let plain = &mut self.plain[0];
        if !plain.is_empty() {
            self.tls.writer().write_all(plain)?;
            plain.clear();
        }
        while self.tls.wants_write() {
            self.tls.write_tls(out)?;
        }
        Ok(())
    }
}

impl<D: Dialogue> Lane<D> for Secured<D> {
    fn open(&mut self, outs: &mut [Vec<u8>]) {
        self.inner.open(&mut self.plain);
        self.seal(&mut outs[0]).expect("memory takes all");
    }

    fn start(&mut self, worker: usize, request: D::Request<'_>, outs: &mut [Vec<u8>]) {
        self.inner.start(worker, request, &mut self.plain);
        self.seal(&mut outs[0]).expect("memory takes all");
    }

    fn read(
        &mut self,
        _connection: usize,
        bytes: &[u8],
        outs: &mut [Vec<u8>],
        events: &mut Vec<Event<D::Outcome>>,
    ) -> Result<usize> {
        let mut rest = bytes;
        while !rest.is_empty() {
            self.tls.read_tls(&mut rest)?;
            let state = self.tls.process_new_packets().context("TLS")?;
            let before = self.heard.len();
            self.heard.resize(before + state.plaintext_bytes_to_read(), 0);
            self.tls.reader().read_exact(&mut self.heard[before..])?;
        }
        while !self.tls.is_handshaking() {
            let known = events.len();
            let taken = self.inner.read(0, &self.heard, &mut self.plain, events)?;
            self.heard.drain(..taken);
            if taken == 0 && events.len() == known {
                break;
            }
        }
        self.heard.shrink_to(READ_BYTES);
        self.seal(&mut outs[0])?;
        Ok(bytes.len())
    }
}
