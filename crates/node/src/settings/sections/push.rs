//! `[push]`: how much the push platform may hold.
//!
//! Rules of one app are its own settings, given over the API; these hold for each shard.

use crate::settings::define::group;

group! {
    /// Bounds of the push platform, for each shard. Beyond one of them a command is answered busy,
    /// or refused as too much, and nothing happens.
    pub struct Push {
        /// Apps.
        apps_max: u32 = 1_000, unit "apps", in 1..=100_000, cost "about 10 KB each, before their first device";
        /// Registered devices of an app.
        devices_max: u32 = 10_000_000, unit "devices", in 1_000..=40_000_000, cost "about 170 bytes of memory each with a handful of tags and attributes";
        /// Tags of a device, static lists included.
        tags_per_device_max: u16 = 100, unit "tags", in 1..=1_000, cost "2 to 4 bytes each, for each device that has them";
        /// Attributes of a device.
        attributes_per_device_max: u16 = 50, unit "attributes", in 1..=500, cost "about 12 bytes each and their texts, for each device that has them";
        /// Devices of a named user.
        devices_per_user_max: u16 = 200, unit "devices", in 1..=65_535, cost "a look at each of them for a selector that names the user";
        /// Bytes of an attribute's text.
        text_bytes_max: u16 = 512, unit "bytes", in 16..=4_096, cost "as much memory for each device that fills it";
        /// Different tags of an app.
        tags_max: u32 = 10_000, unit "tags", in 10..=1_000_000, cost "a bitmap each: 2 bytes for each device that carries it, and at most an eighth of a byte for each that is registered";
        /// Different names of attributes of an app.
        attribute_names_max: u16 = 256, unit "names", in 1..=4_096, cost "a column each: 12 bytes for each device that has it";
        /// Different app versions of an app's devices; and as many platforms, languages and quiet hours each.
        field_values_max: u32 = 4_096, unit "values", in 16..=65_536, cost "a bitmap each, as of tags";
        /// Pushes that are remembered, all apps together. Of those that nobody is owed any more the oldest is forgotten for a new one.
        pushes_max: u32 = 1_000_000, unit "pushes", in 100..=100_000_000, cost "about 300 bytes of memory each, and what `pushes_bytes_max` counts";
        /// Bytes of the contents of pushes and of the times of their deliveries; as above.
        pushes_bytes_max: u64 = 1_073_741_824, unit "bytes", in 1_048_576..=1_099_511_627_776, cost "as much memory";
        /// Saved audiences, and schedules, of each app.
        names_max: u32 = 1_000, unit "names", in 1..=1_000_000, cost "about 500 bytes each";
        /// Largest payload of a push, and of each variant of a notification; it must fit in a segment. Larger ones are rejected.
        payload_bytes_max: u32 = 65_536, unit "bytes", in 256..=1_048_576, cost "memory for each push that is remembered";
    }
    tables {
        /// Where devices are.
        locations: Locations,
    }
}

group! {
    /// Where devices are, taken from a service that follows them, for selectors with a `location`.
    /// docs/audiences.md describes what the service must do.
    pub struct Locations {
        /// The service's name in discovery, such as `geo`. Off takes locations from nobody but the API.
        service: Option<String> = None;
        /// The version of the service whose instances are watched.
        version: String = "1".to_owned();
        /// A move that the service calls minor is written once the device is that far from where it was written last.
        minor_m: u32 = 10, unit "m", in 0..=100_000, cost "locations that are less exact; less costs more records";
        /// How often received locations are written.
        batch_ms: u32 = 200, unit "ms", in 10..=10_000, cost "locations that are older; less costs more records";
        /// Devices whose locations wait to be written. Beyond it the service waits, and keeps the newest of each device.
        waiting_max: u32 = 10_000, unit "devices", in 100..=1_000_000, cost "about 500 bytes of memory each, twice";
    }
}
