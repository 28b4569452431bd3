//! Appends: warm producers, each with one connection to each broker.
//!
//! A partition always uses the same one, so its messages keep their order.

use std::sync::Arc;

use rdkafka::ClientContext;
use rdkafka::error::KafkaError;
use rdkafka::message::Message as _;
use rdkafka::producer::{BaseRecord, DeliveryResult, ProducerContext, ThreadedProducer};
use stadium_journal_log::Offset;
use stadium_journal_log::partition::{Event, Failure};

use super::configuration;
use super::outcome::Words;
use super::reading::Step;
use crate::failure::{REFUSED, Verdict};
use crate::outbox::{Item, Outbox};
use crate::settings::{Settings, SettingsError};

/// The producers of a node.
pub(super) struct Producers(Vec<ThreadedProducer<Deliveries>>);

/// Takes librdkafka's reports to the partitions.
#[derive(Clone)]
pub(super) struct Deliveries(Words);

/// Whose append it is.
pub(super) struct Delivery {
    outbox: Arc<Outbox<Step>>,
    tag: u64,
}

impl Producers {
    pub(super) fn open(settings: &Settings, words: &Words) -> Result<Self, SettingsError> {
        let config = configuration::producing(settings);
        let open = |_| config.create_with_context(Deliveries(words.clone()));
        let producers: Result<_, _> = (0..settings.connections).map(open).collect();
        Ok(Self(producers.map_err(|error| configuration::refused(&error))?))
    }

    /// Hands a message over. Its outcome goes to the outbox, unless it is refused here.
    pub(super) fn send(
        &self,
        topic: &str,
        shard: u32,
        outbox: &Arc<Outbox<Step>>,
        tag: u64,
        message: &[u8],
    ) -> Result<(), Failure> {
        let producer = &self.0[shard as usize % self.0.len()];
        let delivery = Box::new(Delivery { outbox: Arc::clone(outbox), tag });
        let partition = i32::try_from(shard).expect("a shard is one of 1,024");
        let record: BaseRecord<'_, (), [u8], _> = BaseRecord::with_opaque_to(topic, delivery);
        let sent = producer.send(record.partition(partition).payload(message));
        sent.map_err(|(error, _)| {
            // Nothing that was refused here was sent.
            Failure { is_certain: true, ..producer_words(producer).failure(&error) }
        })
    }
}

fn producer_words(producer: &ThreadedProducer<Deliveries>) -> &Words {
    use rdkafka::producer::Producer as _;
    &producer.client().context().0
}

impl ClientContext for Deliveries {
    fn error(&self, error: KafkaError, reason: &str) {
        self.0.error(error, reason);
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = Box<Delivery>;

    fn delivery(&self, result: &DeliveryResult<'_>, delivery: Box<Delivery>) {
        let Delivery { outbox, tag } = *delivery;
        let event = match result {
            Ok(message) => match u64::try_from(message.offset()) {
                Ok(offset) => Event::Appended { tag, offset: Offset(offset) },
                Err(_) => {
                    let failure = Verdict::unknown(REFUSED).failure("acknowledged without an offset");
                    Event::NotAppended { tag, failure }
                }
            },
            Err((error, _)) => Event::NotAppended { tag, failure: self.0.failure(error) },
        };
        outbox.put(Item::Event(event));
    }
}
