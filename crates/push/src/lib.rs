//! The push platform as one state machine without I/O: apps, pushes, schedules, inboxes, traces.
//!
//! Devices and audiences are `stadium_registry`'s. An audience is evaluated when its push starts;
//! the devices that are still owed it are a bitmap, which is the inbox of all devices that are
//! away. Invariants: each targeted device stands in one place ([`Counts`]); a push that a
//! device acknowledged is never dispatched to it again; an occurrence of a schedule makes one push.

mod answer;
mod app;
mod apply;
mod cancel;
mod checkpoint;
mod clock;
mod command;
mod describe;
mod dispatch;
mod encode;
mod ends;
mod events;
mod execute;
pub mod feed;
mod figures;
mod inbox;
mod latency;
mod life;
mod lists;
pub mod live;
mod locate;
mod log;
mod machine;
mod many;
mod merge;
mod names;
mod notification;
mod outbox;
mod outcome;
mod own;
mod parts;
mod platform;
mod presence;
mod preview;
mod progress;
mod read;
pub mod refusal;
mod schedule;
mod send;
mod settings;
mod shard_message;
mod single;
mod sliced;
mod slot_owners;
mod split;
mod template;
mod tick;
mod trace;
mod transport;
mod unregistered;
mod validate;

pub use answer::{
    Accepted, Answer, AppView, Authenticated, Changed, Counts, DeliveryView, DeviceView, InboxMessage,
    InboxPage, Latency, Located, MissingValue, Owed, Preview, PushView, Sample, ScheduleView, Stage, State,
    Trace, TraceStep,
};
pub use cancel::{AtHome, Cancellation};
pub use command::{Arrival, Command, Departure, Happened, Held, Sighting, Step};
pub use dispatch::{ConnectionName, Dispatch, LATE_STEPS, Recipient};
pub use figures::Figures;
pub use latency::{Spread, SpreadParts};
pub use names::{AudienceName, ClickAction, CollapseKey, PushId, ScheduleName};
pub use notification::{
    Audience, Cap, Civil, Content, Missed, NewPush, NewSchedule, Notification, Options, Pace, QuietHours,
    When, Words, Zone,
};
pub use own::{DeviceWritable, OwnRequest};
pub use parts::{Parts, app_home, device_home};
pub use platform::Platform;
pub use refusal::CODES;
pub use settings::{AppSettings, Bounds};
pub use shard_message::ShardMessage;
pub use stadium_registry::{AppName, DeviceId, client_ids};
pub use stadium_state_machine::{Corrupt, Milliseconds, Refusal, Time};
pub use template::render;
pub use trace::STEP_WORDS;
pub use transport::{LiveOrigins, Transport, TransportCommand};
pub use validate::check;
