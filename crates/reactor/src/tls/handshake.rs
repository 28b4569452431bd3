//! The handshake, by rustls without buffers of its own.
//!
//! Bytes from the peer go in, bytes to the peer come out, until the connection can be taken over by
//! [`Records`]. What of the first application data came along is handed out with it.

use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedConnectionCommon, UnbufferedStatus};
use rustls::{AlertDescription, Error};
use rustls_pki_types::CertificateDer;

use super::config::{ClientTls, ServerTls};
use super::record::{Records, alert};

/// A handshake under way.
pub(crate) enum Handshake {
    /// With the bytes that it may hold of a message that is not whole.
    Server(Box<UnbufferedServerConnection>, usize),
    Client(Box<UnbufferedClientConnection>),
}

/// How far the handshake has come.
pub(crate) enum Progress {
    /// The peer has to send more.
    Waiting(Handshake),
    /// Done: the records, and the peer's leaf certificate where it showed one.
    Done(Box<Records>, Option<CertificateDer<'static>>),
    /// It failed, and this is the alert that was sent or received.
    Failed(u8),
}

/// What one step produced beside [`Progress`].
#[derive(Default)]
pub(crate) struct Step {
    /// Bytes of the input that were used; the rest waits for more.
    pub(crate) consumed: usize,
    /// To send to the peer.
    pub(crate) out: Vec<u8>,
    /// Application data that came with the end of the handshake.
    pub(crate) plain: Vec<u8>,
    /// The peer has sent close_notify already.
    pub(crate) closed: bool,
}

impl Handshake {
    pub(crate) fn server(tls: &ServerTls) -> Result<Handshake, Error> {
        let (config, held_bytes_max) = tls.current();
        Ok(Handshake::Server(Box::new(UnbufferedServerConnection::new(config)?), held_bytes_max))
    }

    /// Bytes that it may hold of a message of the peer's that is not whole, at most `bytes_max`.
    pub(crate) fn held_bytes_max(&self, bytes_max: usize) -> usize {
        match self {
            Handshake::Server(_, held_bytes_max) => bytes_max.min(*held_bytes_max),
            Handshake::Client(_) => bytes_max,
        }
    }

    pub(crate) fn client(tls: &ClientTls) -> Result<Handshake, Error> {
        let connection = UnbufferedClientConnection::new(tls.config.clone(), tls.server_name.clone())?;
        Ok(Handshake::Client(Box::new(connection)))
    }

    /// Goes as far as `input` allows. `serial` is the records' place in the loop's key cache.
    pub(crate) fn advance(self, input: &mut [u8], serial: u64) -> (Progress, Step) {
        let mut step = Step::default();
        let progress = match self {
            Handshake::Server(mut connection, held_bytes_max) => {
                let outcome = drive(&mut connection, input, &mut step, |connection, input| {
                    connection.process_tls_records(input)
                });
                match outcome {
                    Ok(false) => Progress::Waiting(Handshake::Server(connection, held_bytes_max)),
                    Ok(true) => {
                        let certificate = leaf(connection.peer_certificates());
                        match connection
                            .dangerous_into_kernel_connection()
                            .and_then(|(secrets, kernel)| Records::server(secrets, kernel, serial))
                        {
                            Ok(records) => Progress::Done(Box::new(records), certificate),
                            Err(error) => Progress::Failed(alert_of(&error)),
                        }
                    }
                    Err(error) => Progress::Failed(alert_of(&error)),
                }
            }
            Handshake::Client(mut connection) => {
                let outcome = drive(&mut connection, input, &mut step, |connection, input| {
                    connection.process_tls_records(input)
                });
                match outcome {
                    Ok(false) => Progress::Waiting(Handshake::Client(connection)),
                    Ok(true) => {
                        let certificate = leaf(connection.peer_certificates());
                        match connection
                            .dangerous_into_kernel_connection()
                            .and_then(|(secrets, kernel)| Records::client(secrets, kernel, serial))
                        {
                            Ok(records) => Progress::Done(Box::new(records), certificate),
                            Err(error) => Progress::Failed(alert_of(&error)),
                        }
                    }
                    Err(error) => Progress::Failed(alert_of(&error)),
                }
            }
        };
        (progress, step)
    }
}

fn leaf(certificates: Option<&[CertificateDer<'static>]>) -> Option<CertificateDer<'static>> {
    certificates?.first().cloned()
}

/// Runs rustls until it waits for the peer (`false`) or the handshake is over (`true`). After an
/// error, what rustls wants to send to the peer is still in `step.out`.
fn drive<Data>(
    connection: &mut UnbufferedConnectionCommon<Data>,
    input: &mut [u8],
    step: &mut Step,
    process: impl for<'c, 'i> Fn(
        &'c mut UnbufferedConnectionCommon<Data>,
        &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Data>,
) -> Result<bool, Error> {
    let mut failed = None;
    loop {
        let UnbufferedStatus { mut discard, state } = process(connection, &mut input[step.consumed..]);
        let over = match state {
            Ok(ConnectionState::EncodeTlsData(mut data)) => {
                let start = step.out.len();
                encode(&mut data, &mut step.out)?;
                // Once rustls has handed out the alert it must not see the input again: it would fail on
                // it a second time, which it does not expect.
                if failed.is_some() && is_alert(&step.out[start..]) { Some(false) } else { None }
            }
            Ok(ConnectionState::TransmitTlsData(data)) => {
                data.done();
                None
            }
            Ok(ConnectionState::ReadTraffic(mut data)) => {
                while let Some(record) = data.next_record() {
                    let record = record?;
                    discard += record.discard;
                    step.plain.extend_from_slice(record.payload);
                }
                None
            }
            Ok(ConnectionState::BlockedHandshake) => Some(false),
            Ok(ConnectionState::WriteTraffic(_)) => Some(true),
            Ok(ConnectionState::PeerClosed) => {
                step.closed = true;
                None
            }
            Ok(ConnectionState::Closed) => Some(true),
            Ok(_) => return Err(Error::General("a state of rustls that the loop does not know".to_owned())),
            Err(error) => {
                // The next calls hand out what is left to send, the alert last, or the same error
                // again.
                if failed.replace(error).is_some() { Some(false) } else { None }
            }
        };
        step.consumed = (step.consumed + discard).min(input.len());
        if let Some(over) = over {
            if let Some(error) = failed {
                return Err(error);
            }
            // A whole record that rustls holds back is part of a message that spans records: it has been
            // opened in place, so rustls must see the rest of it.
            return Ok(over && !holds_record(&input[step.consumed..]));
        }
    }
}

fn encode<Data>(
    data: &mut rustls::unbuffered::EncodeTlsData<'_, Data>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let start = out.len();
    let mut room = 4_096;
    loop {
        out.resize(start + room, 0);
        match data.encode(&mut out[start..]) {
            Ok(length) => {
                out.truncate(start + length);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(needed)) => room = needed.required_size,
            Err(error) => return Err(Error::General(format!("encoding the handshake: {error}"))),
        }
    }
}

fn holds_record(bytes: &[u8]) -> bool {
    let [_, _, _, high, low, rest @ ..] = bytes else { return false };
    rest.len() >= usize::from(u16::from_be_bytes([*high, *low]))
}

/// Whether a record is an alert: by its type, or by its length where TLS 1.3 hides the type.
fn is_alert(record: &[u8]) -> bool {
    matches!(record, [21, ..]) || matches!(record, [23, _, _, 0, 19, ..])
}

/// The alert that reports an error to the peer, for the record of why the connection ended.
fn alert_of(error: &Error) -> u8 {
    let description = match error {
        Error::AlertReceived(description) => *description,
        Error::InvalidCertificate(certificate) => AlertDescription::from(certificate.clone()),
        Error::NoCertificatesPresented => AlertDescription::CertificateRequired,
        Error::DecryptError => AlertDescription::BadRecordMac,
        Error::InvalidMessage(_) => AlertDescription::DecodeError,
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            AlertDescription::UnexpectedMessage
        }
        Error::PeerSentOversizedRecord => AlertDescription::RecordOverflow,
        Error::NoApplicationProtocol => AlertDescription::NoApplicationProtocol,
        Error::PeerIncompatible(_) => AlertDescription::HandshakeFailure,
        Error::PeerMisbehaved(_) => AlertDescription::IllegalParameter,
        _ => return alert::INTERNAL_ERROR,
    };
    u8::from(description)
}
