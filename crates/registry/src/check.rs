//! Whether changes are within the bounds. Nothing is changed here.
//!
//! A device above a bound that was lowered may stay as it is and become smaller, but not grow.

use crate::labels::Kind;
use crate::packed::Packed;
use crate::refusal::{
    ATTRIBUTE_NAMES_FULL, ATTRIBUTES, CHANGES, DEVICES_FULL, FIELDS_FULL, TAGS, TAGS_FULL, TEXT,
    USER_DEVICES, busy, rejected,
};
use crate::registry::find_name;
use crate::{Changes, DeviceId, Refusal, Registry, Tag, Value};

/// After so long somebody may ask again whether there is room: it comes when devices go.
const RETRY_MS: u64 = 60_000;

/// Things that one call names at most of each kind; more than a device has, so that all of it can be cleared.
const NAMED_MAX: usize = 1_000;

impl Registry {
    /// Whether the changes are within the bounds.
    ///
    /// # Errors
    ///
    /// What is too much.
    pub fn check(&self, device: &DeviceId, changes: &Changes) -> Result<(), Refusal> {
        let slot = self.find(device);
        let known = slot.and_then(|slot| self.packed(slot));
        if known.is_none() && self.all.len() >= u64::from(self.limits.devices_max) {
            let reason = format!(
                "the app has {} devices on this shard, and {device:?} would be one more; remove some or raise \
                 devices_max",
                self.all.len(),
                device = device.as_str()
            );
            return Err(busy(DEVICES_FULL, RETRY_MS, reason));
        }
        self.check_fields(known, changes)?;
        self.check_tags(known, changes)?;
        self.check_attributes(known, changes)
    }

    fn check_fields(&self, known: Option<Packed<'_>>, changes: &Changes) -> Result<(), Refusal> {
        let quiet = changes.quiet_hours.flatten().map(|hours| hours.to_string());
        let fields = [
            (Kind::Platform, "platforms", changes.platform.iter().flatten().next().map(AsRef::as_ref)),
            (Kind::Version, "app versions", changes.app_version.iter().flatten().next().map(AsRef::as_ref)),
            (Kind::Language, "languages", changes.language.iter().flatten().next().map(AsRef::as_ref)),
            (Kind::Country, "countries", changes.country.iter().flatten().next().map(AsRef::as_ref)),
            (Kind::Zone, "time zones", changes.time_zone.iter().flatten().next().map(AsRef::as_ref)),
            (Kind::Quiet, "quiet hours", quiet.as_deref()),
        ];
        for (kind, what, text) in fields {
            let Some(text) = text else { continue };
            if self.is_full_of(kind) && self.labels.find(kind, "", text).is_none() {
                let reason = format!(
                    "{text:?} would be one more than the {} different {what} that the app's devices may have",
                    self.limits.field_values_max
                );
                return Err(busy(FIELDS_FULL, RETRY_MS, reason));
            }
        }
        let Some(Some(user)) = &changes.user else { return Ok(()) };
        let is_theirs = known.is_some_and(|known| known.user() == Some(user.as_str()));
        let mut devices = 0_u32;
        self.slots_of(user.as_str(), |_| devices += 1);
        if !is_theirs && devices >= u32::from(self.limits.devices_per_user) {
            let reason = format!(
                "the named user {:?} has {devices} devices on this shard; {} are allowed",
                user.as_str(),
                self.limits.devices_per_user
            );
            return Err(rejected(USER_DEVICES, reason));
        }
        Ok(())
    }

    fn check_tags(&self, known: Option<Packed<'_>>, changes: &Changes) -> Result<(), Refusal> {
        let (set, removed, added) = (changes.tags_set.as_deref(), &changes.tags_removed, &changes.tags_added);
        if set.is_none() && removed.is_empty() && added.is_empty() {
            return Ok(());
        }
        let max = usize::from(self.limits.tags_per_device);
        too_many_named("tags", set.map_or(0, <[_]>::len).max(removed.len()).max(added.len()))?;
        let mut has: Vec<u32> = known.map_or_else(Vec::new, |known| known.tags().collect());
        let had = has.len();
        let mut fresh: Vec<&Tag> = Vec::new();
        if let Some(set) = set {
            has.retain(|&label| self.labels.is_list(label));
            set.iter().for_each(|tag| self.give(&mut has, &mut fresh, tag));
        }
        for tag in removed {
            match self.labels.find_tag(tag) {
                Some(label) => has.retain(|&other| other != label),
                None => fresh.retain(|&other| other != tag),
            }
        }
        added.iter().for_each(|tag| self.give(&mut has, &mut fresh, tag));
        let tags = has.len() + fresh.len();
        // Where a bound was lowered, a device above it may still lose tags.
        if tags > max && tags > had {
            return Err(rejected(TAGS, format!("the device would have {tags} tags; {max} are allowed")));
        }
        if self.labels.count(Kind::Tag) + fresh.len() as u64 > u64::from(self.limits.tags_max)
            && !fresh.is_empty()
        {
            let reason = format!(
                "{:?} is a tag that no device has, and the app has {} different ones on this shard; {} are allowed",
                fresh[0].to_string(),
                self.labels.count(Kind::Tag),
                self.limits.tags_max
            );
            return Err(busy(TAGS_FULL, RETRY_MS, reason));
        }
        Ok(())
    }

    fn give<'a>(&self, has: &mut Vec<u32>, fresh: &mut Vec<&'a Tag>, tag: &'a Tag) {
        match self.labels.find_tag(tag) {
            Some(label) if !has.contains(&label) => has.push(label),
            None if !fresh.contains(&tag) => fresh.push(tag),
            _ => {}
        }
    }

    fn check_attributes(&self, known: Option<Packed<'_>>, changes: &Changes) -> Result<(), Refusal> {
        if changes.attributes.is_empty() {
            return Ok(());
        }
        too_many_named("attributes", changes.attributes.len())?;
        let mut has: Vec<u32> =
            known.map_or_else(Vec::new, |known| known.attributes().map(|(name, _)| name).collect());
        let had = has.len();
        let mut fresh: Vec<&str> = Vec::new();
        for (name, value) in &changes.attributes {
            match value {
                Some(Value::Text(text)) if text.len() > usize::from(self.limits.text_bytes_max) => {
                    let reason = format!(
                        "the attribute {name} has {} bytes; {} are allowed",
                        text.len(),
                        self.limits.text_bytes_max
                    );
                    return Err(rejected(TEXT, reason));
                }
                Some(Value::Number(number)) if !number.is_finite() => {
                    let reason =
                        format!("the attribute {name} would be {number}, which is not a finite number");
                    return Err(rejected(CHANGES, reason));
                }
                Some(Value::Date(i64::MIN)) => {
                    return Err(rejected(CHANGES, format!("the attribute {name} would be no date")));
                }
                _ => {}
            }
            match (find_name(&self.names, name.as_str()), value) {
                (Some(name), Some(_)) if !has.contains(&name) => has.push(name),
                (Some(name), None) => has.retain(|&other| other != name),
                (None, Some(_)) if !fresh.contains(&name.as_str()) => fresh.push(name.as_str()),
                (None, None) => fresh.retain(|&other| other != name.as_str()),
                _ => {}
            }
        }
        let (attributes, max) = (has.len() + fresh.len(), usize::from(self.limits.attributes_per_device));
        if attributes > max && attributes > had {
            let reason = format!("the device would have {attributes} attributes; {max} are allowed");
            return Err(rejected(ATTRIBUTES, reason));
        }
        let names = self.names.table.len() + fresh.len();
        if names > usize::from(self.limits.attribute_names_max) && !fresh.is_empty() {
            let reason = format!(
                "{:?} is an attribute that no device has, and the app has {} different ones on this shard; {} are \
                 allowed",
                fresh[0],
                names - fresh.len(),
                self.limits.attribute_names_max
            );
            return Err(busy(ATTRIBUTE_NAMES_FULL, RETRY_MS, reason));
        }
        Ok(())
    }
}

fn too_many_named(what: &str, named: usize) -> Result<(), Refusal> {
    if named <= NAMED_MAX {
        return Ok(());
    }
    Err(rejected(CHANGES, format!("the changes name {named} {what}; {NAMED_MAX} are allowed at once")))
}
