//! The rights of the methods: callers with random grants, and every method of every service.
//!
//! A call is refused for want of a right exactly where the grants of its caller do not mean what
//! the table of the service asks for.

use std::collections::BTreeSet;

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use proptest::{prelude::*, sample::subsequence};
use prost::Message;
use stadium_grants::{Grant, Grants, Kind, Right, Verb};
use stadium_http::key_store::NewKey;
use stadium_rpc::CallError;
use stadium_rpc_api::proto::*;
use stadium_rpc_api::{Rights, platform, queue, wallet};

use crate::fixture::{Scene, bearer};

/// Callers that are tried.
const CALLERS: u32 = 24;

/// A transfer of the wallet `alice`, booked before.
const TRANSFER: [u8; 16] = [7; 16];

/// A push; whether there is one is found out behind the check of rights.
const PUSH: [u8; 16] = [9; 16];

/// A method with the rights that its sample request needs.
struct Asked {
    service: &'static str,
    method: &'static str,
    rights: Vec<(Verb, String)>,
}

/// The name that stands in the sample requests for a part of a right.
fn named(part: &str) -> Option<&'static str> {
    Some(match part {
        "queue" => "mine",
        "to" => "next",
        "wallet" => "alice",
        "prefix" => "al",
        "asset" => "EUR",
        "app" => "shop",
        "device" => "phone",
        _ => return None,
    })
}

/// All methods, with the rights that the tables of the services name.
fn methods() -> Vec<Asked> {
    let services: [(&str, Rights); 3] =
        [(queue::NAME, queue::RIGHTS), (wallet::NAME, wallet::RIGHTS), (platform::NAME, platform::RIGHTS)];
    let of = |service, &(method, rights): &(&'static str, &'static [&'static str])| {
        let rights = rights.iter().map(|right| right.parse::<Right>().expect("a right"));
        // The requests name a queue to go to, and ask for no push.
        let rights = rights.filter(|right| !right.is_optional() || right.verb() == Verb::QueuePut);
        let rights = rights.map(|right| {
            let mut resource = String::new();
            assert!(right.resource(&mut resource, named), "{service}/{method}: {right}");
            (right.verb(), resource)
        });
        Asked { service, method, rights: rights.collect() }
    };
    services.iter().flat_map(|(service, all)| all.iter().map(move |row| of(*service, row))).collect()
}

fn post(id: u8) -> NewTransfer {
    let (debit, credit, asset) = ("alice".to_owned(), "bob".to_owned(), "EUR".to_owned());
    let post = Post { debit, credit, asset, amount: 1 };
    NewTransfer { id: vec![id; 16], kind: Some(new_transfer::Kind::Post(post)), ..NewTransfer::default() }
}

fn push() -> NewPush {
    let words = Words { title: Some("Hello".to_owned()), ..Words::default() };
    NewPush {
        app: "shop".to_owned(),
        id: PUSH.to_vec(),
        audience: Some(new_push::Audience::Device("phone".to_owned())),
        content: Some(new_push::Content::Notification(Notification {
            words: Some(words),
            ..Notification::default()
        })),
        ..NewPush::default()
    }
}

/// A request of a method about the named things, as bytes. Jobs and leases are put and reserved
/// for it.
fn request(scene: &Admin<'_>, service: &str, method: &str) -> Vec<u8> {
    let (mine, next) = ("mine".to_owned(), "next".to_owned());
    let named = || QueueNamed { queue: mine.clone() };
    let job = || NewJob { payload: "x".into(), ..NewJob::default() };
    let cron = || Cron { expression: "@daily".to_owned(), ..Cron::default() };
    let (alice, eur, shop) = ("alice".to_owned(), "EUR".to_owned(), "shop".to_owned());
    let entries = || EntriesRequest {
        wallet: alice.clone(),
        asset: eur.clone(),
        entries_max: 1,
        ..EntriesRequest::default()
    };
    let phone = || "phone".to_owned();
    let morning = || "morning".to_owned();
    match (service, method) {
        ("queue", "Put") => PutRequest { queue: mine, jobs: vec![job()] }.encode_to_vec(),
        ("queue", "Reserve") => {
            ReserveRequest { queue: mine, jobs_max: 1, ..ReserveRequest::default() }.encode_to_vec()
        }
        ("queue", "Settle") => SettleRequest { leases: vec![scene.lease()] }.encode_to_vec(),
        ("queue", "Release") => {
            ReleaseRequest { leases: vec![scene.lease()], ..ReleaseRequest::default() }.encode_to_vec()
        }
        ("queue", "Extend") => {
            ExtendRequest { leases: vec![scene.lease()], lease_ms: 60_000 }.encode_to_vec()
        }
        ("queue", "Bury") => {
            BuryRequest { leases: vec![scene.lease()], reason: "why".to_owned() }.encode_to_vec()
        }
        ("queue", "Forward") => {
            ForwardRequest { lease: Some(scene.lease()), queue: next, job: Some(job()) }.encode_to_vec()
        }
        ("queue", "Work") => {
            scene.job();
            WorkRequest { queue: mine, ..WorkRequest::default() }.encode_to_vec()
        }
        ("queue", "Kick") => KickRequest { queue: mine, oldest: 1, ..KickRequest::default() }.encode_to_vec(),
        ("queue", "Redrive") => {
            RedriveRequest { queue: mine, oldest: 1, to: next, ..RedriveRequest::default() }.encode_to_vec()
        }
        ("queue", "Delete") => DeleteRequest { jobs: vec![scene.job()] }.encode_to_vec(),
        ("queue", "Edit") => {
            EditRequest { job: scene.job(), priority: Some(3), ..EditRequest::default() }.encode_to_vec()
        }
        ("queue", "Purge") => PurgeRequest { queue: mine, ..PurgeRequest::default() }.encode_to_vec(),
        ("queue", "Declare") => {
            DeclareRequest { queue: mine, settings: Some(QueueSettings::default()) }.encode_to_vec()
        }
        ("queue", "Schedule") => {
            ScheduleRequest { queue: mine, name: morning(), cron: Some(cron()), job: Some(job()) }
                .encode_to_vec()
        }
        ("queue", "Unschedule") => UnscheduleRequest { queue: mine, name: morning() }.encode_to_vec(),
        ("queue", "Peek") => {
            PeekRequest { queue: mine, jobs_max: 1, ..PeekRequest::default() }.encode_to_vec()
        }
        ("queue", "Find" | "History") => JobNamed { job: scene.job() }.encode_to_vec(),
        ("queue", "List") => ListRequest::default().encode_to_vec(),
        ("queue", "Pause" | "Resume" | "Drop" | "Stats" | "Schedules") => named().encode_to_vec(),
        ("wallet", "Declare") => DeclareAssetRequest { asset: eur, scale: 2 }.encode_to_vec(),
        ("wallet", "Open") => {
            let account = NewAccount { wallet: alice, asset: eur, ..NewAccount::default() };
            OpenRequest { accounts: vec![account] }.encode_to_vec()
        }
        ("wallet", "Change") => {
            ChangeRequest { wallet: alice, asset: eur, overdraft: Some(true), ..ChangeRequest::default() }
                .encode_to_vec()
        }
        ("wallet", "Transfer") => TransferRequest { transfers: vec![post(1)], linked: false }.encode_to_vec(),
        ("wallet", "Together") => {
            let jobs = vec![QueuedJob { queue: mine, job: Some(job()) }];
            let unit = Unit { transfers: vec![post(2)], jobs, ..Unit::default() };
            TogetherRequest { units: vec![unit] }.encode_to_vec()
        }
        ("wallet", "Wallet") => WalletsNamed { wallets: vec![alice] }.encode_to_vec(),
        ("wallet", "Accounts") => {
            AccountsRequest { prefix: "al".to_owned(), accounts_max: 1, ..AccountsRequest::default() }
                .encode_to_vec()
        }
        ("wallet", "Holds") => HoldsRequest { wallet: alice, holds_max: 1 }.encode_to_vec(),
        ("wallet", "Find") => TransferNamed { transfer: TRANSFER.to_vec() }.encode_to_vec(),
        ("wallet", "History" | "Statement") => entries().encode_to_vec(),
        ("wallet", "BalanceAt") => BalanceAtRequest { wallet: alice, asset: eur, at_ms: 1 }.encode_to_vec(),
        ("wallet", "Assets") => AssetsRequest {}.encode_to_vec(),
        ("wallet", "Roots") => RootsRequest { roots_max: 1, ..RootsRequest::default() }.encode_to_vec(),
        ("push", "Send" | "Check" | "Edit") => push().encode_to_vec(),
        ("push", "Cancel" | "Find") => PushNamed { app: shop, push: PUSH.to_vec() }.encode_to_vec(),
        ("push", "List") => {
            ListPushesRequest { app: shop, pushes_max: 1, ..ListPushesRequest::default() }.encode_to_vec()
        }
        ("push", "Clicked") => {
            ClickedRequest { app: shop, push: PUSH.to_vec(), device: phone(), action: "buy".to_owned() }
                .encode_to_vec()
        }
        ("push", "Trace" | "Opened") => {
            TraceRequest { app: shop, push: PUSH.to_vec(), device: phone() }.encode_to_vec()
        }
        ("push", "Preview") => {
            PreviewRequest { app: shop, selector: r#"{"tag": "vip"}"#.to_owned(), sample_max: 1 }
                .encode_to_vec()
        }
        ("push", "ChangeDevices") => {
            let change = DeviceChange { device: phone(), changes: r#"{"tags": ["vip"]}"#.to_owned() };
            ChangeDevicesRequest { app: shop, devices: vec![change] }.encode_to_vec()
        }
        ("push", "RemoveDevices") => DevicesNamed { app: shop, devices: vec![phone()] }.encode_to_vec(),
        ("push", "FindDevice") => DeviceNamed { app: shop, device: phone() }.encode_to_vec(),
        ("push", "Admit") => {
            AdmitRequest { app: shop, device: phone(), revoked: Some(true), ..AdmitRequest::default() }
                .encode_to_vec()
        }
        ("push", "Schedule") => {
            let made = NewPushSchedule {
                name: morning(),
                cron: "@daily".to_owned(),
                push: Some(push()),
                ..NewPushSchedule::default()
            };
            made.encode_to_vec()
        }
        ("push", "Pause") => {
            PauseScheduleRequest { app: shop, name: morning(), paused: true }.encode_to_vec()
        }
        ("push", "Unschedule") => PushScheduleNamed { app: shop, name: morning() }.encode_to_vec(),
        ("push", "Schedules") => AppNamed { app: shop }.encode_to_vec(),
        _ => panic!("no sample request of {service}/{method}"),
    }
}

/// The fixture with a key that may do everything, to prepare what requests are about.
struct Admin<'a> {
    scene: &'a Scene,
    metadata: Vec<u8>,
}

impl<'a> Admin<'a> {
    /// With the queues and the wallets that the sample requests name.
    fn of(scene: &'a Scene) -> Self {
        let everything = Grants::everything();
        let grants = everything.iter().map(|held| held.grant().clone()).collect();
        let admin = Self { scene, metadata: key(scene, grants) };
        admin.declare();
        admin.call("wallet", "Declare", DeclareAssetRequest { asset: "EUR".to_owned(), scale: 2 });
        for wallet in ["alice", "bob"] {
            let (wallet, asset) = (wallet.to_owned(), "EUR".to_owned());
            let account = NewAccount { wallet, asset, overdraft: true, ..NewAccount::default() };
            admin.call("wallet", "Open", OpenRequest { accounts: vec![account] });
        }
        admin.call(
            "wallet",
            "Transfer",
            TransferRequest { transfers: vec![post(TRANSFER[0])], linked: false },
        );
        admin
    }

    fn declare(&self) {
        for queue in ["mine", "next"] {
            let request =
                DeclareRequest { queue: queue.to_owned(), settings: Some(QueueSettings::default()) };
            self.call("queue", "Declare", request);
        }
        self.call("queue", "Resume", QueueNamed { queue: "mine".to_owned() });
    }

    fn call(&self, service: &str, method: &str, request: impl Message) -> Vec<u8> {
        let answer = self.scene.calls(service, method, request.encode_to_vec(), &self.metadata);
        answer.unwrap_or_else(|error| panic!("{service}/{method}: {error:?}"))
    }

    /// A job of the queue `mine`.
    fn job(&self) -> u64 {
        self.declare();
        let job = NewJob { payload: "x".into(), ..NewJob::default() };
        let placed = self.call("queue", "Put", PutRequest { queue: "mine".to_owned(), jobs: vec![job] });
        Placed::decode(&*placed).expect("an answer").jobs[0]
    }

    /// A lease of one.
    fn lease(&self) -> Lease {
        self.job();
        let request = ReserveRequest { queue: "mine".to_owned(), jobs_max: 1, ..ReserveRequest::default() };
        let reserved = self.call("queue", "Reserve", request);
        let reserved = ReservedJobs::decode(&*reserved).expect("an answer");
        let ReservedJob { job, reservation, .. } = reserved.jobs[0];
        Lease { job, reservation }
    }
}

/// Metadata with the secret of a new key that holds these grants.
fn key(scene: &Scene, grants: Vec<Grant>) -> Vec<u8> {
    let new = NewKey { name: "caller".to_owned(), grants, ..NewKey::default() };
    bearer(&scene.keys.create(&new).expect("there is room").secret)
}

/// A resource of the verb that no sample request names.
fn other(verb: Verb) -> &'static str {
    match verb.kind() {
        Kind::OfApp => "elsewhere/phone",
        _ if verb == Verb::WalletTransfer => "debit=other",
        _ => "other",
    }
}

#[test]
fn every_method_has_a_sample_request() {
    let scene = Scene::with(None, |keys| keys);
    let admin = Admin::of(&scene);
    for Asked { service, method, .. } in methods() {
        let called = scene.calls(service, method, request(&admin, service, method), &admin.metadata);
        let is_wrong = |code: &str| ["NODE-009", "NODE-010"].contains(&code) || code.starts_with("RPC-");
        if let Err(CallError::Rejected { code, reason }) = &called {
            assert!(!is_wrong(code), "{service}/{method} with every right: {code} {reason}");
        }
    }
}

#[test]
fn a_caller_may_what_its_grants_mean_and_nothing_else() {
    let scene = Scene::with(None, |keys| keys);
    let admin = Admin::of(&scene);
    let methods = methods();
    let needed: BTreeSet<_> = methods.iter().flat_map(|asked| asked.rights.iter().cloned()).collect();
    let needed = Vec::from_iter(needed);
    let some = subsequence(needed.clone(), 0..=needed.len());
    let others = subsequence(needed.clone(), 0..=needed.len());
    let mut runner = TestRunner::new_with_rng(
        Config { cases: CALLERS, failure_persistence: None, ..Config::default() },
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let run = runner.run(&(some, others), |(some, others)| {
        let own = some.iter().map(|(verb, resource)| (*verb, resource.as_str()));
        let elsewhere = others.iter().filter(|(verb, _)| verb.kind() != Kind::Node);
        let held = own.chain(elsewhere.map(|(verb, _)| (*verb, other(*verb))));
        let held: Vec<Grant> =
            held.map(|(verb, resource)| Grant::new(verb, resource).expect("a grant")).collect();
        if held.is_empty() {
            return Ok(());
        }
        let grants = Grants::new(&[], None, &held).expect("few");
        let caller = key(&scene, held);
        for Asked { service, method, rights } in &methods {
            // The list of assets is for everybody who may see a wallet.
            let may = match (*service, *method) {
                ("wallet", "Assets") => !grants.of(Verb::WalletRead).is_empty(),
                _ => rights.iter().all(|(verb, resource)| grants.allows(*verb, resource)),
            };
            let called = scene.calls(service, method, request(&admin, service, method), &caller);
            let refused = matches!(&called, Err(CallError::Rejected { code, .. }) if &**code == "NODE-009");
            prop_assert_eq!(!refused, may, "{}/{}: {:?} to {:?}", service, method, called, some);
        }
        Ok(())
    });
    run.expect("the table decides");
}

#[test]
fn contents_of_pushes_are_a_right_of_their_own() {
    let scene = Scene::with(None, |keys| keys);
    let admin = Admin::of(&scene);
    let app = || "default".to_owned();
    admin.call("push", "Send", NewPush { app: app(), ..push() });
    let content = |grants: &[(Verb, &str)]| {
        let grants = grants.iter().map(|(verb, app)| Grant::new(*verb, app).expect("a grant")).collect();
        let request = PushNamed { app: app(), push: PUSH.to_vec() }.encode_to_vec();
        let found = scene.calls("push", "Find", request, &key(&scene, grants)).expect("it is found");
        PushReport::decode(&*found).expect("a report").push.expect("a push").content.expect("a content")
    };
    let reads = (Verb::PushRead, "default");
    assert_eq!(content(&[reads]), new_push::Content::Message(RawMessage::default()));
    let shown = content(&[reads, (Verb::PushPayload, "default")]);
    assert_eq!(Some(shown), push().content);
}
