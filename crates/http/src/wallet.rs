//! Assets, accounts and transfers between JSON and the shards: the forms of requests and of
//! answers, and figures over time.

use stadium_wallet::{
    AccountView, Answer, AssetView, Balance, EntryPage, HoldView, Outcome, Refusal, TransferView,
};

use crate::shards::expected;

pub(crate) mod amount;
pub(crate) mod description;
pub(crate) mod fields;
pub(crate) mod figures;
pub(crate) mod ids;
pub(crate) mod movers;
pub(crate) mod routes;
pub(crate) mod statement;
pub(crate) mod views;

expected! { Answer as Answer:
    Opened Vec<Result<bool, Refusal>>;
    Booked Vec<Outcome>;
    Accounts Vec<AccountView>;
    Holds Vec<HoldView>;
    Transfer Box<TransferView>;
    History EntryPage;
    Balance Balance;
    Assets Vec<AssetView>;
}
