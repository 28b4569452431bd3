//! What became of leases and jobs that were named, one by one.

use serde::Serialize;
use stadium_queue::Given;
use utoipa::ToSchema;

use crate::request::problem::{Problem, ProblemDocument, ProblemSchema};

/// What became of a job.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutcomeWord {
    /// As asked.
    Done,
    /// It had been done before; nothing changed.
    Already,
    /// That was its last attempt: it is dead now.
    Dead,
}

impl OutcomeWord {
    pub(crate) fn of(given: Given) -> Self {
        match given {
            Given::Done => Self::Done,
            Given::Already => Self::Already,
            Given::Dead => Self::Dead,
        }
    }
}

/// What became of the one job that was named.
#[derive(Serialize, ToSchema)]
pub(crate) struct OneOutcome {
    pub(crate) outcome: OutcomeWord,
}

/// What became of one of several: `outcome` or `error`.
#[derive(Serialize, ToSchema)]
pub(crate) struct EachOutcome {
    /// The lease or the job, as it was named.
    pub(crate) of: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<OutcomeWord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ProblemSchema>)]
    pub(crate) error: Option<ProblemDocument<'static>>,
}

/// What became of each, in the order of the request.
#[derive(Serialize, ToSchema)]
pub(crate) struct Outcomes {
    pub(crate) results: Vec<EachOutcome>,
}

impl Outcomes {
    pub(crate) fn of(named: Vec<String>, outcomes: Vec<stadium_queue::Outcome>) -> Self {
        let each = |(of, outcome): (String, stadium_queue::Outcome)| match outcome {
            Ok(given) => EachOutcome { of, outcome: Some(OutcomeWord::of(given)), error: None },
            Err(refusal) => {
                EachOutcome { of, outcome: None, error: Some(Problem::from(refusal).into_document()) }
            }
        };
        Self { results: named.into_iter().zip(outcomes).map(each).collect() }
    }
}

/// How many jobs it concerned.
#[derive(Serialize, ToSchema)]
pub(crate) struct Counted {
    pub(crate) count: u64,
}
