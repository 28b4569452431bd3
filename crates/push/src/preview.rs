//! Previews: whom an audience reaches now, and whom a push to it would leave out for which reason.
//!
//! A push is previewed by the functions that take its audience apart when it starts, so both agree.
//! Texts that need values cost time for each device; beyond a bound a random sample is evaluated,
//! and the answer states it.

use std::collections::BTreeMap;

use compact_str::ToCompactString;
use roaring::RoaringBitmap;
use stadium_registry::Selector;
use stadium_table::hash_of;

use crate::answer::{MissingValue, Preview};
use crate::app::App;
use crate::outcome::Outcome;
use crate::platform::Platform;
use crate::split::{Split, missing_value};
use crate::{Audience, Content, NewPush, Time, template};

/// Names of missing values in a preview: the most frequent ones. A notification holds few; this bounds one that is made of names.
pub(crate) const MISSING_VALUES_MAX: usize = 20;

/// Makes the sample of a preview another one than the devices that are held out of a push.
const SAMPLE_SEED: u64 = 0x5353_5353_0000_0000;

impl Platform {
    /// Devices of a shard that a preview evaluates one by one, where a push needs values of devices.
    ///
    /// Each takes about half a microsecond of the shard's time, so that a preview holds a shard up for 10 ms. With 20,000 the estimate
    /// of a share is within one per cent of the matched.
    pub const PREVIEW_EVALUATED_MAX: u64 = 20_000;

    /// Whom an audience reaches now, or a push to it.
    pub(crate) fn preview(
        &self,
        now: Time,
        app: &App,
        audience: &Selector,
        sample_max: usize,
        push: Option<&NewPush>,
    ) -> Preview {
        let registry = &app.registry;
        let matched = registry.evaluate(audience, now);
        let quiet_now: RoaringBitmap =
            registry.quiet_groups(now).into_iter().fold(RoaringBitmap::new(), |all, (group, _)| all | group);
        let evaluated = match push {
            Some(push) if needs_values(push) && matched.len() > Self::PREVIEW_EVALUATED_MAX => {
                sample_of(&matched, Self::PREVIEW_EVALUATED_MAX)
            }
            _ => matched.clone(),
        };
        let split = match push {
            None => self.without_push(now, app, evaluated.clone()),
            Some(push) if matches!(push.audience, Audience::Device(_)) => {
                self.one_apart(now, app, push, &evaluated)
            }
            Some(push) => self.split(now, app, push, evaluated.clone()),
        };
        let none = RoaringBitmap::new();
        let left_out = |wanted: Outcome| {
            split.left_out.iter().find(|(outcome, _)| *outcome == wanted).map_or(&none, |(_, slots)| slots)
        };
        let reached = split.waiting.iter().fold(split.owed.clone(), |all, (_, slots)| all | slots);
        // Counts of a sample stand for as many times more devices.
        let of_all = |devices: u64| match evaluated.len() {
            0 => 0,
            evaluated => (u128::from(devices) * u128::from(matched.len()) / u128::from(evaluated)) as u64,
        };
        let count = |outcome: Outcome| of_all(left_out(outcome).len());
        let opted_out = count(Outcome::OptedOut) + count(Outcome::Revoked);
        let (held_out, no_value, capped) =
            (count(Outcome::HeldOut), count(Outcome::NoValue), count(Outcome::Capped));
        let quiet = of_all((&reached | left_out(Outcome::Quiet)).intersection_len(&quiet_now));
        let connected = reached.iter().filter(|slot| app.connections.contains_key(slot)).count() as u64;
        let mut missing: BTreeMap<&str, u64> = BTreeMap::new();
        for slot in left_out(Outcome::NoValue) {
            let name = push.and_then(|push| missing_value(app, &push.content, slot));
            *missing.entry(name.unwrap_or_default()).or_default() += 1;
        }
        let missing = missing
            .into_iter()
            .map(|(name, devices)| MissingValue { name: name.to_compact_string(), devices: of_all(devices) });
        Preview {
            devices: registry.len() as u64,
            matched: matched.len(),
            evaluated: evaluated.len(),
            opted_out,
            held_out,
            no_value,
            missing: missing.collect(),
            quiet,
            capped,
            // The remainder of rounding is reached, so that the counts add up.
            reached: matched.len() - opted_out - held_out - no_value - capped - count(Outcome::Quiet),
            connected: of_all(connected),
            clauses: registry.clauses(audience, now),
            sample: reached.iter().take(sample_max).filter_map(|slot| app.device_id(slot)).collect(),
            took_us: 0,
        }
    }

    /// As [`Platform::split`], of an audience that nothing is pushed to: by what holds for each push of the app.
    fn without_push(&self, now: Time, app: &App, matched: RoaringBitmap) -> Split {
        let wanting = (&matched & app.registry.opted_in()) - app.registry.revoked();
        let capped =
            app.settings.cap.map(|cap| self.had_their_fill(now, app, cap, &wanting)).unwrap_or_default();
        let owed = &wanting - &capped;
        Split {
            left_out: vec![(Outcome::OptedOut, matched - wanting), (Outcome::Capped, capped)],
            owed,
            ..Split::default()
        }
    }

    /// As [`Platform::split`], of a push to one device, which goes to it opted in or not.
    pub(crate) fn one_apart(&self, now: Time, app: &App, push: &NewPush, matched: &RoaringBitmap) -> Split {
        let mut split = Split::default();
        let Some(slot) = matched.min() else { return split };
        match self.outcome_of_one(now, app, slot, push) {
            (Outcome::Owed, _) => split.owed = matched.clone(),
            (Outcome::Waiting, until) => split.waiting.push((until, matched.clone())),
            (outcome, _) => split.left_out.push((outcome, matched.clone())),
        }
        split
    }
}

fn needs_values(push: &NewPush) -> bool {
    matches!(&push.content, Content::Notification(notification) if template::needs_values(notification))
}

/// About so many of these, each as likely as any other; always the same ones of the same.
fn sample_of(matched: &RoaringBitmap, about: u64) -> RoaringBitmap {
    let most = (about << 32) / matched.len().max(1);
    let chosen = |&slot: &u32| hash_of(hash_of(u64::from(slot) ^ SAMPLE_SEED)) >> 32 < most;
    RoaringBitmap::from_sorted_iter(matched.iter().filter(chosen)).unwrap_or_default()
}
