//! The types of the push platform: commands, answers, messages.
//!
//! Those of devices and audiences are in `registry`.

use prost::encoding::WireType;
use stadium_push::feed::{Feed, FeedName, Kind, Kinds, Webhook};
use stadium_push::live::{LiveReach, LiveToken};
use stadium_push::{
    Accepted, Answer, AppSettings, AppView, Arrival, AtHome, Audience, AudienceName, Authenticated,
    Cancellation, Cap, Changed, Civil, ClickAction, CollapseKey, Command, ConnectionName, Content, Counts,
    DeliveryView, Departure, DeviceView, DeviceWritable, Happened, Held, InboxMessage, InboxPage, Latency,
    Located, Missed, MissingValue, NewPush, NewSchedule, Notification, Options, Owed, OwnRequest, Pace,
    Preview, PushId, PushView, QuietHours, STEP_WORDS, Sample, ScheduleName, ScheduleView, ShardMessage,
    Sighting, Spread, SpreadParts, Stage, State, Step, Trace, TraceStep, When, Words, Zone,
};

use crate::Error;
use crate::reader::Reader;
#[cfg(test)]
use crate::tests::{Random, Schema};
use crate::value::{Value, take_text};

newtype!(PushId(u128) Civil(i64) LiveToken(u64));

text! {
    AudienceName = AudienceName::new, ["fans", "a-1"];
    ScheduleName = ScheduleName::new, ["daily", "s.2"];
    CollapseKey = CollapseKey::new, ["score", "k 1"];
    ClickAction = ClickAction::new, ["buy", "read more"];
    FeedName = FeedName::new, ["crm", "f_1"];
}

enumeration! {
    Kind = "FeedKind" {
        1 Delivered, 2 Opened, 3 Expired, 4 Refused, 5 Connected, 6 Disconnected, 7 Message, 8 Clicked,
    }
    Held = "Held" { 1 Paused, 2 Active }
    Happened = "Happened" { 1 Sent, 2 Acknowledged, 3 Refused, 4 Returned, 5 TooLarge }
    QuietHours = "PushQuietHours" { 1 Wait, 2 Skip, 3 Ignore }
    Changed = "Changed" { 1 Registered, 2 Updated }
    Accepted = "Accepted" { 1 Now, 2 Before }
    Stage = "Stage" { 1 Scheduled, 2 Sending, 3 Settled, 4 Cancelled }
    AtHome = "AtHome" { 1 Ended, 2 Over, 3 Unknown }
}

message! {
    AppSettings = "AppSettings" {
        1 register_at_connect, 2 opted_in, 3 expiry, 4 cap, 5 inbox_max, 6 remember, 7 feeds,
        8 device_writable,
    }
    DeviceWritable = "DeviceWritable" { 1 tags, 2 attributes }
    Feed = "Feed" { 1 name, 2 kinds, 3 topics, 4 webhook }
    Webhook = "Webhook" { 1 url, 2 secret }
    Cap = "Cap" { 1 pushes, 2 within }
    NewPush = "NewPush" { 1 app, 2 id, 3 audience, 4 content, 5 options, 6 when }
    Notification = "Notification" { 1 words, 2 platforms, 3 languages }
    Words = "Words" { 1 title, 2 body, 3 data }
    Options = "PushOptions" {
        1 expiry, 2 priority, 3 collapse, 4 pace, 5 cap, 6 quiet_hours, 7 qos, 8 holdout,
        9 trace,
    }
    NewSchedule = "NewSchedule" { 1 name, 2 cron, 3 zone, 4 missed, 5 push }
    Sighting = "Sighting" { 1 device, 2 at, 3 location, 4 metres_min }
    ConnectionName = "ConnectionName" { 1 loop_index, 2 connection, 3 node }
    Arrival = "Arrival" { 1 app, 2 device, 3 connection, 4 at }
    Departure = "Departure" { 1 app, 2 device, 3 connection, 4 at }
    Step = "Step" { 1 push, 2 slot, 3 connection, 4 what, 5 at }
    Located = "Located" { 1 moved, 2 unmoved, 3 older, 4 unknown }
    Cancellation = "Cancellation" { 1 app, 2 push, 3 at_home, 4 below, 5 messages }
    AppView = "AppView" {
        1 app, 2 settings, 3 devices, 4 connected, 5 opted_in, 6 pushes, 7 owed, 8 bytes,
    }
    DeviceView = "DeviceView" { 1 device, 2 connection, 3 inbox, 4 newest }
    Owed = "Owed" { 1 push, 2 since, 3 until, 4 priority }
    InboxPage = "InboxPage" { 1 messages, 2 more }
    InboxMessage = "InboxMessage" { 1 owed, 2 payload, 3 content_type, 4 properties }
    Preview = "Preview" {
        1 devices, 2 matched, 3 evaluated, 4 opted_out, 5 held_out, 6 no_value, 7 missing, 8 quiet,
        9 capped, 10 reached, 11 connected, 12 clauses, 13 sample, 14 took_us,
    }
    MissingValue = "MissingValue" { 1 name, 2 devices }
    PushView = "PushView" {
        1 push, 2 schedule, 3 accepted_at, 4 started_at, 5 stage, 6 counts, 7 actions, 8 sent,
        9 acknowledged, 10 spread, 11 series,
    }
    Counts = "Counts" {
        1 devices, 2 matched, 3 opted_out, 4 held_out, 5 capped, 6 quiet, 7 no_value, 8 targeted,
        9 waiting, 10 owed, 11 in_flight, 12 delivered, 13 opened, 14 clicked, 15 expired, 16 collapsed,
        17 crowded_out, 18 refused, 19 cancelled,
    }
    Latency = "Latency" { 1 count, 2 first_ms, 3 p50_ms, 4 p99_ms, 5 last_ms }
    Sample = "Sample" { 1 from_s, 2 sent, 3 acknowledged, 4 opened, 5 clicked }
    Trace = "Trace" { 1 push, 2 device, 3 state, 4 steps, 5 sentence }
    TraceStep = "TraceStep" { 1 at, 2 what, 3 connection, 4 action }
    DeliveryView = "DeliveryView" { 1 device, 2 state, 3 sent_at, 4 acknowledged_at }
    ScheduleView = "PushScheduleView" { 1 schedule, 2 held, 3 next, 4 last, 5 made, 6 skipped }
    LiveReach = "LiveReach" {
        1 devices, 2 matched, 3 opted_out, 4 held_out, 5 capped, 6 quiet, 7 no_value, 8 targeted,
        9 connected,
    }
}

oneof! {
    Command = "PushCommand" {
        1 DeclareApp { 1 app, 2 settings },
        2 DropApp { 1 app },
        3 Apps { 1 after, 2 apps_max },
        4 Change { 1 app, 2 devices },
        5 Remove { 1 app, 2 devices },
        6 Locate { 1 app, 2 sightings },
        7 Device { 1 app, 2 device },
        8 Devices { 1 app, 2 audience, 3 prefix, 4 after, 5 devices_max },
        9 Authenticate { 1 app, 2 device, 3 secret },
        10 Preview { 1 app, 2 audience, 3 sample_max, 4 push },
        11 SaveAudience { 1 app, 2 name, 3 audience },
        12 DropAudience { 1 app, 2 name },
        13 Audiences { 1 app },
        14 Send { 1 push },
        15 Check { 1 push },
        16 SendLive { 1 push, 2 token },
        17 Edit { 1 push },
        18 Cancel { 1 app, 2 push },
        19 CancelElsewhere { 1 app, 2 push, 3 below, 4 message },
        20 Push { 1 app, 2 push },
        21 Pushes { 1 app, 2 before, 3 pushes_max },
        22 Trace { 1 app, 2 push, 3 device },
        23 Deliveries { 1 app, 2 push, 3 after, 4 deliveries_max },
        24 Opened { 1 app, 2 device, 3 push },
        25 Clicked { 1 app, 2 device, 3 push, 4 action },
        26 Inbox { 1 app, 2 device, 3 after, 4 pushes_max },
        27 Own { 1 app, 2 device, 3 request },
        28 Schedule { 1 schedule },
        29 PauseSchedule { 1 app, 2 name, 3 held },
        30 Unschedule { 1 app, 2 name },
        31 Schedules { 1 app },
        32 Presence { 1 arrived, 2 left },
        33 Progress { 1 steps },
        34 Forget { 1 app, 2 push },
    }
    Audience = "Audience" { 1 Device[device], 2 Selector[selector], 3 Saved[name] }
    Content = "Content" {
        1 Notification[notification],
        2 Raw { 1 payload, 2 content_type, 3 properties },
    }
    Pace = "Pace" { 1 AtOnce, 2 PerSecond[devices], 3 Over[span] }
    When = "PushWhen" { 1 Now, 2 At[time], 3 Local[civil] }
    Zone = "Zone" { 1 Named[name], 2 Local }
    Missed = "PushMissed" { 1 Skip, 2 Late[span] }
    OwnRequest = "OwnRequest" {
        1 Opened[push],
        2 Clicked(1 push, 2 action),
        3 Settle(1 pushes),
        4 Change[changes],
    }
    Answer = "PushAnswer" {
        1 Done,
        2 Changed(1 outcomes),
        3 Removed[count],
        4 Located[located],
        5 AtHome[cancellation],
        6 Apps(1 apps),
        7 Device(1 device),
        8 Devices(1 devices),
        9 Inbox[page],
        10 Settled(1 owed),
        11 Authenticated[authenticated],
        12 Preview[preview],
        13 Audiences(1 audiences),
        14 Accepted[accepted],
        15 Live[reach],
        16 Push(1 push),
        17 Pushes(1 pushes),
        18 Trace[trace],
        19 Deliveries(1 deliveries),
        20 Schedules(1 schedules),
    }
    Authenticated = "Authenticated" { 1 Yes, 2 No, 3 Revoked { 1 proved }, 4 NamedAsApp, 5 Unknown }
    State = "State" {
        1 Scheduled,
        2 NotRegistered,
        3 NotMatched { 1 path, 2 clause },
        4 OptedOut,
        5 Revoked,
        6 HeldOut,
        7 Capped,
        8 Quiet,
        9 NoValue[name],
        10 Waiting[until],
        11 Owed,
        12 InFlight,
        13 Delivered,
        14 Opened,
        15 Clicked,
        16 Expired,
        17 Collapsed,
        18 CrowdedOut,
        19 Refused,
        20 TooLarge,
        21 Cancelled,
        22 Counted,
    }
    ShardMessage = "PushMessage" {
        1 Settings { 1 app, 2 version, 3 settings },
        2 Start { 1 push, 2 accepted_at, 3 schedule },
    }
}

/// Kinds of events, each by its number.
struct KindList {
    kinds: Vec<Kind>,
}

message! {
    KindList = "FeedKinds" { 1 kinds }
    SpreadParts = "LatencySpread" { 1 first, 2 last, 3 count, 4 buckets }
}

through! {
    Kinds => KindList,
    |kinds: &Kinds| KindList { kinds: kinds.iter().collect() },
    |list: KindList| Ok(Kinds::of(list.kinds)),
    |random: &mut Random| Kinds::of(Kind::ALL.into_iter().filter(|_| random.flips()));
    Spread => SpreadParts,
    Spread::to_parts,
    |parts| Spread::of_parts(parts).ok_or("it is a distribution that no pushes have"),
    |random: &mut Random| {
        let mut spread = Spread::default();
        (0..random.byte() % 8).for_each(|_| spread.count(random.number()));
        spread
    };
}

/// The word of a step in a trace. A word of a newer version is `other` here.
impl Value for &'static str {
    const WIRE: WireType = WireType::LengthDelimited;

    fn bytes(&self) -> usize {
        self.len()
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }

    fn take(input: &mut Reader<'_>) -> Result<Self, Error> {
        let text = take_text(input)?;
        Ok(STEP_WORDS.iter().find(|word| **word == text).copied().unwrap_or("other"))
    }

    #[cfg(test)]
    fn schema(_: &mut Schema) -> String {
        "string".into()
    }

    #[cfg(test)]
    fn sample(random: &mut Random) -> Self {
        STEP_WORDS[usize::from(random.byte()) % STEP_WORDS.len()]
    }
}
