//! Retained messages, between the edge's words and those of the HTTP API.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stadium_edge::{LoopAnswers, RetainedList, RetainedMessage};
use stadium_http::fleet::{
    NoRetained, PurgeMode, Purged, Refusal, RetainedPage, RetainedQuery, RetainedReport,
};
use stadium_mqtt::topic::TopicFilter;
use stadium_push::Time;

/// The query in the edge's words.
///
/// # Errors
///
/// The filter is none.
pub(crate) fn query(query: &RetainedQuery) -> Result<stadium_edge::RetainedQuery<'_>, NoRetained> {
    if let Some(filter) = &query.filter {
        TopicFilter::parse(filter).map_err(|error| NoRetained::Filter(error.to_string()))?;
    }
    Ok(stadium_edge::RetainedQuery {
        filter: query.filter.as_deref(),
        owner: query.principal.as_deref(),
        from: query.from.as_deref(),
    })
}

/// A page of the edge in the API's words.
pub(crate) fn page(list: RetainedList) -> RetainedPage {
    RetainedPage { messages: list.messages.into_iter().map(report).collect(), next: list.next }
}

fn report(message: RetainedMessage) -> RetainedReport {
    RetainedReport {
        topic: message.topic,
        principal: message.principal.as_deref().map(str::to_owned),
        payload_bytes: message.payload_bytes as u64,
        bytes: message.bytes as u64,
        qos: message.qos as u8,
        set_at: message.set_at.map(wall),
        expires_at: message.expires_at.map(wall),
    }
}

/// A time that the type cannot hold is far away.
fn wall(at: Time) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(at.0)).unwrap_or(UNIX_EPOCH)
}

/// The mode in the edge's words.
pub(crate) fn mode(mode: PurgeMode) -> stadium_edge::PurgeMode {
    match mode {
        PurgeMode::Remove => stadium_edge::PurgeMode::Remove,
        PurgeMode::DryRun => stadium_edge::PurgeMode::DryRun,
    }
}

/// The edge's answer in the API's words.
pub(crate) fn purged(answer: LoopAnswers<Option<stadium_edge::Purged>>) -> Result<Purged, NoRetained> {
    let purged = answer.answers.ok_or_else(|| {
        let reason = "a loop or a shard did not answer in time; the messages may be removed".to_owned();
        NoRetained::Refused(Refusal::Unknown { reason })
    })?;
    Ok(Purged { removed: purged.removed as u64, refused: purged.refused as u64, next: purged.next })
}

/// The answer where no thread is left to ask the edge.
pub(crate) fn ending() -> NoRetained {
    NoRetained::Refused(Refusal::Unknown { reason: "the server is ending".to_owned() })
}
