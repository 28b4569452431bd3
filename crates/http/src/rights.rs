//! The rights that commands to the shards ask for, the same over HTTP and RPC.
//!
//! A command names a queue, a wallet or an app. Where it names a job, a lease or a transfer
//! instead, the queue or the wallet is looked up first; a principal that may do the thing to all of
//! them is spared that.

use bytes::Bytes;
use stadium_grants::{Asking, Parts, Refused, Verb};
use stadium_push::{Content, NewPush};
use stadium_queue::{Answer, JobId, Lease, Refusal};
use stadium_registry::{AppName, Changes, DeviceId};
use stadium_shard::{Shards, Ticket, Together};
use stadium_wallet::refusal::TRANSFER_UNKNOWN;
use stadium_wallet::{Kind, NewTransfer, TransferId, TransferView, WalletName};

use crate::push::direct::fields::PUSHES_QUEUE;
use crate::request::problem::ANSWER_STRANGE;

/// Why a command does not reach the shards.
#[derive(Debug)]
pub enum Stop {
    /// The principal has no right to it.
    Refused(Refused),
    /// The thing that it is about could not be looked up.
    NotFound(Refusal),
}

impl From<Refused> for Stop {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// Whether a request may hand this command to the queues.
///
/// A lease or a job that is not there any more is let through: ids are not used twice, and ending a
/// job that has ended changes nothing.
///
/// # Errors
/// [`Stop`].
pub async fn queue(
    shards: &Shards,
    asking: Asking<'_>,
    command: &stadium_queue::Command,
) -> Result<(), Stop> {
    use stadium_queue::Command as C;
    match command {
        C::Put { queue, .. } => asking.may(Verb::QueuePut, queue.as_str())?,
        C::Reserve { queue, .. } => asking.may(Verb::QueueReserve, queue.as_str())?,
        C::Settle { leases }
        | C::Release { leases, .. }
        | C::Extend { leases, .. }
        | C::Bury { leases, .. } => {
            let jobs = leases.iter().map(|lease: &Lease| lease.job);
            of_jobs(shards, asking, Verb::QueueReserve, jobs).await?;
        }
        C::Forward { lease, queue, .. } => {
            of_jobs(shards, asking, Verb::QueueReserve, [lease.job]).await?;
            asking.may_also(Verb::QueuePut, queue.as_str())?;
        }
        C::Kick { queue, .. }
        | C::Pause { queue }
        | C::Resume { queue }
        | C::Schedule { queue, .. }
        | C::Unschedule { queue, .. } => asking.may(Verb::QueueControl, queue.as_str())?,
        C::Redrive { queue, to, .. } => {
            asking.may(Verb::QueueControl, queue.as_str())?;
            if let Some(to) = to {
                asking.may_also(Verb::QueuePut, to.as_str())?;
            }
        }
        C::Delete { jobs } => of_jobs(shards, asking, Verb::QueueControl, jobs.iter().copied()).await?,
        C::Edit { job, .. } => of_jobs(shards, asking, Verb::QueueControl, [*job]).await?,
        C::Purge { queue, .. } | C::Declare { queue, .. } | C::Drop { queue } => {
            asking.may(Verb::QueueManage, queue.as_str())?;
        }
        C::Find { job } | C::History { job } => of_jobs(shards, asking, Verb::QueueRead, [*job]).await?,
        C::Peek { queue, .. } | C::Stats { queue } | C::Schedules { queue } => {
            asking.may(Verb::QueueRead, queue.as_str())?;
        }
        C::List { .. } => asking.may(Verb::QueueRead, "*")?,
    }
    Ok(())
}

/// Whether a request may do this to the queues of jobs.
async fn of_jobs(
    shards: &Shards,
    asking: Asking<'_>,
    verb: Verb,
    jobs: impl IntoIterator<Item = JobId>,
) -> Result<(), Stop> {
    if asking.grants.allows_all(verb) {
        return Ok(asking.may(verb, "*")?);
    }
    // Apart, so that the calls of those who may do it to all carry no room for lookups.
    Box::pin(of_queues(shards, asking, verb, jobs)).await
}

/// As [`of_jobs`], for a principal that may not do it to all queues.
async fn of_queues(
    shards: &Shards,
    asking: Asking<'_>,
    verb: Verb,
    jobs: impl IntoIterator<Item = JobId>,
) -> Result<(), Stop> {
    // All lookups are under way before the first is waited for.
    let find = |job| shards.submit(stadium_queue::Command::Find { job });
    let tickets: Vec<Ticket<Answer<Bytes>>> = jobs.into_iter().map(find).collect();
    let mut parts = asking.parts();
    let mut found_any = false;
    for ticket in tickets {
        let Ok(Answer::Jobs(found)) = ticket.await else { continue };
        for job in found {
            parts.may(verb, job.queue.as_str())?;
            found_any = true;
        }
    }
    match found_any || !asking.grants.of(verb).is_empty() {
        true => Ok(()),
        false => Ok(asking.may(verb, "*")?),
    }
}

/// Whether a request may hand this command to the wallets.
///
/// # Errors
/// [`Stop`].
pub async fn wallet(
    shards: &Shards,
    asking: Asking<'_>,
    command: &stadium_wallet::Command,
) -> Result<(), Stop> {
    use stadium_wallet::Command as C;
    match command {
        C::Declare { asset, .. } => asking.may(Verb::WalletManage, &format!("asset/{asset}"))?,
        C::Open { accounts } => {
            asking.may_each(Verb::WalletManage, accounts.iter().map(|account| account.wallet.as_str()))?;
        }
        C::Change { wallet, .. } => asking.may(Verb::WalletManage, wallet.as_str())?,
        C::Transfer { transfers, .. } => {
            let all = asking.grants.allows_all(Verb::WalletTransfer);
            transfers_allowed(shards, &mut asking.parts(), all, transfers).await?;
        }
        C::Wallet { wallet }
        | C::Holds { wallet, .. }
        | C::History { wallet, .. }
        | C::BalanceAt { wallet, .. } => {
            asking.may(Verb::WalletRead, wallet.as_str())?;
        }
        C::Accounts { prefix, .. } => asking.may(Verb::WalletRead, &format!("{prefix}*"))?,
        C::Find { transfer } => {
            if asking.grants.allows_all(Verb::WalletRead) {
                return Ok(asking.may(Verb::WalletRead, "*")?);
            }
            transfer_seen(asking, &*transfer_view(shards, *transfer).await?)?;
        }
        C::Assets => {
            if asking.grants.of(Verb::WalletRead).is_empty() {
                asking.may(Verb::WalletRead, "*")?
            }
        }
        C::Seals { .. } => asking.may(Verb::WalletRead, "*")?,
    }
    Ok(())
}

/// Whether a request may book these transfers: each names a wallet that pays, or a transfer before
/// it that does.
///
/// A transfer that is booked already counts before one of the same request with its id, which would
/// be refused: a request cannot give another's hold a payer of its own.
///
/// # Errors
/// [`Stop`]; a hold or a transfer that is not known is [`Stop::NotFound`].
async fn transfers_allowed(
    shards: &Shards,
    parts: &mut Parts<'_>,
    all: bool,
    transfers: &[NewTransfer],
) -> Result<(), Stop> {
    let mut resource = String::new();
    let mut pays = |wallet: &WalletName| {
        resource.clear();
        resource.push_str("debit=");
        resource.push_str(wallet.as_str());
        parts.may(Verb::WalletTransfer, &resource)
    };
    for (at, transfer) in transfers.iter().enumerate() {
        let (of, back) = match &transfer.kind {
            Kind::Post { debit, .. } | Kind::Hold { debit, .. } => {
                pays(debit)?;
                continue;
            }
            Kind::Capture { hold, .. } | Kind::Void { hold } => (*hold, false),
            Kind::Reverse { transfer } => (*transfer, true),
        };
        if all {
            continue;
        }
        let earlier = transfers[..at].iter().find(|earlier| earlier.id == of);
        match (transfer_view(shards, of).await, earlier.map(|earlier| &earlier.kind)) {
            (Ok(found), _) => pays(if back { &found.credit } else { &found.debit })?,
            (
                Err(Stop::NotFound(refusal)),
                Some(Kind::Post { debit, credit, .. } | Kind::Hold { debit, credit, .. }),
            ) if refusal.code() == TRANSFER_UNKNOWN => pays(if back { credit } else { debit })?,
            (Err(stop), _) => return Err(stop),
        }
    }
    Ok(())
}

/// Whether a request may see this transfer: one of its two wallets is enough.
pub(crate) fn transfer_seen(asking: Asking<'_>, transfer: &TransferView) -> Result<(), Refused> {
    let of_credit = asking.grants.allows(Verb::WalletRead, transfer.credit.as_str());
    let wallet = if of_credit { &transfer.credit } else { &transfer.debit };
    asking.may(Verb::WalletRead, wallet.as_str())
}

async fn transfer_view(shards: &Shards, transfer: TransferId) -> Result<Box<TransferView>, Stop> {
    let found = shards.submit_wallet(stadium_wallet::Command::Find { transfer }).await;
    match found.map_err(Stop::NotFound)? {
        stadium_wallet::Answer::Transfer(found) => Ok(found),
        _ => {
            let reason = "the answer to a transfer's lookup is of another kind".to_owned();
            Err(Stop::NotFound(Refusal::Rejected { code: ANSWER_STRANGE.code, reason }))
        }
    }
}

/// Whether a request may have this done in one record. Jobs for the queue of pushes are pushes of
/// the default app.
///
/// # Errors
/// [`Stop`].
pub async fn together(shards: &Shards, asking: Asking<'_>, together: &Together) -> Result<(), Stop> {
    let mut parts = asking.parts();
    let all = asking.grants.allows_all(Verb::WalletTransfer);
    transfers_allowed(shards, &mut parts, all, &together.transfers).await?;
    for (queue, _) in &together.jobs {
        match queue.as_str() {
            PUSHES_QUEUE => parts.may(Verb::PushSend, AppName::DEFAULT)?,
            name => parts.may(Verb::QueuePut, name)?,
        }
    }
    Ok(())
}

/// Whether a request may hand this command to the push platform.
///
/// # Errors
/// No grant means it. Commands of the shards and of the edge are nobody's.
pub fn push(asking: Asking<'_>, command: &stadium_push::Command) -> Result<(), Refused> {
    use stadium_push::Command as C;
    let of_device = |verb, app: &AppName, device: &DeviceId| asking.may(verb, &format!("{app}/{device}"));
    match command {
        C::DeclareApp { app, .. } | C::DropApp { app } => asking.may(Verb::AppManage, app.as_str()),
        C::Apps { .. } => asking.may(Verb::AppRead, "*"),
        C::Change { app, devices } => {
            let admits = |changes: &Changes| changes.credential.is_some() || changes.revoked.is_some();
            let verb = match devices.iter().any(|(_, changes)| admits(changes)) {
                true => Verb::DeviceManage,
                false => Verb::DeviceWrite,
            };
            let names: Vec<_> = devices.iter().map(|(device, _)| format!("{app}/{device}")).collect();
            asking.may_each(verb, names.iter().map(String::as_str))
        }
        C::Remove { app, devices } => {
            let names: Vec<_> = devices.iter().map(|device| format!("{app}/{device}")).collect();
            asking.may_each(Verb::DeviceManage, names.iter().map(String::as_str))
        }
        C::Locate { app, .. } => asking.may(Verb::DeviceWrite, &format!("{app}/*")),
        C::Device { app, device } => of_device(Verb::DeviceRead, app, device),
        C::Devices { app, .. } => asking.may(Verb::DeviceRead, &format!("{app}/*")),
        C::Preview { app, .. } | C::Audiences { app } => asking.may(Verb::AudienceRead, app.as_str()),
        C::SaveAudience { app, .. } | C::DropAudience { app, .. } => {
            asking.may(Verb::AudienceWrite, app.as_str())
        }
        C::Send { push } | C::SendLive { push, .. } | C::Edit { push } => {
            asking.may(Verb::PushSend, push.app.as_str())
        }
        C::Schedule { schedule } => asking.may(Verb::PushSend, schedule.push.app.as_str()),
        C::Cancel { app, .. }
        | C::Opened { app, .. }
        | C::Clicked { app, .. }
        | C::PauseSchedule { app, .. }
        | C::Unschedule { app, .. } => asking.may(Verb::PushSend, app.as_str()),
        C::Check { push } => asking.may(Verb::PushRead, push.app.as_str()),
        C::Push { app, .. }
        | C::Pushes { app, .. }
        | C::Trace { app, .. }
        | C::Deliveries { app, .. }
        | C::Schedules { app } => asking.may(Verb::PushRead, app.as_str()),
        // Devices ask this for themselves, by their own identity.
        C::Own { .. }
        | C::Inbox { .. }
        | C::Authenticate { .. }
        | C::CancelElsewhere { .. }
        // Erasures of users ask this, which have a right of their own.
        | C::Forget { .. }
        | C::Presence { .. }
        | C::Progress { .. } => {
            Err(Refused { verb: Verb::NodeOperate, resource: "*".to_owned(), after: None })
        }
    }
}

/// Takes the contents of pushes out of an answer that the principal has no right to: they become
/// empty messages.
pub fn hide_contents(asking: Asking<'_>, answer: &mut stadium_push::Answer) {
    use stadium_push::Answer as A;
    let hide = |push: &mut NewPush| {
        if !asking.grants.allows(Verb::PushPayload, push.app.as_str()) {
            push.content = Content::Raw { payload: Bytes::new(), content_type: None, properties: Vec::new() };
        }
    };
    match answer {
        A::Push(found) => found.iter_mut().for_each(|view| hide(&mut view.push)),
        A::Pushes(views) => views.iter_mut().for_each(|view| hide(&mut view.push)),
        A::Schedules(views) => views.iter_mut().for_each(|view| hide(&mut view.schedule.push)),
        _ => {}
    }
}

/// Takes the payloads of jobs out of an answer that the principal has no right to.
pub fn hide_payloads(asking: Asking<'_>, answer: &mut Answer<Bytes>) {
    let Answer::Jobs(jobs) = answer else { return };
    for job in jobs {
        if !asking.grants.allows(Verb::QueuePayload, job.queue.as_str()) {
            job.payload = Bytes::new();
        }
    }
}
