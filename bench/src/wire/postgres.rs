//! PostgreSQL's protocol 3.0: messages of a kind, a length and a content, in both directions.
//!
//! Statements are prepared once and then executed with text arguments, one `Sync` behind each, so that each commits by itself.

use anyhow::{Context as _, Result};

/// The first message: user and database are `postgres`.
pub(crate) fn start(out: &mut Vec<u8>) {
    // The start message has no kind.
    let start = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    out.extend_from_slice(&u32::try_from(start.len() + 4).expect("short").to_be_bytes());
    out.extend_from_slice(start);
}

/// A simple query: `Query`.
pub(crate) fn query(sql: &str, out: &mut Vec<u8>) {
    message(b'Q', out, |out| text(sql, out));
}

/// Prepares a statement under a name: `Parse`.
pub(crate) fn prepare(name: &str, sql: &str, out: &mut Vec<u8>) {
    message(b'P', out, |out| {
        text(name, out);
        text(sql, out);
        out.extend_from_slice(&[0, 0]);
    });
}

/// Asks for an answer to the messages before: `Sync`.
pub(crate) fn sync(out: &mut Vec<u8>) {
    message(b'S', out, |_| {});
}

/// Executes a prepared statement with text arguments: `Bind`, `Execute`, `Sync`.
pub(crate) fn execute(name: &str, arguments: &[Vec<u8>], out: &mut Vec<u8>) {
    message(b'B', out, |out| {
        // The unnamed portal; all arguments as text; all results as text.
        out.push(0);
        text(name, out);
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&u16::try_from(arguments.len()).expect("a few").to_be_bytes());
        for argument in arguments {
            out.extend_from_slice(&u32::try_from(argument.len()).expect("a batch").to_be_bytes());
            out.extend_from_slice(argument);
        }
        out.extend_from_slice(&[0, 0]);
    });
    message(b'E', out, |out| out.extend_from_slice(&[0; 5]));
    sync(out);
}

/// A message: its kind, its length with these four bytes, its content.
fn message(kind: u8, out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    content(out);
    let length = u32::try_from(out.len() - start).expect("a batch");
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// An array as text; its elements need no quotes.
pub(crate) fn array<T>(items: &[T], mut write: impl FnMut(&T, &mut Vec<u8>)) -> Vec<u8> {
    let mut text = vec![b'{'];
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        write(item, &mut text);
    }
    text.push(b'}');
    text
}

/// The first message in `bytes`: its kind, its content, and its length; `None` when there is no whole one yet.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(u8, &[u8], usize)>> {
    let Some(head) = bytes.first_chunk::<5>() else { return Ok(None) };
    let length = usize::try_from(u32::from_be_bytes([head[1], head[2], head[3], head[4]]))?;
    Ok(bytes.get(5..1 + length).map(|content| (head[0], content, 1 + length)))
}

/// The columns of a row (`DataRow`), none of which is null.
pub(crate) fn columns<const N: usize>(row: &[u8]) -> Result<[&[u8]; N]> {
    let mut at = 2;
    let mut columns = [&[][..]; N];
    for column in &mut columns {
        let length = row.get(at..at + 4).and_then(|bytes| bytes.first_chunk::<4>()).context("a short row")?;
        let length = usize::try_from(u32::from_be_bytes(*length))?;
        *column = row.get(at + 4..at + 4 + length).context("a short row")?;
        at += 4 + length;
    }
    Ok(columns)
}

/// The text of an error, on one line, with its code.
pub(crate) fn error(content: &[u8]) -> String {
    String::from_utf8_lossy(content).replace('\0', " ")
}

/// The code of an error (SQLSTATE); empty where it has none.
pub(crate) fn error_code(content: &[u8]) -> &[u8] {
    content.split(|byte| *byte == 0).find_map(|field| field.strip_prefix(b"C")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{array, columns, error_code, parse, query};

    #[test]
    fn a_message_is_read_once_it_is_whole() {
        let mut bytes = Vec::new();
        query("SELECT 1", &mut bytes);
        assert_eq!(parse(&bytes).expect("good"), Some((b'Q', &b"SELECT 1\0"[..], bytes.len())));
        assert_eq!(parse(&bytes[..bytes.len() - 1]).expect("good so far"), None);
    }

    #[test]
    fn a_row_has_its_columns() {
        let row = b"\0\x02\0\0\0\x02hi\0\0\0\0";
        assert_eq!(columns::<2>(row).expect("a row"), [&b"hi"[..], b""]);
        assert!(columns::<2>(&row[..9]).is_err());
    }

    #[test]
    fn arrays_are_text() {
        let write = |item: &u8, out: &mut Vec<u8>| out.push(*item);
        assert_eq!(array(b"abc", write), b"{a,b,c}");
        assert_eq!(array(b"", write), b"{}");
    }

    #[test]
    fn an_error_has_a_code() {
        assert_eq!(error_code(b"SERROR\0VERROR\0C40P01\0Mdeadlock detected\0\0"), b"40P01");
        assert_eq!(error_code(b"\0"), b"");
    }
}
