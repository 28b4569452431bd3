//! The MySQL protocol, client side, as little as queues in tables need: log in without a password, text queries, several
//! statements at once.
//!
//! A packet is three bytes of length, little-endian, one of sequence, and the content.

use anyhow::{Context as _, Result, bail};

/// LONG_PASSWORD, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_STATEMENTS, MULTI_RESULTS, PLUGIN_AUTH.
const CAPABILITIES: u32 = 0x1 | 0x200 | 0x2000 | 0x8000 | 0x1_0000 | 0x2_0000 | 0x8_0000;
const PACKET_BYTES_MAX: u32 = 1 << 24;
/// utf8mb4_general_ci.
const CHARSET: u8 = 45;
const COM_QUERY: u8 = 3;
/// Another result follows this one.
const MORE_RESULTS: u16 = 0x8;

/// One row's columns; NULL is an empty string, which no query here distinguishes.
pub(super) type Row = Vec<Vec<u8>>;

/// The answer of the server to everything that was asked.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    /// Logged in.
    Ready,
    /// The rows of all statements, and the rows that they changed.
    Done { rows: Vec<Row>, changed: u64 },
    /// A deadlock or a lock that took too long: the statement was rolled back.
    Conflict,
}

/// What the next packet is.
enum Expects {
    Greeting,
    Welcome,
    Result,
    Columns(u64),
    EndOfColumns,
    Rows,
}

/// One connection.
pub(super) struct Connection {
    expects: Expects,
    rows: Vec<Row>,
    changed: u64,
}

impl Connection {
    /// One that waits for the server's greeting.
    pub(super) fn new() -> Self {
        Self { expects: Expects::Greeting, rows: Vec::new(), changed: 0 }
    }

    /// Asks for these statements.
    pub(super) fn query(&mut self, sql: &str, out: &mut Vec<u8>) {
        let length = u32::try_from(sql.len() + 1).expect("a query of less than 16 MB");
        out.extend_from_slice(&length.to_le_bytes()[..3]);
        out.extend_from_slice(&[0, COM_QUERY]);
        out.extend_from_slice(sql.as_bytes());
        self.expects = Expects::Result;
        self.rows.clear();
        self.changed = 0;
    }

    /// Takes one packet and returns its length; a reply when it was the last one.
    pub(super) fn read(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<(usize, Option<Reply>)>> {
        let Some(head) = bytes.first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(u32::from_le_bytes([head[0], head[1], head[2], 0]))?;
        let Some(packet) = bytes.get(4..4 + length) else { return Ok(None) };
        let reply = self.packet(packet, head[3], out)?;
        Ok(Some((4 + length, reply)))
    }

    fn packet(&mut self, packet: &[u8], sequence: u8, out: &mut Vec<u8>) -> Result<Option<Reply>> {
        let first = *packet.first().context("an empty packet")?;
        if first == 0xff {
            return error(packet).map(Some);
        }
        match self.expects {
            Expects::Greeting => {
                log_in(sequence + 1, out);
                self.expects = Expects::Welcome;
            }
            Expects::Welcome if first == 0xfe => {
                // Another method of authentication: its answer without a password is empty.
                out.extend_from_slice(&[0, 0, 0, sequence + 1]);
            }
            Expects::Welcome => {
                self.expects = Expects::Result;
                return Ok(Some(Reply::Ready));
            }
            Expects::Result if first == 0 => {
                let mut at = 1;
                self.changed += number(packet, &mut at)?;
                let _last_id = number(packet, &mut at)?;
                return self.end(status(packet, at)?);
            }
            Expects::Result => self.expects = Expects::Columns(number(packet, &mut 0)?),
            Expects::Columns(left) => {
                self.expects = if left > 1 { Expects::Columns(left - 1) } else { Expects::EndOfColumns };
            }
            Expects::EndOfColumns => self.expects = Expects::Rows,
            Expects::Rows if first == 0xfe && packet.len() < 9 => return self.end(status(packet, 3)?),
            Expects::Rows => {
                let mut at = 0;
                let mut row = Vec::new();
                while at < packet.len() {
                    row.push(string(packet, &mut at)?.to_vec());
                }
                self.rows.push(row);
            }
        }
        Ok(None)
    }

    /// A result has ended.
    fn end(&mut self, status: u16) -> Result<Option<Reply>> {
        self.expects = Expects::Result;
        if status & MORE_RESULTS != 0 {
            return Ok(None);
        }
        Ok(Some(Reply::Done { rows: std::mem::take(&mut self.rows), changed: self.changed }))
    }
}

fn log_in(sequence: u8, out: &mut Vec<u8>) {
    let mut body = Vec::new();
    body.extend_from_slice(&CAPABILITIES.to_le_bytes());
    body.extend_from_slice(&PACKET_BYTES_MAX.to_le_bytes());
    body.push(CHARSET);
    body.extend_from_slice(&[0; 23]);
    // User, an empty answer to the challenge, the method.
    body.extend_from_slice(b"root\0\0mysql_native_password\0");
    let length = u32::try_from(body.len()).expect("short");
    out.extend_from_slice(&length.to_le_bytes()[..3]);
    out.push(sequence);
    out.extend_from_slice(&body);
}

fn error(packet: &[u8]) -> Result<Reply> {
    let code = packet.get(1..3).map_or(0, |code| u16::from_le_bytes([code[0], code[1]]));
    match code {
        // ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK, ER_CHECKREAD (a row changed under us).
        1205 | 1213 | 1020 => Ok(Reply::Conflict),
        _ => bail!("mariadb: {} ({code})", String::from_utf8_lossy(packet.get(9..).unwrap_or_default())),
    }
}

fn status(packet: &[u8], at: usize) -> Result<u16> {
    let bytes = packet.get(at..at + 2).context("a short packet")?;
    Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
}

/// A length-encoded integer.
fn number(packet: &[u8], at: &mut usize) -> Result<u64> {
    let first = *packet.get(*at).context("a short packet")?;
    let more = match first {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        small => {
            *at += 1;
            return Ok(small.into());
        }
    };
    let bytes = packet.get(*at + 1..*at + 1 + more).context("a short packet")?;
    *at += 1 + more;
    Ok(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// A length-encoded string.
fn string<'a>(packet: &'a [u8], at: &mut usize) -> Result<&'a [u8]> {
    if packet.get(*at) == Some(&0xfb) {
        *at += 1;
        return Ok(&[]);
    }
    let length = usize::try_from(number(packet, at)?)?;
    let text = packet.get(*at..*at + length).context("a short packet")?;
    *at += length;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{Connection, Expects, Reply};

    fn packet(sequence: u8, body: &[u8]) -> Vec<u8> {
        [&[u8::try_from(body.len()).expect("short"), 0, 0, sequence][..], body].concat()
    }

    #[test]
    fn several_results_are_one_reply() {
        let mut connection = Connection::new();
        connection.expects = Expects::Result;
        // UPDATE changed two rows; then one column, one row, done.
        let packets = [
            packet(1, &[0, 2, 0, 8, 0, 0, 0]),
            packet(2, &[1]),
            packet(3, b"definition"),
            packet(4, &[0xfe, 0, 0, 0, 0]),
            packet(5, &[2, b'h', b'i']),
            packet(6, &[0xfe, 0, 0, 0, 0]),
        ];
        let mut replies = Vec::new();
        for packet in &packets {
            let (length, reply) = connection.read(packet, &mut Vec::new()).expect("good").expect("whole");
            assert_eq!(length, packet.len());
            replies.extend(reply);
        }
        assert_eq!(replies, [Reply::Done { rows: vec![vec![b"hi".to_vec()]], changed: 2 }]);
    }

    #[test]
    fn a_deadlock_is_a_conflict() {
        let mut connection = Connection::new();
        connection.expects = Expects::Result;
        let packet = packet(1, &[0xff, 0xbd, 0x04, b'#', b'4', b'0', b'0', b'0', b'1', b'x']);
        let read = connection.read(&packet, &mut Vec::new()).expect("good").expect("whole");
        assert_eq!(read.1, Some(Reply::Conflict));
    }
}
