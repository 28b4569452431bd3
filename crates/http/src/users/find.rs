//! The things of a named user, as the shards have them: the table of docs/erasure.md.
//!
//! Devices are those whose `named_user` is the name. Clients are the MQTT client ids of these
//! devices, and the name itself, unless another's device has it; sessions and jobs are theirs.
//! Sessions, retained messages and queues have no index by user: they are read through.

use std::collections::{BTreeSet, HashSet};

use bytes::Bytes;
use stadium_push::refusal::APP_UNKNOWN;
use stadium_push::{AppView, Audience, Command as PushCommand, DeviceView, NewPush, PushId, PushView};
use stadium_queue::{Command as QueueCommand, JobId, JobView, Key, QueueStats};
use stadium_registry::{AppName, DeviceId, Selector, UserName, client_ids};
use stadium_session::{Command as SessionCommand, Page, Part, RetainedImage, SessionImage};
use stadium_shard::Shards;
use stadium_wallet::{AccountView, Command as WalletCommand, WalletName};

use crate::request::problem::Problem;
use crate::shards::ask_shards;
use crate::users::PageOf;

/// Items asked for at once: their contents are in memory together.
const PAGE: u32 = 200;

/// Jobs that a peek with a key looks at in a shard. A queue with more is read page by page.
const KEYED_JOBS_MAX: u64 = 20_000;

/// A device and its app.
pub(crate) type DeviceOf = (AppName, DeviceView);

/// All apps.
pub(crate) async fn apps(shards: &Shards) -> Result<Vec<AppName>, Problem> {
    let mut names: Vec<AppName> = Vec::new();
    loop {
        let command = PushCommand::Apps { after: names.last().cloned(), apps_max: PAGE };
        let page: Vec<AppView> = ask_shards(shards, command).await?;
        let is_last = page.len() < PAGE as usize;
        names.extend(page.into_iter().map(|view| view.app));
        if is_last {
            return Ok(names);
        }
    }
}

/// The user's devices.
pub(crate) async fn devices(shards: &Shards, user: &UserName) -> Result<Vec<DeviceOf>, Problem> {
    let mut found = Vec::new();
    for app in apps(shards).await? {
        let of_user = Selector::User(user.clone());
        each_device(shards, &app, Some(of_user), |view| found.push((app.clone(), view))).await?;
    }
    Ok(found)
}

/// Looks at the devices of an app, or of an audience in it.
pub(crate) async fn each_device(
    shards: &Shards,
    app: &AppName,
    audience: Option<Selector>,
    mut each: impl FnMut(DeviceView),
) -> Result<(), Problem> {
    let mut after = None;
    loop {
        let command = PushCommand::Devices {
            app: app.clone(),
            audience: audience.clone(),
            prefix: String::new(),
            after,
            devices_max: PAGE,
        };
        let page: Vec<DeviceView> = ask_shards(shards, command).await?;
        let is_last = page.len() < PAGE as usize;
        after = page.last().map(|view| view.device.id.clone());
        page.into_iter().for_each(&mut each);
        if is_last {
            return Ok(());
        }
    }
}

/// A push that was for the user alone.
pub(crate) type PushOf = (AppName, PushId);

/// The pushes that are remembered and were for the user alone: to one of the user's devices, or to a
/// selector of the user or of such devices.
pub(crate) async fn pushes(
    shards: &Shards,
    user: &UserName,
    clients: &BTreeSet<String>,
) -> Result<Vec<PushOf>, Problem> {
    let mut found = Vec::new();
    for app in apps(shards).await? {
        let mut before = None;
        loop {
            let command = PushCommand::Pushes { app: app.clone(), before, pushes_max: PAGE };
            let page: Vec<PushView> = ask_shards(shards, command).await?;
            let is_last = page.len() < PAGE as usize;
            before = page.last().map(|view| (view.accepted_at, view.push.id));
            let of_user = page.iter().filter(|view| is_for_user_alone(&view.push, user, clients));
            found.extend(of_user.map(|view| (app.clone(), view.push.id)));
            if is_last {
                break;
            }
        }
    }
    Ok(found)
}

/// Whether a push is for the user alone.
pub(crate) fn is_for_user_alone(push: &NewPush, user: &UserName, clients: &BTreeSet<String>) -> bool {
    let is_device = |device: &DeviceId| client_ids(&push.app, device).any(|id| clients.contains(&id));
    match &push.audience {
        Audience::Device(device) | Audience::Selector(Selector::Device(device)) => is_device(device),
        Audience::Selector(Selector::Devices(devices)) => devices.iter().all(is_device),
        Audience::Selector(Selector::User(named)) => named == user,
        _ => false,
    }
}

/// The client ids of a user with these devices, and the name itself, unless it is the client id of
/// somebody else's device.
pub(crate) async fn clients(
    shards: &Shards,
    user: &UserName,
    devices: &[DeviceOf],
) -> Result<BTreeSet<String>, Problem> {
    let of_devices = devices.iter().flat_map(|(app, view)| client_ids(app, &view.device.id));
    let mut clients: BTreeSet<String> = of_devices.collect();
    if !is_other_device(shards, user).await? {
        clients.insert(user.to_string());
    }
    Ok(clients)
}

/// Whether the name is the client id of a registered device of another user, or of none.
async fn is_other_device(shards: &Shards, user: &UserName) -> Result<bool, Problem> {
    let name = user.as_str();
    let named = [Some((AppName::DEFAULT, name)), name.split_once('/')];
    for (app, device) in named.into_iter().flatten() {
        let (Ok(app), Ok(device)) = (AppName::new(app), DeviceId::new(device)) else { continue };
        let found: Result<Option<Box<DeviceView>>, Problem> =
            ask_shards(shards, PushCommand::Device { app, device }).await;
        match found {
            Ok(Some(view)) if view.device.user.as_ref() != Some(user) => return Ok(true),
            Err(problem) if !problem.has_code(APP_UNKNOWN) => return Err(problem),
            _ => {}
        }
    }
    Ok(false)
}

/// Looks at every session that outlives its connection, with its shard.
pub(crate) async fn each_session(
    shards: &Shards,
    mut each: impl FnMut(u16, SessionImage),
) -> Result<(), Problem> {
    each_page(shards, Part::Sessions, |shard, page| {
        page.sessions.into_iter().for_each(|session| each(shard, session));
    })
    .await
}

/// Looks at every retained message, with its shard.
pub(crate) async fn each_retained(
    shards: &Shards,
    mut each: impl FnMut(u16, RetainedImage),
) -> Result<(), Problem> {
    each_page(shards, Part::Retained, |shard, page| {
        let messages = page.retained.into_iter();
        // One without a payload is a removal that is still remembered.
        messages.filter(|one| !one.message.payload().is_empty()).for_each(|one| each(shard, one));
    })
    .await
}

async fn each_page(shards: &Shards, part: Part, mut each: impl FnMut(u16, Page)) -> Result<(), Problem> {
    for shard in 0..shards.count() {
        let mut from = Some(0);
        while let Some(place) = from {
            let command = SessionCommand::Page { part, from: place, entries_max: PAGE };
            let page: Page = ask_shards(shards, PageOf { shard, command }).await?;
            from = page.next;
            each(shard, page);
        }
    }
    Ok(())
}

/// Whether a retained message is one of these clients.
pub(crate) fn is_retained_of(clients: &BTreeSet<String>, owner: Option<&str>, topic: &str) -> bool {
    if owner.is_some_and(|owner| clients.contains(owner)) {
        return true;
    }
    if let Some(client) = topic.strip_prefix("inbox/") {
        return clients.contains(client);
    }
    // A client id may have a slash of its own: `APP/DEVICE`.
    let Some(rest) = topic.strip_prefix("uplink/") else { return false };
    rest.match_indices('/').any(|(at, _)| clients.contains(&rest[..at]))
}

/// The user's jobs, with their payloads.
#[derive(Default)]
pub(crate) struct Jobs {
    pub(crate) found: Vec<JobView<Bytes>>,
    /// Queues that changed too fast to be read to their end.
    pub(crate) not_searched: Vec<String>,
}

/// The jobs whose key is the user's, of all queues.
pub(crate) async fn jobs(shards: &Shards, clients: &BTreeSet<String>) -> Result<Jobs, Problem> {
    let keys: Vec<Key> = clients.iter().filter_map(|client| Key::new(client).ok()).collect();
    let mut jobs = Jobs::default();
    for queue in queues(shards).await? {
        let held = queue.delayed + queue.due + queue.reserved + queue.buried + queue.dead;
        let name = queue.queue.to_string();
        let is_whole = match held {
            0 => true,
            1..=KEYED_JOBS_MAX => {
                let mut is_whole = true;
                for key in &keys {
                    is_whole &= peek(shards, &queue, Some(key), held, |job| jobs.found.push(job)).await?;
                }
                is_whole
            }
            _ => {
                let is_of_user =
                    |job: &JobView<Bytes>| job.key.as_ref().is_some_and(|key| keys.contains(key));
                let keep = |job| {
                    if is_of_user(&job) {
                        jobs.found.push(job);
                    }
                };
                peek(shards, &queue, None, held, keep).await?
            }
        };
        if !is_whole {
            jobs.not_searched.push(name);
        }
    }
    Ok(jobs)
}

/// Looks at every key of a job.
pub(crate) async fn each_job_key(shards: &Shards, mut each: impl FnMut(&Key)) -> Result<(), Problem> {
    for queue in queues(shards).await? {
        let held = queue.delayed + queue.due + queue.reserved + queue.buried + queue.dead;
        peek(shards, &queue, None, held, |job| {
            if let Some(key) = &job.key {
                each(key);
            }
        })
        .await?;
    }
    Ok(())
}

async fn queues(shards: &Shards) -> Result<Vec<QueueStats>, Problem> {
    let mut queues: Vec<QueueStats> = Vec::new();
    loop {
        let after = queues.last().map(|queue| queue.queue.clone());
        let page: Vec<QueueStats> =
            ask_shards(shards, QueueCommand::List { after, queues_max: PAGE }).await?;
        let is_last = page.len() < PAGE as usize;
        queues.extend(page);
        if is_last {
            return Ok(queues);
        }
    }
}

/// Looks at the jobs of a queue, each once. False where it was not read to its end: a page begins
/// anew if its place was settled meanwhile, so the number of pages has a bound.
async fn peek(
    shards: &Shards,
    queue: &QueueStats,
    key: Option<&Key>,
    held: u64,
    mut each: impl FnMut(JobView<Bytes>),
) -> Result<bool, Problem> {
    let pages_max = 2 * held / u64::from(PAGE) + 16;
    let mut seen: HashSet<JobId> = HashSet::new();
    let mut after = None;
    for _ in 0..pages_max {
        let command = QueueCommand::Peek {
            queue: queue.queue.clone(),
            state: None,
            key: key.cloned(),
            after,
            jobs_max: PAGE,
        };
        let page: Vec<JobView<Bytes>> = ask_shards(shards, command).await?;
        let is_last = page.len() < PAGE as usize;
        after = page.last().map(|job| job.job);
        page.into_iter().filter(|job| seen.insert(job.job)).for_each(&mut each);
        if is_last {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The accounts of the user's wallets.
pub(crate) async fn accounts(shards: &Shards, user: &UserName) -> Result<Vec<AccountView>, Problem> {
    let mut found = Vec::new();
    for prefix in [user.to_string(), format!("{{{user}}}")] {
        // No wallet has such a name.
        if WalletName::new(&prefix).is_err() {
            continue;
        }
        // By name, so the wallet of the name itself comes first.
        each_account(shards, &prefix, |account| {
            let is_of_user = user_of(&account.wallet) == Some(user.as_str());
            if is_of_user {
                found.push(account);
            }
            is_of_user
        })
        .await?;
    }
    Ok(found)
}

/// Looks at the accounts of wallets whose names begin with this, by name, while `each` says true.
pub(crate) async fn each_account(
    shards: &Shards,
    prefix: &str,
    mut each: impl FnMut(AccountView) -> bool,
) -> Result<(), Problem> {
    let mut after = None;
    loop {
        let command =
            WalletCommand::Accounts { prefix: prefix.to_owned(), asset: None, after, accounts_max: PAGE };
        let page: Vec<AccountView> = ask_shards(shards, command).await?;
        let is_last = page.len() < PAGE as usize;
        after = page.last().map(|account| (account.wallet.clone(), account.asset.clone()));
        if !page.into_iter().all(&mut each) || is_last {
            return Ok(());
        }
    }
}

/// The user to whom a wallet belongs; none of a system wallet.
pub(crate) fn user_of(wallet: &WalletName) -> Option<&str> {
    let name = wallet.as_str();
    if wallet.is_system() {
        return None;
    }
    match name.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some((user, _)) if !user.is_empty() => Some(user),
        _ => Some(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wallet_belongs_to_its_name_or_to_the_name_in_its_first_braces() {
        let user = |wallet: &str| user_of(&WalletName::new(wallet).expect("a name")).map(str::to_owned);
        assert_eq!(user("ada").as_deref(), Some("ada"));
        assert_eq!(user("{ada}:votes").as_deref(), Some("ada"));
        assert_eq!(user("shop:{ada}").as_deref(), Some("shop:{ada}"), "the braces are not its beginning");
        assert_eq!(user("{}:x").as_deref(), Some("{}:x"));
        assert_eq!(user("@bank"), None);
    }

    #[test]
    fn retained_messages_belong_to_who_set_them_and_to_the_topics_of_a_client() {
        let clients = BTreeSet::from(["ada".to_owned(), "shop/phone".to_owned()]);
        let is_of = |owner, topic| is_retained_of(&clients, owner, topic);
        assert!(is_of(Some("ada"), "lamps/1"));
        assert!(is_of(None, "uplink/shop/phone/state") && is_of(None, "inbox/shop/phone"));
        assert!(!is_of(Some("bob"), "lamps/ada") && !is_of(None, "uplink/shop/phone2/state"));
        assert!(!is_of(Some(""), "uplink/shop/phone"), "the topic of no device");
    }
}
