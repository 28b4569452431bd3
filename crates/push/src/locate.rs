//! Devices are seen somewhere: by a service that follows them, in batches.
//!
//! Locations of unregistered devices, and locations older than the stored one, are ignored. The
//! others are one event for a batch.

use std::borrow::Cow;

use roaring::RoaringBitmap;
use stadium_registry::{AppName, Location, Sighted};
use stadium_state_machine::Record;

use crate::answer::Located;
use crate::events::Event;
use crate::execute::check_count;
use crate::platform::Platform;
use crate::{Answer, Refusal, Sighting, Time};

impl Platform {
    /// Takes in where devices of an app were seen.
    pub(crate) fn locate(
        &mut self,
        now: Time,
        app: &AppName,
        sightings: &[Sighting],
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        check_count(sightings.len())?;
        let mut located = Located::default();
        let Some(&number) = self.by_name.get(app) else {
            located.unknown = sightings.len() as u64;
            return Ok(Answer::Located(located));
        };
        let mut spots: Vec<(u32, Time, Location)> = Vec::with_capacity(sightings.len());
        let mut moving = RoaringBitmap::new();
        for Sighting { device, at, location, metres_min } in sightings {
            let Some(slot) = self.apps[&number].registry.find(device) else {
                located.unknown += 1;
                continue;
            };
            if moving.contains(slot.0) {
                // A location of it that came before in this batch counts first.
                self.emit_spots(now, number, &mut spots, record);
                moving.clear();
            }
            match self.apps[&number].registry.sighted(slot, *at, *location, *metres_min) {
                Sighted::Moved => {
                    located.moved += 1;
                    moving.insert(slot.0);
                    spots.push((slot.0, *at, *location));
                }
                Sighted::Unmoved => located.unmoved += 1,
                Sighted::Older => located.older += 1,
            }
        }
        self.emit_spots(now, number, &mut spots, record);
        Ok(Answer::Located(located))
    }

    fn emit_spots(
        &mut self,
        now: Time,
        app: u32,
        spots: &mut Vec<(u32, Time, Location)>,
        record: &mut Record,
    ) {
        if !spots.is_empty() {
            self.emit(now, record, &Event::Located { app, spots: Cow::Borrowed(spots) });
            spots.clear();
        }
    }
}
