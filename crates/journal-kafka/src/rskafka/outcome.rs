//! Failures from rskafka's errors.

use std::error::Error as _;

use rskafka::client::error::{Error, ProtocolError};
use stadium_journal_log::partition::Failure;

use crate::failure::{CREDENTIALS, REFUSED, TLS, UNREACHABLE, Verdict, judge};

/// The failure of a request that was sent once.
pub(super) fn failure(error: &Error) -> Failure {
    verdict(error).failure(words(error))
}

/// Whether the connection is of no more use: it broke, or its broker does not lead the partition.
pub(super) fn breaks(error: &Error) -> bool {
    match root(error) {
        Error::ServerError { protocol_error, .. } => judge(code(*protocol_error)).is_temporary,
        _ => true,
    }
}

/// The error code that a broker answered.
pub(super) fn error_code(error: &Error) -> Option<i16> {
    match root(error) {
        Error::ServerError { protocol_error, .. } => Some(code(*protocol_error)),
        _ => None,
    }
}

/// rskafka reports an error that it might have tried again as the cause of its giving up.
fn root(error: &Error) -> &Error {
    match error {
        Error::RetryFailed(gave_up) => {
            gave_up.source().and_then(|cause| cause.downcast_ref()).unwrap_or(error)
        }
        error => error,
    }
}

fn verdict(error: &Error) -> Verdict {
    if let Some(code) = error_code(error) {
        return judge(code);
    }
    // Refused credentials and certificates are buried in lists of causes, as text.
    let words = words(error);
    if words.contains("Sasl") || words.contains("SASL") {
        return Verdict::never(CREDENTIALS);
    }
    if words.contains("certificate") || words.contains("received fatal alert") {
        return Verdict::never(TLS);
    }
    match root(error) {
        Error::InvalidResponse(_) => Verdict::unknown(REFUSED),
        _ => Verdict::unknown(UNREACHABLE),
    }
}

fn words(error: &Error) -> String {
    root(error).to_string()
}

/// The number of an error in Kafka's protocol, which rskafka keeps to itself.
fn code(error: ProtocolError) -> i16 {
    match error {
        ProtocolError::OffsetOutOfRange => 1,
        ProtocolError::CorruptMessage => 2,
        ProtocolError::UnknownTopicOrPartition => 3,
        ProtocolError::LeaderNotAvailable => 5,
        ProtocolError::NotLeaderOrFollower => 6,
        ProtocolError::RequestTimedOut => 7,
        ProtocolError::BrokerNotAvailable => 8,
        ProtocolError::ReplicaNotAvailable => 9,
        ProtocolError::MessageTooLarge => 10,
        ProtocolError::NetworkException => 13,
        ProtocolError::InvalidTopicException => 17,
        ProtocolError::RecordListTooLarge => 18,
        ProtocolError::NotEnoughReplicas => 19,
        ProtocolError::NotEnoughReplicasAfterAppend => 20,
        ProtocolError::TopicAuthorizationFailed => 29,
        ProtocolError::GroupAuthorizationFailed => 30,
        ProtocolError::ClusterAuthorizationFailed => 31,
        ProtocolError::UnsupportedSaslMechanism => 33,
        ProtocolError::IllegalSaslState => 34,
        ProtocolError::UnsupportedVersion => 35,
        ProtocolError::InvalidRequest => 42,
        ProtocolError::UnsupportedForMessageFormat => 43,
        ProtocolError::PolicyViolation => 44,
        ProtocolError::KafkaStorageError => 56,
        ProtocolError::SaslAuthenticationFailed => 58,
        ProtocolError::FencedLeaderEpoch => 74,
        ProtocolError::UnknownLeaderEpoch => 75,
        ProtocolError::OffsetNotAvailable => 78,
        ProtocolError::InvalidRecord => 87,
        ProtocolError::Unknown(code) => code,
        _ => -1,
    }
}
