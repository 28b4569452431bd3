//! The service: what each method of the contract does.
//!
//! `Store` and `Last` are inline: a look-up in memory, answered in the loop's turn without an allocation. `Near` and
//! `Watch` are streams, sent as fast as their callers give credit. A request that can never work is
//! rejected with a code:
//!
//! `GEO-001` latitude, `GEO-002` longitude, `GEO-003` device id, `GEO-004` unknown device, `GEO-005` radius,
//! `GEO-006` an event from the future.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use stadium_rpc::service::Disconnected;
use stadium_rpc::{Refusal, Service, StreamSender};

use crate::places::{Places, Sighting, Stored};
use crate::position::Position;
use crate::proto::geo_event::Significance;
use crate::proto::storage_response::Code;
use crate::proto::{GeoEvent, StorageResponse, geo};
use crate::watch::{Since, Watch};

/// Bytes of a device's id.
const DEVICE_ID_BYTES_MAX: usize = 128;
/// How far a device's clock may be ahead of ours. An event further ahead would hide all later ones.
const AHEAD_MAX: Duration = Duration::from_secs(60);
/// When a full store is worth asking again: room comes only by an operator's hand.
const FULL_RETRY_AFTER: Duration = Duration::from_secs(60);
/// Events of a watch that are read at once: an event that is sent behind others was read that much
/// earlier.
const WATCHED_AT_ONCE: usize = 64;

/// The service over these places. Each `Store` takes at least `work`, which shows overload on a small machine;
/// zero for real use.
#[must_use]
pub fn service(places: Arc<Places>, work: Duration) -> Service {
    let (storing, finding, searching) = (Arc::clone(&places), Arc::clone(&places), Arc::clone(&places));
    Service::new(geo::NAME, geo::VERSION)
        .descriptors(geo::FILE_DESCRIPTOR_SET)
        .inline(&geo::STORE, move |_call, event, answer| {
            toil(work);
            store(&storing, event, answer)
        })
        .inline(&geo::LAST, move |_call, device, answer| {
            let sighting = finding.last(&device.device_id).ok_or_else(|| {
                Refusal::rejected("GEO-004", format!("device {:?} was never seen here", device.device_id))
            })?;
            sighting.describe(&device.device_id, answer);
            Ok(())
        })
        .streaming(&geo::NEAR, move |_call, circle, out| {
            let places = Arc::clone(&searching);
            async move {
                let center = Position::new(circle.latitude, circle.longitude)?;
                if !circle.radius_m.is_finite() || circle.radius_m <= 0.0 {
                    let what = format!("radius {} m is not more than 0", circle.radius_m);
                    return Err(Refusal::rejected("GEO-005", what));
                }
                for portion in places.near(center, circle.radius_m) {
                    for event in portion {
                        if out.send(event).await.is_err() {
                            return Ok(()); // The caller has gone.
                        }
                    }
                    other_calls_first().await;
                }
                Ok(())
            }
        })
        .streaming(&geo::WATCH, move |_call, request, out| {
            let since = if request.with_last { Since::Ever } else { Since::Now };
            let mut watch = Watch::new(Arc::clone(&places), since);
            async move {
                loop {
                    let wanted = wanted(&out).await?;
                    let Some(events) = watch.next(wanted.min(WATCHED_AT_ONCE)).await else { return Ok(()) };
                    for event in events {
                        out.send(event).await?;
                    }
                    other_calls_first().await;
                }
            }
        })
}

/// Waits until the watcher takes events, and returns how many: the events that it is sent then are
/// the newest.
async fn wanted(out: &StreamSender<GeoEvent>) -> Result<usize, Disconnected> {
    poll_fn(|context| {
        let credit = out.credit();
        if credit > 0 {
            return Poll::Ready(Ok(credit as usize));
        }
        // Without credit nothing is sent; polling it once asks to be woken when there is some.
        match pin!(out.send(GeoEvent::default())).poll(context) {
            Poll::Ready(Err(gone)) => Poll::Ready(Err(gone)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
        }
    })
    .await
}

fn store(places: &Places, event: &GeoEvent, answer: &mut StorageResponse) -> Result<(), Refusal> {
    let position = Position::new(event.latitude, event.longitude)?;
    if event.device_id.is_empty() || event.device_id.len() > DEVICE_ID_BYTES_MAX {
        let what = format!("device id has {} bytes, not 1 to {DEVICE_ID_BYTES_MAX}", event.device_id.len());
        return Err(Refusal::rejected("GEO-003", what));
    }
    // A clock before 1970 is ours, not the device's: then everything is from the future.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if Duration::from_millis(event.timestamp_ms) > now + AHEAD_MAX {
        let what =
            format!("timestamp {} ms is more than {} s ahead", event.timestamp_ms, AHEAD_MAX.as_secs());
        return Err(Refusal::rejected("GEO-006", what));
    }
    let significance = Significance::try_from(event.significance).unwrap_or(Significance::Minor);
    let sighting = Sighting { timestamp_ms: event.timestamp_ms, position, significance };
    match places.store(&event.device_id, sighting) {
        Stored::Kept => {}
        Stored::Older => answer.message.push_str("a later location is known"),
        Stored::Full => return Err(Refusal::busy(FULL_RETRY_AFTER, "no room for another device")),
    }
    answer.set_code(Code::Ok);
    Ok(())
}

/// Works for that long, as a computation would: on the loop, so that others wait.
fn toil(work: Duration) {
    if work.is_zero() {
        return;
    }
    let begun = Instant::now();
    while begun.elapsed() < work {
        std::hint::spin_loop();
    }
}

/// Lets the loop serve others before this future goes on.
async fn other_calls_first() {
    let mut waited = false;
    poll_fn(|context| {
        if waited {
            return Poll::Ready(());
        }
        waited = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
