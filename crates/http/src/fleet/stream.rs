//! Streams of topics, as the fleet gives them to the API.

use std::task::{Context, Poll};

use bytes::Bytes;

/// A stream that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamQuery {
    /// Topic filters.
    pub filters: Vec<String>,
    /// The place where an earlier stream ended, as the fleet wrote it.
    pub from: Option<String>,
    /// Whether it begins with the retained messages of its topics.
    pub retained: bool,
}

/// The items that a stream gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamItem {
    /// A message, as [`render_topic_event`](crate::render_topic_event) wrote it.
    Message(Bytes),
    /// Messages may be missing here, and why.
    Gap(&'static str),
    /// It is over, and why.
    End(&'static str),
}

/// A stream. It ends when it is dropped.
pub trait TopicStream: Send {
    /// The next item. Nothing follows an end.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<StreamItem>;

    /// Up to where its reader has read.
    fn place(&self) -> String;

    /// Whether there is something that its reader has not read.
    fn is_behind(&self) -> bool;
}

/// The reason that there is no stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoStream {
    /// There are so many already.
    Full(usize),
    /// It has more filters than this.
    Filters(usize),
    /// The filter at this place is none, and why.
    Filter(usize, String),
    /// The server drains.
    Draining,
}
