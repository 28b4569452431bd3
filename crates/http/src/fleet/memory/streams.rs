//! Streams of the fleet in memory: they give what a test puts into them.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use crate::fleet::{NoStream, StreamItem, StreamQuery, TopicStream};

/// Streams at once.
pub(super) const STREAMS_MAX: usize = 4;

/// The streams that are open, and all that were asked for.
#[derive(Default)]
pub(super) struct Streams {
    asked: Vec<StreamQuery>,
    open: Vec<Weak<Mutex<Items>>>,
}

#[derive(Default)]
struct Items {
    waiting: VecDeque<StreamItem>,
    waker: Option<Waker>,
    read: u64,
}

struct MemoryStream(Arc<Mutex<Items>>);

impl Streams {
    /// Begins one.
    pub(super) fn begin(&mut self, query: &StreamQuery) -> Result<Box<dyn TopicStream>, NoStream> {
        let is_wrong = |filter: &String| filter.contains('#') && !filter.ends_with('#');
        if let Some(place) = query.filters.iter().position(is_wrong) {
            return Err(NoStream::Filter(place, "# is not last".to_owned()));
        }
        self.open.retain(|one| one.strong_count() > 0);
        if self.open.len() >= STREAMS_MAX {
            return Err(NoStream::Full(STREAMS_MAX));
        }
        let items = Arc::new(Mutex::new(Items::default()));
        self.open.push(Arc::downgrade(&items));
        self.asked.push(query.clone());
        Ok(Box::new(MemoryStream(items)))
    }

    /// The queries, in order.
    pub(super) fn asked(&self) -> Vec<StreamQuery> {
        self.asked.clone()
    }

    /// Gives an item to all that are open; returns how many that are.
    pub(super) fn show(&self, item: &StreamItem) -> usize {
        let open: Vec<_> = self.open.iter().filter_map(Weak::upgrade).collect();
        for items in &open {
            let mut items = items.lock();
            items.waiting.push_back(item.clone());
            if let Some(waker) = items.waker.take() {
                waker.wake();
            }
        }
        open.len()
    }
}

impl TopicStream for MemoryStream {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<StreamItem> {
        let mut items = self.0.lock();
        match items.waiting.pop_front() {
            Some(item) => {
                items.read += 1;
                Poll::Ready(item)
            }
            None => {
                items.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    fn place(&self) -> String {
        format!("1-{}", self.0.lock().read)
    }

    fn is_behind(&self) -> bool {
        !self.0.lock().waiting.is_empty()
    }
}
