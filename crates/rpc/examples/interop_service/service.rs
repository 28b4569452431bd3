//! The interoperability routes as a service.
//!
//! Streams send as the caller's credit allows; what is cancelled leaves a note under its key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use stadium_rpc::{Call, CallContext, Refusal, Service, StreamReceiver, StreamSender};
use stadium_rsocket::metadata::authentication::{self, Authentication};
use stadium_rsocket::metadata::{Mime, entries, routes};

use crate::routes::{
    BUSY, Bare, CHANNEL, ECHO, ENDLESS, FAIL_AFTER, METADATA, NEVER, NOTE, NOTES, RANGE, REJECT, SUM,
};

/// Notes by key.
#[derive(Clone, Default)]
pub struct Notes(Arc<Mutex<HashMap<String, Vec<String>>>>);

impl Notes {
    fn leave(&self, key: &str, what: &str) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.entry(key.to_owned()).or_default().push(what.to_owned());
    }

    fn of(&self, key: &str) -> String {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.get(key).map(|notes| notes.join("\n")).unwrap_or_default()
    }
}

/// Leaves the note "cancelled" when it is dropped with the future that holds it.
struct Cancelled(Notes, String);

impl Drop for Cancelled {
    fn drop(&mut self) {
        self.0.leave(&self.1, "cancelled");
    }
}

/// The service.
pub fn service(notes: &Notes) -> Service {
    let keep = || notes.clone();
    let (noting, telling, never, endless) = (keep(), keep(), keep(), keep());
    Service::new("interop", "1")
        .inline(&ECHO, |_: &Call<'_>, request: &Bare, answer: &mut Bare| {
            answer.0.extend_from_slice(&request.0);
            Ok(())
        })
        .inline(&METADATA, |call: &Call<'_>, _: &Bare, answer: &mut Bare| {
            *answer = described(call.metadata()).into();
            Ok(())
        })
        .inline(&NOTES, move |_: &Call<'_>, request: &Bare, answer: &mut Bare| {
            *answer = telling.of(&request.text()).into();
            Ok(())
        })
        .inline(&NOTE, move |_: &Call<'_>, request: &Bare, _: &mut Bare| {
            let text = request.text();
            let (key, what) = text.split_once(' ').unwrap_or((&text, ""));
            noting.leave(key, what);
            Ok(())
        })
        .inline(&BUSY, |_: &Call<'_>, request: &Bare, _: &mut Bare| {
            let after = request.text().parse().map_err(malformed)?;
            Err(Refusal::busy(std::time::Duration::from_millis(after), "asked to be"))
        })
        .inline(&REJECT, |_: &Call<'_>, request: &Bare, _: &mut Bare| {
            let text = request.text();
            let (code, reason) = text.split_once(' ').unwrap_or((&text, ""));
            Err(Refusal::rejected(code.to_owned(), reason.to_owned()))
        })
        .asynchronous(&NEVER, move |_: CallContext, request: Bare| {
            let cancelled = Cancelled(never.clone(), request.text());
            async move {
                let _cancelled = cancelled;
                std::future::pending::<Result<Bare, Refusal>>().await
            }
        })
        .streaming(&RANGE, |_: CallContext, request: Bare, out: StreamSender<Bare>| async move {
            let text = request.text();
            let (count, size) = text.split_once(' ').unwrap_or((&text, "0"));
            numbers(&out, count.parse().map_err(malformed)?, size.parse().map_err(malformed)?).await
        })
        .streaming(&ENDLESS, move |_: CallContext, request: Bare, out: StreamSender<Bare>| {
            let cancelled = Cancelled(endless.clone(), request.text());
            async move {
                let _cancelled = cancelled;
                numbers(&out, u64::MAX, 0).await
            }
        })
        .streaming(&FAIL_AFTER, |_: CallContext, request: Bare, out: StreamSender<Bare>| async move {
            // "COUNT CODE-OF-THE-FRAME CODE: REASON"; the frame's code is the framework's business.
            let text = request.text();
            let mut words = text.splitn(3, ' ');
            let count = words.next().unwrap_or_default().parse().map_err(malformed)?;
            let why = words.nth(1).unwrap_or_default();
            numbers(&out, count, 0).await?;
            let (code, reason) = why.split_once(": ").unwrap_or((why, ""));
            Err(Refusal::rejected(code.to_owned(), reason.to_owned()))
        })
        .channel(
            &CHANNEL,
            |_: CallContext, requests: StreamReceiver<Bare>, out: StreamSender<Bare>| async move {
                while let Some(request) = requests.next().await.map_err(malformed)? {
                    out.send(format!("echo {}", request.text()).into()).await?;
                }
                Ok(())
            },
        )
        .channel(&SUM, |_: CallContext, requests: StreamReceiver<Bare>, out: StreamSender<Bare>| async move {
            let mut sum = 0;
            while let Some(request) = requests.next().await.map_err(malformed)? {
                sum += request.text().parse::<i64>().map_err(malformed)?;
            }
            out.send(sum.to_string().into()).await?;
            Ok(())
        })
}

async fn numbers(out: &StreamSender<Bare>, count: u64, size: usize) -> Result<(), Refusal> {
    for number in 0..count {
        let mut text = number.to_string().into_bytes();
        text.resize(text.len().max(size), b'.');
        out.send(Bare(text)).await?;
    }
    Ok(())
}

fn malformed(error: impl std::fmt::Display) -> Refusal {
    Refusal::rejected("INTEROP-001", error.to_string())
}

/// One line an entry of composite metadata.
fn described(metadata: &[u8]) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let lines = entries(metadata).map_while(Result::ok).map(|entry| {
        if entry.mime == Mime::ROUTING {
            let tags: Vec<&str> = routes(entry.content).map_while(Result::ok).collect();
            format!("route {}", tags.join(" "))
        } else if entry.mime == Mime::AUTHENTICATION {
            match authentication::read(entry.content) {
                Ok(Authentication::Simple { username, password }) => format!("simple {username}:{password}"),
                Ok(Authentication::Bearer(token)) => format!("bearer {token}"),
                other => format!("{other:?}"),
            }
        } else {
            format!("{} {}", entry.mime.name().unwrap_or("?"), text(entry.content))
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
