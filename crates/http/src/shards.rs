//! How the HTTP API meets the shards: one command asked, one answer waited for.
//!
//! A dropped request drops its ticket, which takes a reserve that still waits back; other commands
//! happen all the same. A refusal of the shards becomes a problem under its own code, see
//! [`refusals`].

use std::time::Duration;

use bytes::Bytes;
use stadium_shard::{Done, Shards, Ticket, Together};

use crate::request::app::App;
use crate::request::problem::{ANSWER_STRANGE, Problem, SHARDS_STARTING};

pub(crate) mod refusals;

/// What the shards can be asked: jobs, wallets, or both in one record.
pub(crate) trait Asks {
    /// What comes of it.
    type Answer;

    /// Hands it over.
    fn submit(self, shards: &Shards) -> Ticket<Self::Answer>;
}

impl Asks for stadium_queue::Command {
    type Answer = stadium_queue::Answer<Bytes>;

    fn submit(self, shards: &Shards) -> Ticket<Self::Answer> {
        shards.submit(self)
    }
}

impl Asks for stadium_wallet::Command {
    type Answer = stadium_wallet::Answer;

    fn submit(self, shards: &Shards) -> Ticket<Self::Answer> {
        shards.submit_wallet(self)
    }
}

impl Asks for Together {
    type Answer = Done;

    fn submit(self, shards: &Shards) -> Ticket<Self::Answer> {
        shards.submit_together(self)
    }
}

/// A kind of answer that a command has, so that a handler names what it expects.
pub(crate) trait Expected<Answer>: Sized {
    /// What the answer holds; none where it is another kind of answer.
    fn of(answer: Answer) -> Option<Self>;
}

/// Maps the cases of an answer to the types that they hold.
macro_rules! expected {
    ($whole:ty as $answer:ident: $($kind:ident $type:ty;)*) => {
        $(
            impl $crate::shards::Expected<$whole> for $type {
                fn of(answer: $whole) -> Option<Self> {
                    match answer {
                        $answer::$kind(held) => Some(held),
                        _ => None,
                    }
                }
            }
        )*

        impl $crate::shards::Expected<$whole> for () {
            fn of(answer: $whole) -> Option<Self> {
                matches!(answer, $answer::Done).then_some(())
            }
        }
    };
}

pub(crate) use expected;

/// The shards; a problem while they read their journals.
pub(crate) fn running(app: &App) -> Result<&Shards, Problem> {
    app.shards.get().ok_or_else(|| {
        let detail = "the shards are not running yet: the journal is being read";
        Problem::new(SHARDS_STARTING, detail).retry_after(Duration::from_secs(1))
    })
}

/// Hands a command to the shards and waits for the answer.
///
/// Waiting is bounded by the request's own time limit.
pub(crate) async fn ask<C: Asks>(app: &App, command: C) -> Result<C::Answer, Problem> {
    Ok(command.submit(running(app)?).await?)
}

/// Asks for the kind of answer that the caller expects.
pub(crate) async fn ask_for<T: Expected<C::Answer>, C: Asks>(app: &App, command: C) -> Result<T, Problem> {
    ask_shards(running(app)?, command).await
}

/// As [`ask_for`], of shards that the caller has.
pub(crate) async fn ask_shards<T: Expected<C::Answer>, C: Asks>(
    shards: &Shards,
    command: C,
) -> Result<T, Problem> {
    T::of(command.submit(shards).await?).ok_or_else(strange)
}

/// An answer to another question is a mistake of ours, and is reported instead of guessed at.
pub(crate) fn strange() -> Problem {
    tracing::error!("A shard's answer is of another kind than its command");
    Problem::new(ANSWER_STRANGE, "report it with the server's log; what was asked for may have happened")
}
