//! Named users: all that the server has of one, exported or erased, with a receipt.
//!
//! A user is the name that devices carry as `named_user`. What belongs to a user follows from it
//! ([`find`]). An erasure is a record that survives a crash ([`record`]): it is carried out step by
//! step ([`erase`]), again after a restore of an older state ([`at_start`]), and ends with a signed
//! [`receipt`].

use stadium_session::Answer as SessionAnswer;
use stadium_session::Page;

use crate::shards::{Asks, Expected};

pub(crate) mod at_start;
pub(crate) mod audit_lines;
pub(crate) mod cluster;
pub(crate) mod description;
pub(crate) mod elsewhere;
pub(crate) mod erase;
pub(crate) mod export;
pub(crate) mod find;
pub(crate) mod kept;
pub(crate) mod list;
pub(crate) mod local;
pub(crate) mod on_node;
pub(crate) mod receipt;
pub(crate) mod record;
pub(crate) mod registration;
pub(crate) mod restored;
pub(crate) mod routes;
pub(crate) mod shared_list;
pub(crate) mod spelled;
pub(crate) mod views;
pub(crate) mod worker;

/// A page of the sessions or the retained messages of one shard.
pub(crate) struct PageOf {
    pub(crate) shard: u16,
    pub(crate) command: stadium_session::Command,
}

impl Asks for PageOf {
    type Answer = SessionAnswer;

    fn submit(self, shards: &stadium_shard::Shards) -> stadium_shard::Ticket<SessionAnswer> {
        shards.submit_session(self.shard, self.command)
    }
}

impl Expected<SessionAnswer> for Page {
    fn of(answer: SessionAnswer) -> Option<Self> {
        match answer {
            SessionAnswer::Page(page) => Some(page),
            _ => None,
        }
    }
}

impl Expected<SessionAnswer> for Vec<stadium_session::Outcome> {
    fn of(answer: SessionAnswer) -> Option<Self> {
        match answer {
            SessionAnswer::Batch(outcomes) => Some(outcomes),
            _ => None,
        }
    }
}
