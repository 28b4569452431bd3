//! Erasures as the API shows them.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::users::erase::{Plan, STEPS};
use crate::users::list::{Erasure, Running};
use crate::users::receipt::{Kept, Signed};
use crate::users::spelled::at;

/// An erasure of a user.
#[derive(Serialize, ToSchema)]
#[schema(as = Erasure)]
pub(crate) struct ErasureReport {
    /// Its id.
    #[schema(example = "0c1d2e3f405162738495a6b7c8d9eafb")]
    id: String,
    /// `running`, or `finished`.
    #[schema(example = "finished")]
    state: &'static str,
    /// The user's name, while it runs. A finished erasure has its salted hash alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    /// When it was asked for (RFC 3339), while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    began_at: Option<String>,
    /// When it finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<String>,
    /// The steps, while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<StepReport>>,
    /// Counts of each kind that were found so far, while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<BTreeMap<String, u64>>,
    /// The nodes of a cluster whose sessions of the user are gone, while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes_done: Option<Vec<String>>,
    /// The reason for which the last try got no further. It is tried again until it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<String>,
    /// The signed receipt, once it has finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<Signed>,
}

/// A step of an erasure.
#[derive(Serialize, ToSchema)]
#[schema(as = ErasureStep)]
pub(crate) struct StepReport {
    /// `devices`, `pushes`, `sessions`, `retained_messages`, `jobs` or `wallets`.
    #[schema(example = "devices")]
    step: &'static str,
    /// Whether it is done.
    done: bool,
}

impl ErasureReport {
    pub(crate) fn of(erasure: Erasure) -> Self {
        match erasure {
            Erasure::Running(Running { id, user, began_ms, found, done, nodes, waits_for, .. }) => Self {
                id,
                state: "running",
                user: Some(user),
                began_at: Some(at(began_ms)),
                finished_at: None,
                steps: Some(STEPS.map(|step| StepReport { step, done: done.contains(step) }).into()),
                found: Some(found),
                nodes_done: (!nodes.is_empty())
                    .then(|| nodes.into_iter().filter(|(_, part)| part.done).map(|(node, _)| node).collect()),
                waits_for,
                receipt: None,
            },
            Erasure::Finished(finished) => Self {
                id: finished.id,
                state: "finished",
                user: None,
                began_at: None,
                finished_at: Some(at(finished.finished_ms)),
                steps: None,
                found: None,
                nodes_done: None,
                waits_for: None,
                receipt: Some(finished.receipt),
            },
        }
    }
}

/// The erasures, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct ErasurePage {
    pub(crate) erasures: Vec<ErasureReport>,
    /// The key that signs receipts, hexadecimal. Keep it elsewhere: with it anybody can check them.
    pub(crate) public_key: String,
}

/// The effects of an erasure.
#[derive(Serialize, ToSchema)]
#[schema(as = ErasurePlan)]
pub(crate) struct PlanReport {
    /// The user.
    #[schema(example = "ada")]
    user: String,
    /// Counts of each kind that would be removed.
    found: BTreeMap<String, u64>,
    /// Things that would stay, each with its reason.
    kept: Vec<Kept>,
    /// Accounts that are not empty: without `balances=keep` the erasure would be refused for them.
    balances: Vec<BalanceLeft>,
}

/// An account that is not empty.
#[derive(Serialize, ToSchema)]
pub(crate) struct BalanceLeft {
    /// The wallet.
    wallet: String,
    /// The asset.
    asset: String,
    /// The amount that came in less the one that went out, in minor units.
    posted: i64,
    /// Of that: promised to others by holds.
    held: u64,
}

impl PlanReport {
    pub(crate) fn of(user: String, plan: Plan) -> Self {
        let left = plan.balances.iter().map(|account| BalanceLeft {
            wallet: account.wallet.to_string(),
            asset: account.asset.to_string(),
            posted: account.balance.posted,
            held: account.balance.held,
        });
        Self { user, balances: left.collect(), found: plan.found, kept: plan.kept }
    }
}
