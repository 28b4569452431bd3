//! One partition by rskafka: calls go to its tasks, outcomes come back as events.

use std::sync::Arc;

use stadium_journal::Wake;
use stadium_journal_log::Offset;
use stadium_journal_log::partition::{Call, Event, Partition};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::Instant;

use super::lane::Lane;
use super::reader::{self, Read, Step};
use super::shared::{Shared, Threads};
use super::writer::{self, Command};
use crate::failure::{TOO_LARGE, TOO_MANY_BYTES, Verdict};
use crate::outbox::{Item, Outbox};
use crate::settings::MESSAGE_BYTES_MAX;

/// One reader and writer of a partition.
pub(super) struct KafkaPartition {
    shared: Arc<Shared>,
    outbox: Arc<Outbox<Step>>,
    /// Bounded by the node's bytes, and by the calls that the outbox counts.
    commands: UnboundedSender<Command>,
    reads: watch::Sender<Option<Read>>,
    number: u64,
    /// Keeps the tasks going.
    _threads: Arc<Threads>,
}

impl KafkaPartition {
    pub(super) fn open(shared: &Arc<Shared>, shard: u32, threads: &Arc<Threads>) -> Self {
        let outbox = Outbox::new();
        let (commands, given) = unbounded_channel();
        let (reads, wanted) = watch::channel(None);
        let lane = || Arc::new(Lane::new(shared, shard));
        threads.spawn(writer::run(lane(), Arc::clone(&outbox), given));
        threads.spawn(reader::run(lane(), Arc::clone(&outbox), wanted));
        Self { shared: Arc::clone(shared), outbox, commands, reads, number: 0, _threads: Arc::clone(threads) }
    }

    fn command(&self, command: Command) {
        self.commands.send(command).expect("the task lives as long as the partition");
    }

    fn call(&self, call: Call, command: Command) {
        if self.outbox.begin(call) {
            self.command(command);
        }
    }
}

impl Partition for KafkaPartition {
    fn append(&mut self, tag: u64, message: &[u8]) {
        if message.len() > MESSAGE_BYTES_MAX {
            let what = format!("the message has {} bytes, more than {MESSAGE_BYTES_MAX}", message.len());
            return self.outbox.not_appended(tag, Verdict::never(TOO_LARGE).failure(what));
        }
        let length = u32::try_from(message.len()).expect("at most 17 MiB");
        let Ok(bytes) = Arc::clone(&self.shared.bytes).try_acquire_many_owned(length) else {
            let failure = Verdict::later(TOO_MANY_BYTES).failure("too many messages wait for Kafka");
            return self.outbox.not_appended(tag, failure);
        };
        let deadline = Instant::now() + self.shared.settings.append_timeout;
        self.command(Command::Append { tag, message: message.to_vec(), bytes, deadline });
    }

    fn find_ends(&mut self) {
        self.call(Call::FindEnds, Command::FindEnds);
    }

    fn read(&mut self, from: Offset, bytes_max: usize) {
        self.number += 1;
        self.reads.send_replace(Some(Read { number: self.number, from, bytes_max }));
    }

    fn trim(&mut self, below: Offset) {
        self.call(Call::Trim, Command::Trim(below));
    }

    fn next_event(&mut self) -> Option<Event> {
        loop {
            match self.outbox.take()? {
                Item::Event(event) => return Some(event),
                Item::Read(number, step) if number == self.number => {
                    return Some(match step {
                        Step::Message { offset, message } => Event::Message { offset, message },
                        Step::Ended { next } => Event::ReadEnded { next },
                        Step::OutOfRange { start, end } => Event::OutOfRange { start, end },
                        Step::Failed(failure) => Event::Failed { call: Call::Read, failure },
                    });
                }
                Item::Read(..) => {}
            }
        }
    }

    fn on_event(&mut self, wake: Wake) {
        self.outbox.on_event(wake);
    }
}
