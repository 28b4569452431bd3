//! Where jobs and lanes hang: lists by state, lanes in order, rings of lanes.
//!
//! [`Queues::attach`] and [`Queues::detach`] are the only ways in and out; both take constant time. What
//! hangs where is drawn in [`crate::state`].

use crate::entries::{LanePlace, Line, List};
use crate::job::NONE;
use crate::timers::Timer;
use crate::{JobState, QueueName, Queues};

impl Queues {
    fn list(&mut self, job: u32) -> &mut List {
        let (state, lane) = (self.jobs.at(job).state(), self.jobs.at(job).lane);
        if state == JobState::Due {
            return &mut self.lanes.at_mut(lane).ready;
        }
        let queue = self.lanes.at(lane).queue;
        &mut self.queues.at_mut(queue).lists[state as usize]
    }

    fn push_back(&mut self, job: u32) {
        let list = self.list(job);
        list.length += 1;
        let tail = std::mem::replace(&mut list.tail, job);
        if tail == NONE {
            list.head = job;
        } else {
            self.lines[tail].next = job;
        }
        self.lines[job] = Line { next: NONE, previous: tail };
    }

    fn push_front(&mut self, job: u32) {
        let list = self.list(job);
        list.length += 1;
        let head = std::mem::replace(&mut list.head, job);
        if head == NONE {
            list.tail = job;
        } else {
            self.lines[head].previous = job;
        }
        self.lines[job] = Line { next: head, previous: NONE };
    }

    fn unlink(&mut self, job: u32) {
        let line = std::mem::take(&mut self.lines[job]);
        if line.previous != NONE {
            self.lines[line.previous].next = line.next;
        }
        if line.next != NONE {
            self.lines[line.next].previous = line.previous;
        }
        let list = self.list(job);
        list.length -= 1;
        if list.head == job {
            list.head = line.next;
        }
        if list.tail == job {
            list.tail = line.previous;
        }
    }

    /// Hangs a job in where it belongs in a state; it hangs nowhere.
    pub(crate) fn attach(&mut self, job: u32, state: JobState) {
        self.lines.reach(job);
        let now = self.now;
        let (entry, rests) = self.jobs.divided_mut(job);
        entry.become_state(state);
        let (lane, due, retry, rest) = (entry.lane, entry.due(), entry.retry(), entry.rest(rests));
        let extra = rest.extra;
        let keyed = self.lanes.at(lane).key.is_some();
        match state {
            JobState::Delayed => {
                self.push_back(job);
                self.timers.arm(Timer::Job(job), due, now);
            }
            JobState::Due => {
                if retry && keyed {
                    self.push_front(job);
                } else {
                    self.push_back(job);
                }
                let queue = self.lanes.at(lane).queue;
                self.queues.at_mut(queue).due += 1;
            }
            JobState::Reserved => {
                self.push_back(job);
                let until = self.lease_end(rest.lease_until);
                self.timers.arm(Timer::Job(job), until, now);
            }
            JobState::Buried | JobState::Dead => self.push_back(job),
        }
        if keyed && (state == JobState::Reserved || state == JobState::Delayed && retry) {
            self.lanes.at_mut(lane).holder = job;
        }
        if state != JobState::Reserved && extra != NONE {
            // While it was reserved its time may have run out unheeded. Until then its timer is armed.
            let expires = self.extras.at(extra).expires;
            if expires.0 != 0 && expires <= now {
                self.over.push_back(extra);
            }
        }
        if state == JobState::Due || keyed {
            self.settle_lane(lane);
        }
    }

    /// Takes a job from where it hangs.
    pub(crate) fn detach(&mut self, job: u32) {
        self.unlink(job);
        let entry = self.jobs.at(job);
        let (lane, state) = (entry.lane, entry.state());
        match state {
            JobState::Delayed | JobState::Reserved => self.timers.disarm(Timer::Job(job)),
            JobState::Due => {
                let queue = self.lanes.at(lane).queue;
                self.queues.at_mut(queue).due -= 1;
            }
            JobState::Buried | JobState::Dead => {}
        }
        let held = self.lanes.at(lane).holder == job;
        if held {
            self.lanes.at_mut(lane).holder = NONE;
        }
        if held || state == JobState::Due {
            self.settle_lane(lane);
        }
    }

    /// Moves a lane to where it belongs now.
    pub(crate) fn settle_lane(&mut self, place: u32) {
        let lane = self.lanes.at(place);
        let belongs = if lane.ready.head == NONE {
            LanePlace::Out
        } else if lane.holder != NONE || lane.parked {
            LanePlace::Waiting
        } else {
            LanePlace::Ring(self.jobs.at(lane.ready.head).priority())
        };
        if belongs != lane.place {
            self.unhang_lane(place);
            self.hang_lane(place, belongs);
        }
    }

    /// The lane had its turn: the others of its ring come first.
    pub(crate) fn rotate(&mut self, place: u32) {
        let lane = self.lanes.at(place);
        let at = lane.place;
        if let LanePlace::Ring(_) = at
            && lane.line.next != NONE
        {
            self.unhang_lane(place);
            self.hang_lane(place, at);
        }
    }

    fn unhang_lane(&mut self, place: u32) {
        let lane = self.lanes.at_mut(place);
        let (at, queue, line) = (lane.place, lane.queue, std::mem::take(&mut lane.line));
        lane.place = LanePlace::Out;
        let queue = self.queues.at_mut(queue);
        let list = match at {
            LanePlace::Out => return,
            LanePlace::Ring(priority) => &mut queue.rings[usize::from(priority)],
            LanePlace::Waiting => &mut queue.waiting,
        };
        list.length -= 1;
        if list.head == place {
            list.head = line.next;
        }
        if list.tail == place {
            list.tail = line.previous;
        }
        if let LanePlace::Ring(priority) = at
            && list.head == NONE
        {
            queue.ring_mask &= !(1 << priority);
        }
        if line.previous != NONE {
            self.lanes.at_mut(line.previous).line.next = line.next;
        }
        if line.next != NONE {
            self.lanes.at_mut(line.next).line.previous = line.previous;
        }
    }

    fn hang_lane(&mut self, place: u32, at: LanePlace) {
        let queue_place = self.lanes.at(place).queue;
        let queue = self.queues.at_mut(queue_place);
        let list = match at {
            LanePlace::Out => return,
            LanePlace::Ring(priority) => {
                queue.ring_mask |= 1 << priority;
                &mut queue.rings[usize::from(priority)]
            }
            LanePlace::Waiting => &mut queue.waiting,
        };
        list.length += 1;
        let tail = std::mem::replace(&mut list.tail, place);
        if tail == NONE {
            list.head = place;
        }
        if matches!(at, LanePlace::Ring(_)) {
            self.announce(queue_place);
        }
        if tail != NONE {
            self.lanes.at_mut(tail).line.next = place;
        }
        let lane = self.lanes.at_mut(place);
        lane.line = Line { next: NONE, previous: tail };
        lane.place = at;
    }

    /// Something of the queue may be handed out now.
    pub(crate) fn announce(&mut self, place: u32) {
        let queue = self.queues.at_mut(place);
        if !queue.announced && !queue.paused && queue.ring_mask != 0 {
            queue.announced = true;
            self.ready.push(place);
        }
    }

    /// The queues in which something became ready to be handed out since the last call, each once.
    pub fn take_ready(&mut self, into: &mut Vec<QueueName>) {
        for place in self.ready.drain(..) {
            let queue = self.queues.at_mut(place);
            queue.announced = false;
            if !queue.paused && queue.ring_mask != 0 {
                into.push(queue.name.clone());
            }
        }
    }
}
