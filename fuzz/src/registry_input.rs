//! Fuzz bodies: any text as a selector, any bytes as a selector or as changes of an event. An
//! accepted input must be the same when it is written again, and must leave a registry that works;
//! everything else is refused. Nothing panics.
//!
//! Ordinary functions, so that the stable test `fuzz` of crates/registry runs them as well.

use stadium_registry::{Changes, DeviceId, Limits, Registry, Selector, Slot, Time};

pub const NOW: Time = Time(1_800_000_000_000);

fn id(number: usize) -> DeviceId {
    DeviceId::new(&format!("d{number}")).expect("an id")
}

/// A registry with something in each table, and a slot that is free.
pub fn some_registry(changes: &[Changes]) -> Registry {
    let mut registry = Registry::new(Limits::default(), 1);
    for (number, changes) in changes.iter().enumerate() {
        let slot = registry.apply(NOW, &id(number), changes);
        registry.seen(slot, NOW);
    }
    registry.remove(&id(0));
    registry
}

/// Whether the text is a selector. The registry's answers about it must agree.
pub fn selector_text(registry: &Registry, text: &str) -> bool {
    let selector = match Selector::parse_text(text) {
        Ok(selector) => selector,
        Err(mistake) => {
            assert!(!mistake.reason.is_empty());
            return false;
        }
    };
    let again = Selector::parse(&selector.to_json()).expect("what was taken is written so that it is taken");
    assert_eq!(again, selector);
    agrees(registry, &selector);
    true
}

/// Whether the bytes are a selector.
pub fn selector_bytes(registry: &Registry, bytes: &[u8]) -> bool {
    let Ok(selector) = Selector::decode(&mut stadium_registry::Reader::new(bytes)) else { return false };
    let mut again = Vec::new();
    selector.encode(&mut again);
    assert_eq!(Selector::decode(&mut stadium_registry::Reader::new(&again)).as_ref(), Ok(&selector));
    agrees(registry, &selector);
    true
}

fn agrees(registry: &Registry, selector: &Selector) {
    let meant = registry.evaluate(selector, NOW);
    assert_eq!(registry.count(selector, NOW), meant.len());
    let clauses = registry.clauses(selector, NOW);
    let kept_out: u64 = clauses.iter().map(|clause| clause.keeps_out).sum();
    assert_eq!(kept_out + meant.len(), registry.len() as u64);
    for slot in registry.devices() {
        assert_eq!(registry.matches(selector, Slot(slot), NOW), meant.contains(slot));
        assert_eq!(registry.explain(selector, Slot(slot), NOW).is_none(), meant.contains(slot));
    }
}

/// Whether the bytes are changes, which are applied to one of some devices.
pub fn changes_bytes(registry: &mut Registry, bytes: &[u8]) -> bool {
    let Ok(changes) = Changes::decode(&mut stadium_registry::Reader::new(bytes)) else { return false };
    let mut again = Vec::new();
    changes.encode(&mut again);
    assert_eq!(Changes::decode(&mut stadium_registry::Reader::new(&again)).as_ref(), Ok(&changes));
    let device = id(bytes.len() % 7);
    let _ = registry.check(&device, &changes);
    let slot = registry.apply(NOW, &device, &changes);
    registry.device(slot).expect("it is there").to_json();
    true
}

/// A whole checkpoint, in slices.
pub fn saved(registry: &mut Registry) -> Vec<Vec<u8>> {
    registry.checkpoint_begin();
    let mut slices = Vec::new();
    loop {
        let mut slice = Vec::new();
        let more = registry.checkpoint_next(&mut slice, 500);
        slices.push(slice);
        if !more {
            return slices;
        }
    }
}

/// A registry out of a checkpoint.
pub fn restored(slices: &[Vec<u8>]) -> Result<Registry, stadium_registry::Corrupt> {
    let mut registry = Registry::new(Limits::default(), 2);
    slices.iter().try_for_each(|slice| registry.restore(slice))?;
    registry.restore_finish()?;
    Ok(registry)
}

/// Whether these slices are a checkpoint. The devices in it must be found, and can all be removed.
pub fn registry_slices(slices: &[Vec<u8>], selectors: &[Selector]) -> bool {
    let Ok(mut registry) = restored(slices) else { return false };
    for slot in registry.devices().clone() {
        let device = registry.device(Slot(slot)).expect("it is there");
        assert_eq!(registry.find(&device.id), Some(Slot(slot)));
        selectors.iter().for_each(|selector| drop(registry.explain(selector, Slot(slot), NOW)));
    }
    for slot in registry.devices().clone() {
        let id = DeviceId::new(registry.id(Slot(slot)).expect("it is there")).expect("an id");
        registry.remove(&id);
    }
    assert!(registry.is_empty() && registry.tags(None, 10).is_empty());
    true
}

/// Reads `data` as a slice of a checkpoint whose other slices are whole: its first byte selects it.
pub fn registry_checkpoint(data: &[u8]) -> bool {
    let Some((&which, slice)) = data.split_first() else { return false };
    let changes = [Changes::default(), Changes::default(), Changes::default()];
    let mut slices = saved(&mut some_registry(&changes));
    let which = usize::from(which) % slices.len();
    slices[which] = slice.to_vec();
    registry_slices(&slices, &[Selector::All])
}
