//! A cancellation: the app's home decides what it cancels, the other shards follow.
//!
//! The home names what it decided about: a push that another shard learns of later is another one,
//! whatever the clocks show, and the message that is still on its way to a shard starts nothing
//! there. So a cancellation that the home refuses leaves no trace.

use std::borrow::Cow;

use stadium_registry::AppName;
use stadium_state_machine::Record;

use crate::events::Event;
use crate::execute::unknown;
use crate::platform::{Platform, Spot};
use crate::refusal::{OVER, PUSH_UNKNOWN, rejected};
use crate::{Answer, Command, PushId, Refusal, Time};

/// How an app's home answers a cancellation, and what it sends to the other shards.
#[derive(Debug, Clone, PartialEq)]
pub struct Cancellation {
    /// Whose.
    pub app: AppName,
    /// Which push.
    pub push: PushId,
    /// What came of it at home.
    pub at_home: AtHome,
    /// The number of the home's next message when it decided.
    pub below: u64,
    /// Messages with the push that may still be on their way: to which shard, and which.
    pub messages: Vec<(u16, u64)>,
}

/// What came of a cancellation at the app's home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtHome {
    /// It ended the push.
    Ended,
    /// Nobody is owed it there, or it was cancelled before.
    Over,
    /// The push is not known there.
    Unknown,
}

impl Cancellation {
    /// What the other shards are asked.
    pub fn elsewhere(&self, shards: u16) -> Vec<(u16, Command)> {
        let home = crate::app_home(&self.app, shards);
        let ask = |shard| {
            let message = self.messages.iter().find(|&&(to, _)| to == shard).map(|&(_, number)| number);
            let Cancellation { ref app, push, below, .. } = *self;
            (shard, Command::CancelElsewhere { app: app.clone(), push, below, message })
        };
        (0..shards).filter(|&shard| shard != home).map(ask).collect()
    }
}

impl Platform {
    /// The home decides. Where there is no other shard, that is all.
    pub(crate) fn cancel_at_home(
        &mut self,
        now: Time,
        app: &AppName,
        push: PushId,
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        let number = self.app_number(app)?;
        let at_home = match self.find_id(number, push) {
            None => AtHome::Unknown,
            Some(spot) if self.is_over(spot) => AtHome::Over,
            Some(_) => {
                self.emit(now, record, &Event::Cancelled { app: number, push });
                AtHome::Ended
            }
        };
        if self.place.shards > 1 {
            // The home itself may not know one that is on its way: it goes to one device, or is remembered no more.
            let messages = self.outbox.with_push(app, push);
            let below = self.outbox.next;
            return Ok(Answer::AtHome(Box::new(Cancellation {
                app: app.clone(),
                push,
                at_home,
                below,
                messages,
            })));
        }
        match at_home {
            AtHome::Ended => Ok(Answer::Done),
            AtHome::Over => Err(over(push)),
            AtHome::Unknown => Err(unknown(push)),
        }
    }

    /// Another shard follows the home: it ends what it knows, and does not start what is to come.
    pub(crate) fn cancel_elsewhere(
        &mut self,
        now: Time,
        app: &AppName,
        push: PushId,
        below: u64,
        message: Option<u64>,
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        // An app that is not known here yet is on its way too.
        let number = self.by_name.get(app).copied();
        match number.and_then(|number| Some((number, self.find_id(number, push)?))) {
            Some((_, Spot::Many(place)))
                if self.many(place).message.is_some_and(|message| message >= below) =>
            {
                // The home accepted it after it had decided.
                Err(unknown(push))
            }
            Some((_, spot)) if self.is_over(spot) => Err(over(push)),
            Some((app, _)) => {
                self.emit(now, record, &Event::Cancelled { app, push });
                Ok(Answer::Done)
            }
            None => {
                let Some(message) = message else { return Err(unknown(push)) };
                let home = crate::app_home(app, self.place.shards);
                let taken = self.taken.get(&home);
                if taken.is_some_and(|taken| taken.holds(message) || taken.withdrawn.contains(&message)) {
                    return Err(over(push));
                }
                self.emit(now, record, &Event::Withdrawn { shard: home, message });
                Ok(Answer::Done)
            }
        }
    }

    /// Forgets a push before its time, where it is known and nothing will happen to it any more.
    pub(crate) fn forget_settled(
        &mut self,
        now: Time,
        app: &AppName,
        push: PushId,
        record: &mut Record,
    ) -> Answer {
        let spot = self.by_name.get(app).and_then(|&number| self.find_id(number, push));
        let number = match spot.filter(|&spot| self.is_over(spot)) {
            Some(Spot::Single(place)) => self.singles.at(place).number,
            Some(Spot::Many(place)) if self.many(place).settled => self.many(place).number,
            _ => return Answer::Removed(0),
        };
        self.emit(now, record, &Event::Forgotten { pushes: Cow::Borrowed(&[number]) });
        Answer::Removed(1)
    }

    fn is_over(&self, spot: Spot) -> bool {
        match spot {
            Spot::Single(place) => {
                let single = self.singles.at(place);
                !single.is_scheduled() && !single.outcome.is_open()
            }
            Spot::Many(place) => {
                let many = self.many(place);
                many.settled || many.cancelled_at.is_some()
            }
        }
    }
}

fn over(push: PushId) -> Refusal {
    rejected(OVER, format!("nobody is owed push {push} any more, or it was cancelled already"))
}

/// Done where one shard did it; over where one reports that; else the push is not known. Where a
/// shard could not do it, it is not known whether the push is cancelled: another one did it.
pub(crate) fn merge(answers: Vec<Result<Answer, Refusal>>) -> Result<Answer, Refusal> {
    let (mut is_done, mut over_there, mut not_known) = (false, None, None);
    let mut refused: Option<Refusal> = None;
    for answer in answers {
        match answer {
            Ok(Answer::AtHome(cancellation)) => match cancellation.at_home {
                AtHome::Ended => is_done = true,
                AtHome::Over => over_there = Some(over(cancellation.push)),
                AtHome::Unknown => not_known = Some(unknown(cancellation.push)),
            },
            Ok(Answer::Done) => is_done = true,
            Ok(other) => return Ok(other),
            Err(refusal) if refusal.code() == PUSH_UNKNOWN => not_known = Some(refusal),
            Err(refusal) if refusal.code() == OVER => over_there = Some(refusal),
            Err(refusal) if refused.is_none() || refusal.is_unknown() => refused = Some(refusal),
            Err(_) => {}
        }
    }
    if let Some(refusal) = refused {
        let is_busy = matches!(refusal, Refusal::Busy { .. });
        return Err(if is_done && is_busy { refusal.of_a_part() } else { refusal });
    }
    match over_there.or(not_known) {
        Some(refusal) if !is_done => Err(refusal),
        _ => Ok(Answer::Done),
    }
}
