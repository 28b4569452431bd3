//! The service `queue`: named queues of jobs, for services that have RPC.
//!
//! A request becomes a command ([`read`]), the shards answer it, and the answer becomes a message ([`mod@write`]); a stream
//! of jobs is in [`work`]. How much may be under way is bounded by the shards' mailboxes, which
//! answer Busy. The loop's limit of concurrency, which follows latency, has no use here: a caller
//! who waits for a job is no sign of load. So methods are served as uploads, which stand outside of
//! it, and whose bytes reach the shards without another copy.

mod read;
mod work;
mod write;

use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use stadium_http::rights::hide_payloads;
use stadium_queue::{Answer, Bounds, Command};
use stadium_rpc::{CallContext, Method, PieceReceiver, Raw, Refusal, Service};

use crate::access::Rights;
use crate::guarded::{Guarded, answer_of};
use crate::principals::Principals;
use crate::proto::queue;
use crate::request::{self, strange, unreadable};
use crate::shards::ShardsHandle;
use crate::traced::traced;

pub use crate::proto::queue::{NAME, VERSION};
pub(crate) use read::new_job;

/// The longest request: what the jobs of one command may hold, and room for all that is around them.
const REQUEST_BYTES_MAX: usize = Bounds::COMMAND_BYTES_MAX + (1 << 20);

/// The service over these shards.
pub fn service(shards: &ShardsHandle, principals: &Arc<Principals>) -> Service {
    let shards = &Guarded::new(shards, principals, NAME, RIGHTS);
    let service = shards
        .gate(Service::new(NAME, VERSION))
        .descriptors(queue::FILE_DESCRIPTOR_SET)
        .streaming(&queue::WORK, work::function(shards));
    let service = serve(service, shards, &queue::PUT, |_, request| read::put(request), write::placed);
    let service = serve(service, shards, &queue::RESERVE, read::reserve, write::reserved);
    let service = serve(service, shards, &queue::SETTLE, |_, request| read::settle(request), write::outcomes);
    let service =
        serve(service, shards, &queue::RELEASE, |_, request| read::release(request), write::outcomes);
    let service = serve(service, shards, &queue::EXTEND, |_, request| read::extend(request), write::outcomes);
    let service = serve(service, shards, &queue::BURY, |_, request| read::bury(request), write::outcomes);
    let service = serve(service, shards, &queue::FORWARD, |_, request| read::forward(request), write::placed);
    let service = serve(service, shards, &queue::KICK, |_, request| read::kick(request), write::counted);
    let service =
        serve(service, shards, &queue::REDRIVE, |_, request| read::redrive(request), write::counted);
    let service = serve(service, shards, &queue::DELETE, |_, request| read::delete(request), write::outcomes);
    let service = serve(service, shards, &queue::EDIT, |_, request| read::edit(request), write::done);
    let service = serve(service, shards, &queue::PURGE, |_, request| read::purge(request), write::counted);
    let service = serve(service, shards, &queue::PAUSE, |_, request| read::pause(&request), write::done);
    let service = serve(service, shards, &queue::RESUME, |_, request| read::resume(&request), write::done);
    let service = serve(service, shards, &queue::DECLARE, |_, request| read::declare(request), write::done);
    let service = serve(service, shards, &queue::DROP, |_, request| read::drop(&request), write::done);
    let service = serve(service, shards, &queue::SCHEDULE, |_, request| read::schedule(request), write::done);
    let service =
        serve(service, shards, &queue::UNSCHEDULE, |_, request| read::unschedule(&request), write::done);
    let service = serve(service, shards, &queue::PEEK, |_, request| read::peek(&request), write::jobs);
    let service = serve(service, shards, &queue::FIND, |_, request| Ok(read::find(&request)), write::job);
    let service =
        serve(service, shards, &queue::HISTORY, |_, request| Ok(read::history(&request)), write::history);
    let service = serve(service, shards, &queue::STATS, |_, request| read::stats(&request), write::stats);
    let service = serve(service, shards, &queue::LIST, |_, request| read::list(&request), write::queues);
    serve(service, shards, &queue::SCHEDULES, |_, request| read::schedules(&request), write::schedules)
}

/// The rights of its methods.
pub const RIGHTS: Rights = &[
    ("Put", &["queue.put:{queue}"]),
    ("Reserve", &["queue.reserve:{queue}"]),
    ("Settle", &["queue.reserve:{queue}"]),
    ("Release", &["queue.reserve:{queue}"]),
    ("Extend", &["queue.reserve:{queue}"]),
    ("Bury", &["queue.reserve:{queue}"]),
    ("Forward", &["queue.reserve:{queue}", "queue.put:{to}"]),
    ("Work", &["queue.reserve:{queue}"]),
    ("Kick", &["queue.control:{queue}"]),
    ("Redrive", &["queue.control:{queue}", "queue.put:{to}?"]),
    ("Delete", &["queue.control:{queue}"]),
    ("Edit", &["queue.control:{queue}"]),
    ("Purge", &["queue.manage:{queue}"]),
    ("Pause", &["queue.control:{queue}"]),
    ("Resume", &["queue.control:{queue}"]),
    ("Declare", &["queue.manage:{queue}"]),
    ("Drop", &["queue.manage:{queue}"]),
    ("Schedule", &["queue.control:{queue}"]),
    ("Unschedule", &["queue.control:{queue}"]),
    ("Peek", &["queue.read:{queue}", "queue.payload:{queue}?"]),
    ("Find", &["queue.read:{queue}", "queue.payload:{queue}?"]),
    ("History", &["queue.read:{queue}"]),
    ("Stats", &["queue.read:{queue}"]),
    ("List", &["queue.read:*"]),
    ("Schedules", &["queue.read:{queue}"]),
];

/// Adds a method: `read` makes a command of the request, and `write` a message of its answer.
fn serve<Q, A>(
    service: Service,
    shards: &Guarded,
    method: &Method<Q, A>,
    read: fn(&CallContext, Q) -> Result<Command, Refusal>,
    write: fn(Answer<Bytes>) -> Option<A>,
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
                let request = Q::decode(bytes).map_err(|error| unreadable(&error))?;
                let mut command = read(&context, request)?;
                read::for_caller(&mut command, &caller);
                let target = target(&command).to_owned();
                let may = shards.may_ask_queue(&caller, &command).await;
                let answer = answer_of(may.and_then(|()| shards.shards().submit(command))).await;
                shards.answered(&caller, &context, || target, &answer);
                let mut answer = answer?;
                hide_payloads(caller.asking(), &mut answer);
                write(answer).ok_or_else(strange)
            };
            traced(shards.shards().tracer(), &context, work).await
        }
    })
}

/// The queue that a command is about; empty where it names a job or a lease.
fn target(command: &Command) -> &str {
    match command {
        Command::Kick { queue, .. }
        | Command::Redrive { queue, .. }
        | Command::Purge { queue, .. }
        | Command::Pause { queue }
        | Command::Resume { queue }
        | Command::Declare { queue, .. }
        | Command::Drop { queue }
        | Command::Schedule { queue, .. }
        | Command::Unschedule { queue, .. } => queue.as_str(),
        _ => "",
    }
}

/// The bytes of a request, which mostly come in one piece.
async fn whole(pieces: &PieceReceiver) -> Result<Bytes, Refusal> {
    let too_many = || {
        let reason = format!("the request has more than {REQUEST_BYTES_MAX} bytes: put fewer jobs at once");
        Refusal::rejected(stadium_queue::refusal::COMMAND_BYTES, reason)
    };
    Ok(request::whole(pieces, REQUEST_BYTES_MAX, too_many).await?.into())
}
