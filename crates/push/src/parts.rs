//! Which shards a command asks, and how their answers become one.
//!
//! A device lives on the shard of `APP/DEVICE`; an app's own data live on the shard of its name.
//! Nothing here looks at any state.

use stadium_registry::{AppName, ClauseCount, DeviceId};
use stadium_state_machine::{Merge, Place, Route, Routed, all_of, home};

use crate::answer::{Answer, AppView, Located, Preview};
use crate::cancel;
use crate::live::LiveReach;
use crate::merge;
use crate::preview::MISSING_VALUES_MAX;
use crate::{Audience, Command, Platform, PushView, Refusal};

/// A command, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    /// The shards that are asked, and what. In ascending order where it is all.
    pub asked: Vec<(u16, Command)>,
    how: How,
}

/// How answers become one.
#[derive(Debug, Clone, PartialEq)]
enum How {
    /// There is one.
    One,
    /// The one at that place, where all went well.
    Home(usize),
    /// The outcomes of each shard go to these places of the list.
    Changed(Vec<Vec<usize>>),
    /// Numbers are added.
    Removed,
    Located,
    /// The home is asked first, then the others of so many shards.
    Cancelled(u16),
    /// The first that knows it.
    Trace,
    Apps(usize),
    Devices(usize),
    Preview(usize),
    /// Counts are added.
    Live,
    /// The one at that place is the app's home.
    Push(usize),
    Pushes(usize, usize),
    Deliveries(usize),
}

/// The shard of a device.
pub fn device_home(app: &AppName, device: &DeviceId, shards: u16) -> u16 {
    if shards <= 1 {
        return 0;
    }
    let mut name = String::with_capacity(app.as_str().len() + 1 + device.as_str().len());
    name.push_str(app.as_str());
    name.push('/');
    name.push_str(device.as_str());
    home(name.as_bytes(), shards)
}

/// The shard of what belongs to an app as a whole.
pub fn app_home(app: &AppName, shards: u16) -> u16 {
    Place::home(app, shards)
}

impl Command {
    /// Takes it apart for so many shards. [`Command::Progress`] is not: its steps are for the shard whose dispatch they answer,
    /// which only the edge knows; here it names the first.
    pub fn parts(self, shards: u16) -> Parts {
        let one = |shard: u16, command: Command| Parts { asked: vec![(shard, command)], how: How::One };
        let all = |command: Command, how: How| Parts {
            asked: (0..shards.max(1)).map(|shard| (shard, command.clone())).collect(),
            how,
        };
        match self {
            Command::DeclareApp { ref app, .. } => {
                let at = usize::from(app_home(app, shards));
                all(self, How::Home(at))
            }
            Command::DropApp { .. } => all(self, How::Home(0)),
            Command::Apps { apps_max, .. } => all(self, How::Apps(apps_max as usize)),
            Command::Change { app, devices } => change(app, devices, shards),
            Command::Remove { app, devices } => remove(app, devices, shards),
            Command::Locate { app, sightings } => locate(app, sightings, shards),
            Command::Device { ref app, ref device }
            | Command::Authenticate { ref app, ref device, .. }
            | Command::Opened { ref app, ref device, .. }
            | Command::Clicked { ref app, ref device, .. }
            | Command::Inbox { ref app, ref device, .. }
            | Command::Own { ref app, ref device, .. } => one(device_home(app, device, shards), self),
            Command::Trace { ref app, ref device, .. } => {
                // One that has not started is known to the app's home alone.
                let mut asked = vec![device_home(app, device, shards), app_home(app, shards)];
                asked.dedup();
                let asked = asked.into_iter().map(|shard| (shard, self.clone())).collect();
                Parts { asked, how: How::Trace }
            }
            Command::Devices { devices_max, .. } => all(self, How::Devices(devices_max as usize)),
            Command::Preview { sample_max, .. } => all(self, How::Preview(sample_max as usize)),
            Command::SaveAudience { ref app, .. }
            | Command::DropAudience { ref app, .. }
            | Command::Audiences { ref app }
            | Command::PauseSchedule { ref app, .. }
            | Command::Unschedule { ref app, .. }
            | Command::Schedules { ref app } => one(app_home(app, shards), self),
            Command::Schedule { ref schedule } => one(app_home(&schedule.push.app, shards), self),
            Command::Send { ref push } | Command::Check { ref push } | Command::Edit { ref push } => {
                let shard = match &push.audience {
                    Audience::Device(device) => device_home(&push.app, device, shards),
                    Audience::Selector(_) | Audience::Saved(_) => app_home(&push.app, shards),
                };
                one(shard, self)
            }
            Command::SendLive { ref push, .. } => match &push.audience {
                Audience::Device(device) => one(device_home(&push.app, device, shards), self),
                Audience::Selector(_) | Audience::Saved(_) => all(self, How::Live),
            },
            Command::Cancel { .. } if shards <= 1 => one(0, self),
            Command::Cancel { ref app, .. } => {
                Parts { asked: vec![(app_home(app, shards), self)], how: How::Cancelled(shards) }
            }
            // Which shard it is for, only the cancellation knows.
            Command::CancelElsewhere { .. } => one(0, self),
            Command::Forget { .. } => all(self, How::Removed),
            Command::Push { ref app, .. } => {
                let at = usize::from(app_home(app, shards));
                all(self, How::Push(at))
            }
            Command::Pushes { ref app, pushes_max, .. } => {
                let at = usize::from(app_home(app, shards));
                all(self, How::Pushes(pushes_max as usize, at))
            }
            Command::Deliveries { deliveries_max, .. } => all(self, How::Deliveries(deliveries_max as usize)),
            Command::Presence { arrived, left } => presence(arrived, left, shards),
            Command::Progress { .. } => one(0, self),
        }
    }
}

fn change(app: AppName, devices: Vec<(DeviceId, stadium_registry::Changes)>, shards: u16) -> Parts {
    let mut parts: Vec<Vec<(DeviceId, stadium_registry::Changes)>> =
        vec![Vec::new(); usize::from(shards.max(1))];
    let mut places = vec![Vec::new(); usize::from(shards.max(1))];
    for (place, (device, changes)) in devices.into_iter().enumerate() {
        let shard = usize::from(device_home(&app, &device, shards));
        parts[shard].push((device, changes));
        places[shard].push(place);
    }
    // A command without devices goes to one shard, which reports the mistake.
    if parts.iter().all(Vec::is_empty) {
        return Parts { asked: vec![(0, Command::Change { app, devices: Vec::new() })], how: How::One };
    }
    let asked = (0..).zip(parts).filter(|(_, devices)| !devices.is_empty());
    let asked =
        asked.map(|(shard, devices)| (shard, Command::Change { app: app.clone(), devices })).collect();
    places.retain(|places| !places.is_empty());
    Parts { asked, how: How::Changed(places) }
}

fn remove(app: AppName, devices: Vec<DeviceId>, shards: u16) -> Parts {
    let mut parts: Vec<Vec<DeviceId>> = vec![Vec::new(); usize::from(shards.max(1))];
    for device in devices {
        let shard = usize::from(device_home(&app, &device, shards));
        parts[shard].push(device);
    }
    if parts.iter().all(Vec::is_empty) {
        return Parts { asked: vec![(0, Command::Remove { app, devices: Vec::new() })], how: How::One };
    }
    let asked = (0..).zip(parts).filter(|(_, devices)| !devices.is_empty());
    let asked =
        asked.map(|(shard, devices)| (shard, Command::Remove { app: app.clone(), devices })).collect();
    Parts { asked, how: How::Removed }
}

fn locate(app: AppName, sightings: Vec<crate::Sighting>, shards: u16) -> Parts {
    let mut parts: Vec<Vec<crate::Sighting>> = vec![Vec::new(); usize::from(shards.max(1))];
    for sighting in sightings {
        let shard = usize::from(device_home(&app, &sighting.device, shards));
        parts[shard].push(sighting);
    }
    if parts.iter().all(Vec::is_empty) {
        return Parts { asked: vec![(0, Command::Locate { app, sightings: Vec::new() })], how: How::One };
    }
    let asked = (0..).zip(parts).filter(|(_, sightings)| !sightings.is_empty());
    let asked =
        asked.map(|(shard, sightings)| (shard, Command::Locate { app: app.clone(), sightings })).collect();
    Parts { asked, how: How::Located }
}

fn presence(arrived: Vec<crate::Arrival>, left: Vec<crate::Departure>, shards: u16) -> Parts {
    let mut parts = vec![(Vec::new(), Vec::new()); usize::from(shards.max(1))];
    for arrival in arrived {
        let shard = usize::from(device_home(&arrival.app, &arrival.device, shards));
        parts[shard].0.push(arrival);
    }
    for departure in left {
        let shard = usize::from(device_home(&departure.app, &departure.device, shards));
        parts[shard].1.push(departure);
    }
    let asked = (0..).zip(parts).filter(|(_, (arrived, left))| !arrived.is_empty() || !left.is_empty());
    let asked = asked.map(|(shard, (arrived, left))| (shard, Command::Presence { arrived, left })).collect();
    Parts { asked, how: How::Home(0) }
}

impl Routed for Platform {
    type Merge = Parts;

    fn route(command: Command, shards: u16) -> Route<Platform> {
        let mut parts = command.parts(shards);
        if parts.asked.len() == 1 && !matches!(parts.how, How::Cancelled(_)) {
            let (shard, command) = parts.asked.remove(0);
            return Route::One(shard, command);
        }
        Route::Many(std::mem::take(&mut parts.asked), parts)
    }
}

impl Merge<Platform> for Parts {
    fn then(&self, answers: &[Result<Answer, Refusal>]) -> Vec<(u16, Command)> {
        Parts::then(self, answers)
    }

    fn merge(&self, answers: Vec<Result<Answer, Refusal>>) -> Result<Answer, Refusal> {
        Parts::merge(self, answers)
    }
}

impl Parts {
    /// Those that are asked next, once these answers are there: of a cancellation, the shards that follow the app's home. Where there
    /// are any, their answers come behind these, and all are put together.
    pub fn then(&self, answers: &[Result<Answer, Refusal>]) -> Vec<(u16, Command)> {
        match (&self.how, answers) {
            (How::Cancelled(shards), [Ok(Answer::AtHome(cancellation))]) => cancellation.elsewhere(*shards),
            _ => Vec::new(),
        }
    }

    /// Puts the answers together, which come in the order of [`Parts::asked`], then of [`Parts::then`].
    ///
    /// # Errors
    ///
    /// The refusal of one of the shards, where the answers of the others alone would be wrong.
    pub fn merge(&self, answers: Vec<Result<Answer, Refusal>>) -> Result<Answer, Refusal> {
        match &self.how {
            How::One => answers.into_iter().next().unwrap_or(Ok(Answer::Done)),
            How::Home(at) => {
                let mut answers = all_of(answers)?;
                let at = (*at).min(answers.len().saturating_sub(1));
                Ok(if answers.is_empty() { Answer::Done } else { answers.swap_remove(at) })
            }
            How::Changed(places) => {
                let devices = places.iter().map(Vec::len).sum();
                let mut all: Vec<_> = (0..devices).map(|_| Ok(crate::Changed::Updated)).collect();
                for (answer, places) in answers.into_iter().zip(places) {
                    match answer {
                        Ok(Answer::Changed(outcomes)) => {
                            places.iter().zip(outcomes).for_each(|(&place, outcome)| all[place] = outcome);
                        }
                        Ok(other) => return Ok(other),
                        Err(refusal) => places.iter().for_each(|&place| all[place] = Err(refusal.clone())),
                    }
                }
                // Conditions of the whole command are reported for it.
                match all.first() {
                    Some(Err(refusal)) if all.iter().all(|outcome| outcome.as_ref() == Err(refusal)) => {
                        Err(refusal.clone())
                    }
                    _ => Ok(Answer::Changed(all)),
                }
            }
            How::Removed => {
                let mut removed = 0;
                for answer in all_of(answers)? {
                    match answer {
                        Answer::Removed(more) => removed += more,
                        other => return Ok(other),
                    }
                }
                Ok(Answer::Removed(removed))
            }
            How::Located => {
                let mut all = Located::default();
                for answer in all_of(answers)? {
                    match answer {
                        Answer::Located(more) => {
                            all.moved += more.moved;
                            all.unmoved += more.unmoved;
                            all.older += more.older;
                            all.unknown += more.unknown;
                        }
                        other => return Ok(other),
                    }
                }
                Ok(Answer::Located(all))
            }
            How::Cancelled(_) => cancel::merge(answers),
            How::Trace => {
                let mut unknown = None;
                for answer in answers {
                    match answer {
                        Err(refusal) if refusal.code() == crate::refusal::PUSH_UNKNOWN => {
                            unknown = Some(refusal)
                        }
                        other => return other,
                    }
                }
                Err(unknown.expect("at least one shard is asked"))
            }
            How::Apps(at_most) => {
                let mut apps: Vec<AppView> = Vec::new();
                for answer in answers {
                    if let Answer::Apps(more) = answer? {
                        merge::apps(&mut apps, more);
                    }
                }
                apps.truncate(*at_most);
                Ok(Answer::Apps(apps))
            }
            How::Devices(at_most) => {
                let mut devices = Vec::new();
                for answer in answers {
                    if let Answer::Devices(more) = answer? {
                        devices.extend(more);
                    }
                }
                devices.sort_by(|one, other| one.device.id.cmp(&other.device.id));
                devices.truncate(*at_most);
                Ok(Answer::Devices(devices))
            }
            How::Preview(sample_max) => {
                let mut all = Preview::default();
                for answer in answers {
                    if let Answer::Preview(more) = answer? {
                        merge::preview(&mut all, *more);
                    }
                }
                all.sample.sort();
                all.sample.truncate(*sample_max);
                all.missing.sort_by(|one, other| {
                    other.devices.cmp(&one.devices).then_with(|| one.name.cmp(&other.name))
                });
                all.missing.truncate(MISSING_VALUES_MAX);
                Ok(Answer::Preview(Box::new(all)))
            }
            How::Live => {
                let mut all = LiveReach::default();
                for answer in all_of(answers)? {
                    match answer {
                        Answer::Live(more) => all.add(&more),
                        other => return Ok(other),
                    }
                }
                Ok(Answer::Live(Box::new(all)))
            }
            How::Push(home) => {
                let mut views: Vec<Option<PushView>> = Vec::with_capacity(answers.len());
                for answer in answers {
                    match answer? {
                        Answer::Push(view) => views.push(view.map(|view| *view)),
                        other => return Ok(other),
                    }
                }
                Ok(Answer::Push(merge::views(views, *home).map(Box::new)))
            }
            How::Pushes(at_most, home) => {
                let mut pages = Vec::with_capacity(answers.len());
                for answer in answers {
                    if let Answer::Pushes(views) = answer? {
                        pages.push(views);
                    }
                }
                Ok(Answer::Pushes(merge::pages(pages, *home, *at_most)))
            }
            How::Deliveries(at_most) => {
                let mut deliveries = Vec::new();
                let mut refused = None;
                let mut known = false;
                for answer in answers {
                    match answer {
                        Ok(Answer::Deliveries(more)) => {
                            known = true;
                            deliveries.extend(more);
                        }
                        Ok(other) => return Ok(other),
                        Err(refusal) if refusal.code() == crate::refusal::PUSH_UNKNOWN => {
                            refused = Some(refusal)
                        }
                        Err(refusal) => return Err(refusal),
                    }
                }
                match refused {
                    Some(refusal) if !known => Err(refusal),
                    _ => {
                        deliveries.truncate(*at_most);
                        Ok(Answer::Deliveries(deliveries))
                    }
                }
            }
        }
    }
}

/// Counts of the same clause are added.
pub(crate) fn add_clauses(all: &mut Vec<ClauseCount>, more: Vec<ClauseCount>) {
    if all.is_empty() {
        *all = more;
        return;
    }
    for (clause, more) in all.iter_mut().zip(more) {
        clause.matches += more.matches;
        clause.keeps_out += more.keeps_out;
    }
}

#[cfg(test)]
mod tests {
    use stadium_state_machine::{busy, unknown};

    use super::{How, Parts};
    use crate::Answer;

    #[test]
    fn a_refusal_beside_a_part_that_was_done_does_not_claim_that_nothing_happened() {
        for (how, done) in [
            (How::Home(0), Answer::Done),
            (How::Removed, Answer::Removed(1)),
            (How::Cancelled(2), Answer::Done),
        ] {
            let parts = Parts { asked: Vec::new(), how };
            for refusal in [busy("SHARD-001", 1, "full"), unknown("SHARD-015", 1, "a panic")] {
                let code = refusal.code();
                for answers in
                    [[Ok(done.clone()), Err(refusal.clone())], [Err(refusal.clone()), Ok(done.clone())]]
                {
                    let merged = parts.merge(answers.into()).expect_err("a shard did not do it");
                    assert!(merged.is_unknown() && merged.code() == code, "{merged}");
                }
                let none = vec![Err(refusal.clone()), Err(refusal.clone())];
                assert_eq!(parts.merge(none), Err(refusal));
            }
        }
    }
}
