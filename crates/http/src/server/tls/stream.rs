//! A TLS connection over rustls without buffers of its own, so that it can be given away whole.
//!
//! A connection that asks for MQTT over WebSocket goes to an event loop with its keys and with what
//! was read ([`TlsStream::give_away`]); rustls gives the keys of such connections alone with what
//! key updates need. All others are read and written here. What is held is bounded: one record that
//! is not whole, the plaintext of the records that came with it, and one record on its way out.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::ServerConfig;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::server::socket_taker::TakenTls;

/// Bytes of ciphertext that may wait for their rest: a record, or a handshake message. A client's
/// chain of three certificates with long RSA keys and their names fits.
const INCOMING_BYTES_MAX: usize = 20 * 1024;

/// Plaintext of one record (RFC 8446, 5.1).
const RECORD_PLAIN_MAX: usize = 16_384;

/// Room for a handshake's message before rustls says how much it needs.
const ENCODE_ROOM: usize = 4_096;

/// Bytes that a record adds to its plaintext, more or less.
const RECORD_OVERHEAD: usize = 64;

/// An open connection, from the end of its handshake.
pub(crate) struct TlsStream {
    stream: TcpStream,
    tls: Tls,
}

/// The state without its socket.
struct Tls {
    connection: UnbufferedServerConnection,
    /// Ciphertext that was not used; `received` bytes of it.
    incoming: Vec<u8>,
    received: usize,
    /// Plaintext that nobody has read, from `plain_at`.
    plain: Vec<u8>,
    plain_at: usize,
    /// Ciphertext to send, from `sent`.
    outgoing: Vec<u8>,
    sent: usize,
    /// The peer sends nothing more.
    ended: bool,
    said_goodbye: bool,
}

/// The result of one step of rustls' state machine.
#[derive(PartialEq, Eq)]
enum Looked {
    /// The peer has to send more of the handshake.
    Handshaking,
    /// The connection is open; so many bytes were encrypted.
    Open(usize),
    /// It is over in both directions.
    Closed,
}

/// Bytes that are to be sent.
enum Send<'a> {
    Nothing,
    Data(&'a [u8]),
    Goodbye,
}

impl TlsStream {
    /// Shakes hands.
    pub(crate) async fn accept(config: Arc<ServerConfig>, stream: TcpStream) -> io::Result<Self> {
        let connection = UnbufferedServerConnection::new(config).map_err(io::Error::other)?;
        let tls = Tls {
            connection,
            incoming: Vec::new(),
            received: 0,
            plain: Vec::new(),
            plain_at: 0,
            outgoing: Vec::new(),
            sent: 0,
            ended: false,
            said_goodbye: false,
        };
        let mut this = Self { stream, tls };
        let shaken = poll_fn(|cx| this.poll_handshake(cx)).await;
        if let Err(error) = shaken {
            // The alert leaves, if the peer still listens.
            let _ = poll_fn(|cx| this.poll_send(cx)).await;
            return Err(error);
        }
        poll_fn(|cx| this.poll_send(cx)).await?;
        Ok(this)
    }

    fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_receive(cx))?;
            if self.tls.ended && self.tls.plain.is_empty() {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            if self.tls.look(Send::Nothing)? != Looked::Handshaking {
                return Poll::Ready(Ok(()));
            }
            // The peer waits for what there is to send.
            ready!(self.poll_send(cx))?;
        }
    }

    /// Plaintext that nobody has read.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.tls.plain[self.tls.plain_at..]
    }

    /// Waits for more plaintext behind [`Self::unread`]; false where there is no more.
    pub(crate) async fn read_more(&mut self) -> io::Result<bool> {
        let before = self.unread().len();
        poll_fn(|cx| self.poll_plain(cx, before)).await?;
        Ok(self.unread().len() > before)
    }

    /// The socket, its keys, and what was read and not used.
    ///
    /// # Errors
    /// The peer does not take what it was still to be sent, or is gone.
    pub(crate) async fn give_away(mut self) -> io::Result<(TcpStream, Box<TakenTls>)> {
        poll_fn(|cx| self.poll_send(cx)).await?;
        let Self { stream, tls } = self;
        let plain = tls.plain[tls.plain_at..].to_vec();
        let cipher = tls.incoming[..tls.received].to_vec();
        if holds_record(&cipher) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let certificate = tls.connection.peer_certificates().and_then(|chain| chain.first()).cloned();
        let (secrets, kernel) =
            tls.connection.dangerous_into_kernel_connection().map_err(io::Error::other)?;
        Ok((stream, Box::new(TakenTls { secrets, kernel, plain, cipher, certificate })))
    }

    /// The socket below.
    pub(crate) fn socket(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends all ciphertext that waits.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, tls } = self;
        while tls.sent < tls.outgoing.len() {
            match ready!(Pin::new(&mut *stream).poll_write(cx, &tls.outgoing[tls.sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => tls.sent += count,
            }
        }
        tls.outgoing.clear();
        tls.sent = 0;
        Poll::Ready(Ok(()))
    }

    /// Reads ciphertext, once.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, tls } = self;
        if tls.received == INCOMING_BYTES_MAX {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "a record is too long")));
        }
        tls.incoming.resize(INCOMING_BYTES_MAX, 0);
        let mut space = ReadBuf::new(&mut tls.incoming[tls.received..]);
        let read = Pin::new(stream).poll_read(cx, &mut space);
        let count = space.filled().len();
        if read.is_pending() && tls.received == 0 {
            // An idle connection holds no buffer.
            tls.incoming = Vec::new();
        }
        ready!(read)?;
        tls.received += count;
        tls.ended |= count == 0;
        Poll::Ready(Ok(()))
    }

    /// Waits until there is more unread plaintext than this, or no more comes.
    fn poll_plain(&mut self, cx: &mut Context<'_>, than: usize) -> Poll<io::Result<()>> {
        while self.unread().len() <= than && !self.tls.ended {
            ready!(self.poll_receive(cx))?;
            let looked = self.tls.look(Send::Nothing);
            // Answers to key updates, or why the connection fails; nobody waits for the peer to take
            // them.
            if let Poll::Ready(Err(error)) = self.poll_send(cx) {
                return Poll::Ready(Err(error));
            }
            if looked? == Looked::Closed {
                self.tls.ended = true;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Tls {
    /// Goes as far as rustls can: uses what was received, and encrypts what is to be sent.
    fn look(&mut self, send: Send<'_>) -> io::Result<Looked> {
        let Self { connection, incoming, received, plain, plain_at, outgoing, ended, .. } = self;
        if *plain_at == plain.len() {
            plain.clear();
            *plain_at = 0;
        }
        let (mut used, mut failed) = (0, None);
        let looked = loop {
            let status = connection.process_tls_records(&mut incoming[used..*received]);
            let UnbufferedStatus { mut discard, state } = status;
            let looked = match state {
                Ok(ConnectionState::ReadTraffic(mut data)) => {
                    while let Some(record) = data.next_record() {
                        let record = record.map_err(wrong)?;
                        discard += record.discard;
                        plain.extend_from_slice(record.payload);
                    }
                    None
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    let fits = |room: &mut [u8]| {
                        data.encode(room).map_err(|error| match error {
                            EncodeError::InsufficientSize(needed) => Some(needed),
                            EncodeError::AlreadyEncoded => None,
                        })
                    };
                    let start = outgoing.len();
                    append(outgoing, ENCODE_ROOM, fits)?;
                    // Once rustls has handed out the alert it must not see the input again.
                    match failed.take_if(|_| is_alert(&outgoing[start..])) {
                        Some(error) => return Err(wrong(error)),
                        None => None,
                    }
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    // It leaves before anything else.
                    data.done();
                    None
                }
                Ok(ConnectionState::BlockedHandshake) => Some(Looked::Handshaking),
                Ok(ConnectionState::WriteTraffic(mut data)) => match send {
                    Send::Nothing => Some(Looked::Open(0)),
                    Send::Data(bytes) => {
                        let bytes = &bytes[..bytes.len().min(RECORD_PLAIN_MAX)];
                        let fits = |room: &mut [u8]| data.encrypt(bytes, room).map_err(room_needed);
                        append(outgoing, bytes.len() + RECORD_OVERHEAD, fits)?;
                        Some(Looked::Open(bytes.len()))
                    }
                    Send::Goodbye => {
                        let fits = |room: &mut [u8]| data.queue_close_notify(room).map_err(room_needed);
                        append(outgoing, RECORD_OVERHEAD, fits)?;
                        Some(Looked::Open(0))
                    }
                },
                Ok(ConnectionState::PeerClosed) => {
                    *ended = true;
                    None
                }
                Ok(ConnectionState::Closed) => Some(Looked::Closed),
                Ok(_) => return Err(io::Error::other("a state of rustls that is not known here")),
                // The next calls hand out the alert, and then the same error again.
                Err(error) => match failed.replace(error) {
                    Some(before) => return Err(wrong(before)),
                    None => None,
                },
            };
            used = (used + discard).min(*received);
            if let Some(looked) = looked {
                break looked;
            }
        };
        incoming.copy_within(used..*received, 0);
        *received -= used;
        match failed {
            Some(error) => Err(wrong(error)),
            None => Ok(looked),
        }
    }
}

/// Whether a record is an alert: by its type, or by its length where TLS 1.3 hides the type.
fn is_alert(record: &[u8]) -> bool {
    matches!(record, [21, ..]) || matches!(record, [23, _, _, 0, 19, ..])
}

/// Whether a record stands there whole: rustls has opened it in place, and waits for the rest of the
/// message that begins in it.
fn holds_record(bytes: &[u8]) -> bool {
    let [_, _, _, high, low, rest @ ..] = bytes else { return false };
    rest.len() >= usize::from(u16::from_be_bytes([*high, *low]))
}

fn wrong(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn room_needed(error: EncryptError) -> Option<InsufficientSizeError> {
    match error {
        EncryptError::InsufficientSize(needed) => Some(needed),
        EncryptError::EncryptExhausted => None,
    }
}

/// Appends what `fits` writes, with as much room as it turns out to need.
fn append(
    to: &mut Vec<u8>,
    mut room: usize,
    mut fits: impl FnMut(&mut [u8]) -> Result<usize, Option<InsufficientSizeError>>,
) -> io::Result<()> {
    let start = to.len();
    loop {
        to.resize(start + room, 0);
        match fits(&mut to[start..]) {
            Ok(length) => {
                to.truncate(start + length);
                return Ok(());
            }
            Err(Some(needed)) if needed.required_size > room => room = needed.required_size,
            Err(_) => {
                to.truncate(start);
                return Err(io::Error::other("TLS can send nothing more"));
            }
        }
    }
}

impl AsyncRead for TlsStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_plain(cx, 0))?;
        let count = self.unread().len().min(buffer.remaining());
        buffer.put_slice(&self.unread()[..count]);
        self.tls.plain_at += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TlsStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // One record at a time is on its way.
        ready!(self.poll_send(cx))?;
        match self.tls.look(Send::Data(bytes))? {
            Looked::Open(count) => {
                if let Poll::Ready(Err(error)) = self.poll_send(cx) {
                    return Poll::Ready(Err(error));
                }
                Poll::Ready(Ok(count))
            }
            Looked::Handshaking | Looked::Closed => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !std::mem::replace(&mut self.tls.said_goodbye, true) {
            // A connection that failed has sent its alert.
            let _ = self.tls.look(Send::Goodbye);
        }
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
