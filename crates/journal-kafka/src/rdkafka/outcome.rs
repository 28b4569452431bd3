//! Failures from librdkafka's errors.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rdkafka::ClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use stadium_journal_log::partition::Failure;

use crate::failure::{
    CREDENTIALS, DAMAGED, NO_LEADER, NO_TOPIC, TLS, TOO_LARGE, TOO_MANY_BYTES, TRUNCATED, UNANSWERED,
    UNREACHABLE, Verdict, judge,
};

/// How long a connection's error explains a timeout.
const EXPLAINS_FOR: Duration = Duration::from_secs(30);

/// The context of every client: remembers the last error of a connection.
///
/// librdkafka reports a refused password or certificate there alone. The calls that wait for the
/// connection time out, and quote it.
#[derive(Clone, Default)]
pub(super) struct Words(Arc<Mutex<Option<(Instant, String)>>>);

impl ClientContext for Words {
    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "Kafka client");
        let is_of_connection = matches!(
            error.rdkafka_error_code(),
            Some(
                RDKafkaErrorCode::Authentication
                    | RDKafkaErrorCode::SSL
                    | RDKafkaErrorCode::Resolve
                    | RDKafkaErrorCode::BrokerTransportFailure
            )
        );
        if is_of_connection {
            *self.0.lock() = Some((Instant::now(), reason.to_owned()));
        }
    }
}

impl rdkafka::consumer::ConsumerContext for Words {}

impl Words {
    /// The failure of a call, which adds what a connection said lately where the call waited for it.
    pub(super) fn failure(&self, error: &KafkaError) -> Failure {
        let Some(code) = error.rdkafka_error_code() else {
            return Verdict::unknown(UNREACHABLE).failure(error);
        };
        let verdict = verdict(code);
        let last = match verdict.code {
            UNANSWERED | UNREACHABLE | NO_LEADER => self.0.lock().clone(),
            _ => None,
        };
        match last.filter(|(at, _)| at.elapsed() < EXPLAINS_FOR) {
            Some((_, reason)) => verdict.failure(format_args!("{code}; last error: {reason}")),
            None => verdict.failure(code),
        }
    }
}

/// The verdict on a code of librdkafka: its own below zero, a broker's otherwise.
fn verdict(code: RDKafkaErrorCode) -> Verdict {
    match code {
        RDKafkaErrorCode::QueueFull => Verdict::later(TOO_MANY_BYTES),
        RDKafkaErrorCode::MessageSizeTooLarge => Verdict::never(TOO_LARGE),
        // The message waited for its partition's leader, or is on the wire: librdkafka knows which,
        // and its Rust interface does not tell.
        RDKafkaErrorCode::MessageTimedOut
        | RDKafkaErrorCode::OperationTimedOut
        | RDKafkaErrorCode::TimedOutQueue => Verdict::unknown(UNANSWERED),
        RDKafkaErrorCode::BrokerTransportFailure
        | RDKafkaErrorCode::Resolve
        | RDKafkaErrorCode::AllBrokersDown
        | RDKafkaErrorCode::NodeUpdate => Verdict::unknown(UNREACHABLE),
        RDKafkaErrorCode::PurgeQueue => Verdict::later(UNREACHABLE),
        RDKafkaErrorCode::PurgeInflight => Verdict::unknown(UNREACHABLE),
        RDKafkaErrorCode::Authentication => Verdict::never(CREDENTIALS),
        RDKafkaErrorCode::SSL => Verdict::never(TLS),
        RDKafkaErrorCode::UnknownPartition | RDKafkaErrorCode::UnknownTopic => Verdict::later(NO_TOPIC),
        RDKafkaErrorCode::LeaderNotAvailable => Verdict::later(NO_LEADER),
        RDKafkaErrorCode::BadMessage | RDKafkaErrorCode::BadCompression => {
            Verdict { code: DAMAGED, is_temporary: false, is_certain: false }
        }
        RDKafkaErrorCode::LogTruncation => {
            Verdict { code: TRUNCATED, is_temporary: false, is_certain: false }
        }
        other => judge(i16::try_from(other as i32).unwrap_or(-1)),
    }
}
