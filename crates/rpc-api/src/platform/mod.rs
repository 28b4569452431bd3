//! The service `push`: devices, audiences, pushes and schedules, for services that have RPC.
//!
//! A request becomes a command ([`read`]), the shards answer it, and the answer becomes a message ([`mod@write`]). As with wallets, how much may
//! be under way is bounded by the shards' mailboxes, so methods are served as uploads. The service `stadium` beside it pushes to
//! connected devices, without a registry.

mod read;
mod write;

use std::sync::Arc;

use prost::Message;
use stadium_http::rights::hide_contents;
use stadium_push::{Answer, Command};
use stadium_rpc::{CallContext, Method, PieceReceiver, Raw, Refusal, Service};

use crate::access::Rights;
use crate::guarded::{Guarded, answer_of};
use crate::principals::Principals;
use crate::proto::push;
use crate::request::{self, strange, unreadable, wrong};
use crate::shards::ShardsHandle;
use crate::traced::traced;

pub use crate::proto::push::{NAME, VERSION};

/// The longest request: a thousand devices with many tags and attributes.
const REQUEST_BYTES_MAX: usize = 8 << 20;

/// The service over these shards.
pub fn service(shards: &ShardsHandle, principals: &Arc<Principals>) -> Service {
    let shards = &Guarded::new(shards, principals, NAME, RIGHTS);
    let service = shards.gate(Service::new(NAME, VERSION)).descriptors(push::FILE_DESCRIPTOR_SET);
    let service = serve(service, shards, &push::SEND, read::send, write::receipt);
    let service = serve(service, shards, &push::CHECK, read::check, write::checked);
    let service = serve(service, shards, &push::EDIT, read::edit, write::done);
    let service = serve(service, shards, &push::CANCEL, read::cancel, write::done);
    let service = serve(service, shards, &push::FIND, read::find, write::push);
    let service = serve(service, shards, &push::LIST, read::list, write::pushes);
    let service = serve(service, shards, &push::TRACE, read::trace, write::trace);
    let service = serve(service, shards, &push::OPENED, read::opened, write::done);
    let service = serve(service, shards, &push::CLICKED, read::clicked, write::done);
    let service = serve(service, shards, &push::PREVIEW, read::preview, write::preview);
    let service = serve(service, shards, &push::CHANGE_DEVICES, read::change, write::changed);
    let service = serve(service, shards, &push::REMOVE_DEVICES, read::remove, write::removed);
    let service = serve(service, shards, &push::FIND_DEVICE, read::device, write::device);
    let service = serve(service, shards, &push::ADMIT, read::admit, write::admitted);
    let service = serve(service, shards, &push::SCHEDULE, read::schedule, write::done);
    let service = serve(service, shards, &push::PAUSE, read::pause, write::done);
    let service = serve(service, shards, &push::UNSCHEDULE, read::unschedule, write::done);
    serve(service, shards, &push::SCHEDULES, read::schedules, write::schedules)
}

/// The rights of its methods.
pub const RIGHTS: Rights = &[
    ("Send", &["push.send:{app}"]),
    ("Check", &["push.read:{app}"]),
    ("Edit", &["push.send:{app}"]),
    ("Cancel", &["push.send:{app}"]),
    ("Find", &["push.read:{app}", "push.payload:{app}?"]),
    ("List", &["push.read:{app}", "push.payload:{app}?"]),
    ("Trace", &["push.read:{app}"]),
    ("Opened", &["push.send:{app}"]),
    ("Clicked", &["push.send:{app}"]),
    ("Preview", &["audience.read:{app}"]),
    ("ChangeDevices", &["device.write:{app}/{device}"]),
    ("RemoveDevices", &["device.manage:{app}/{device}"]),
    ("FindDevice", &["device.read:{app}/{device}"]),
    ("Admit", &["device.manage:{app}/{device}"]),
    ("Schedule", &["push.send:{app}"]),
    ("Pause", &["push.send:{app}"]),
    ("Unschedule", &["push.send:{app}"]),
    ("Schedules", &["push.read:{app}", "push.payload:{app}?"]),
];

/// Adds a method: `read` makes a command of the request, and `write` a message of its answer, or
/// returns its refusal.
fn serve<Q, A>(
    service: Service,
    shards: &Guarded,
    method: &Method<Q, A>,
    read: fn(Q) -> Result<Command, Refusal>,
    write: fn(Answer) -> Option<Result<A, Refusal>>,
) -> Service
where
    Q: Message + Default + 'static,
    A: Message + 'static,
{
    let shards = shards.clone();
    service.upload(&Method::<Raw, A>::unary(method.route()), move |context: CallContext, pieces| {
        let shards = shards.clone();
        async move {
            let work = async {
                let bytes = whole(&pieces).await?;
                let caller = shards.caller(&context, bytes.len())?;
                let request = Q::decode(bytes.as_slice()).map_err(|error| unreadable(&error))?;
                let command = read(request)?;
                let target = target(&command);
                let may = shards.may_ask_push(&caller, &command);
                let answer = answer_of(may.and_then(|()| shards.shards().submit_push(command))).await;
                shards.answered(&caller, &context, || target, &answer);
                let mut answer = answer?;
                hide_contents(caller.asking(), &mut answer);
                write(answer).ok_or_else(strange)?
            };
            traced(shards.shards().tracer(), &context, work).await
        }
    })
}

/// The thing that a command changes: an app, with its push, schedule or first device.
fn target(command: &Command) -> String {
    match command {
        Command::Send { push } | Command::Edit { push } => format!("{}/pushes/{}", push.app, push.id),
        Command::Cancel { app, push } => format!("{app}/pushes/{push}"),
        Command::Opened { app, device, push } | Command::Clicked { app, device, push, .. } => {
            format!("{app}/pushes/{push} by {device}")
        }
        Command::Change { app, devices } => {
            named(app.as_str(), devices.iter().map(|(device, _)| device.as_str()))
        }
        Command::Remove { app, devices } => named(app.as_str(), devices.iter().map(|device| device.as_str())),
        Command::Schedule { schedule } => format!("{}/schedules/{}", schedule.push.app, schedule.name),
        Command::PauseSchedule { app, name, .. } | Command::Unschedule { app, name } => {
            format!("{app}/schedules/{name}")
        }
        _ => String::new(),
    }
}

/// The first device, and the number of the others.
fn named<'a>(app: &str, mut devices: impl ExactSizeIterator<Item = &'a str>) -> String {
    let others = devices.len().saturating_sub(1);
    let first = devices.next().unwrap_or_default();
    match others {
        0 => format!("{app}/devices/{first}"),
        _ => format!("{app}/devices/{first} and {others} others"),
    }
}

/// The bytes of a request, which mostly come in one piece.
async fn whole(pieces: &PieceReceiver) -> Result<Vec<u8>, Refusal> {
    request::whole(pieces, REQUEST_BYTES_MAX, || {
        wrong(format!("the request has more than {REQUEST_BYTES_MAX} bytes: name fewer devices at once"))
    })
    .await
}
