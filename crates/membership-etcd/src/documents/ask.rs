//! The questions of the handle to the thread `documents`, and their answers.

use std::sync::mpsc::SyncSender;

use serde::{Deserialize, Serialize};
use stadium_etcd::messages::TxnRequest;
use stadium_membership::ClusterId;

use super::known::{Known, Texts};

/// A question of the handle.
pub(super) enum Ask {
    /// Reads the documents through the quorum.
    Read(SyncSender<Result<Fresh, String>>),
    /// Carries out a transaction, after which the documents are `texts`.
    Write { question: TxnRequest, texts: Texts, reply: SyncSender<Attempt> },
}

/// The value of the key `change`.
#[derive(Serialize, Deserialize)]
pub(super) struct Change {
    pub(super) cluster: ClusterId,
    pub(super) number: u64,
}

/// The state of etcd, as read for a change.
pub(super) struct Fresh {
    pub(super) known: Known,
    /// The revision of the key `change`; 0 where there is none.
    pub(super) guard: i64,
    /// The number of the last change.
    pub(super) last: Option<u64>,
}

/// The outcome of an attempt to change documents.
pub(super) enum Attempt {
    Done(Known),
    /// Another node was faster.
    Lost,
    Away(String),
    /// The transaction was sent, and not answered.
    Unknown(String),
    TooLarge(String),
}
