//! Labels: everything that many devices share and that an audience asks for, with a bitmap of its devices.
//!
//! Tags, lists, platforms, app versions, languages, countries, time zones and quiet hours are all of this kind, and differ in
//! how many a device may have: any number of tags, at most one of each other kind.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};

use compact_str::CompactString;
use roaring::RoaringBitmap;
use stadium_state_machine::encoding::{Reader, text};
use stadium_table::{Damaged, Entry, Paged};

use crate::dictionary::{Dictionary, HashedContent};
use crate::{AppVersion, Country, Language, Platform, Tag, ZoneName};

/// What a label is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Platform = 0,
    Version = 1,
    Language = 2,
    Country = 3,
    Zone = 4,
    Quiet = 5,
    Tag = 6,
}

impl Kind {
    /// Kinds of which a device has one at most: the first ones.
    pub(crate) const FIELDS: usize = 6;
    const ALL: [Kind; Self::FIELDS + 1] =
        [Kind::Platform, Kind::Version, Kind::Language, Kind::Country, Kind::Zone, Kind::Quiet, Kind::Tag];

    pub(crate) fn of_field(field: usize) -> Kind {
        Self::ALL[field]
    }
}

#[derive(PartialEq)]
pub(crate) struct Label {
    pub(crate) kind: Kind,
    /// Of a tag.
    pub(crate) group: CompactString,
    pub(crate) text: CompactString,
}

impl Entry for Label {
    fn vacant() -> Self {
        Label { kind: Kind::Tag, group: CompactString::const_new(""), text: CompactString::const_new("") }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.kind as u8);
        if self.kind == Kind::Tag {
            text(out, &self.group);
        }
        text(out, &self.text);
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        let mut reader = Reader::new(input);
        let label = Self::read(&mut reader).ok_or(Damaged("a label is none"))?;
        *input = &input[reader.position()..];
        Ok(label)
    }
}

impl Label {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let kind = *Kind::ALL.get(usize::from(reader.byte().ok()?))?;
        let group = if kind == Kind::Tag { reader.text().ok()? } else { "" };
        let text = reader.text().ok()?;
        let fits = match kind {
            Kind::Tag => Tag::new(group, text).is_ok(),
            Kind::Platform => Platform::new(text).is_ok(),
            Kind::Version => AppVersion::new(text).is_ok(),
            Kind::Language => Language::new(text).is_ok_and(|usual| usual.as_str() == text),
            Kind::Country => Country::new(text).is_ok_and(|usual| usual.as_str() == text),
            Kind::Zone => ZoneName::recorded(text).is_ok(),
            Kind::Quiet => crate::quiet::parse(text).is_some(),
        };
        fits.then(|| Label { kind, group: group.into(), text: text.into() })
    }
}

fn hash_of(state: &foldhash::fast::FixedState, kind: Kind, group: &str, text: &str) -> u64 {
    let mut hasher = state.build_hasher();
    hasher.write_u8(kind as u8);
    group.hash(&mut hasher);
    text.hash(&mut hasher);
    hasher.finish()
}

impl HashedContent for Label {
    fn hash(&self, state: &foldhash::fast::FixedState) -> u64 {
        hash_of(state, self.kind, &self.group, &self.text)
    }
}

pub(crate) struct Labels {
    pub(crate) dictionary: Dictionary<Label>,
    /// Rebuilt: the devices of each.
    devices: Paged<RoaringBitmap>,
    /// Rebuilt: the labels of each kind.
    kinds: [RoaringBitmap; Kind::FIELDS + 1],
    /// Rebuilt: all labels on all devices.
    pub(crate) memberships: u64,
}

impl Labels {
    pub(crate) fn new(hash_seed: u64) -> Self {
        Self {
            dictionary: Dictionary::new(hash_seed),
            devices: Paged::new(),
            kinds: Default::default(),
            memberships: 0,
        }
    }

    pub(crate) fn find(&self, kind: Kind, group: &str, text: &str) -> Option<u32> {
        let hash = hash_of(self.dictionary.state(), kind, group, text);
        self.dictionary.find(hash, |label| label.kind == kind && label.text == text && label.group == group)
    }

    pub(crate) fn find_tag(&self, tag: &Tag) -> Option<u32> {
        self.find(Kind::Tag, tag.group(), tag.name.as_str())
    }

    /// The label's number; one that is new has no device as yet, and must get one.
    pub(crate) fn intern(&mut self, kind: Kind, group: &str, text: &str) -> u32 {
        if let Some(number) = self.find(kind, group, text) {
            return number;
        }
        let number = self.dictionary.add(Label { kind, group: group.into(), text: text.into() });
        self.made(number, kind);
        number
    }

    fn made(&mut self, number: u32, kind: Kind) {
        self.devices.reach(number);
        self.kinds[kind as usize].insert(number);
    }

    pub(crate) fn join(&mut self, number: u32, slot: u32) {
        self.devices[number].insert(slot);
        self.dictionary.used(number);
        self.memberships += 1;
    }

    pub(crate) fn leave(&mut self, number: u32, slot: u32) {
        self.devices[number].remove(slot);
        self.memberships -= 1;
        let kind = self.dictionary.at(number).kind;
        if self.dictionary.unused(number) {
            self.devices[number] = RoaringBitmap::new();
            self.kinds[kind as usize].remove(number);
        }
    }

    pub(crate) fn at(&self, number: u32) -> &Label {
        self.dictionary.at(number)
    }

    pub(crate) fn text(&self, number: u32) -> &str {
        &self.dictionary.at(number).text
    }

    pub(crate) fn tag(&self, number: u32) -> Tag {
        let label = self.dictionary.at(number);
        Tag::new(&label.group, &label.text).expect("it was one when it was made")
    }

    pub(crate) fn is_list(&self, number: u32) -> bool {
        self.dictionary.at(number).group == Tag::LIST
    }

    pub(crate) fn devices(&self, number: u32) -> &RoaringBitmap {
        &self.devices[number]
    }

    /// How many of a kind there are.
    pub(crate) fn count(&self, kind: Kind) -> u64 {
        self.kinds[kind as usize].len()
    }

    /// The labels of a kind, in the order of their numbers.
    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (u32, &str, &RoaringBitmap)> {
        self.kinds[kind as usize].iter().map(|number| (number, self.text(number), &self.devices[number]))
    }

    /// After a restore: as after so many calls of `made`. False where two labels are the same.
    pub(crate) fn rebuild(&mut self) -> bool {
        let labels: Vec<_> =
            self.dictionary.table.iter().map(|(number, label)| (number, label.kind)).collect();
        labels.into_iter().for_each(|(number, kind)| self.made(number, kind));
        self.dictionary.rebuild()
    }

    /// Bytes of memory. A bitmap's are taken to be three for each of its devices, and never more than the bits of all.
    pub(crate) fn bytes(&self, devices: u64) -> usize {
        let labels = self.dictionary.table.len() as u64;
        let bitmaps = (self.memberships * 3).min(labels * (devices / 8 + 64)) + labels * 64;
        self.dictionary.bytes() + self.devices.bytes() + bitmaps as usize
    }
}
