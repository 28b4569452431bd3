//! One operation, as a client submits it.

use crate::protocol::{Arithmetic, Key, Removal, Retrieval, Store};

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

    pub(super) fn is_write(&self) -> bool {
        matches!(self, Self::Store(..) | Self::Delete(..) | Self::Arithmetic(..) | Self::Touch(..))
    }
}
