//! How much a registry holds. Each bound keeps what devices send from growing memory without end.

/// Bounds of one app on one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Devices. About 170 bytes each with a handful of tags and attributes.
    pub devices_max: u32,
    /// Tags of a device, lists included.
    pub tags_per_device: u16,
    /// Attributes of a device.
    pub attributes_per_device: u16,
    /// Devices of a named user.
    pub devices_per_user: u16,
    /// Bytes of an attribute's text.
    pub text_bytes_max: u16,
    /// Different tags. Each is a bitmap.
    pub tags_max: u32,
    /// Different names of attributes. Each is a column.
    pub attribute_names_max: u16,
    /// Different app versions; and as many platforms, languages and quiet hours each.
    pub field_values_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            devices_max: 10_000_000,
            tags_per_device: 100,
            attributes_per_device: 50,
            devices_per_user: 200,
            text_bytes_max: 512,
            tags_max: 10_000,
            attribute_names_max: 256,
            field_values_max: 4_096,
        }
    }
}
