//! Why a call failed: the codes, and what follows from a broker's answer.
//!
//! Both clients report the same failures for the same answers. Every code has a section in
//! docs/reference/errors/kafka.md.

use stadium_journal_log::partition::Failure;

/// Makes a constant of each code, and `CODES`.
macro_rules! codes {
    ($($name:ident = $code:literal, $title:literal;)*) => {
        $(
            #[allow(dead_code, reason = "one client may have no use for it")]
            pub(crate) const $name: &str = $code;
        )*

        /// Every code of this crate, with its title.
        pub const CODES: &[(&str, &str)] = &[$(($code, $title),)*];
    };
}

codes! {
    SETTINGS = "KFK-001", "The settings cannot be used";
    UNREACHABLE = "KFK-002", "No broker answers";
    TLS = "KFK-003", "TLS was refused";
    CREDENTIALS = "KFK-004", "The credentials were refused";
    FORBIDDEN = "KFK-005", "The user may not do this";
    OLD_BROKERS = "KFK-006", "The brokers are too old";
    NO_TOPIC = "KFK-007", "The topic or the partition does not exist";
    WRONG_TOPIC = "KFK-008", "The topic has other settings";
    TOO_LARGE = "KFK-009", "The message is too large";
    UNANSWERED = "KFK-010", "The broker did not answer in time";
    FEW_REPLICAS = "KFK-011", "Too few replicas are in sync";
    NO_LEADER = "KFK-012", "The partition has no leader at the moment";
    TOO_MANY_BYTES = "KFK-013", "Too many calls wait for Kafka";
    DAMAGED = "KFK-014", "A message is damaged";
    TRUNCATED = "KFK-015", "The log was cut";
    REFUSED = "KFK-016", "The broker refused the request";
}

/// A sentence and its code, as every error of this crate reads.
pub(crate) fn with_code(code: &str, what: impl std::fmt::Display) -> String {
    format!("{what} ({code})")
}

/// The facts that are known after a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Verdict {
    /// One of [`CODES`].
    pub(crate) code: &'static str,
    /// See [`Failure::is_temporary`].
    pub(crate) is_temporary: bool,
    /// See [`Failure::is_certain`].
    pub(crate) is_certain: bool,
}

impl Verdict {
    /// It may work later, and nothing was appended.
    pub(crate) const fn later(code: &'static str) -> Self {
        Self { code, is_temporary: true, is_certain: true }
    }

    /// It may work later, and what was to be appended may have been.
    pub(crate) const fn unknown(code: &'static str) -> Self {
        Self { code, is_temporary: true, is_certain: false }
    }

    /// Somebody must mend something, and nothing was appended.
    pub(crate) const fn never(code: &'static str) -> Self {
        Self { code, is_temporary: false, is_certain: true }
    }

    /// The failure, in the broker's or the client's words.
    pub(crate) fn failure(self, what: impl std::fmt::Display) -> Failure {
        let Self { code, is_temporary, is_certain } = self;
        Failure { is_temporary, is_certain, what: with_code(code, what) }
    }
}

/// The verdict on an error code that a broker answered to a request that was sent once.
///
/// A broker checks a produce request before it appends: only those codes leave it open whether the
/// message stands in the log that come after the append, or from no check at all.
pub(crate) fn judge(error_code: i16) -> Verdict {
    match error_code {
        // OFFSET_OUT_OF_RANGE: of a trim, behind the end. Reads have an event for it.
        1 => Verdict::never(REFUSED),
        // CORRUPT_MESSAGE: the checksum of what arrived is wrong.
        2 => Verdict::later(DAMAGED),
        // UNKNOWN_TOPIC_OR_PARTITION: also for a moment, of a broker that does not know it yet.
        3 => Verdict::later(NO_TOPIC),
        // LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH,
        // OFFSET_NOT_AVAILABLE (KIP-207).
        5 | 6 | 74 | 75 | 78 => Verdict::later(NO_LEADER),
        // REQUEST_TIMED_OUT: appended by the leader, and not replicated in time. NETWORK_EXCEPTION.
        7 | 13 => Verdict::unknown(UNANSWERED),
        // BROKER_NOT_AVAILABLE, REPLICA_NOT_AVAILABLE.
        8 | 9 => Verdict::unknown(NO_LEADER),
        // MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE.
        10 | 18 => Verdict::never(TOO_LARGE),
        // NOT_ENOUGH_REPLICAS: before the append. NOT_ENOUGH_REPLICAS_AFTER_APPEND.
        19 => Verdict::later(FEW_REPLICAS),
        20 => Verdict::unknown(FEW_REPLICAS),
        // TOPIC_, GROUP_ and CLUSTER_AUTHORIZATION_FAILED.
        29..=31 => Verdict::never(FORBIDDEN),
        // UNSUPPORTED_SASL_MECHANISM, ILLEGAL_SASL_STATE, SASL_AUTHENTICATION_FAILED.
        33 | 34 | 58 => Verdict::never(CREDENTIALS),
        // UNSUPPORTED_VERSION.
        35 => Verdict::never(OLD_BROKERS),
        // INVALID_TOPIC, INVALID_REQUEST, UNSUPPORTED_FOR_MESSAGE_FORMAT, POLICY_VIOLATION,
        // INVALID_RECORD: refused by a check.
        17 | 42..=44 | 87 => Verdict::never(REFUSED),
        _ => Verdict::unknown(REFUSED),
    }
}

#[cfg(test)]
mod tests {
    use super::{CODES, judge};

    #[test]
    fn every_code_has_its_section_and_every_section_its_code() {
        let page = include_str!("../../../docs/reference/errors/kafka.md");
        let headings: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let codes: Vec<_> = CODES.iter().map(|(code, title)| format!("{code} {title}")).collect();
        assert_eq!(headings, codes);
    }

    #[test]
    fn only_what_a_broker_checks_before_the_append_is_certain() {
        // Error code of the protocol, whether an append may work later, whether it left nothing.
        let rows: &[(i16, bool, bool)] = &[
            (3, true, true),     // UNKNOWN_TOPIC_OR_PARTITION
            (6, true, true),     // NOT_LEADER_OR_FOLLOWER
            (7, true, false),    // REQUEST_TIMED_OUT
            (10, false, true),   // MESSAGE_TOO_LARGE
            (19, true, true),    // NOT_ENOUGH_REPLICAS
            (20, true, false),   // NOT_ENOUGH_REPLICAS_AFTER_APPEND
            (29, false, true),   // TOPIC_AUTHORIZATION_FAILED
            (56, true, false),   // KAFKA_STORAGE_ERROR
            (-1, true, false),   // UNKNOWN_SERVER_ERROR
            (9999, true, false), // of a later Kafka
        ];
        for &(code, is_temporary, is_certain) in rows {
            let verdict = judge(code);
            assert_eq!((verdict.is_temporary, verdict.is_certain), (is_temporary, is_certain), "{code}");
        }
    }
}
