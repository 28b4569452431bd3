//! Spans as OTLP has them.

use super::messages::{AnyValue, AnyValueCase, Event, KeyValue, Link, Span, Status, StatusCode};
use crate::span::{self, Value};

pub(super) fn span(span: span::Span) -> Span {
    let span::Span { context, parent, name, kind, start_ns, end_ns, attributes, error, events, links } = span;
    Span {
        trace_id: context.trace_id.to_vec(),
        span_id: context.span_id.to_vec(),
        parent_span_id: parent.map(|id| id.to_vec()).unwrap_or_default(),
        name: name.into_owned(),
        kind: kind as i32,
        start_time_unix_nano: start_ns,
        end_time_unix_nano: end_ns,
        attributes: attributes.into_iter().map(attribute).collect(),
        events: events
            .into_iter()
            .map(|(name, at)| Event { time_unix_nano: at, name: name.to_owned() })
            .collect(),
        links: links
            .into_iter()
            .map(|link| Link {
                trace_id: link.trace_id.to_vec(),
                span_id: link.span_id.to_vec(),
                flags: link.flags.into(),
            })
            .collect(),
        status: error.map(|message| Status { message: message.into_owned(), code: StatusCode::Error.into() }),
        flags: context.flags.into(),
    }
}

fn attribute((key, value): (&'static str, Value)) -> KeyValue {
    let value = match value {
        Value::Text(text) => AnyValueCase::String(text.into_owned()),
        Value::Whole(number) => AnyValueCase::Int(number),
        Value::Flag(flag) => AnyValueCase::Bool(flag),
    };
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}
