//! How a run ends: all work is done, or a bit of something durable flips.
//!
//! After it the record of the run is compared with the shards' answers.

use stadium_queue::{Answer, Command, JobSet, Key, QueueSettings, Queues};
use stadium_shard::core::{Output, Request, Search};

use super::{Summary, TURNS_MAX, World};
use crate::asker::Asker;
use crate::ledger::{Message, Violation};
use crate::message::Content;

impl World {
    /// Works off everything: each message must be handed out once more, or be gone already.
    pub(super) fn drain(&mut self) -> Result<(), Violation> {
        self.trace.line(&self.clock, || "everything is worked off".into());
        for (name, settings, _) in self.plan.queues.clone() {
            let settings = QueueSettings { limit: None, key_limit: None, ..settings };
            self.submit(Command::Declare { queue: name.clone(), settings }, Vec::new());
            self.submit(Command::Resume { queue: name.clone() }, Vec::new());
            for schedule in ["s0", "s1"] {
                let schedule = Key::new(schedule).expect("a key");
                self.submit(Command::Unschedule { queue: name.clone(), name: schedule }, Vec::new());
            }
        }
        let mut idle_rounds = 0;
        // A key's jobs come one by one, so it takes many rounds.
        for round in 0..1_200 {
            self.quiet()?;
            self.clients.leases.clear();
            for (name, _, _) in self.plan.queues.clone() {
                if round % 8 == 0 {
                    let jobs = JobSet::Oldest(100);
                    self.submit(Command::Kick { queue: name.clone(), jobs }, Vec::new());
                    let jobs = JobSet::Oldest(50);
                    self.submit(Command::Redrive { queue: name.clone(), jobs, to: None }, Vec::new());
                }
                let reserve = Command::Reserve {
                    queue: name,
                    jobs_max: 100,
                    lease: Some(10_000),
                    wait: 0,
                    worker: None,
                };
                self.submit(reserve, Vec::new());
            }
            self.quiet()?;
            let leases = std::mem::take(&mut self.clients.leases);
            let idle = leases.is_empty();
            for some in leases.chunks(500) {
                self.submit(Command::Settle { leases: some.to_vec() }, Vec::new());
            }
            if idle {
                self.look()?;
                idle_rounds += 1;
                if idle_rounds == 4 {
                    // By now everything that went from shard to shard has been sent again several times.
                    self.ledger.all_arrived()?;
                }
                if !self.ledger.messages().iter().any(Message::is_here) {
                    return Ok(());
                }
                // Jobs that are delayed, or held by somebody, come later.
                self.advance(70_000);
            }
        }
        let left = self.ledger.messages().iter().filter(|message| message.is_here());
        let left: Vec<String> = left.map(|message| message.tag.to_string()).collect();
        Violation::new(format!("never handed out and settled: {}", left.join(", ")))
    }

    /// A bit of something durable flips: it must be noticed and named, and never be served.
    pub(super) fn flip(&mut self) -> Result<Summary, Violation> {
        let at = self.random.usize(..self.machines.len());
        let files = self.machines[at].disk.files();
        let segments: Vec<_> = files.into_iter().filter(|(name, _)| name.ends_with(".segment")).collect();
        let (name, length) = segments[self.random.usize(..segments.len())].clone();
        // Most of a segment is empty: where data is likely.
        let content = self.machines[at].disk.content(&name).unwrap_or_default();
        let used = content.iter().rposition(|&byte| byte != 0).unwrap_or(0) as u64 + 1;
        let (byte, bit) = (self.random.u64(..used.min(length)), self.random.u8(..8));
        self.trace.line(&self.clock, || format!("bit {bit} of byte {byte} of {name} of shard {at} flips"));
        self.machines[at].disk.flip_bit(&name, byte, bit);
        // A running shard reads payloads.
        self.serves_nothing_wrong()?;
        for machine in &mut self.machines {
            machine.end();
            machine.disk.kill();
            machine.checkpoints.kill();
        }
        self.flying.clear();
        for other in 0..self.machines.len() {
            match self.machines[other].open(self.clock.now()) {
                Ok(()) => {}
                Err(error) if other == at => {
                    let text = error.to_string();
                    self.trace.line(&self.clock, || format!("refused: {text}"));
                    if !text.contains("position") {
                        return Violation::new(format!(
                            "a flipped bit is refused without its position: {text}"
                        ));
                    }
                    self.summary.flips_noticed += 1;
                    return Ok(self.summary);
                }
                Err(error) => return Violation::new(format!("shard {other} does not open: {error}")),
            }
        }
        self.serves_nothing_wrong()?;
        self.read_histories()?;
        Ok(self.summary)
    }

    /// Every job that is shown was put and is not gone; damaged jobs are refused.
    fn serves_nothing_wrong(&mut self) -> Result<(), Violation> {
        let mut views = Vec::new();
        for (name, _, rules) in self.plan.queues.clone() {
            let peek = Command::Peek { queue: name, state: None, key: None, after: None, jobs_max: 1_000 };
            let machine = &mut self.machines[usize::from(rules.shard)];
            let Some(core) = &mut machine.core else { continue };
            self.next_number += 1;
            core.submit(Request { caller: Asker(self.next_number), command: peek, search: Search::Here });
            for _ in 0..TURNS_MAX {
                let mut output: Output<Asker, Queues> = Output::default();
                let core = machine.core.as_mut().expect("it runs");
                core.turn(self.clock.now(), &mut output);
                machine.work(u32::MAX);
                let reply = output.replies.into_iter().find(|reply| reply.caller.0 == self.next_number);
                if let Some(reply) = reply {
                    match reply.answer {
                        Ok(stadium_shard::Answer::Queue(Answer::Jobs(jobs))) => views.extend(jobs),
                        Err(refusal) => {
                            let text = refusal.to_string();
                            self.trace.line(&self.clock, || format!("refused: {text}"));
                            self.summary.flips_noticed += 1;
                        }
                        Ok(_) => return Violation::new("a peek answers jobs"),
                    }
                    break;
                }
            }
        }
        for view in views {
            // Damaged jobs are shown without their payload.
            if view.payload.is_empty() {
                self.summary.flips_noticed += 1;
                continue;
            }
            match Content::read(&view.payload) {
                Ok(content) if (content.tag.0 as usize) < self.ledger.messages().len() => {}
                Ok(content) => {
                    return Violation::new(format!("job {} is {}, which nobody put", view.job, content.tag));
                }
                Err(wrong) => {
                    return Violation::new(format!(
                        "after a bit flipped job {} is shown with {wrong}",
                        view.job
                    ));
                }
            }
        }
        Ok(())
    }
}
