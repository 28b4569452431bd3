//! How the HTTP API meets the shards: one command asked, one answer waited for.
//!
//! A dropped request drops its ticket, which takes a reserve that still waits back; what was asked for otherwise
//! happens all the same. What the shards refuse becomes a problem under the shards' own code, see [`codes`].

use stadium_queue::{
    Answer, Command, Given, HistoryEntry, JobView, Outcome, Placed, QueueStats, Refusal, Reserved,
    ScheduleView,
};

use bytes::Bytes;

use crate::app::App;
use crate::problem::{ANSWER_STRANGE, Problem, QUEUES_STARTING};

pub(crate) mod codes;
pub(crate) mod fields;
pub(crate) mod samples;
pub(crate) mod views;

/// Hands a command to the shards and waits for the answer.
///
/// Waiting is bounded by the request's own time limit.
pub(crate) async fn ask(app: &App, command: Command) -> Result<Answer<Bytes>, Problem> {
    Ok(outcome(app, command).await??)
}

/// As [`ask`], with the refusal as it is.
pub(crate) async fn outcome(app: &App, command: Command) -> Result<Result<Answer<Bytes>, Refusal>, Problem> {
    let Some(shards) = app.shards.get() else {
        let detail = "the shards are not running yet: the journal is being read";
        return Err(Problem::new(QUEUES_STARTING, detail).retry_after(std::time::Duration::from_secs(1)));
    };
    Ok(shards.submit(command).await)
}

/// A kind of answer that a command has, so that a handler names what it expects.
pub(crate) trait Expected: Sized {
    /// What the answer holds; none where it is another kind of answer.
    fn of(answer: Answer<Bytes>) -> Option<Self>;
}

macro_rules! expected {
    ($($kind:ident $type:ty;)*) => {$(
        impl Expected for $type {
            fn of(answer: Answer<Bytes>) -> Option<Self> {
                match answer {
                    Answer::$kind(held) => Some(held),
                    _ => None,
                }
            }
        }
    )*};
}

expected! {
    Placed Vec<Placed>;
    Reserved Vec<Reserved<Bytes>>;
    Given Vec<Outcome>;
    Count u64;
    Jobs Vec<JobView<Bytes>>;
    History Vec<HistoryEntry>;
    Queues Vec<QueueStats>;
    Schedules Vec<ScheduleView>;
}

impl Expected for () {
    fn of(answer: Answer<Bytes>) -> Option<Self> {
        matches!(answer, Answer::Done).then_some(())
    }
}

/// Asks for the kind of answer that the caller expects.
pub(crate) async fn ask_for<T: Expected>(app: &App, command: Command) -> Result<T, Problem> {
    T::of(ask(app, command).await?).ok_or_else(strange)
}

/// The only outcome of a command that named one job or lease.
pub(crate) async fn ask_for_one(app: &App, command: Command) -> Result<Given, Problem> {
    let outcomes: Vec<Outcome> = ask_for(app, command).await?;
    let outcome = outcomes.into_iter().next().ok_or_else(strange)?;
    Ok(outcome?)
}

/// A shard that answers what was not asked is a mistake of ours, and says so instead of guessing.
pub(crate) fn strange() -> Problem {
    tracing::error!("A shard's answer is of another kind than its command");
    Problem::new(ANSWER_STRANGE, "report it with the server's log; what was asked for may have happened")
}
