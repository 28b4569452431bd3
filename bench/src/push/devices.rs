//! The devices that are registered: each with five tags and three attributes that follow from its number.
//!
//! A tag is on a half, a quarter, a tenth, a hundredth or a thousandth of all devices, which lie
//! scattered; so the client knows by itself how many an audience must have.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Value, json};

/// Devices at most: their numbers have nine digits.
pub(super) const NAMED_MAX: i64 = 100_000_000;
/// A device has one of so many tags of each kind.
const KINDS: [(&str, u64); 5] =
    [("half", 2), ("quarter", 4), ("tenth", 10), ("hundredth", 100), ("thousandth", 1_000)];
/// Different first names.
const NAMES: u64 = 5_000;

/// A device's id, 16 bytes.
pub(super) fn id(device: u32) -> String {
    format!("device-{device:09}")
}

/// Numbers that look drawn, and are the same in each run (SplitMix64).
fn drawn(device: u32, place: u64) -> u64 {
    let mut mixed = (u64::from(device) << 8 | place).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Which tag of each kind a device has.
fn tags(device: u32) -> [u16; 5] {
    let mut tags = [0; 5];
    for (kind, tag) in tags.iter_mut().enumerate() {
        let of = KINDS[kind].1;
        *tag = u16::try_from(drawn(device, kind as u64) % of).expect("a thousand at most");
    }
    tags
}

/// The body that registers these devices.
pub(super) fn registration(devices: Range<u32>) -> String {
    let mut body = String::from("{\"devices\":[");
    for device in devices {
        let [half, quarter, tenth, hundredth, thousandth] = tags(device);
        let (name, score, since) =
            (drawn(device, 5) % NAMES, drawn(device, 6) % 100_000, drawn(device, 7) % 3_000);
        let (year, month, day) = (2_015 + since % 10, 1 + since / 10 % 12, 1 + since / 120 % 28);
        let _ = write!(
            body,
            "{{\"device\":\"{}\",\"tags\":[\"half-{half}\",\"quarter-{quarter}\",\"tenth-{tenth}\",\
             \"hundredth-{hundredth}\",\"thousandth-{thousandth}\"],\"attributes\":{{\"first_name\":\"name-{name}\",\
             \"score\":{score},\"member_since\":{{\"date\":\"{year}-{month:02}-{day:02}T00:00:00Z\"}}}}}},",
            id(device)
        );
    }
    if body.ends_with(',') {
        body.pop();
    }
    body.push_str("]}");
    body
}

/// An audience over five tags: (half and quarter and not hundredth) or (tenth and not thousandth).
#[derive(Clone, Copy)]
pub(super) struct Audience {
    /// Which hundredth and which thousandth it keeps out.
    pub(super) variant: u16,
}

impl Audience {
    /// Different ones.
    pub(super) const VARIANTS: u16 = 20;

    /// As the API expects it.
    pub(super) fn selector(self) -> Value {
        let tag = |kind: &str, tag: u16| json!({ "tag": format!("{kind}-{tag}") });
        let without = |clause: Value| json!({ "not": clause });
        json!({ "or": [
            { "and": [tag("half", 0), tag("quarter", 1), without(tag("hundredth", self.variant))] },
            { "and": [tag("tenth", 3), without(tag("thousandth", self.variant))] },
        ] })
    }

    fn has(self, tags: [u16; 5]) -> bool {
        let [half, quarter, tenth, hundredth, thousandth] = tags;
        (half == 0 && quarter == 1 && hundredth != self.variant) || (tenth == 3 && thousandth != self.variant)
    }

    /// How many of the first so many devices each variant has.
    pub(super) fn expected(devices: u32) -> Vec<u64> {
        let mut counts = vec![0; usize::from(Self::VARIANTS)];
        for device in 0..devices {
            let tags = tags(device);
            for (count, variant) in counts.iter_mut().zip(0..) {
                *count += u64::from(Self { variant }.has(tags));
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{Audience, id, registration};

    #[test]
    fn a_registration_is_json_with_five_tags_and_three_attributes_each() {
        let body: Value = serde_json::from_str(&registration(7..9)).expect("JSON");
        let devices = body["devices"].as_array().expect("a list");
        assert_eq!(devices.len(), 2);
        for (device, number) in devices.iter().zip(7..) {
            assert_eq!(device["device"], id(number));
            assert_eq!(device["tags"].as_array().map(Vec::len), Some(5));
            assert_eq!(device["attributes"].as_object().map(serde_json::Map::len), Some(3));
        }
    }

    #[test]
    fn an_audience_has_about_the_share_of_its_tags() {
        // 1/8 of 99/100, or 1/10 of 999/1000: one in five.
        let devices = 100_000;
        for count in Audience::expected(devices) {
            let share = count as f64 / f64::from(devices);
            assert!((0.19..0.24).contains(&share), "{share}");
        }
    }
}
