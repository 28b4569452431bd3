//! A request's body that says whether it was left alone before its end.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Body as _, Frame, Incoming, SizeHint};

/// The body of a request, as the router gets it. `unread` is set until the body has ended; a body
/// that a handler drops before leaves it set, and hyper closes the connection.
pub(crate) fn watched(body: Incoming, unread: &Arc<AtomicBool>) -> Body {
    if body.is_end_stream() {
        return Body::new(body);
    }
    unread.store(true, Ordering::Relaxed);
    Body::new(Watched { body, unread: Arc::clone(unread) })
}

struct Watched {
    body: Incoming,
    unread: Arc<AtomicBool>,
}

impl hyper::body::Body for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            self.unread.store(false, Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
