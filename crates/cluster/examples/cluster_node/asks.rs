//! Requests of queues, wallets and pushes, by words, and their answers.
//!
//! Each has a name, of a queue, a wallet or a device, and most have an id: `put QUEUE ID`, `put-here
//! QUEUE ID`, which passes nothing on to other nodes, `jobs QUEUE`; `open WALLET`, `pay WALLET ID`, one
//! of an asset from the house, `payments WALLET`; `register DEVICE`, `push DEVICE ID`, `pushes DEVICE
//! SINCE UNTIL`, times in milliseconds of the Unix epoch, because a node lists the pushes to all devices.
//! Lists are of ids, in any order. An id ends with `-` and a number.

use std::time::Duration;

use bytes::Bytes;
use stadium_push::{
    Answer as PushAnswer, AppName, Audience, Command as Push, Content, DeviceId, NewPush, Options, PushId,
    When,
};
use stadium_queue::{Answer, Command, Dedup, Key, NewJob, QueueName, Refusal};
use stadium_shard::{Forwarded, OUTCOME_UNKNOWN, Shards, Ticket, UNKNOWN};
use stadium_state_machine::{Time, home};
use stadium_wallet::{
    Answer as WalletAnswer, AssetCode, Command as Wallet, Kind, NewAccount, NewTransfer, Overdraft, Range,
    TransferId, WalletName,
};

/// How long a request may take; longer than the pause of a failover.
pub const ANSWERED_WITHIN: Duration = Duration::from_secs(15);

/// Entries of a page.
const PAGE: u32 = 1_000;

/// Does what the words ask for; none where they are no request of this kind.
pub fn ask(shards: &Shards, words: &[&str]) -> Option<String> {
    Some(match *words {
        ["put", queue, id] => said(shards.submit(put(queue, id)), |_| id.to_owned()),
        ["put-here", queue, id] => {
            let command = Forwarded::Queue { command: put(queue, id), searches: false };
            let shard = home(queue.as_bytes(), shards.count());
            said(shards.ask_forwarded(shard, command), |_| id.to_owned())
        }
        ["jobs", queue] => jobs(shards, queue),
        ["open", wallet] => open(shards, wallet),
        ["pay", wallet, id] => pay(shards, wallet, id),
        ["payments", wallet] => payments(shards, wallet),
        ["register", device] => {
            let devices = vec![(device_of(device), Default::default())];
            said(shards.submit_push(Push::Change { app: app(), devices }), |_| device.to_owned())
        }
        ["push", device, id] => push(shards, device, id),
        ["pushes", device, since, until] => {
            let time = |text: &str| Time(text.parse().expect("milliseconds"));
            pushes(shards, device, time(since)..time(until))
        }
        _ => return None,
    })
}

fn put(queue: &str, id: &str) -> Command {
    let dedup = Dedup { id: Key::new(id).expect("an id"), window: None };
    let job =
        NewJob { payload: Bytes::copy_from_slice(id.as_bytes()), dedup: Some(dedup), ..NewJob::default() };
    let queue = QueueName::new(queue).expect("a name");
    Command::Put { queue, jobs: vec![job], principal: None }
}

/// All payloads.
fn jobs(shards: &Shards, queue: &str) -> String {
    let queue = QueueName::new(queue).expect("a name");
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let queue = queue.clone();
        let page = Command::Peek { queue, state: None, key: None::<Key>, after, jobs_max: PAGE };
        match shards.submit(page).wait(ANSWERED_WITHIN) {
            Some(Ok(Answer::Jobs(jobs))) if !jobs.is_empty() => {
                after = jobs.last().map(|job| job.job);
                all.extend(jobs.iter().map(|job| text(&job.payload)));
            }
            Some(Ok(Answer::Jobs(_))) => return list(&all),
            other => return not_done(other.map(Result::err)),
        }
    }
}

/// Declares the asset, and opens the house and a wallet. All of it may be there.
fn open(shards: &Shards, wallet: &str) -> String {
    let account = |wallet, overdraft| NewAccount { wallet, asset: asset(), overdraft, ceiling: None };
    let asks = [
        Wallet::Declare { asset: asset(), scale: 0 },
        Wallet::Open { accounts: vec![account(wallet_of("house"), Overdraft::Allowed)] },
        Wallet::Open { accounts: vec![account(wallet_of(wallet), Overdraft::Never)] },
    ];
    for command in asks {
        match shards.submit_wallet(command).wait(ANSWERED_WITHIN) {
            Some(Ok(WalletAnswer::Opened(opened))) if opened.iter().any(Result::is_err) => {
                return "busy half".to_owned();
            }
            Some(Ok(_)) => {}
            other => return not_done(other.map(Result::err)),
        }
    }
    format!("ok {wallet}")
}

fn pay(shards: &Shards, wallet: &str, id: &str) -> String {
    let (debit, credit) = (wallet_of("house"), wallet_of(wallet));
    let transfer = NewTransfer {
        id: TransferId(number_of(id)),
        kind: Kind::Post { debit, credit, asset: asset(), amount: 1 },
        reference: id.to_owned(),
        metadata: Bytes::new(),
        effective: None,
    };
    let command = Wallet::Transfer { transfers: vec![transfer], linked: false, principal: None };
    match shards.submit_wallet(command).wait(ANSWERED_WITHIN) {
        Some(Ok(WalletAnswer::Booked(booked))) => match booked.into_iter().next() {
            Some(Ok(_)) => format!("ok {id}"),
            Some(Err(refusal)) => not_done(Some(Some(refusal))),
            None => panic!("no outcome of a transfer"),
        },
        other => not_done(other.map(Result::err)),
    }
}

/// References of all that came in.
fn payments(shards: &Shards, wallet: &str) -> String {
    let mut all = Vec::new();
    let mut before = None;
    loop {
        let range = Range { before, entries_max: PAGE, ..Range::default() };
        let command = Wallet::History { wallet: wallet_of(wallet), asset: asset(), range };
        match shards.submit_wallet(command).wait(ANSWERED_WITHIN) {
            Some(Ok(WalletAnswer::History(page))) => {
                all.extend(page.entries.into_iter().map(|entry| entry.transfer.reference));
                before = page.before;
                if before.is_none() {
                    return list(&all);
                }
            }
            other => return not_done(other.map(Result::err)),
        }
    }
}

fn push(shards: &Shards, device: &str, id: &str) -> String {
    let payload = Bytes::copy_from_slice(id.as_bytes());
    let push = NewPush {
        app: app(),
        id: PushId(number_of(id)),
        audience: Audience::Device(device_of(device)),
        content: Content::Raw { payload, content_type: None, properties: Vec::new() },
        options: Options::default(),
        when: When::Now,
    };
    said(shards.submit_push(Push::Send { push: Box::new(push) }), |_| id.to_owned())
}

/// Contents of the pushes to a device that were accepted in this time.
fn pushes(shards: &Shards, device: &str, accepted: std::ops::Range<Time>) -> String {
    let device = device_of(device);
    let mut all = Vec::new();
    let mut before = Some((accepted.end, PushId(0)));
    loop {
        let page = Push::Pushes { app: app(), before, pushes_max: PAGE };
        match shards.submit_push(page).wait(ANSWERED_WITHIN) {
            Some(Ok(PushAnswer::Pushes(pushes))) if !pushes.is_empty() => {
                before = pushes.last().map(|view| (view.accepted_at, view.push.id));
                // The newest come first.
                if pushes[0].accepted_at < accepted.start {
                    return list(&all);
                }
                for view in pushes {
                    if let (Audience::Device(of), Content::Raw { payload, .. }) =
                        (&view.push.audience, &view.push.content)
                        && *of == device
                    {
                        all.push(text(payload));
                    }
                }
            }
            Some(Ok(PushAnswer::Pushes(_))) => return list(&all),
            other => return not_done(other.map(Result::err)),
        }
    }
}

/// Another number for each id: FNV-1a of its name above, its own number below.
fn number_of(id: &str) -> u128 {
    let (name, number) = id.rsplit_once('-').expect("a name and a number");
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    u128::from(hash) << 64 | u128::from(number.parse::<u64>().expect("a number"))
}

fn app() -> AppName {
    AppName::new("default").expect("a name")
}

fn asset() -> AssetCode {
    AssetCode::new("VOTE").expect("a code")
}

fn wallet_of(name: &str) -> WalletName {
    WalletName::new(name).expect("a name")
}

fn device_of(name: &str) -> DeviceId {
    DeviceId::new(name).expect("a name")
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn list(ids: &[String]) -> String {
    format!("ok {}", ids.join(" "))
}

fn said<T>(ticket: Ticket<T>, ok: impl FnOnce(T) -> String) -> String {
    match ticket.wait(ANSWERED_WITHIN) {
        Some(Ok(answer)) => format!("ok {}", ok(answer)),
        other => not_done(other.map(Result::err)),
    }
}

/// A refusal, or none where no answer came in time.
fn not_done(refusal: Option<Option<Refusal>>) -> String {
    match refusal {
        Some(Some(refusal)) if [UNKNOWN, OUTCOME_UNKNOWN].contains(&refusal.code()) => {
            format!("unknown {}", refusal.code())
        }
        Some(Some(refusal)) => format!("busy {}", refusal.code()),
        Some(None) => panic!("an answer of another kind"),
        None => "unknown late".to_owned(),
    }
}
