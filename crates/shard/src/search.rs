//! A reserve of a spread queue whose shards several nodes serve.
//!
//! Each node is asked in turn, this one first, without waiting: a node looks through all of its
//! shards. Where none has a job, all of them are asked at once and wait; the first job that comes is
//! the answer, and what others give meanwhile is given back. A wait is cut into slices, so that shards
//! that move and nodes that come are asked in the next one.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use stadium_queue::{Answer as QueueAnswer, Command, Milliseconds};
use stadium_state_machine::Refusal;

use crate::answer::Answer;
use crate::core::Search;
use crate::inner::Inner;
use crate::reply_slot::{Answered, One};

/// The longest wait before all nodes are asked anew.
const SLICE: Milliseconds = 5_000;

/// A search that goes on.
pub(crate) struct NodeSearch {
    inner: Arc<Inner>,
    first: u16,
    command: Command,
    until: Instant,
    /// Shards of nodes that are to be asked in turn.
    left: Vec<u16>,
    asked: Vec<One>,
    /// All nodes are asked at once, and wait.
    is_waiting: bool,
    /// Some node answered that it has no job.
    has_answer: bool,
    refusal: Option<Refusal>,
}

impl NodeSearch {
    /// Of a reserve that begins with a shard.
    pub(crate) fn new(inner: &Arc<Inner>, first: u16, command: Command) -> Self {
        let until = Instant::now() + Duration::from_millis(wait_of(&command));
        let mut search = Self {
            inner: Arc::clone(inner),
            first,
            command,
            until,
            left: Vec::new(),
            asked: Vec::new(),
            is_waiting: false,
            has_answer: false,
            refusal: None,
        };
        search.left = search.nodes();
        search.left.reverse();
        search
    }

    /// A shard of each node, this one first.
    fn nodes(&self) -> Vec<u16> {
        let count = self.inner.settings.count;
        let in_turn = (0..count).map(|step| (self.first + step) % count);
        let here = in_turn.into_iter().find(|shard| self.inner.mailboxes[usize::from(*shard)].is_served());
        let others = self.inner.elsewhere.read().as_ref().map_or_else(Vec::new, |there| there.others());
        here.into_iter().chain(others).collect()
    }

    fn ask(&mut self, shard: u16, wait: Milliseconds) {
        let mut command = self.command.clone();
        if let Command::Reserve { wait: asked, .. } = &mut command {
            *asked = wait;
        }
        let search = Search::Then { shards: self.inner.settings.count - 1 };
        match self.inner.ask_queues(shard, command, search) {
            Ok(one) => self.asked.push(one),
            Err(refusal) => self.refusal = Some(refusal),
        }
    }

    /// Asks who is next; false where nobody is left.
    fn ask_next(&mut self) -> bool {
        if let Some(shard) = self.left.pop() {
            self.ask(shard, 0);
            return true;
        }
        let left = self.until.saturating_duration_since(Instant::now());
        let wait = Milliseconds::try_from(left.as_millis()).unwrap_or(SLICE).min(SLICE);
        // A node that refused at once would do so again without a pause.
        if wait == 0 || self.is_waiting && !self.has_answer {
            return false;
        }
        (self.is_waiting, self.has_answer) = (true, false);
        for shard in self.nodes() {
            self.ask(shard, wait);
        }
        !self.asked.is_empty()
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Answered> {
        loop {
            let mut at = 0;
            while at < self.asked.len() {
                match self.asked[at].poll(context) {
                    Poll::Pending => at += 1,
                    Poll::Ready(answer) => {
                        drop(self.asked.swap_remove(at));
                        match answer {
                            Ok(Answer::Queue(QueueAnswer::Reserved(jobs))) if jobs.is_empty() => {
                                self.has_answer = true;
                            }
                            Err(refusal @ (Refusal::Busy { .. } | Refusal::Unknown { .. })) => {
                                self.refusal = Some(refusal);
                            }
                            // Others may have given jobs meanwhile: dropping gives those back.
                            answer => {
                                self.asked.clear();
                                return Poll::Ready(answer);
                            }
                        }
                    }
                }
            }
            if !self.asked.is_empty() {
                return Poll::Pending;
            }
            if !self.ask_next() {
                let nothing = Ok(Answer::Queue(QueueAnswer::Reserved(Vec::new())));
                let refusal = self.refusal.take().filter(|_| !self.has_answer);
                return Poll::Ready(refusal.map_or(nothing, Err));
            }
        }
    }
}

fn wait_of(command: &Command) -> Milliseconds {
    match command {
        Command::Reserve { wait, .. } => *wait,
        _ => 0,
    }
}
