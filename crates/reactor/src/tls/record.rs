//! Records of an open TLS connection, with nothing kept but keys and sequence numbers.
//!
//! rustls makes the handshake and hands over the traffic secrets; this protects and opens records in
//! place with the same AEADs. TLS 1.3: RFC 8446, 5; TLS 1.2: RFC 5246, 6.2.3.3, RFC 5288, RFC 7905.
//! Expanded keys are not kept by the connection but in a small cache of the loop.

use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;
use rustls::{ConnectionTrafficSecrets, Error, ExtractedSecrets, ProtocolVersion};

/// Plaintext of one record (RFC 8446, 5.1).
const PLAIN_MAX: usize = 16_384;
/// Length field of a protected record at most: 256 more than the plaintext in TLS 1.3, 2048 in 1.2.
const RECORD_MAX: usize = PLAIN_MAX + 2_048;
const HEADER: usize = 5;
const TAG: usize = 16;
/// Handshake messages after the handshake: tickets and key updates. More is not a peer that we want.
const MESSAGE_MAX: usize = 64 * 1024;
/// Records in a row that carry nothing: a way to keep us busy for free.
const EMPTY_MAX: u8 = 32;
/// Key updates in a row without data.
const UPDATES_MAX: u8 = 32;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;

mod content {
    pub(super) const CHANGE_CIPHER_SPEC: u8 = 20;
    pub(super) const ALERT: u8 = 21;
    pub(super) const HANDSHAKE: u8 = 22;
    pub(super) const DATA: u8 = 23;
}

/// Alert descriptions (RFC 8446, 6).
pub(crate) mod alert {
    pub(crate) const CLOSE_NOTIFY: u8 = 0;
    pub(crate) const UNEXPECTED_MESSAGE: u8 = 10;
    pub(crate) const BAD_RECORD_MAC: u8 = 20;
    pub(crate) const RECORD_OVERFLOW: u8 = 22;
    pub(crate) const DECODE_ERROR: u8 = 50;
    pub(crate) const INTERNAL_ERROR: u8 = 80;
    pub(crate) const USER_CANCELED: u8 = 90;
    pub(crate) const NO_RENEGOTIATION: u8 = 100;
}

/// Sends in one direction: a key that is not expanded, and where we are with it.
struct Direction {
    key: [u8; 32],
    iv: [u8; 12],
    sequence: u64,
    suite: Suite,
    /// Grows with each key, so that the cache never gives the old one.
    epoch: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Suite {
    Aes128,
    Aes256,
    ChaCha,
}

impl Suite {
    fn algorithm(self) -> &'static Algorithm {
        match self {
            Suite::Aes128 => &AES_128_GCM,
            Suite::Aes256 => &AES_256_GCM,
            Suite::ChaCha => &CHACHA20_POLY1305,
        }
    }

    /// Records after which the key must change (RFC 8446, 5.5; half of what rustls names for AES-GCM).
    fn records_max(self) -> u64 {
        match self {
            Suite::Aes128 | Suite::Aes256 => 1 << 22,
            Suite::ChaCha => u64::MAX,
        }
    }
}

impl Direction {
    fn new(sequence: u64, secrets: ConnectionTrafficSecrets, epoch: u32) -> Result<Direction, Error> {
        let (suite, key, iv) = match secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (Suite::Aes128, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (Suite::Aes256, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (Suite::ChaCha, key, iv),
            _ => return Err(Error::General("a cipher suite that the loop does not know".to_owned())),
        };
        let mut bytes = [0; 32];
        bytes[..key.as_ref().len()].copy_from_slice(key.as_ref());
        let iv = <[u8; 12]>::try_from(iv.as_ref())
            .map_err(|_| Error::General("an initialization vector that is not 12 bytes".to_owned()))?;
        Ok(Direction { key: bytes, iv, sequence, suite, epoch })
    }

    fn expand(&self) -> LessSafeKey {
        let algorithm = self.suite.algorithm();
        let key = UnboundKey::new(algorithm, &self.key[..algorithm.key_len()])
            .expect("the slice is as long as the algorithm says");
        LessSafeKey::new(key)
    }

    /// The vector with the sequence number mixed in (RFC 8446, 5.3; RFC 7905, 2).
    fn nonce(&self) -> [u8; 12] {
        let mut nonce = self.iv;
        for (byte, number) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= number;
        }
        nonce
    }
}

/// Expanded keys of the connections that were lately busy. An AES key takes about 0.3 µs to expand
/// and 0.5 KB to keep, so the loop keeps a few and an idle connection none.
pub(crate) struct KeyCache {
    slots: Vec<Slot>,
}

struct Slot {
    owner: u64,
    key: Option<LessSafeKey>,
}

/// Keys of the cache, two a connection; 0.6 MB once all are used.
const CACHE_SLOTS: usize = 1024;

impl KeyCache {
    pub(crate) fn new() -> KeyCache {
        KeyCache { slots: Vec::new() }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }

    /// The expanded key of a direction. `owner` is unique among all keys of this loop that are alive.
    fn expanded(&mut self, owner: u64, direction: &Direction) -> &LessSafeKey {
        if self.slots.is_empty() {
            self.slots.resize_with(CACHE_SLOTS, || Slot { owner: 0, key: None });
        }
        let place = (owner as usize).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let slot = &mut self.slots[place % CACHE_SLOTS];
        if slot.owner != owner || slot.key.is_none() {
            slot.owner = owner;
            slot.key = None;
        }
        slot.key.get_or_insert_with(|| direction.expand())
    }
}

/// What rustls keeps for key updates and tickets.
enum Kernel {
    Server(KernelConnection<ServerConnectionData>),
    Client(KernelConnection<ClientConnectionData>),
}

impl Kernel {
    fn next_received(&mut self) -> Result<(u64, ConnectionTrafficSecrets), Error> {
        match self {
            Kernel::Server(kernel) => kernel.update_rx_secret(),
            Kernel::Client(kernel) => kernel.update_rx_secret(),
        }
    }

    fn next_sent(&mut self) -> Result<(u64, ConnectionTrafficSecrets), Error> {
        match self {
            Kernel::Server(kernel) => kernel.update_tx_secret(),
            Kernel::Client(kernel) => kernel.update_tx_secret(),
        }
    }
}

/// An open connection's records.
pub(crate) struct Records {
    received: Direction,
    sent: Direction,
    kernel: Kernel,
    /// TLS 1.3 hides a record's type and needs no explicit nonce.
    modern: bool,
    /// Part of a handshake message that came after the handshake.
    message: Vec<u8>,
    empty: u8,
    updates: u8,
    /// Distinguishes this connection in the loop's key cache.
    serial: u64,
}

/// How opening records went.
pub(crate) struct Opened {
    /// Plaintext, compacted to the front of the buffer.
    pub(crate) plain: usize,
    /// Bytes of the buffer that were whole records; what follows them waits for more.
    pub(crate) consumed: usize,
    pub(crate) end: End,
}

/// The contents of the last record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// There will be more.
    Open,
    /// The peer sent close_notify.
    Closed,
    /// The peer sent this fatal alert.
    Alert(u8),
    /// We must send this fatal alert and close.
    Broken(u8),
}

impl Records {
    pub(crate) fn server(
        secrets: ExtractedSecrets,
        kernel: KernelConnection<ServerConnectionData>,
        serial: u64,
    ) -> Result<Records, Error> {
        let modern = kernel.protocol_version() == ProtocolVersion::TLSv1_3;
        Records::new(secrets, Kernel::Server(kernel), modern, serial)
    }

    pub(crate) fn client(
        secrets: ExtractedSecrets,
        kernel: KernelConnection<ClientConnectionData>,
        serial: u64,
    ) -> Result<Records, Error> {
        let modern = kernel.protocol_version() == ProtocolVersion::TLSv1_3;
        Records::new(secrets, Kernel::Client(kernel), modern, serial)
    }

    fn new(secrets: ExtractedSecrets, kernel: Kernel, modern: bool, serial: u64) -> Result<Records, Error> {
        Ok(Records {
            received: Direction::new(secrets.rx.0, secrets.rx.1, 0)?,
            sent: Direction::new(secrets.tx.0, secrets.tx.1, 0)?,
            kernel,
            modern,
            message: Vec::new(),
            empty: 0,
            updates: 0,
            serial,
        })
    }

    /// A key's name in the cache: which connection, which direction, which of its keys.
    fn owner(&self, direction: &Direction, sent: u64) -> u64 {
        (self.serial << 17) ^ (u64::from(direction.epoch & 0xffff) << 1) ^ sent
    }

    /// Opens all whole records in `buffer`, and compacts their plaintext to its front. Answers that
    /// must go to the peer (a key update) are appended to `reply`.
    pub(crate) fn open(&mut self, keys: &mut KeyCache, buffer: &mut [u8], reply: &mut Vec<u8>) -> Opened {
        let (mut plain, mut consumed) = (0, 0);
        let end = loop {
            let rest = &buffer[consumed..];
            if rest.len() < HEADER {
                break End::Open;
            }
            let (outer, length) = (rest[0], usize::from(u16::from_be_bytes([rest[3], rest[4]])));
            if length > RECORD_MAX {
                break End::Broken(alert::RECORD_OVERFLOW);
            }
            if rest.len() < HEADER + length {
                break End::Open;
            }
            let start = consumed;
            consumed += HEADER + length;
            let (kind, from, to) = match self.open_one(keys, &mut buffer[start..consumed], outer) {
                Ok((kind, body)) => (kind, start + body.start, start + body.end),
                Err(alert) => break End::Broken(alert),
            };
            match kind {
                content::DATA => {
                    if from == to {
                        self.empty += 1;
                        if self.empty > EMPTY_MAX {
                            break End::Broken(alert::UNEXPECTED_MESSAGE);
                        }
                        continue;
                    }
                    if !self.message.is_empty() {
                        break End::Broken(alert::UNEXPECTED_MESSAGE);
                    }
                    self.empty = 0;
                    self.updates = 0;
                    buffer.copy_within(from..to, plain);
                    plain += to - from;
                }
                content::ALERT => match buffer[from..to] {
                    [_, alert::CLOSE_NOTIFY] => break End::Closed,
                    // In TLS 1.3 every other alert but user_canceled is fatal at any level (RFC
                    // 8446, 6); in 1.2 a warning is not.
                    [level, description]
                        if description == alert::USER_CANCELED || (level == 1 && !self.modern) =>
                    {
                        self.empty += 1;
                        if self.empty > EMPTY_MAX {
                            break End::Broken(alert::UNEXPECTED_MESSAGE);
                        }
                    }
                    [_, description] => break End::Alert(description),
                    _ => break End::Broken(alert::DECODE_ERROR),
                },
                content::HANDSHAKE => {
                    self.message.extend_from_slice(&buffer[from..to]);
                    if let Err(alert) = self.messages(keys, reply) {
                        break End::Broken(alert);
                    }
                }
                _ => break End::Broken(alert::UNEXPECTED_MESSAGE),
            }
        };
        Opened { plain, consumed, end }
    }

    /// Opens one whole record in place: its inner type and where its plaintext lies.
    fn open_one(
        &mut self,
        keys: &mut KeyCache,
        record: &mut [u8],
        outer: u8,
    ) -> Result<(u8, std::ops::Range<usize>), u8> {
        if self.modern && outer != content::DATA {
            return Err(alert::UNEXPECTED_MESSAGE);
        }
        if !self.modern && outer == content::CHANGE_CIPHER_SPEC {
            return Err(alert::UNEXPECTED_MESSAGE);
        }
        let length = record.len() - HEADER;
        // Where the ciphertext starts behind the header: TLS 1.2's AES suites send half of the nonce.
        let explicit = if !self.modern && self.received.suite != Suite::ChaCha { 8 } else { 0 };
        if length < explicit + TAG {
            return Err(if self.modern { alert::BAD_RECORD_MAC } else { alert::DECODE_ERROR });
        }
        let mut nonce = self.received.nonce();
        if explicit != 0 {
            nonce[..4].copy_from_slice(&self.received.iv[..4]);
            nonce[4..].copy_from_slice(&record[HEADER..HEADER + 8]);
        }
        let key = keys.expanded(self.owner(&self.received, 0), &self.received);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let (header, body) = record.split_at_mut(HEADER);
        let body = &mut body[explicit..];
        let opened = if self.modern {
            key.open_in_place(nonce, Aad::from(&*header), body)
        } else {
            let version = [header[1], header[2]];
            let aad = legacy_aad(self.received.sequence, outer, version, body.len() - TAG);
            key.open_in_place(nonce, Aad::from(aad), body)
        };
        let mut plain = opened.map_err(|_| alert::BAD_RECORD_MAC)?.len();
        self.received.sequence = self.received.sequence.checked_add(1).ok_or(alert::INTERNAL_ERROR)?;
        let start = HEADER + explicit;
        let mut kind = outer;
        if self.modern {
            // The type stands behind the text, and zeros behind the type (RFC 8446, 5.4).
            if plain > PLAIN_MAX + 1 {
                return Err(alert::RECORD_OVERFLOW);
            }
            let text = &record[start..start + plain];
            let last = text.iter().rposition(|byte| *byte != 0).ok_or(alert::UNEXPECTED_MESSAGE)?;
            kind = text[last];
            plain = last;
        }
        if plain > PLAIN_MAX {
            return Err(alert::RECORD_OVERFLOW);
        }
        Ok((kind, start..start + plain))
    }

    /// Handles the whole handshake messages that have arrived (RFC 8446, 4.6).
    fn messages(&mut self, keys: &mut KeyCache, reply: &mut Vec<u8>) -> Result<(), u8> {
        const NEW_SESSION_TICKET: u8 = 4;
        const KEY_UPDATE: u8 = 24;
        if !self.modern {
            return Err(alert::NO_RENEGOTIATION);
        }
        let mut message = std::mem::take(&mut self.message);
        let mut used = 0;
        let result = loop {
            let rest = &message[used..];
            let [kind, a, b, c, body @ ..] = rest else { break Ok(()) };
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            if length > MESSAGE_MAX {
                break Err(alert::UNEXPECTED_MESSAGE);
            }
            let Some(body) = body.get(..length) else { break Ok(()) };
            match (*kind, &mut self.kernel) {
                (NEW_SESSION_TICKET, Kernel::Client(kernel)) => {
                    if kernel.handle_new_session_ticket(body).is_err() {
                        break Err(alert::DECODE_ERROR);
                    }
                }
                (KEY_UPDATE, _) => {
                    // Nothing may follow it in its record: the next one has another key.
                    let last = used + 4 + length == message.len();
                    let ([0 | 1], true) = (body, last) else { break Err(alert::UNEXPECTED_MESSAGE) };
                    let asked = body[0] == 1;
                    if let Err(alert) = self.update_received() {
                        break Err(alert);
                    }
                    if asked && let Err(alert) = self.update_sent(keys, reply) {
                        break Err(alert);
                    }
                }
                _ => break Err(alert::UNEXPECTED_MESSAGE),
            }
            used += 4 + length;
        };
        message.drain(..used);
        if !message.is_empty() {
            self.message = message;
        }
        result
    }

    fn update_received(&mut self) -> Result<(), u8> {
        self.updates += 1;
        if self.updates > UPDATES_MAX {
            return Err(alert::UNEXPECTED_MESSAGE);
        }
        let (sequence, secrets) = self.kernel.next_received().map_err(|_| alert::INTERNAL_ERROR)?;
        let epoch = self.received.epoch.wrapping_add(1);
        self.received = Direction::new(sequence, secrets, epoch).map_err(|_| alert::INTERNAL_ERROR)?;
        Ok(())
    }

    /// Announces to the peer that our next record has a new key, and takes that key.
    pub(crate) fn update_sent(&mut self, keys: &mut KeyCache, out: &mut Vec<u8>) -> Result<(), u8> {
        const KEY_UPDATE_NOT_REQUESTED: [u8; 5] = [24, 0, 0, 1, 0];
        self.seal_one(keys, content::HANDSHAKE, &KEY_UPDATE_NOT_REQUESTED, out);
        let (sequence, secrets) = self.kernel.next_sent().map_err(|_| alert::INTERNAL_ERROR)?;
        let epoch = self.sent.epoch.wrapping_add(1);
        self.sent = Direction::new(sequence, secrets, epoch).map_err(|_| alert::INTERNAL_ERROR)?;
        Ok(())
    }

    /// Protects `data` and appends the records to `out`.
    pub(crate) fn seal(&mut self, keys: &mut KeyCache, data: &[u8], out: &mut Vec<u8>) {
        for part in data.chunks(PLAIN_MAX) {
            if self.sent.sequence >= self.sent.suite.records_max() && self.modern {
                // Failing to update leaves the old key in place, which is still far from its hard limit.
                let _ = self.update_sent(keys, out);
            }
            self.seal_one(keys, content::DATA, part, out);
        }
    }

    /// Appends an alert: close_notify as a warning, every other one as fatal.
    pub(crate) fn seal_alert(&mut self, keys: &mut KeyCache, description: u8, out: &mut Vec<u8>) {
        let level = if description == alert::CLOSE_NOTIFY { 1 } else { 2 };
        self.seal_one(keys, content::ALERT, &[level, description], out);
    }

    fn seal_one(&mut self, keys: &mut KeyCache, kind: u8, text: &[u8], out: &mut Vec<u8>) {
        let nonce = self.sent.nonce();
        let key = keys.expanded(self.owner(&self.sent, 1), &self.sent);
        let start = out.len();
        if self.modern {
            let length = text.len() + 1 + TAG;
            let header = [content::DATA, 3, 3, (length >> 8) as u8, length as u8];
            out.extend_from_slice(&header);
            out.extend_from_slice(text);
            out.push(kind);
            let tag = key
                .seal_in_place_separate_tag(
                    Nonce::assume_unique_for_key(nonce),
                    Aad::from(header),
                    &mut out[start + HEADER..],
                )
                .expect("a record is far below the AEAD's length limit");
            out.extend_from_slice(tag.as_ref());
        } else {
            let explicit = if self.sent.suite == Suite::ChaCha { 0 } else { 8 };
            let length = explicit + text.len() + TAG;
            out.extend_from_slice(&[kind, 3, 3, (length >> 8) as u8, length as u8]);
            out.extend_from_slice(&nonce[4..4 + explicit]);
            let from = out.len();
            out.extend_from_slice(text);
            let tag = key
                .seal_in_place_separate_tag(
                    Nonce::assume_unique_for_key(nonce),
                    Aad::from(legacy_aad(self.sent.sequence, kind, [3, 3], text.len())),
                    &mut out[from..],
                )
                .expect("a record is far below the AEAD's length limit");
            out.extend_from_slice(tag.as_ref());
        }
        // 2^64 records at a million a second take half a million years.
        self.sent.sequence = self.sent.sequence.wrapping_add(1);
    }

    /// Takes a new place in a loop's key cache.
    pub(crate) fn renew_serial(&mut self, serial: u64) {
        self.serial = serial;
    }
}

/// Additional data of TLS 1.2: sequence, type, version, plaintext length (RFC 5246, 6.2.3.3).
fn legacy_aad(sequence: u64, kind: u8, version: [u8; 2], length: usize) -> [u8; 13] {
    let mut aad = [0; 13];
    aad[..8].copy_from_slice(&sequence.to_be_bytes());
    aad[8..].copy_from_slice(&[kind, version[0], version[1], (length >> 8) as u8, length as u8]);
    aad
}
