//! What the push platform answers.
//!
//! Where all shards are asked, counts are summed, lists are merged in their order, and data of one
//! shard alone stand for all.

use bytes::Bytes;
use compact_str::CompactString;
use stadium_registry::{AppName, ClauseCount, Device, DeviceId, Selector};
use stadium_state_machine::Refusal;

use crate::live::LiveReach;
use crate::{
    AppSettings, AudienceName, Cancellation, ClickAction, ConnectionName, Held, NewPush, NewSchedule, PushId,
    Time,
};

/// What came of a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It is done.
    Done,
    /// Of changes, one for each device, in their order.
    Changed(Vec<Result<Changed, Refusal>>),
    /// Of removals, and of a push that is forgotten: how many there were, on each shard.
    Removed(u64),
    /// Of sightings: what became of how many.
    Located(Located),
    /// Of a cancellation, from the app's home: the other shards are asked next, [`crate::Parts`] makes one answer of all.
    AtHome(Box<Cancellation>),
    /// Of apps, by name.
    Apps(Vec<AppView>),
    /// Of one device; none where it is not registered.
    Device(Option<Box<DeviceView>>),
    /// Of devices, by id.
    Devices(Vec<DeviceView>),
    /// Of a device's inbox.
    Inbox(InboxPage),
    /// Of pushes that a device settles, in their order: whether it was owed them until now.
    Settled(Vec<bool>),
    /// Whether a device may connect.
    Authenticated(Authenticated),
    /// Of a preview.
    Preview(Box<Preview>),
    /// Of saved audiences, by name.
    Audiences(Vec<(AudienceName, Selector)>),
    /// Of a push that was accepted: now, or before.
    Accepted(Accepted),
    /// Of a live push: the devices that it reached.
    Live(Box<LiveReach>),
    /// Of one push; none where it is not known here.
    Push(Option<Box<PushView>>),
    /// Of pushes, newest first.
    Pushes(Vec<PushView>),
    /// Of one delivery.
    Trace(Box<Trace>),
    /// Of a push's deliveries, in an order that stays: shard by shard.
    Deliveries(Vec<DeliveryView>),
    /// Of schedules, by name.
    Schedules(Vec<ScheduleView>),
}

/// What a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// The device is new.
    Registered,
    /// It was known.
    Updated,
}

/// What became of sightings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Located {
    /// The device is there from now on.
    pub moved: u64,
    /// It is where it was.
    pub unmoved: u64,
    /// Something newer is known.
    pub older: u64,
    /// Nobody is registered under that name.
    pub unknown: u64,
}

/// Whether a push was accepted before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// By this command.
    Now,
    /// The same push was accepted already.
    Before,
}

/// Whether a device may connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authenticated {
    /// Its secret is right.
    Yes,
    /// It has a credential, and this is not it.
    No,
    /// It is revoked, whatever it showed.
    Revoked {
        /// Whether it showed its credential. Only then may it be notified that it is revoked.
        proved: bool,
    },
    /// It has the name of an app: topics of that name are those of the app's devices.
    NamedAsApp,
    /// The registry has no credential of it: others may decide.
    Unknown,
}

/// An app.
#[derive(Debug, Clone, PartialEq)]
pub struct AppView {
    /// Which.
    pub app: AppName,
    /// None where this shard is not its home.
    pub settings: Option<AppSettings>,
    /// Registered devices.
    pub devices: u64,
    /// Of those, connected.
    pub connected: u64,
    /// Of those, opted in.
    pub opted_in: u64,
    /// Pushes that are remembered, each counted on each shard that has it.
    pub pushes: u64,
    /// Deliveries that devices are owed.
    pub owed: u64,
    /// Bytes of memory.
    pub bytes: u64,
}

/// A device, and how it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceView {
    /// What is registered.
    pub device: Device,
    /// Where it is connected.
    pub connection: Option<ConnectionName>,
    /// The pushes that it is owed, in the order in which it gets them: at most 100.
    pub inbox: Vec<Owed>,
    /// The newest pushes that were for it or left it out, newest first: at most 20.
    pub newest: Vec<(PushId, Time, State)>,
}

/// A delivery that a device is owed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owed {
    /// Of which push.
    pub push: PushId,
    /// Since when.
    pub since: Time,
    /// Until when.
    pub until: Option<Time>,
    /// Its priority.
    pub priority: u8,
}

/// A page of a device's inbox.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InboxPage {
    /// In the order in which the device gets them.
    pub messages: Vec<InboxMessage>,
    /// Whether the device is owed more behind these.
    pub more: bool,
}

/// A push that a device is owed, as it gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxMessage {
    /// The delivery.
    pub owed: Owed,
    /// The bytes: those of a message, or a notification as JSON.
    pub payload: Bytes,
    /// Their MIME type.
    pub content_type: Option<CompactString>,
    /// User properties of a message.
    pub properties: Vec<(CompactString, CompactString)>,
}

/// How many an audience reaches, or a push to it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Preview {
    /// Registered devices.
    pub devices: u64,
    /// Those that match.
    pub matched: u64,
    /// Matched devices that were evaluated. Fewer than `matched` where a push needs values of more devices than
    /// [`Platform::PREVIEW_EVALUATED_MAX`](crate::Platform::PREVIEW_EVALUATED_MAX) a shard: the counts below are
    /// then estimates from a random sample of this size.
    pub evaluated: u64,
    /// Of the matched: not opted in, or revoked.
    pub opted_out: u64,
    /// Of the rest: held out of the push.
    pub held_out: u64,
    /// Of the rest: a text of the push needs a value that they lack.
    pub no_value: u64,
    /// Of those, by the first value that each lacks; the most frequent first.
    pub missing: Vec<MissingValue>,
    /// Of the rest: in their quiet hours now. A push that skips quiet hours leaves them out.
    pub quiet: u64,
    /// Of the rest: had their fill, by the push's cap or the app's.
    pub capped: u64,
    /// Who would get it: matched, and not left out for any of these reasons.
    pub reached: u64,
    /// Of those, connected now and reading their inbox.
    pub connected: u64,
    /// Each clause, in the order in which it stands in the selector.
    pub clauses: Vec<ClauseCount>,
    /// Some of those reached.
    pub sample: Vec<DeviceId>,
    /// How long the shard took, microseconds; of several, the longest.
    pub took_us: u64,
}

/// A value that a push's texts need, and how many devices it leaves out for the lack of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingValue {
    /// The attribute or built-in field, as in `{{name}}`.
    pub name: CompactString,
    /// Devices that lack it.
    pub devices: u64,
}

/// How far a push has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It waits for its time.
    Scheduled,
    /// It has started, and goes out.
    Sending,
    /// Nobody is owed it any more.
    Settled,
    /// It was cancelled.
    Cancelled,
}

/// A push, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PushView {
    /// What was asked for.
    pub push: Box<NewPush>,
    /// The schedule that made it.
    pub schedule: Option<crate::ScheduleName>,
    /// When it was accepted.
    pub accepted_at: Time,
    /// When it started.
    pub started_at: Option<Time>,
    /// How far it has come.
    pub stage: Stage,
    /// How many devices stand where. Each targeted device is in one place.
    pub counts: Counts,
    /// Clicks by action. Clicks without an action are not among them; neither are those on an action
    /// that came when a shard had counted 16 others.
    pub actions: Vec<(ClickAction, u64)>,
    /// From the start to the write and to the acknowledgement.
    pub sent: Latency,
    /// See [`PushView::sent`].
    pub acknowledged: Latency,
    /// What the two are computed from: of several shards it is added.
    pub spread: (crate::Spread, crate::Spread),
    /// Sent, acknowledged, opened and clicked, for each second since the start; at most 600, then for each minute.
    pub series: Vec<Sample>,
}

/// How many devices stand where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Registered when it started.
    pub devices: u64,
    /// Matched by its audience.
    pub matched: u64,
    /// Left out: not opted in, or revoked.
    pub opted_out: u64,
    /// Left out: held out.
    pub held_out: u64,
    /// Left out: had their fill.
    pub capped: u64,
    /// Left out: in their quiet hours.
    pub quiet: u64,
    /// Left out: a text of the notification needs a value that the device has not.
    pub no_value: u64,
    /// Targeted: everybody who was matched and not left out.
    pub targeted: u64,
    /// Owed still, of those: waiting for the end of their quiet hours.
    pub waiting: u64,
    /// Owed still: for their return, or for the push's pace.
    pub owed: u64,
    /// Owed still: sent, and not acknowledged.
    pub in_flight: u64,
    /// Acknowledged; at QoS 0: sent.
    pub delivered: u64,
    /// Their users opened it; counted among the delivered too.
    pub opened: u64,
    /// Their users clicked it, or an action of it; counted among the opened too.
    pub clicked: u64,
    /// The push expired before they came.
    pub expired: u64,
    /// A newer push took its place.
    pub collapsed: u64,
    /// Their inbox was full.
    pub crowded_out: u64,
    /// They refused it, or it was too large for them.
    pub refused: u64,
    /// It was cancelled first, or the device was removed.
    pub cancelled: u64,
}

/// A distribution of milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// The first.
    pub first_ms: u64,
    /// Half of them took at most this.
    pub p50_ms: u64,
    /// 99 in 100.
    pub p99_ms: u64,
    /// The last.
    pub last_ms: u64,
}

/// What happened in a second or a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// Its beginning, from the start of the push, in seconds.
    pub from_s: u32,
    /// Written.
    pub sent: u32,
    /// Acknowledged.
    pub acknowledged: u32,
    /// Opened.
    pub opened: u32,
    /// Clicked.
    pub clicked: u32,
}

/// Where a delivery stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The push has not started.
    Scheduled,
    /// The device was not registered when it started.
    NotRegistered,
    /// Its audience did not match: the clause, and its words.
    NotMatched {
        /// Where in the selector.
        path: String,
        /// What did not hold.
        clause: String,
    },
    /// Left out: not opted in.
    OptedOut,
    /// Left out: revoked.
    Revoked,
    /// Left out: held out.
    HeldOut,
    /// Left out: had its fill.
    Capped,
    /// Left out: it was quiet.
    Quiet,
    /// Left out: it has no value for this name.
    NoValue(CompactString),
    /// Owed: when its quiet hours are over.
    Waiting(Time),
    /// Owed: when it is connected and reads its inbox, or when it is its turn.
    Owed,
    /// Owed: sent, not acknowledged.
    InFlight,
    /// It has it.
    Delivered,
    /// It has it, and its user opened it.
    Opened,
    /// It has it, and its user clicked it.
    Clicked,
    /// It expired.
    Expired,
    /// A newer push took its place.
    Collapsed,
    /// The inbox was full.
    CrowdedOut,
    /// The device refused it.
    Refused,
    /// Too large for the device.
    TooLarge,
    /// Cancelled before it was delivered.
    Cancelled,
    /// A live push may have reached it: outcomes were counted, and not remembered for each device.
    Counted,
}

/// Why this device did or did not get this push.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The push.
    pub push: PushId,
    /// The device.
    pub device: DeviceId,
    /// Where it stands.
    pub state: State,
    /// What happened, oldest first, as far as it is remembered.
    pub steps: Vec<TraceStep>,
    /// The answer in a sentence.
    pub sentence: String,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceStep {
    /// When.
    pub at: Time,
    /// What, in a word: accepted, scheduled, started, targeted, sent, acknowledged, ...
    pub what: &'static str,
    /// On which connection, where it was one.
    pub connection: Option<ConnectionName>,
    /// The action that was clicked, as far as the device named one and it is remembered.
    pub action: Option<ClickAction>,
}

/// A delivery in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct DeliveryView {
    /// The device.
    pub device: DeviceId,
    /// Where it stands.
    pub state: State,
    /// When it was sent last.
    pub sent_at: Option<Time>,
    /// When it was acknowledged.
    pub acknowledged_at: Option<Time>,
}

/// A schedule, and what it did.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleView {
    /// What was asked for.
    pub schedule: Box<NewSchedule>,
    /// Whether it makes pushes.
    pub held: Held,
    /// Its next occurrences, at most 5. Those of a local one: by a clock in UTC.
    pub next: Vec<Time>,
    /// Its last ones, newest first, at most 20, each with the push that it made; none where it was skipped.
    pub last: Vec<(Time, Option<PushId>)>,
    /// Occurrences that made a push.
    pub made: u64,
    /// Occurrences that were skipped.
    pub skipped: u64,
}
