//! The endpoints of accounts, transfers, and the journal's entries.

use std::sync::Arc;

use axum::extract::FromRef;
use utoipa_axum::router::OpenApiRouter;

use crate::request::app::App;
use crate::request::endpoints::endpoints;
use crate::wallet::description::Description;
use crate::wallet::figures::Figures;
use crate::wallet::movers::Movers;

pub(crate) mod accounts;
pub(crate) mod entries;
pub(crate) mod live;
pub(crate) mod transfers;

/// The endpoints of accounts, transfers, and the journal's entries.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
    Arc<Figures>: FromRef<S>,
    Arc<Movers>: FromRef<S>,
{
    endpoints![
        Description;
        accounts::assets,
        accounts::declare,
        accounts::open,
        accounts::list,
        accounts::show,
        accounts::holds,
        accounts::account,
        accounts::change,
        entries::history,
        entries::balance,
        entries::statement,
        entries::roots,
        live::show,
        transfers::create,
        transfers::batch,
        transfers::show,
        transfers::capture,
        transfers::void,
        transfers::reverse,
        transfers::together,
    ]
}
