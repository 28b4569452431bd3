//! A device as bytes: one small allocation, with numbers where others have the same text.
//!
//! ```text
//! flags │ length, id │ [length, user] │ [latitude, longitude: 4 + 4, [when: 6]] │ [credential: 32] │
//! fields: a bit each │ number of each field │ count, tags: distances │ count, attributes: name and type, value
//! ```
//!
//! Numbers are varints. Bytes that are read here were written here, or were checked by [`check`]
//! when they came from a checkpoint.

use stadium_state_machine::encoding::{Reader, number};

use crate::labels::Kind;
use crate::{DeviceId, Location, UserName};

pub(crate) const OPTED_OUT: u8 = 1;
pub(crate) const REVOKED: u8 = 2;
const USER: u8 = 4;
const LOCATION: u8 = 8;
const CREDENTIAL: u8 = 16;
/// With a location: since when.
const LOCATED: u8 = 32;
const FLAGS: u8 = 63;

/// Bytes of a location.
const SPOT_BYTES: usize = 8;
/// Bytes of the timestamp of a location, in milliseconds since 1970: enough for 8,900 years.
const TIMESTAMP_BYTES: usize = 6;
/// The last timestamp that these hold.
pub(crate) const TIMESTAMP_MAX: u64 = (1 << 48) - 1;

/// No label.
pub(crate) const NONE: u32 = u32::MAX;

/// The value of an attribute, with a text's number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell {
    Text(u32),
    Number(f64),
    Date(i64),
}

const TEXT: u64 = 0;
const WHOLE: u64 = 1;
const FRACTION: u64 = 2;
const DATE: u64 = 3;

/// A device unpacked, to be changed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parts {
    pub(crate) opted_out: bool,
    pub(crate) revoked: bool,
    pub(crate) user: Option<UserName>,
    pub(crate) location: Option<Location>,
    /// Of a location: since when, in milliseconds since 1970.
    pub(crate) located: Option<u64>,
    pub(crate) credential: Option<[u8; 32]>,
    /// The label of each field, or [`NONE`].
    pub(crate) fields: [u32; Kind::FIELDS],
    /// Labels, ascending.
    pub(crate) tags: Vec<u32>,
    /// Names and values, ascending by name.
    pub(crate) attributes: Vec<(u32, Cell)>,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            opted_out: false,
            revoked: false,
            user: None,
            location: None,
            located: None,
            credential: None,
            fields: [NONE; Kind::FIELDS],
            tags: Vec::new(),
            attributes: Vec::new(),
        }
    }
}

/// A device's bytes, to be read from.
#[derive(Clone, Copy)]
pub(crate) struct Packed<'a> {
    bytes: &'a [u8],
}

/// Seven bits a byte.
#[inline]
fn varint(bytes: &[u8], at: &mut usize) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
        shift += 7;
    }
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn unzigzag(raw: u64) -> i64 {
    (raw >> 1) as i64 ^ -((raw & 1) as i64)
}

impl<'a> Packed<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    fn has(self, flag: u8) -> bool {
        self.bytes[0] & flag != 0
    }

    pub(crate) fn id_bytes(self) -> &'a [u8] {
        &self.bytes[2..2 + usize::from(self.bytes[1])]
    }

    pub(crate) fn id(self) -> &'a str {
        std::str::from_utf8(self.id_bytes()).expect("it was a text when it was packed")
    }

    fn behind_id(self) -> usize {
        2 + usize::from(self.bytes[1])
    }

    pub(crate) fn user(self) -> Option<&'a str> {
        let at = self.behind_id();
        self.has(USER).then(|| {
            let text = &self.bytes[at + 1..][..usize::from(self.bytes[at])];
            std::str::from_utf8(text).expect("it was a text when it was packed")
        })
    }

    fn behind_user(self) -> usize {
        let at = self.behind_id();
        if self.has(USER) { at + 1 + usize::from(self.bytes[at]) } else { at }
    }

    pub(crate) fn location(self) -> Option<Location> {
        let at = self.behind_user();
        let part = |at: usize| {
            i32::from_le_bytes(*self.bytes[at..].first_chunk().expect("a location has eight bytes"))
        };
        self.has(LOCATION).then(|| Location { latitude: part(at), longitude: part(at + 4) })
    }

    /// Since when it is there, where that is known, in milliseconds since 1970.
    pub(crate) fn located(self) -> Option<u64> {
        let at = self.behind_user() + SPOT_BYTES;
        self.has(LOCATED).then(|| read_timestamp(&self.bytes[at..]))
    }

    fn behind_location(self) -> usize {
        self.behind_user()
            + if self.has(LOCATION) { SPOT_BYTES } else { 0 }
            + if self.has(LOCATED) { TIMESTAMP_BYTES } else { 0 }
    }

    /// The place of a location and its timestamp, where there are both: they are changed in place.
    pub(crate) fn place_of_sighting(self) -> Option<usize> {
        self.has(LOCATED).then(|| self.behind_user())
    }

    pub(crate) fn credential(self) -> Option<&'a [u8; 32]> {
        let at = self.behind_location();
        self.has(CREDENTIAL).then(|| self.bytes[at..].first_chunk().expect("a credential has 32 bytes"))
    }

    fn at_fields(self) -> usize {
        self.behind_location() + if self.has(CREDENTIAL) { 32 } else { 0 }
    }

    /// The label of a field.
    pub(crate) fn field(self, kind: Kind) -> Option<u32> {
        let mut at = self.at_fields() + 1;
        let mask = self.bytes[at - 1];
        let bit = 1 << kind as u8;
        if mask & bit == 0 {
            return None;
        }
        for _ in 0..(mask & (bit - 1)).count_ones() {
            varint(self.bytes, &mut at);
        }
        Some(varint(self.bytes, &mut at) as u32)
    }

    fn at_tags(self) -> usize {
        let mut at = self.at_fields() + 1;
        for _ in 0..self.bytes[at - 1].count_ones() {
            varint(self.bytes, &mut at);
        }
        at
    }

    /// Labels, ascending.
    pub(crate) fn tags(self) -> impl Iterator<Item = u32> + 'a {
        let mut at = self.at_tags();
        let count = varint(self.bytes, &mut at);
        let mut label = 0;
        (0..count).map(move |_| {
            label += varint(self.bytes, &mut at) as u32;
            label
        })
    }

    /// Names and values, ascending by name.
    pub(crate) fn attributes(self) -> impl Iterator<Item = (u32, Cell)> + 'a {
        let mut at = self.at_tags();
        for _ in 0..varint(self.bytes, &mut at) {
            varint(self.bytes, &mut at);
        }
        let count = varint(self.bytes, &mut at);
        (0..count).map(move |_| {
            let key = varint(self.bytes, &mut at);
            let cell = match key & 3 {
                TEXT => Cell::Text(varint(self.bytes, &mut at) as u32),
                WHOLE => Cell::Number(unzigzag(varint(self.bytes, &mut at)) as f64),
                DATE => Cell::Date(unzigzag(varint(self.bytes, &mut at))),
                _ => {
                    let bits = self.bytes[at..].first_chunk().expect("a fraction has eight bytes");
                    at += 8;
                    Cell::Number(f64::from_le_bytes(*bits))
                }
            };
            ((key >> 2) as u32, cell)
        })
    }

    pub(crate) fn attribute(self, name: u32) -> Option<Cell> {
        self.attributes().find_map(|(other, cell)| (other == name).then_some(cell))
    }

    pub(crate) fn opted_out(self) -> bool {
        self.has(OPTED_OUT)
    }

    pub(crate) fn revoked(self) -> bool {
        self.has(REVOKED)
    }

    pub(crate) fn unpack(self) -> Parts {
        let mut fields = [NONE; Kind::FIELDS];
        for (field, label) in fields.iter_mut().enumerate() {
            *label = self.field(Kind::of_field(field)).unwrap_or(NONE);
        }
        Parts {
            opted_out: self.opted_out(),
            revoked: self.revoked(),
            user: self.user().map(|user| UserName::new(user).expect("it was one when it was packed")),
            location: self.location(),
            located: self.located(),
            credential: self.credential().copied(),
            fields,
            tags: self.tags().collect(),
            attributes: self.attributes().collect(),
        }
    }
}

impl Parts {
    /// Appends the device's bytes.
    pub(crate) fn pack(&self, id: &str, out: &mut Vec<u8>) {
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        out.push(
            flag(self.opted_out, OPTED_OUT)
                | flag(self.revoked, REVOKED)
                | flag(self.user.is_some(), USER)
                | flag(self.location.is_some(), LOCATION)
                | flag(self.location.is_some() && self.located.is_some(), LOCATED)
                | flag(self.credential.is_some(), CREDENTIAL),
        );
        out.push(u8::try_from(id.len()).expect("an id has 128 bytes at most"));
        out.extend_from_slice(id.as_bytes());
        if let Some(user) = &self.user {
            out.push(u8::try_from(user.as_str().len()).expect("a user's name has 128 bytes at most"));
            out.extend_from_slice(user.as_str().as_bytes());
        }
        if let Some(location) = self.location {
            out.extend_from_slice(&spot_bytes(location));
            if let Some(located) = self.located {
                out.extend_from_slice(&timestamp_bytes(located));
            }
        }
        if let Some(credential) = &self.credential {
            out.extend_from_slice(credential);
        }
        let at_mask = out.len();
        out.push(0);
        for (field, &label) in self.fields.iter().enumerate() {
            if label != NONE {
                out[at_mask] |= 1 << field;
                number(out, u64::from(label));
            }
        }
        number(out, self.tags.len() as u64);
        let mut before = 0;
        for &label in &self.tags {
            number(out, u64::from(label - before));
            before = label;
        }
        number(out, self.attributes.len() as u64);
        for &(name, cell) in &self.attributes {
            let mut key = |kind| number(out, u64::from(name) << 2 | kind);
            match cell {
                Cell::Text(text) => {
                    key(TEXT);
                    number(out, u64::from(text));
                }
                Cell::Number(value) if is_short(value) => {
                    key(WHOLE);
                    number(out, zigzag(value as i64));
                }
                Cell::Number(value) => {
                    key(FRACTION);
                    out.extend_from_slice(&value.to_le_bytes());
                }
                Cell::Date(at) => {
                    key(DATE);
                    number(out, zigzag(at));
                }
            }
        }
    }
}

fn spot_bytes(location: Location) -> [u8; SPOT_BYTES] {
    let mut bytes = [0; SPOT_BYTES];
    bytes[..4].copy_from_slice(&location.latitude.to_le_bytes());
    bytes[4..].copy_from_slice(&location.longitude.to_le_bytes());
    bytes
}

fn timestamp_bytes(at: u64) -> [u8; TIMESTAMP_BYTES] {
    let bytes = at.min(TIMESTAMP_MAX).to_le_bytes();
    *bytes.first_chunk().expect("six of eight bytes")
}

fn read_timestamp(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..TIMESTAMP_BYTES].copy_from_slice(&bytes[..TIMESTAMP_BYTES]);
    u64::from_le_bytes(all)
}

/// Changes a device's location in place, see [`Packed::place_of_sighting`].
pub(crate) fn write_sighting(bytes: &mut [u8], at: usize, location: Location, located: u64) {
    bytes[at..at + SPOT_BYTES].copy_from_slice(&spot_bytes(location));
    bytes[at + SPOT_BYTES..][..TIMESTAMP_BYTES].copy_from_slice(&timestamp_bytes(located));
}

/// Whether a number is whole, and shorter as such.
fn is_short(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0
}

/// Whether bytes of a checkpoint are a device's, as they would be packed here, with labels, names and texts that `knows` knows.
pub(crate) fn check(bytes: &[u8], knows: &impl Knows) -> Option<()> {
    let input = &mut Reader::new(bytes);
    let flags = input.byte().ok()?;
    if flags & !FLAGS != 0 {
        return None;
    }
    let short_text = |input: &mut Reader<'_>| {
        let bytes = input.byte().ok()?;
        std::str::from_utf8(input.take(usize::from(bytes)).ok()?).ok().map(str::to_owned)
    };
    DeviceId::new(&short_text(input)?).ok()?;
    if flags & USER != 0 {
        UserName::new(&short_text(input)?).ok()?;
    }
    if flags & LOCATION != 0 {
        let (latitude, longitude) =
            (i32::from_le_bytes(input.array().ok()?), i32::from_le_bytes(input.array().ok()?));
        Location { latitude, longitude }.is_on_earth().then_some(())?;
    }
    if flags & LOCATED != 0 {
        (flags & LOCATION != 0).then_some(())?;
        input.take(TIMESTAMP_BYTES).ok()?;
    }
    if flags & CREDENTIAL != 0 {
        input.take(32).ok()?;
    }
    let mask = input.byte().ok()?;
    for field in 0..u8::BITS as usize {
        if mask & 1 << field != 0 {
            let label = input.small().ok()?;
            (field < Kind::FIELDS && knows.label(label) == Some(Kind::of_field(field))).then_some(())?;
        }
    }
    let mut label = 0_u32;
    for tag in 0..input.number().ok()? {
        let distance = input.small().ok()?;
        (tag == 0 || distance > 0).then_some(())?;
        label = label.checked_add(distance)?;
        (knows.label(label) == Some(Kind::Tag)).then_some(())?;
    }
    let mut behind = 0;
    for _ in 0..input.number().ok()? {
        let key = input.number().ok()?;
        let name = u32::try_from(key >> 2).ok()?;
        (name >= behind && knows.name(name)).then_some(())?;
        behind = name.checked_add(1)?;
        let fits = match key & 3 {
            TEXT => knows.text(input.small().ok()?),
            WHOLE => is_short(unzigzag(input.number().ok()?) as f64),
            DATE => unzigzag(input.number().ok()?) != i64::MIN,
            _ => {
                let value = f64::from_le_bytes(input.array().ok()?);
                value.is_finite() && !is_short(value)
            }
        };
        fits.then_some(())?;
    }
    input.is_empty().then_some(())
}

/// What the bytes of a device may name.
pub(crate) trait Knows {
    fn label(&self, label: u32) -> Option<Kind>;
    fn name(&self, name: u32) -> bool;
    fn text(&self, text: u32) -> bool;
}
