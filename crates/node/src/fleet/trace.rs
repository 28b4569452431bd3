//! Traces of the edge's loops, handed to the HTTP API.

use stadium_edge::{EdgeHandle, TRACES_MAX, Taken, TraceLine as EdgeLine, Traced as EdgeTraced, TracesFull};
use stadium_http::fleet::{NoTrace, Trace, TraceLine, Traced};
use stadium_mqtt::topic::TopicFilter;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// Lines that wait for the reader of one trace; more are missed, and counted. A thousand lines are half a second of a busy device.
const LINES_MAX: usize = 1_024;

/// Begins a trace.
pub(super) fn begin(edge: &EdgeHandle, traced: Traced) -> Result<Trace, NoTrace> {
    let traced = match traced {
        Traced::Device(id) => EdgeTraced::Client(id.as_str().to_owned()),
        Traced::Topic(filter) => {
            TopicFilter::parse(&filter).map_err(|error| NoTrace::Filter(error.to_string()))?;
            EdgeTraced::Topic(filter)
        }
    };
    let (to, lines) = mpsc::channel(LINES_MAX);
    let sink = Box::new(move |line: EdgeLine| match to.try_send(api_line(line)) {
        Ok(()) => Taken::Yes,
        Err(TrySendError::Full(_)) => Taken::Full,
        Err(TrySendError::Closed(_)) => Taken::Gone,
    });
    match edge.trace(traced, sink) {
        Ok(guard) => Ok(Trace { lines, guard: Box::new(guard) }),
        Err(TracesFull) => Err(NoTrace::Full(TRACES_MAX)),
    }
}

fn api_line(line: EdgeLine) -> TraceLine {
    TraceLine {
        at: line.at,
        device: line.client_id,
        direction: line.direction.name(),
        text: line.text,
        missed: line.missed,
    }
}
