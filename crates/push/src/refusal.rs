//! The codes of the push platform's refusals.
//!
//! Every code that the machine answers is in [`CODES`], and every one of it has a page in docs/reference/errors/push.md.

pub(crate) use stadium_state_machine::{busy, rejected};

stadium_state_machine::codes! {
    /// A command names no item, or more than it may.
    COUNT = "PSH-001", "too many or no items in a command";
    /// An app's settings out of bounds.
    SETTINGS = "PSH-002", "settings out of bounds";
    /// A push without content, or larger than devices get.
    CONTENT = "PSH-003", "content out of bounds";
    /// A text with `{{` that is no template.
    TEMPLATE = "PSH-004", "template not understood";
    /// An option out of bounds.
    OPTIONS = "PSH-005", "options out of bounds";
    /// A cron expression that is none, or that never comes.
    CRON = "PSH-006", "cron expression not understood";
    /// No time zone has that name.
    TIME_ZONE = "PSH-007", "unknown time zone";
    /// A time out of bounds: too far ahead, or in no calendar.
    WHEN = "PSH-008", "time out of bounds";
    /// The app `default` is always there.
    DEFAULT_APP = "PSH-009", "the default app stays";
    /// No app has that name.
    APP_UNKNOWN = "PSH-020", "unknown app";
    /// No push has that id, or it is not remembered any more.
    PUSH_UNKNOWN = "PSH-021", "unknown push";
    /// No device has that id.
    DEVICE_UNKNOWN = "PSH-022", "unknown device";
    /// No saved audience has that name.
    AUDIENCE_UNKNOWN = "PSH-023", "unknown saved audience";
    /// No schedule has that name.
    SCHEDULE_UNKNOWN = "PSH-024", "unknown schedule";
    /// The id was used with another content.
    ID_CONTENT = "PSH-025", "push id reused with other content";
    /// The push has started: it can be cancelled, and not be changed.
    STARTED = "PSH-026", "push started already";
    /// The push is over.
    OVER = "PSH-027", "push is over";
    /// Who opened or clicked it was not sent it.
    NOT_SENT = "PSH-028", "push was not sent to this device";
    /// The command belongs to another shard; a driver's mistake.
    MISDIRECTED = "PSH-029", "command sent to the wrong place";
    /// A live push keeps counts alone.
    LIVE = "PSH-030", "not kept of a live push";
    /// An app and a device of the app `default` cannot have one name: topics of the device would
    /// contain those of the app's devices.
    NAME_TAKEN = "PSH-031", "name of an app and of a device";
    /// A device asks for itself and is revoked.
    REVOKED = "PSH-032", "device is revoked";
    /// A device may not change this tag or attribute of its own.
    NOT_WRITABLE = "PSH-033", "not writable by devices";
    /// There are as many apps as there may be.
    APPS_FULL = "PSH-040", "too many apps";
    /// There are as many pushes as there may be, and none of them is settled.
    PUSHES_FULL = "PSH-041", "too many pushes";
    /// There are as many saved audiences or schedules as there may be.
    NAMES_FULL = "PSH-042", "too many saved audiences or schedules";
    /// What another shard sent cannot be taken in yet.
    EARLY = "PSH-043", "message came too early";
}
