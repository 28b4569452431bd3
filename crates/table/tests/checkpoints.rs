//! A checkpoint holds the table as it stood when it began, whatever happens meanwhile.
//!
//! Random changes between random slices, compared with a plain map; and damaged bytes, which are refused.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stadium_table::{Damaged, Divided, Entry, Restored, Table, take};

#[derive(Debug, Clone, PartialEq)]
struct Name(String);

impl Entry for Name {
    fn vacant() -> Self {
        Name(String::new())
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.0.len() as u8);
        out.extend_from_slice(self.0.as_bytes());
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        let [length] = take::<1>(input)?;
        if input.len() < usize::from(length) {
            return Err(Damaged("a name is cut short"));
        }
        let (text, rest) = input.split_at(usize::from(length));
        *input = rest;
        String::from_utf8(text.to_vec()).map(Name).map_err(|_| Damaged("a name is no text"))
    }
}

#[derive(Debug, Clone)]
enum Step {
    Insert(u16),
    Remove(u16),
    Change(u16, u16),
    Begin,
    Abort,
    Slice(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => any::<u16>().prop_map(Step::Insert),
        5 => any::<u16>().prop_map(Step::Remove),
        8 => any::<(u16, u16)>().prop_map(|(at, to)| Step::Change(at, to)),
        1 => Just(Step::Begin),
        1 => (0_u16..20).prop_filter_map("rarely", |n| (n == 0).then_some(Step::Abort)),
        3 => (0_u16..2_000).prop_map(Step::Slice),
    ]
}

fn nth(model: &BTreeMap<u32, Name>, n: u16) -> Option<u32> {
    model.keys().nth(usize::from(n) % model.len().max(1)).copied()
}

/// What the map was when a checkpoint began, and its slices so far.
type Begun = (BTreeMap<u32, Name>, Vec<Vec<u8>>);

/// The table and the map beside it, and the checkpoint that runs.
#[derive(Default)]
struct Pair {
    table: Table<Name>,
    model: BTreeMap<u32, Name>,
    begun: Option<Begun>,
    restored: usize,
}

impl Pair {
    fn filled(entries: u16) -> Self {
        let mut pair = Pair::default();
        (0..entries).for_each(|n| pair.insert(n));
        pair
    }

    fn insert(&mut self, n: u16) {
        let name = Name(format!("n{n}"));
        let index = self.table.insert(name.clone());
        assert_eq!(self.model.insert(index, name), None, "the place was vacant");
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Insert(n) => self.insert(n),
            Step::Remove(n) => {
                if let Some(index) = nth(&self.model, n) {
                    assert_eq!(self.table.remove(index), self.model.remove(&index));
                }
            }
            Step::Change(n, to) => {
                if let Some(index) = nth(&self.model, n) {
                    let name = Name(format!("changed to {to}"));
                    *self.table.entry_mut(index).expect("the model holds it") = name.clone();
                    self.model.insert(index, name);
                }
            }
            Step::Begin => {
                self.table.checkpoint_begin();
                self.begun = Some((self.model.clone(), Vec::new()));
            }
            Step::Abort => {
                self.table.checkpoint_abort();
                self.begun = None;
            }
            Step::Slice(bytes_max) => {
                self.slice(usize::from(bytes_max));
            }
        }
    }

    fn slice(&mut self, bytes_max: usize) -> bool {
        let mut out = Vec::new();
        let more = self.table.checkpoint_next(&mut out, bytes_max);
        let Some((model, mut slices)) = self.begun.take() else {
            assert!(!more && out.is_empty(), "no checkpoint runs");
            return false;
        };
        slices.push(out);
        if more {
            self.begun = Some((model, slices));
        } else {
            self.restored += 1;
            let back = restore(&slices).expect("it was just written");
            assert_eq!(contents(&back), model);
            reuse_every_place(back);
        }
        more
    }
}

fn contents(table: &Table<Name>) -> BTreeMap<u32, Name> {
    table.iter().map(|(index, name)| (index, name.clone())).collect()
}

fn restore(slices: &[Vec<u8>]) -> Result<Table<Name>, Damaged> {
    let mut table = Table::new();
    let mut state = Restored::MoreToCome;
    for slice in slices {
        assert_eq!(state, Restored::MoreToCome, "only the last slice ends it");
        state = table.restore(slice)?;
    }
    if state == Restored::MoreToCome { Err(Damaged("no end")) } else { Ok(table) }
}

/// A restored table gives out each vacant place once, and none that is occupied.
fn reuse_every_place(mut table: Table<Name>) {
    let held = contents(&table);
    let mut seen = held.keys().copied().collect::<std::collections::BTreeSet<_>>();
    for _ in 0..600 {
        assert!(seen.insert(table.insert(Name("new".into()))), "no place is given out twice");
    }
    assert!(held.iter().all(|(&index, name)| table.get(index) == Some(name)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_checkpoint_is_the_state_at_its_beginning(
        entries in 0_u16..1_200,
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let mut pair = Pair::filled(entries);
        pair.take(&Step::Begin);
        for step in &steps {
            pair.take(step);
            prop_assert_eq!(pair.table.len(), pair.model.len());
        }
        if pair.begun.is_none() {
            pair.take(&Step::Begin);
        }
        while pair.slice(500) {}
        prop_assert!(pair.restored >= 1);
        prop_assert_eq!(contents(&pair.table), pair.model);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), page in 0_u32..40) {
        let mut slice = vec![1];
        slice.extend_from_slice(&page.to_le_bytes());
        slice.extend_from_slice(&bytes);
        let _ = Table::<Name>::new().restore(&slice);
    }
}

#[test]
fn a_checkpoint_that_lost_a_slice_is_refused() {
    let mut pair = Pair::filled(1_000);
    pair.table.checkpoint_begin();
    let mut slices = Vec::new();
    loop {
        let mut out = Vec::new();
        let more = pair.table.checkpoint_next(&mut out, 100);
        slices.push(out);
        if !more {
            break;
        }
    }
    assert!(restore(&slices).is_ok());
    for lost in 0..slices.len() {
        let kept: Vec<_> =
            slices.iter().enumerate().filter(|&(n, _)| n != lost).map(|(_, slice)| slice.clone()).collect();
        assert!(restore(&kept).is_err(), "slice {lost} of {} is missing", slices.len());
    }
}

#[test]
fn places_are_reused_before_the_table_grows() {
    let mut pair = Pair::filled(512);
    let bytes = pair.table.bytes();
    for round in 0..1_000 {
        pair.take(&Step::Remove(round * 7));
        pair.take(&Step::Insert(round));
    }
    assert_eq!(pair.table.bytes(), bytes);
    assert_eq!(contents(&pair.table), pair.model);
}

#[test]
fn a_vacant_place_holds_nothing() {
    let mut pair = Pair::filled(3);
    assert_eq!(pair.table.remove(1), Some(Name("n1".into())));
    assert_eq!(pair.table.remove(1), None);
    assert_eq!(pair.table.get(1), None);
    assert!(pair.table.entry_mut(1).is_none());
    assert_eq!(pair.table.get(70_000), None);
    assert_eq!(pair.table.insert(Name("again".into())), 1);
}

/// A slice with one page of one entry.
fn page_of_one(number: u32) -> Vec<u8> {
    let mut slice = vec![1];
    slice.extend_from_slice(&number.to_le_bytes());
    slice.extend_from_slice(&1_u64.to_le_bytes());
    slice.extend_from_slice(&[0; 24]);
    Entry::encode(&Name("n".into()), &mut slice);
    slice
}

#[test]
fn a_page_number_costs_no_memory_by_its_height() {
    for number in [1_u32 << 8, 1 << 16, (1 << 22) - 1] {
        let slice = page_of_one(number);
        let allocated = allocation_counter::measure(|| {
            let mut table = Table::<Name>::new();
            table.restore(&slice).expect("a page may stand alone");
            assert_eq!(table.get(number << 8), Some(&Name("n".into())));
        });
        assert!(allocated.bytes_max < 1 << 20, "page {number} cost {} bytes", allocated.bytes_max);
    }
    assert!(Table::<Name>::new().restore(&page_of_one(1 << 22)).is_err(), "no table has so many pages");
}

/// All but a few entries of a large table go; the rest is restored in its places, the gaps are
/// filled first, and a checkpoint over gaps that are being filled is whole.
#[test]
fn a_sparse_table_comes_back_and_fills_its_gaps() {
    let mut pair = Pair::filled(5_000);
    for index in (0..5_000).filter(|index| ![300, 301, 4_900].contains(index)) {
        assert_eq!(pair.table.remove(index), pair.model.remove(&index));
    }
    pair.table.checkpoint_begin();
    let mut slice = Vec::new();
    assert!(!pair.table.checkpoint_next(&mut slice, usize::MAX));
    pair.table = restore(&[slice]).expect("it was just written");
    assert_eq!(contents(&pair.table), pair.model);
    assert!(pair.table.bytes() < 4 * 256 * size_of::<Name>(), "two pages are there, not twenty");
    pair.take(&Step::Begin);
    (0..2_500).for_each(|n| pair.insert(n));
    assert!(pair.slice(10));
    (0..2_490).for_each(|n| pair.insert(n));
    while pair.slice(1_000) {}
    assert_eq!((pair.restored, contents(&pair.table)), (1, pair.model.clone()));
    assert_eq!(pair.model.keys().last(), Some(&5_119), "gaps are filled before the table grows");
}

/// A number, and a text beside the table where the number is even.
#[derive(Debug)]
struct Note {
    number: u32,
    part: Option<usize>,
}

impl Note {
    fn with_text(number: u32, text: &str, texts: &mut Vec<String>) -> Self {
        if text.is_empty() {
            return Note { number, part: None };
        }
        texts.push(text.to_owned());
        Note { number, part: Some(texts.len() - 1) }
    }

    fn text<'t>(&self, texts: &'t [String]) -> &'t str {
        self.part.map_or("", |part| &texts[part])
    }
}

impl Divided for Note {
    type Beside = Vec<String>;

    fn vacant() -> Self {
        Note { number: 0, part: None }
    }

    fn encode(&self, texts: &Vec<String>, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.number.to_le_bytes());
        Entry::encode(&Name(self.text(texts).to_owned()), out);
    }

    fn decode(input: &mut &[u8], texts: &mut Vec<String>) -> Result<Self, Damaged> {
        let number = u32::from_le_bytes(take(input)?);
        let Name(text) = Entry::decode(input)?;
        Ok(Note::with_text(number, &text, texts))
    }
}

fn texts(table: &Table<Note, Vec<String>>) -> Vec<(u32, u32, String)> {
    table.iter().map(|(index, note)| (index, note.number, note.text(table.beside()).to_owned())).collect()
}

#[test]
fn an_entry_is_saved_with_its_part_as_both_stood_at_the_beginning() {
    let mut table = Table::<Note, _>::new();
    for number in 0..2_000 {
        let index = table.insert(Note::vacant());
        let (note, beside) = table.divided_mut(index);
        let text = if number % 2 == 0 { format!("n{number}") } else { String::new() };
        *note = Note::with_text(number, &text, beside);
    }
    let before = texts(&table);
    table.checkpoint_begin();
    let mut slices = Vec::new();
    for round in 0.. {
        for index in (round % 7..2_000).step_by(7) {
            let (note, beside) = table.divided_mut(index);
            match note.part.take() {
                Some(part) if index % 3 == 0 => beside[part] = "of an entry that is gone".into(),
                Some(part) => {
                    beside[part] = format!("changed in round {round}");
                    note.part = Some(part);
                }
                None => *note = Note::with_text(note.number, "made since", beside),
            }
            if index % 11 == 0 {
                table.remove(index);
                assert_eq!(table.insert(Note { number: 7_000, part: None }), index);
            }
        }
        let mut out = Vec::new();
        let more = table.checkpoint_next(&mut out, 1_000);
        slices.push(out);
        if !more {
            break;
        }
    }
    assert!(slices.len() > 5, "it went on while entries changed");
    let mut back = Table::<Note, _>::new();
    slices.iter().for_each(|slice| assert!(back.restore(slice).is_ok()));
    assert_eq!(texts(&back), before);
}
