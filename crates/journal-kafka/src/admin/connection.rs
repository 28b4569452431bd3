//! A connection to one broker: TCP, TLS, SASL, and one request at a time.
//!
//! It blocks, with a time for each step. Nothing that it reports has a password in it.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ring::rand::{SecureRandom as _, SystemRandom};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use rustls_pki_types::ServerName as Name;
use stadium_journal_log::partition::Failure;

use super::scram;
use super::wire::{Malformed, Reader, Writer};
use crate::failure::{CREDENTIALS, REFUSED, TLS, UNANSWERED, UNREACHABLE, Verdict, judge};
use crate::settings::{Mechanism, Sasl, Settings};

/// Bytes of the longest answer that is taken: a topic of 1,024 partitions takes 50 KB.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A connection that may be used.
pub(super) struct Connection {
    stream: Stream,
    address: String,
    sent: i32,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// How a request is framed.
#[derive(Clone, Copy)]
pub(super) struct Api {
    pub(super) key: i16,
    pub(super) version: i16,
    /// Whether its header is of a flexible version.
    pub(super) is_flexible: bool,
}

impl Api {
    pub(super) const fn new(key: i16, version: i16) -> Self {
        Self { key, version, is_flexible: false }
    }
}

const SASL_HANDSHAKE: Api = Api::new(17, 1);
const SASL_AUTHENTICATE: Api = Api::new(36, 0);

impl Connection {
    /// Connects to a broker at HOST:PORT, and proves who we are.
    pub(super) fn open(
        settings: &Settings,
        tls: Option<&Arc<ClientConfig>>,
        address: &str,
    ) -> Result<Self, Failure> {
        let unreachable = |error: &dyn std::fmt::Display| {
            Verdict::later(UNREACHABLE).failure(format_args!("{address}: {error}"))
        };
        let socket = connect(address, settings.request_timeout).map_err(|error| unreachable(&error))?;
        let stream = match tls {
            None => Stream::Plain(socket),
            Some(config) => {
                let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
                let host = host.trim_start_matches('[').trim_end_matches(']');
                let name = Name::try_from(host.to_owned()).map_err(|error| unreachable(&error))?;
                let client = ClientConnection::new(Arc::clone(config), name);
                let client = client.map_err(|error| tls_refused(address, &error))?;
                let mut stream = StreamOwned::new(client, socket);
                // Now, so that a refusal is known for one of TLS.
                while stream.conn.is_handshaking() {
                    stream
                        .conn
                        .complete_io(&mut stream.sock)
                        .map_err(|error| tls_refused(address, &error))?;
                }
                Stream::Tls(Box::new(stream))
            }
        };
        let mut connection = Self { stream, address: address.to_owned(), sent: 0 };
        if let Some(sasl) = &settings.sasl {
            connection.authenticate(sasl)?;
        }
        Ok(connection)
    }

    /// Sends a request and reads its answer with `read`.
    pub(super) fn ask<T>(
        &mut self,
        api: Api,
        body: &Writer,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, Malformed>,
    ) -> Result<T, Failure> {
        self.sent += 1;
        let mut frame = Writer::default();
        frame.i16(api.key).i16(api.version).i32(self.sent).string("stadium");
        if api.is_flexible {
            frame.i8(0);
        }
        frame.bytes(&body.0);
        let answer = self.exchange(&frame.0).map_err(|error| self.lost(&error))?;
        let mut reader = Reader(&answer);
        let read_all = || match reader.i32()? == self.sent {
            true => read(&mut reader),
            false => Err(Malformed),
        };
        read_all().map_err(|Malformed| {
            let what = format!("{} sent an answer to request {} that cannot be read", self.address, api.key);
            Verdict::unknown(REFUSED).failure(what)
        })
    }

    fn exchange(&mut self, frame: &[u8]) -> io::Result<Vec<u8>> {
        let length = u32::try_from(frame.len()).expect("requests are short");
        let stream: &mut dyn ReadWrite = match &mut self.stream {
            Stream::Plain(stream) => stream,
            Stream::Tls(stream) => stream.as_mut(),
        };
        stream.write_all(&[&length.to_be_bytes()[..], frame].concat())?;
        stream.flush()?;
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > ANSWER_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is no answer of Kafka's"));
        }
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    }

    fn lost(&self, error: &io::Error) -> Failure {
        let Self { address, .. } = self;
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                Verdict::unknown(UNANSWERED).failure(format_args!("{address} does not answer"))
            }
            // rustls reports an alert of the broker's with the first answer: it checks our
            // certificate after our side of the handshake is done.
            io::ErrorKind::InvalidData if matches!(self.stream, Stream::Tls(_)) => {
                tls_refused(address, error)
            }
            _ => Verdict::unknown(UNREACHABLE).failure(format_args!("{address}: {error}")),
        }
    }

    fn authenticate(&mut self, sasl: &Sasl) -> Result<(), Failure> {
        let name = sasl.mechanism.name();
        let mut body = Writer::default();
        body.string(name);
        let (error, offered) = self.ask(SASL_HANDSHAKE, &body, |reader| {
            Ok((reader.i16()?, reader.elements(|reader| Ok(reader.string()?.unwrap_or_default()))?))
        })?;
        if error != 0 {
            let what =
                format!("{} does not take {name}, but {} (error {error})", self.address, offered.join(", "));
            return Err(judge(error).failure(what));
        }
        let hash = match sasl.mechanism {
            Mechanism::Plain => {
                let text = format!("\0{}\0{}", sasl.user, sasl.password.reveal());
                return self.step(sasl, text.as_bytes()).map(|_| ());
            }
            Mechanism::ScramSha256 => scram::sha256(),
            Mechanism::ScramSha512 => scram::sha512(),
        };
        let mut nonce = [0; 24];
        SystemRandom::new().fill(&mut nonce).expect("the system has randomness");
        let nonce = STANDARD_NO_PAD.encode(nonce);
        let client = scram::Client::new(hash, &sasl.user, sasl.password.reveal(), nonce);
        let first = self.step(sasl, client.first().as_bytes())?;
        let refused = |what: &str| {
            let what = format!("{} does not keep to {name}: {what}", self.address);
            Verdict::never(CREDENTIALS).failure(what)
        };
        let (proof, expected) = client.prove(&first).map_err(refused)?;
        let last = self.step(sasl, proof.as_bytes())?;
        match expected.is(&last) {
            true => Ok(()),
            false => {
                let what = format!("{} does not know the password of `{}`", self.address, sasl.user);
                Err(Verdict::never(CREDENTIALS).failure(what))
            }
        }
    }

    /// Sends a message of the mechanism, and returns the broker's.
    fn step(&mut self, sasl: &Sasl, message: &[u8]) -> Result<String, Failure> {
        let mut body = Writer::default();
        body.count(message.len()).bytes(message);
        let (error, words, answer) = self.ask(SASL_AUTHENTICATE, &body, |reader| {
            let (error, words) = (reader.i16()?, reader.string()?.unwrap_or_default());
            let length = usize::try_from(reader.i32()?).unwrap_or(0);
            Ok((error, words, String::from_utf8_lossy(reader.bytes(length)?).into_owned()))
        })?;
        if error != 0 {
            let what = format!("{} refuses user `{}`: {words} (error {error})", self.address, sasl.user);
            return Err(judge(error).failure(what));
        }
        Ok(answer)
    }
}

/// Both kinds of stream.
trait ReadWrite: Read + Write {}

impl<S: Read + Write> ReadWrite for S {}

fn connect(address: &str, timeout: Duration) -> io::Result<TcpStream> {
    let mut last = None;
    for socket in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&socket, timeout) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))?;
                return Ok(stream);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address")))
}

fn tls_refused(address: &str, error: &dyn std::fmt::Display) -> Failure {
    Verdict::never(TLS).failure(format_args!("TLS with {address}: {error}"))
}
