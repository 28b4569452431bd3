//! Messages of applications, handed to the edge; and the edge's answers in the API's words.

use std::time::Duration;

use stadium_edge::{
    ApplicationMessage, EdgeHandle, NotPublished as EdgeRefused, PublishOutcome as EdgeOutcome, QoS,
};
use stadium_http::fleet::{NotPublished, PublishOutcome, Refusal, TopicMessage};
use stadium_push::live::Qos;
use tokio::sync::oneshot;

/// Publishes messages and waits for their outcomes.
pub(super) async fn publish(
    edge: &EdgeHandle,
    messages: Vec<TopicMessage>,
) -> Result<Vec<PublishOutcome>, NotPublished> {
    let (reply, outcomes) = oneshot::channel();
    hand_over(edge, &messages, reply).map_err(refused)?;
    // Without an answer the loop is gone, and it may have happened.
    let outcomes = outcomes.await.unwrap_or_else(|_| vec![EdgeOutcome::Unknown; messages.len()]);
    Ok(outcomes.into_iter().map(outcome).collect())
}

fn hand_over(
    edge: &EdgeHandle,
    messages: &[TopicMessage],
    reply: oneshot::Sender<Vec<EdgeOutcome>>,
) -> Result<(), EdgeRefused> {
    let properties: Vec<Vec<(&str, &str)>> = messages
        .iter()
        .map(|message| message.user_properties.iter().map(|(name, value)| (&**name, &**value)).collect())
        .collect();
    let messages: Vec<ApplicationMessage<'_>> = messages
        .iter()
        .zip(&properties)
        .map(|(message, properties)| ApplicationMessage {
            topic: &message.topic,
            payload: &message.payload,
            qos: match message.qos {
                Qos::AtMostOnce => QoS::AtMostOnce,
                Qos::AtLeastOnce => QoS::AtLeastOnce,
            },
            retain: message.retain,
            expiry_s: message.expiry_s,
            is_text: message.is_text,
            content_type: message.content_type.as_deref(),
            response_topic: message.response_topic.as_deref(),
            correlation_data: message.correlation_data.as_deref(),
            user_properties: properties,
        })
        .collect();
    // The request may have ended: then nobody wants to know.
    edge.publish(&messages, Box::new(|outcomes| drop(reply.send(outcomes))))
}

fn outcome(outcome: EdgeOutcome) -> PublishOutcome {
    match outcome {
        EdgeOutcome::Accepted { matched } => PublishOutcome::Accepted { matched },
        EdgeOutcome::NoRoom => PublishOutcome::NoRoom,
        EdgeOutcome::Busy => PublishOutcome::Busy,
        EdgeOutcome::Unknown => PublishOutcome::Unknown,
    }
}

fn refused(refused: EdgeRefused) -> NotPublished {
    let busy = |retry_after, reason: &str| {
        NotPublished::Refused(Refusal::Busy { retry_after, reason: reason.to_owned() })
    };
    match refused {
        EdgeRefused::Busy { retry_after } => {
            busy(retry_after, "a loop's mailbox (limits.mailbox_max) is full")
        }
        EdgeRefused::Draining => busy(Duration::from_secs(5), "the server is draining"),
        EdgeRefused::Topic(place, why) => NotPublished::Topic(place, why),
    }
}
