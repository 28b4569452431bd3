//! What can be asked of the push platform on one shard.
//!
//! Who is asked: *device* commands the shard of the device, *app* commands the app's home, *all* commands every shard, whose answers are put
//! together. [`Command::parts`] takes them apart. Ids are client-made, so that asking again is safe.

use stadium_registry::{AppName, Changes, DeviceId, Location, Selector};

use crate::live::LiveToken;
use crate::{
    AppSettings, AudienceName, ClickAction, ConnectionName, Milliseconds, NewPush, NewSchedule, OwnRequest,
    PushId, ScheduleName, Time,
};

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Makes an app known, or gives it other settings. All, so that it is known everywhere when
    /// this is answered; the home's version counts.
    DeclareApp {
        /// Which.
        app: AppName,
        /// All of its settings.
        settings: AppSettings,
    },
    /// Forgets an app with all that it has. `default` stays. All.
    DropApp {
        /// Which.
        app: AppName,
    },
    /// Apps by name, each with what this shard has of it. All.
    Apps {
        /// After this one of the last page.
        after: Option<AppName>,
        /// At most so many, 1 to 1,000.
        apps_max: u32,
    },

    /// Registers devices, or changes what is known of them, each with an outcome. Device.
    Change {
        /// Whose.
        app: AppName,
        /// Up to 1,000, all of one shard.
        devices: Vec<(DeviceId, Changes)>,
    },
    /// Forgets devices, and the pushes that they are owed. Device.
    Remove {
        /// Whose.
        app: AppName,
        /// Up to 1,000, all of one shard.
        devices: Vec<DeviceId>,
    },
    /// Locations of devices. Those of unregistered devices, and those older than the stored
    /// location, are ignored. Device.
    Locate {
        /// Whose.
        app: AppName,
        /// Up to 1,000, all of one shard.
        sightings: Vec<Sighting>,
    },
    /// One device, and what it is owed. Device.
    Device {
        /// Whose.
        app: AppName,
        /// Which.
        device: DeviceId,
    },
    /// Devices, page by page. All.
    Devices {
        /// Whose.
        app: AppName,
        /// Only those that match; all devices where there is none.
        audience: Option<Selector>,
        /// Whose ids begin with this.
        prefix: String,
        /// After this one of the last page, by id.
        after: Option<DeviceId>,
        /// At most so many, 1 to 1,000.
        devices_max: u32,
    },
    /// Whether a device may connect with this secret. Device.
    Authenticate {
        /// Whose.
        app: AppName,
        /// Which.
        device: DeviceId,
        /// SHA-256 of what it showed; none where it showed nothing.
        secret: Option<[u8; 32]>,
    },

    /// How many an audience reaches, and who is kept out by what. All.
    Preview {
        /// Whose.
        app: AppName,
        /// Saved audiences in it are resolved.
        audience: Selector,
        /// Device ids to show as a sample, 0 to 100.
        sample_max: u32,
        /// What would be pushed: counts then whom its options and the values that its texts need leave out.
        push: Option<Box<NewPush>>,
    },
    /// Keeps a selector under a name, or another one. App.
    SaveAudience {
        /// Whose.
        app: AppName,
        /// Under which.
        name: AudienceName,
        /// What.
        audience: Selector,
    },
    /// Forgets a saved audience. App.
    DropAudience {
        /// Whose.
        app: AppName,
        /// Which.
        name: AudienceName,
    },
    /// All saved audiences of an app. App.
    Audiences {
        /// Whose.
        app: AppName,
    },

    /// Accepts a push. The same id with the same content again gets the first answer, with other content a refusal. To one device: device;
    /// else: app.
    Send {
        /// What.
        push: Box<NewPush>,
    },
    /// Whether [`Command::Send`] would be accepted now; changes nothing. As it.
    Check {
        /// What.
        push: Box<NewPush>,
    },
    /// Dispatches a live push to the devices that are connected; writes nothing. To one device:
    /// device; else: all. A saved audience is resolved before.
    SendLive {
        /// The push. [`live::check`](crate::live::check) reports a push that is not allowed.
        push: Box<NewPush>,
        /// The record at the transport that counts the outcomes.
        token: LiveToken,
    },
    /// Changes a push that has not started. As [`Command::Send`] of the first one.
    Edit {
        /// Its new settings; its id names the push.
        push: Box<NewPush>,
    },
    /// Ends a push: owed deliveries are never made. App: the home decides, then
    /// [`Command::CancelElsewhere`] asks all others.
    Cancel {
        /// Whose.
        app: AppName,
        /// Which.
        push: PushId,
    },
    /// Ends a push on a shard that is not its app's home. [`Parts::then`](crate::Parts::then) makes it, out of the home's answer.
    CancelElsewhere {
        /// Whose.
        app: AppName,
        /// Which.
        push: PushId,
        /// The number of the home's next message when it decided: a push that came by this message
        /// or a later one is another one.
        below: u64,
        /// The home's message with the push, where the home does not know that it arrived.
        message: Option<u64>,
    },
    /// Forgets a push that is settled, with its content and its counts, before its time is over: it
    /// was about a person who is erased. One that is not settled stays. All.
    Forget {
        /// Whose.
        app: AppName,
        /// Which.
        push: PushId,
    },
    /// What became of a push. All.
    Push {
        /// Whose.
        app: AppName,
        /// Which.
        push: PushId,
    },
    /// Pushes, newest first, page by page. All.
    Pushes {
        /// Whose.
        app: AppName,
        /// Before this one of the last page: its acceptance and id.
        before: Option<(Time, PushId)>,
        /// At most so many, 1 to 1,000.
        pushes_max: u32,
    },
    /// What became of a push for one device, and why. Device.
    Trace {
        /// Whose.
        app: AppName,
        /// Of which push.
        push: PushId,
        /// For which device.
        device: DeviceId,
    },
    /// What became of a push for each device, page by page in an order that stays. All.
    Deliveries {
        /// Whose.
        app: AppName,
        /// Of which push.
        push: PushId,
        /// After this one of the last page.
        after: Option<DeviceId>,
        /// At most so many, 1 to 10,000.
        deliveries_max: u32,
    },
    /// Devices report that their users opened a push. Device.
    Opened {
        /// Whose.
        app: AppName,
        /// Who.
        device: DeviceId,
        /// Which.
        push: PushId,
    },
    /// Devices report that their users clicked a push, or an action of it. Counts as opened too.
    /// Device.
    Clicked {
        /// Whose.
        app: AppName,
        /// Who.
        device: DeviceId,
        /// Which.
        push: PushId,
        /// The part of it, where there are several.
        action: Option<ClickAction>,
    },

    /// The pushes that a device is owed, with their contents, page by page in the order in which it
    /// gets them. For the device itself: refused where it is revoked. Device.
    Inbox {
        /// Its app.
        app: AppName,
        /// The device, by the identity that it proved.
        device: DeviceId,
        /// After this push of the last page, which the device may have settled since.
        after: Option<PushId>,
        /// At most so many, 1 to 100.
        pushes_max: u32,
    },
    /// A registered device asks something for itself: refused where it is revoked, or where its
    /// app does not let devices change that. Never registers a device. Device.
    Own {
        /// Its app.
        app: AppName,
        /// The device, by the identity that it proved.
        device: DeviceId,
        /// The request.
        request: OwnRequest,
    },

    /// Makes a push at certain times, or changes which. App.
    Schedule {
        /// What, and when.
        schedule: Box<NewSchedule>,
    },
    /// Holds a schedule, or lets it go on; what it missed meanwhile is skipped. App.
    PauseSchedule {
        /// Whose.
        app: AppName,
        /// Which.
        name: ScheduleName,
        /// Held, or going on.
        held: Held,
    },
    /// Forgets a schedule. The pushes that it made stay. App.
    Unschedule {
        /// Whose.
        app: AppName,
        /// Which.
        name: ScheduleName,
    },
    /// All schedules of an app, each with its next occurrences and the last ones with the pushes they made. App.
    Schedules {
        /// Whose.
        app: AppName,
    },

    /// Devices came and went. From the edge, in batches; device.
    Presence {
        /// Devices that are connected and began to read their inboxes.
        arrived: Vec<Arrival>,
        /// Devices that are gone, or read their inboxes no more.
        left: Vec<Departure>,
    },
    /// What became of deliveries. From the edge, in batches; device.
    Progress {
        /// One after the other.
        steps: Vec<Step>,
    },
}

/// Where a device was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Sighting {
    /// Which.
    pub device: DeviceId,
    /// When, by the clock of the service that saw it.
    pub at: Time,
    /// Where.
    pub location: Location,
    /// A move of fewer metres changes nothing.
    pub metres_min: u32,
}

/// Whether a schedule makes pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Not now.
    Paused,
    /// It does.
    Active,
}

/// A device that is connected and reads its inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Whose.
    pub app: AppName,
    /// Who.
    pub device: DeviceId,
    /// Where it is reached from now on; another one that it had is over.
    pub connection: ConnectionName,
    /// When, on the wall clock.
    pub at: Time,
}

/// A device whose connection ended, or that reads its inbox no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// Whose.
    pub app: AppName,
    /// Who.
    pub device: DeviceId,
    /// Which connection; where it has another one already, nothing changes.
    pub connection: ConnectionName,
    /// When.
    pub at: Time,
}

/// One step of one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The push's number on this shard, as in [`Dispatch`](crate::Dispatch).
    pub push: u64,
    /// The device's place, as in [`Recipient`](crate::Recipient).
    pub slot: u32,
    /// On which connection.
    pub connection: ConnectionName,
    /// What happened.
    pub what: Happened,
    /// When, on the wall clock.
    pub at: Time,
}

/// What happened to a delivery at the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    /// Written to the connection. At QoS 0 that is the end of it.
    Sent,
    /// The device acknowledged it.
    Acknowledged,
    /// The device refused it (PUBACK with an error): it is not sent again.
    Refused,
    /// It could not be given to the connection, which is gone or does not read its inbox: the device is owed it still.
    Returned,
    /// Larger than the device takes: it is never sent.
    TooLarge,
}

impl Command {
    /// The longest time that anything may take: a year and a day.
    pub const SPAN_MAX: Milliseconds = 366 * 24 * 3_600_000;
}
