//! One operation, as a client submits it.

use std::time::Instant;

use crate::metrics::Operation;
use crate::protocol::{Arithmetic, Key, Mode, Removal, Retrieval, Store};

/// The time that an operation has.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) begun: Instant,
    pub(crate) deadline: Instant,
    /// The end of waiting for a connection: the deadline, or the beginning for callers that must not
    /// block.
    pub(crate) link_by: Instant,
}

/// One operation.
#[derive(Clone, Copy)]
pub(crate) enum Command<'a> {
    Get(Key<'a>),
    Gets(Key<'a>),
    MetaGet(Key<'a>, &'a Retrieval),
    Store(Key<'a>, &'a [u8], &'a Store),
    Delete(Key<'a>, Removal),
    Arithmetic(Key<'a>, &'a Arithmetic),
    Touch(Key<'a>, i64),
    Statistics(&'a str),
    Version,
}

impl<'a> Command<'a> {
    pub(crate) fn key(&self) -> Option<Key<'a>> {
        match *self {
            Self::Get(key)
            | Self::Gets(key)
            | Self::MetaGet(key, _)
            | Self::Store(key, ..)
            | Self::Delete(key, _)
            | Self::Arithmetic(key, _)
            | Self::Touch(key, _) => Some(key),
            Self::Statistics(_) | Self::Version => None,
        }
    }

    pub(crate) fn operation(&self) -> Operation {
        match self {
            Self::Get(_) => Operation::Get,
            Self::Gets(_) => Operation::Gets,
            Self::MetaGet(..) => Operation::Lookup,
            Self::Store(_, _, Store { cas: Some(_), .. }) => Operation::Cas,
            Self::Store(_, _, how) => match how.mode {
                Mode::Set => Operation::Set,
                Mode::Add => Operation::Add,
                Mode::Replace => Operation::Replace,
                Mode::Append => Operation::Append,
                Mode::Prepend => Operation::Prepend,
            },
            Self::Delete(_, Removal::Delete) => Operation::Delete,
            Self::Delete(_, Removal::Invalidate { .. }) => Operation::Invalidate,
            Self::Arithmetic(..) => Operation::Arithmetic,
            Self::Touch(..) => Operation::Touch,
            Self::Statistics(_) => Operation::Statistics,
            Self::Version => Operation::Version,
        }
    }

    pub(super) fn is_write(&self) -> bool {
        matches!(self, Self::Store(..) | Self::Delete(..) | Self::Arithmetic(..) | Self::Touch(..))
    }
}
