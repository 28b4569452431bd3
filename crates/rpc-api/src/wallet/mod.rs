//! The service `wallet`: accounts, transfers, holds and balances, for services that have RPC.
//!
//! A request becomes a command ([`read`], and [`transfer`] for what moves amounts), the shards answer it, and the answer
//! becomes a message ([`mod@write`]). As with queues, how much may be under way is bounded by the shards' mailboxes, which
//! answer Busy, and not by the loop's limit of concurrency, which follows latency: an answer waits
//! for its commit, and more callers make the same commit larger. So methods are served as uploads,
//! which stand outside of that limit.

mod fields;
mod read;
mod transfer;
mod write;

use std::sync::Arc;

use prost::Message;
use stadium_http::PushBounds;
use stadium_rpc::{CallContext, Method, PieceReceiver, Raw, Refusal, Service, StreamSender};
use stadium_wallet::refusal::ACCOUNT_UNKNOWN;
use stadium_wallet::{Answer, Command, Range};

use crate::access::Rights;
use crate::guarded::{Guarded, answer_of};
use crate::principals::Principals;
use crate::proto::{self, wallet};
use crate::request::{self, refusal, strange, unreadable, wrong};
use crate::shards::ShardsHandle;
use crate::traced::traced;

pub use crate::proto::wallet::{NAME, VERSION};

/// The longest request: a thousand transfers of the largest kind, and the jobs and pushes of units beside them.
const REQUEST_BYTES_MAX: usize = 16 << 20;

/// Entries that a statement reads at once.
const STATEMENT_PAGE: u32 = 256;

/// The service over these shards; `bounds` are those of pushes.
pub fn service(shards: &ShardsHandle, principals: &Arc<Principals>, bounds: PushBounds) -> Service {
    let shards = &Guarded::new(shards, principals, NAME, RIGHTS);
    let service = shards
        .gate(Service::new(NAME, VERSION))
        .descriptors(wallet::FILE_DESCRIPTOR_SET)
        .streaming(&wallet::STATEMENT, statement(shards));
    let service = serve_transfers(service, shards, bounds);
    let service = serve_wallets(service, shards);
    let service = serve_roots(service, shards);
    let service = serve(service, shards, &wallet::DECLARE, read::declare, write::done);
    let service = serve(service, shards, &wallet::OPEN, read::open, write::opened);
    let service = serve(service, shards, &wallet::CHANGE, read::change, write::done);
    let service = serve(service, shards, &wallet::ACCOUNTS, read::accounts, write::accounts);
    let service = serve(service, shards, &wallet::HOLDS, read::holds, write::holds);
    let service = serve(service, shards, &wallet::FIND, read::find, write::transfer);
    let service = serve(service, shards, &wallet::HISTORY, read::history, write::history);
    let service = serve(service, shards, &wallet::BALANCE_AT, read::balance_at, write::balance);
    serve(service, shards, &wallet::ASSETS, |_| Ok(Command::Assets), write::assets)
}

/// The rights of its methods.
pub const RIGHTS: Rights = &[
    ("Declare", &["wallet.manage:asset/{asset}"]),
    ("Open", &["wallet.manage:{wallet}"]),
    ("Change", &["wallet.manage:{wallet}"]),
    ("Transfer", &["wallet.transfer:debit={wallet}"]),
    ("Together", &["wallet.transfer:debit={wallet}", "queue.put:{queue}?", "push.send:{app}?"]),
    ("Wallet", &["wallet.read:{wallet}"]),
    ("Accounts", &["wallet.read:{prefix}*"]),
    ("Holds", &["wallet.read:{wallet}"]),
    ("Find", &["wallet.read:{wallet}"]),
    ("History", &["wallet.read:{wallet}"]),
    ("Statement", &["wallet.read:{wallet}"]),
    ("BalanceAt", &["wallet.read:{wallet}"]),
    ("Assets", &["wallet.read:{wallet}"]),
    ("Roots", &["wallet.read:*"]),
];

/// Adds a method: `read` makes a command of the request, and `write` a message of its answer.
fn serve<Q, A>(
    service: Service,
    shards: &Guarded,
    method: &Method<Q, A>,
    read: fn(Q) -> Result<Command, Refusal>,
    write: fn(Answer) -> Option<A>,
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
                let may = shards.may_ask_wallet(&caller, &command).await;
                let answer = answer_of(may.and_then(|()| shards.shards().submit_wallet(command))).await;
                shards.answered(&caller, &context, || target, &answer);
                let answer = answer?;
                write(answer).ok_or_else(strange)
            };
            traced(shards.shards().tracer(), &context, work).await
        }
    })
}

/// The asset or the account that a command changes; of several accounts the first.
fn target(command: &Command) -> String {
    match command {
        Command::Declare { asset, .. } => format!("asset/{asset}"),
        Command::Open { accounts } => accounts.first().map_or_else(String::new, |first| {
            let (wallet, asset, others) = (&first.wallet, &first.asset, accounts.len() - 1);
            if others == 0 {
                format!("{wallet}/{asset}")
            } else {
                format!("{wallet}/{asset} and {others} others")
            }
        }),
        Command::Change { wallet, asset, .. } => format!("{wallet}/{asset}"),
        _ => String::new(),
    }
}

/// Adds the methods that move amounts, whose requests are read without making messages of them.
fn serve_transfers(service: Service, shards: &Guarded, bounds: PushBounds) -> Service {
    let door = shards.clone();
    let method = Method::<Raw, proto::TransferOutcomes>::unary(wallet::TRANSFER.route());
    let service = service.upload(&method, move |context: CallContext, pieces| {
        let shards = door.clone();
        async move {
            let bytes = whole(&pieces).await?;
            let caller = shards.caller(&context, bytes.len())?;
            let command = transfer::transfer(&bytes, caller.principal())?;
            shards.may_ask_wallet(&caller, &command).await?;
            let answer = answer_of(shards.shards().submit_wallet(command)).await?;
            write::outcomes(answer).ok_or_else(strange)
        }
    });
    let door = shards.clone();
    let method = Method::<Raw, proto::TogetherOutcomes>::unary(wallet::TOGETHER.route());
    service.upload(&method, move |context: CallContext, pieces| {
        let shards = door.clone();
        async move {
            let bytes = whole(&pieces).await?;
            let caller = shards.caller(&context, bytes.len())?;
            let units = transfer::together(&bytes, bounds, caller.principal().as_ref())?;
            // Rights first: a list is refused as a whole.
            for unit in &units {
                shards.may_ask_together(&caller, unit).await?;
            }
            // All are under way before the first is waited for, so that they share a commit.
            let tickets: Vec<_> = units
                .into_iter()
                .map(|unit| shards.shards().submit_together(unit))
                .collect::<Result<_, _>>()?;
            let mut outcomes = Vec::with_capacity(tickets.len());
            for ticket in tickets {
                outcomes.push(write::unit(ticket.await));
            }
            Ok(proto::TogetherOutcomes { outcomes })
        }
    })
}

/// Adds the method that looks at several wallets at once.
fn serve_wallets(service: Service, shards: &Guarded) -> Service {
    let door = shards.clone();
    let method = Method::<Raw, proto::AccountList>::unary(wallet::WALLET.route());
    service.upload(&method, move |context: CallContext, pieces| {
        let shards = door.clone();
        async move {
            let bytes = whole(&pieces).await?;
            let caller = shards.caller(&context, bytes.len())?;
            let request = proto::WalletsNamed::decode(bytes.as_slice());
            let commands = read::wallets(&request.map_err(|error| unreadable(&error))?)?;
            let mut tickets = Vec::with_capacity(commands.len());
            for command in commands {
                shards.may_ask_wallet(&caller, &command).await?;
                tickets.push(shards.shards().submit_wallet(command)?);
            }
            let mut accounts = Vec::with_capacity(tickets.len());
            for ticket in tickets {
                let answer = match ticket.await {
                    // A wallet that has none adds nothing to the list.
                    Err(none) if none.code() == ACCOUNT_UNKNOWN => continue,
                    answer => answer.map_err(refusal)?,
                };
                accounts.extend(write::accounts(answer).ok_or_else(strange)?.accounts);
            }
            Ok(proto::AccountList { accounts })
        }
    })
}

/// Adds the method that lists the seals.
fn serve_roots(service: Service, shards: &Guarded) -> Service {
    let door = shards.clone();
    let method = Method::<Raw, proto::RootList>::unary(wallet::ROOTS.route());
    service.upload(&method, move |context: CallContext, pieces| {
        let shards = door.clone();
        async move {
            let bytes = whole(&pieces).await?;
            let caller = shards.caller(&context, bytes.len())?;
            let request = proto::RootsRequest::decode(bytes.as_slice());
            let wanted = read::roots(&request.map_err(|error| unreadable(&error))?)?;
            shards.may_see_seals(&caller)?;
            let seals = shards.shards().seals(wanted)?.await.map_err(refusal)?;
            Ok(write::roots(&seals))
        }
    })
}

/// What serves one statement.
type Stream = std::pin::Pin<Box<dyn Future<Output = Result<(), Refusal>>>>;

fn statement(
    shards: &Guarded,
) -> impl Fn(CallContext, proto::EntriesRequest, StreamSender<proto::Entry>) -> Stream + Send + Sync + use<> {
    let shards = shards.clone();
    move |context, request, out| Box::pin(pages(shards.clone(), context, request, out))
}

/// Page after page, each read once the one before has left.
async fn pages(
    shards: Guarded,
    context: CallContext,
    request: proto::EntriesRequest,
    out: StreamSender<proto::Entry>,
) -> Result<(), Refusal> {
    let (wallet, asset, range) = read::entries(request)?;
    let mut range = Range { entries_max: STATEMENT_PAGE, ..range };
    loop {
        let caller = shards.caller(&context, 0)?;
        let command = Command::History { wallet: wallet.clone(), asset: asset.clone(), range: range.clone() };
        shards.may_ask_wallet(&caller, &command).await?;
        let Answer::History(page) = answer_of(shards.shards().submit_wallet(command)).await? else {
            return Err(strange());
        };
        for entry in page.entries {
            out.send(write::entry(entry)).await?;
        }
        match page.before {
            Some(before) => range.before = Some(before),
            None => return Ok(()),
        }
    }
}

/// The bytes of a request, which mostly come in one piece.
async fn whole(pieces: &PieceReceiver) -> Result<Vec<u8>, Refusal> {
    request::whole(pieces, REQUEST_BYTES_MAX, || {
        wrong(format!("the request has more than {REQUEST_BYTES_MAX} bytes: send fewer transfers at once"))
    })
    .await
}
