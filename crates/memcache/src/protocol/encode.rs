//! Writes commands. Each function appends one whole command to a buffer.
//!
//! A command that both protocols have is one function, with the dialect as an argument. Arguments that
//! only the meta protocol can express are ignored by the classic one: the driver refuses them before.

use std::io::Write as _;

use super::key::Key;

/// The command `mn`, whose answer shows that all commands before it were carried out.
pub const META_NOOP: &[u8] = b"mn\r\n";

/// The text protocol that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The meta protocol, of memcached 1.6 and later.
    Meta,
    /// The classic one, of all servers and of proxies.
    Classic,
}

/// The treatment of an existing item by a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Replaces it.
    #[default]
    Set,
    /// Stores only where there is none.
    Add,
    /// Stores only where there is one.
    Replace,
    /// Puts the bytes behind its value; flags and time to live stay.
    Append,
    /// Puts the bytes before its value; flags and time to live stay.
    Prepend,
}

/// A store.
#[derive(Debug, Clone, Copy, Default)]
pub struct Store {
    /// The treatment of an existing item.
    pub mode: Mode,
    /// The client's flags, which come back with the value.
    pub client_flags: u32,
    /// As memcached counts it: 0 for ever, up to 30 days in seconds, above that a Unix time, negative
    /// for "at once".
    pub expiry: i64,
    /// Store only where the item's unique number is this one. With [`Mode::Set`] alone.
    pub cas: Option<u64>,
}

/// The direction in which a number changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Add, modulo 2^64.
    Increment,
    /// Subtract, down to 0.
    Decrement,
}

/// A change of a number.
#[derive(Debug, Clone, Copy)]
pub struct Arithmetic {
    /// Its direction.
    pub direction: Direction,
    /// By how much.
    pub delta: u64,
    /// The value and the expiry of the item that is made where there is none. Meta protocol only.
    pub initial: Option<(u64, i64)>,
}

/// The options of `mg`, beside the value.
#[derive(Debug, Clone, Copy, Default)]
pub struct Retrieval {
    /// Return the unique number.
    pub cas: bool,
    /// Make an empty item with this expiry where there is none, and let this client win.
    pub vivify: Option<i64>,
    /// Let one client win when fewer seconds than this are left.
    pub recache_s: Option<u32>,
    /// Set this expiry.
    pub touch: Option<i64>,
}

/// The way in which an item is removed.
#[derive(Debug, Clone, Copy)]
pub enum Removal {
    /// At once.
    Delete,
    /// It is marked as stale: one reader wins, the others see that it is stale. Meta protocol only.
    Invalidate {
        /// Its new expiry.
        expiry: Option<i64>,
    },
}

/// Appends the classic `get` or `gets` (`with_cas`) of keys that are not binary.
pub fn get<'a>(out: &mut Vec<u8>, with_cas: bool, keys: impl IntoIterator<Item = Key<'a>>) {
    out.extend_from_slice(if with_cas { b"gets" } else { b"get" });
    for key in keys {
        out.push(b' ');
        key.write(out);
    }
    line_end(out);
}

/// Appends `mg`. Value, flags and remaining time to live come back.
pub fn meta_get(out: &mut Vec<u8>, key: Key<'_>, how: &Retrieval, opaque: u32) {
    begin_meta(out, "mg", key, None);
    out.extend_from_slice(b" v f t");
    if how.cas {
        out.extend_from_slice(b" c");
    }
    if let Some(expiry) = how.vivify {
        print(out, format_args!(" N{expiry}"));
    }
    if let Some(recache_s) = how.recache_s {
        print(out, format_args!(" R{recache_s}"));
    }
    if let Some(expiry) = how.touch {
        print(out, format_args!(" T{expiry}"));
    }
    print(out, format_args!(" O{opaque}\r\n"));
}

/// Appends a store. Without an opaque number a meta store is quiet: the server answers only where
/// it fails.
pub fn store(
    out: &mut Vec<u8>,
    dialect: Dialect,
    key: Key<'_>,
    value: &[u8],
    how: &Store,
    opaque: Option<u32>,
) {
    let Store { mode, client_flags, expiry, cas } = *how;
    match dialect {
        Dialect::Meta => {
            begin_meta(out, "ms", key, Some(value.len()));
            out.extend_from_slice(match mode {
                Mode::Set => b"",
                Mode::Add => b" ME",
                Mode::Replace => b" MR",
                Mode::Append => b" MA",
                Mode::Prepend => b" MP",
            });
            if client_flags != 0 {
                print(out, format_args!(" F{client_flags}"));
            }
            if expiry != 0 {
                print(out, format_args!(" T{expiry}"));
            }
            if let Some(cas) = cas {
                print(out, format_args!(" C{cas}"));
            }
            match opaque {
                Some(opaque) => print(out, format_args!(" O{opaque}")),
                None => out.extend_from_slice(b" q"),
            }
        }
        Dialect::Classic => {
            let word = match (mode, cas) {
                (_, Some(_)) => "cas",
                (Mode::Set, None) => "set",
                (Mode::Add, None) => "add",
                (Mode::Replace, None) => "replace",
                (Mode::Append, None) => "append",
                (Mode::Prepend, None) => "prepend",
            };
            out.extend_from_slice(word.as_bytes());
            out.push(b' ');
            key.write(out);
            print(out, format_args!(" {client_flags} {expiry} {}", value.len()));
            if let Some(cas) = cas {
                print(out, format_args!(" {cas}"));
            }
        }
    }
    line_end(out);
    out.extend_from_slice(value);
    line_end(out);
}

/// Appends a deletion or an invalidation; the latter with the meta protocol only.
pub fn delete(out: &mut Vec<u8>, dialect: Dialect, key: Key<'_>, how: Removal, opaque: u32) {
    match dialect {
        Dialect::Meta => {
            begin_meta(out, "md", key, None);
            if let Removal::Invalidate { expiry } = how {
                out.extend_from_slice(b" I");
                if let Some(expiry) = expiry {
                    print(out, format_args!(" T{expiry}"));
                }
            }
            print(out, format_args!(" O{opaque}"));
        }
        Dialect::Classic => {
            out.extend_from_slice(b"delete ");
            key.write(out);
        }
    }
    line_end(out);
}

/// Appends a change of a number; the new value comes back.
pub fn arithmetic(out: &mut Vec<u8>, dialect: Dialect, key: Key<'_>, how: &Arithmetic, opaque: u32) {
    let Arithmetic { direction, delta, initial } = *how;
    match dialect {
        Dialect::Meta => {
            begin_meta(out, "ma", key, None);
            print(out, format_args!(" v D{delta}"));
            if direction == Direction::Decrement {
                out.extend_from_slice(b" MD");
            }
            if let Some((value, expiry)) = initial {
                print(out, format_args!(" J{value} N{expiry}"));
            }
            print(out, format_args!(" O{opaque}"));
        }
        Dialect::Classic => {
            let word: &[u8] = match direction {
                Direction::Increment => b"incr ",
                Direction::Decrement => b"decr ",
            };
            out.extend_from_slice(word);
            key.write(out);
            print(out, format_args!(" {delta}"));
        }
    }
    line_end(out);
}

/// Appends a change of the expiry.
pub fn touch(out: &mut Vec<u8>, dialect: Dialect, key: Key<'_>, expiry: i64, opaque: u32) {
    match dialect {
        Dialect::Meta => {
            begin_meta(out, "mg", key, None);
            print(out, format_args!(" T{expiry} O{opaque}"));
        }
        Dialect::Classic => {
            out.extend_from_slice(b"touch ");
            key.write(out);
            print(out, format_args!(" {expiry}"));
        }
    }
    line_end(out);
}

/// Appends `stats`, of one group (`items`, `slabs`, `settings`) or of the server.
pub fn stats(out: &mut Vec<u8>, group: &str) {
    out.extend_from_slice(b"stats");
    if !group.is_empty() {
        out.push(b' ');
        out.extend_from_slice(group.as_bytes());
    }
    line_end(out);
}

/// Appends `version`.
pub fn version(out: &mut Vec<u8>) {
    out.extend_from_slice(b"version\r\n");
}

/// `mg KEY`, or `ms KEY 5`, with the flag of a binary key.
fn begin_meta(out: &mut Vec<u8>, word: &str, key: Key<'_>, value_bytes: Option<usize>) {
    out.extend_from_slice(word.as_bytes());
    out.push(b' ');
    key.write(out);
    if let Some(bytes) = value_bytes {
        print(out, format_args!(" {bytes}"));
    }
    if key.is_binary() {
        out.extend_from_slice(b" b");
    }
}

fn line_end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

fn print(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn commands_are_written_in_both_dialects() {
        let key = Key::new(b"k").unwrap();
        let binary = Key::new(b"a b").unwrap();
        let add = Store { mode: Mode::Add, client_flags: 3, expiry: 60, cas: None };
        let cas = Store { cas: Some(9), ..Store::default() };
        let decr = Arithmetic { direction: Direction::Decrement, delta: 4, initial: None };
        let incr = Arithmetic { direction: Direction::Increment, delta: 1, initial: Some((5, 60)) };
        let stale = Removal::Invalidate { expiry: Some(30) };
        let recache = Retrieval { cas: true, vivify: Some(30), recache_s: Some(10), touch: None };
        use Dialect::{Classic, Meta};
        let cases: Vec<(String, &str)> = vec![
            (written(|out| get(out, false, [key, key])), "get k k\r\n"),
            (written(|out| get(out, true, [key])), "gets k\r\n"),
            (written(|out| meta_get(out, binary, &recache, 7)), "mg YSBi b v f t c N30 R10 O7\r\n"),
            (written(|out| store(out, Meta, key, b"hi", &Store::default(), None)), "ms k 2 q\r\nhi\r\n"),
            (written(|out| store(out, Meta, binary, b"", &add, Some(1))), "ms YSBi 0 b ME F3 T60 O1\r\n\r\n"),
            (written(|out| store(out, Meta, key, b"x", &cas, Some(2))), "ms k 1 C9 O2\r\nx\r\n"),
            (written(|out| store(out, Classic, key, b"x", &add, None)), "add k 3 60 1\r\nx\r\n"),
            (written(|out| store(out, Classic, key, b"x", &cas, None)), "cas k 0 0 1 9\r\nx\r\n"),
            (written(|out| delete(out, Meta, key, Removal::Delete, 4)), "md k O4\r\n"),
            (written(|out| delete(out, Meta, key, stale, 4)), "md k I T30 O4\r\n"),
            (written(|out| delete(out, Classic, key, Removal::Delete, 4)), "delete k\r\n"),
            (written(|out| arithmetic(out, Meta, key, &decr, 5)), "ma k v D4 MD O5\r\n"),
            (written(|out| arithmetic(out, Meta, key, &incr, 5)), "ma k v D1 J5 N60 O5\r\n"),
            (written(|out| arithmetic(out, Classic, key, &decr, 5)), "decr k 4\r\n"),
            (written(|out| touch(out, Meta, key, 60, 6)), "mg k T60 O6\r\n"),
            (written(|out| touch(out, Classic, key, 60, 6)), "touch k 60\r\n"),
            (written(|out| stats(out, "items")), "stats items\r\n"),
            (written(version), "version\r\n"),
        ];
        for (written, expected) in cases {
            assert_eq!(written, expected);
        }
    }
}
