//! The limit of HTTPS: a loop that takes requests over TLS 1.3 and answers each by the letter, on one thread.
//!
//! It looks for the end of a request and for nothing else: no routes, no keys, no JSON, no disk.

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::Args;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

/// Where the responder listens, and as whom.
#[derive(Args)]
pub(crate) struct Options {
    /// Address
    #[arg(long)]
    address: SocketAddr,
    /// Certificate, PEM
    #[arg(long)]
    certificate: PathBuf,
    /// Its key, PEM
    #[arg(long)]
    key: PathBuf,
}

const LISTENER: Token = Token(usize::MAX);
/// Events taken from the kernel at once.
const EVENTS: usize = 1024;
/// As long as the product's answer to a push.
const ANSWER: &[u8] = b"HTTP/1.1 202 Accepted\r\ncontent-type: application/json\r\ncontent-length: 145\r\n\
    location: /api/apps/default/pushes/0190a1b2c3d470000000000000000001\r\n\
    x-request-id: 00000000000000000000000000000000\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n\
    {\"id\":\"0190a1b2c3d470000000000000000001\",\"status\":\"accepted\",\"duplicate\":false,\
    \"url\":\"/api/apps/default/pushes/0190a1b2c3d470000000000000000001\"}";

/// Runs until killed; prints `listening` when it does.
pub(crate) fn run(options: &Options) -> Result<()> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(&options.certificate)?],
            PrivateKeyDer::from_pem_file(&options.key)?,
        )?;
    let config = Arc::new(config);
    let mut poll = Poll::new()?;
    let mut listener = TcpListener::bind(options.address).context("bind")?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    println!("listening {}", options.address);
    let mut events = Events::with_capacity(EVENTS);
    let mut connections: HashMap<Token, Connection> = HashMap::new();
    let mut next = 0;
    loop {
        match poll.poll(&mut events, None) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        }
        for event in &events {
            if event.token() == LISTENER {
                while let Ok((mut stream, _)) = listener.accept() {
                    stream.set_nodelay(true)?;
                    let token = Token(next);
                    next += 1;
                    let both = Interest::READABLE | Interest::WRITABLE;
                    poll.registry().register(&mut stream, token, both)?;
                    let tls = ServerConnection::new(Arc::clone(&config))?;
                    connections.insert(token, Connection { stream, tls, input: Vec::new() });
                }
            } else if let Some(connection) = connections.get_mut(&event.token())
                && connection.serve().is_err()
            {
                connections.remove(&event.token());
            }
        }
    }
}

struct Connection {
    stream: TcpStream,
    tls: ServerConnection,
    input: Vec<u8>,
}

impl Connection {
    /// Reads what is there and answers each whole request; an error ends the connection.
    fn serve(&mut self) -> Result<()> {
        loop {
            match self.tls.read_tls(&mut self.stream) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(_) => {
                    let state = self.tls.process_new_packets()?;
                    let before = self.input.len();
                    self.input.resize(before + state.plaintext_bytes_to_read(), 0);
                    self.tls.reader().read_exact(&mut self.input[before..])?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        while let Some(length) = whole(&self.input) {
            self.input.drain(..length);
            self.tls.writer().write_all(ANSWER)?;
        }
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.stream) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// The length of the first request, if it is whole.
fn whole(input: &[u8]) -> Option<usize> {
    const LENGTH: &[u8] = b"Content-Length: ";
    let head = input.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let at = input[..head].windows(LENGTH.len()).position(|part| part == LENGTH);
    let body = at.map_or(0, |at| {
        let digits = input[at + LENGTH.len()..head].iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0_usize, |length, digit| length * 10 + usize::from(digit - b'0'))
    });
    (input.len() >= head + body).then_some(head + body)
}

#[cfg(test)]
mod tests {
    use super::{ANSWER, whole};
    use crate::wire::http;

    #[test]
    fn a_request_is_answered_once_it_is_whole() {
        let mut request = Vec::new();
        http::request("POST", "/a", Some("key"), b"{\"a\":1}", &mut request);
        for cut in 0..request.len() {
            assert_eq!(whole(&request[..cut]), None, "cut at {cut}");
        }
        assert_eq!(whole(&request), Some(request.len()));
    }

    #[test]
    fn the_answer_has_the_length_that_it_states() {
        let (answer, length) = http::parse(ANSWER).expect("HTTP").expect("whole");
        assert_eq!((answer.status, length), (202, ANSWER.len()));
    }
}
