//! The API's description (OpenAPI 3.1), made from the handlers and the types that they read and write.
//!
//! What attributes of types and handlers cannot say is laid over it by [`rules`]. docs/reference/openapi.json is a copy; a stale copy
//! fails the build.

mod rules;

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::apps::routes as apps;
use crate::audiences::routes as audiences;
use crate::devices::routes::{connections, credentials, files, registered, traces};
use crate::keys::{audit, routes as keys};
use crate::live::samples;
use crate::live::{health, routes as live};
use crate::metrics::routes as metrics;
use crate::push::direct::routes as direct;
use crate::push::routes::{deliveries, live as live_push, pushes, schedules as push_schedules};
use crate::queue::routes::{jobs, leases, live as live_queues, queues, schedules};
use crate::wallet::routes::{accounts, entries, live as live_wallets, transfers};
use crate::webpush::routes as webpush;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Stadium",
        description = "Hand pushes over, see how far they have come, put and work on jobs, move credit, and look after devices and API keys.\n\nEvery request gets one \
                       of four answers. *Accepted* (2xx): the server owns it now. *Busy* (503 with `Retry-After`): you still own \
                       it, nothing happened. *Rejected* (4xx): it will never work, nothing happened. *Unknown* \
                       (504): it may have happened, ask again with the same id or look. Errors are RFC 9457 problems \
                       with a stable `code`. Whole numbers are written without a fraction: `7`, not `7.0`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    paths(
        direct::create, direct::list, direct::show,
        connections::list, connections::show, connections::kick, traces::events,
        jobs::put, jobs::show, jobs::history, jobs::edit, jobs::delete, jobs::delete_several,
        leases::reserve, leases::settle, leases::settle_several, leases::release, leases::release_several,
        leases::extend, leases::extend_several, leases::bury, leases::bury_several, leases::forward,
        queues::list, queues::show, queues::declare, queues::remove, queues::peek, queues::pause, queues::resume,
        queues::purge, queues::kick, queues::redrive,
        live_queues::show, schedules::list, schedules::set, schedules::end,
        accounts::declare, accounts::assets, accounts::open, accounts::list, accounts::show, accounts::account, accounts::change,
        accounts::holds, entries::history, entries::balance, entries::statement, entries::roots, live_wallets::show,
        transfers::create, transfers::batch, transfers::show, transfers::capture, transfers::void, transfers::reverse,
        transfers::together,
        apps::list, apps::show, apps::declare, apps::remove,
        registered::list, registered::show, registered::change_several, registered::replace, registered::change, registered::remove, registered::remove_several,
        files::import, files::export, credentials::issue, credentials::withdraw, credentials::revoke, credentials::restore,
        audiences::list, audiences::save, audiences::remove, audiences::preview, audiences::add_to_list, audiences::remove_from_list,
        pushes::create, pushes::list, pushes::show, pushes::edit, pushes::cancel, live_push::events,
        deliveries::list, deliveries::trace, deliveries::opened,
        push_schedules::list, push_schedules::set, push_schedules::end, push_schedules::pause, push_schedules::resume,
        audit::list,
        webpush::list, webpush::subscribe, webpush::unsubscribe, webpush::unsubscribe_all, webpush::send, webpush::discover,
        webpush::receipt, webpush::cancel,
        keys::list, keys::create, keys::revoke,
        live::events, metrics::metrics, health::healthz, health::readyz,
    ),
    tags(
        (name = "Pushes", description = "One call lights a device, a channel or everybody up that is connected, live."),
        (name = "Push platform", description = "Apps with their devices, audiences, pushes and schedules: who gets what when, and why not. docs/push-api.md shows it by example."),
        (name = "Web Push", description = "Endpoints of RFC 8030 for applications' own senders: docs/webpush.md."),
        (name = "Devices", description = "Who is connected, and who has a session."),
        (name = "Queues", description = "Jobs that are never lost and run when they are due."),
        (name = "Wallets", description = "Credit and votes: accounts, transfers and holds, never overdrawn, with a history that is never edited. \
                                   Amounts are whole minor units (cents, votes): numbers up to 2^53 - 1, beyond that strings of digits; both are taken. \
                                   A transfer is booked at most once for its id. What the books do not allow now, such as a debit without credit, is 409."),
        (name = "API keys", description = "Who may ask for what."),
        (name = "Operating", description = "Health, metrics and the live view."),
    ),
    components(schemas(samples::Sample, samples::Point, traces::TraceEvent)),
    modifiers(&Bearer),
    security(("key" = [])),
)]
struct Description;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("sk_...")
            .description(Some(
                "An API key. Roles contain one another: `read` sees, `send` also pushes, puts and works on jobs and moves amounts, `admin` \
                 also disconnects, removes and revokes devices, declares apps, declares, drops and purges queues, declares assets, opens and changes accounts and manages keys.",
            ))
            .build();
        let components = api.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(scheme));
    }
}

/// The description as JSON, with the given version of the server.
pub fn description(version: &str) -> String {
    let mut api = Description::openapi();
    api.info.version = version.to_owned();
    let mut api = serde_json::to_value(api).expect("the description holds only strings, numbers and lists");
    rules::apply(&mut api);
    serde_json::to_string_pretty(&api).expect("it was JSON before")
}
