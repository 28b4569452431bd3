//! Retained messages for an operator: which there are, and whose, without their payloads; and for
//! readers that are not sessions.
//!
//! A page looks at a bounded number of topics, in pieces: publishers wait for the lock no longer
//! than for a reader of a loop. What changes between two pieces is seen as it is then.

use std::sync::Arc;

use super::super::publication::Publication;
use super::{Allowance, Owner, Place, Retained};
use crate::packet::QoS;

/// Topics that are looked at before the lock is given back for a moment.
const PIECE_STEPS: u32 = 1_024;

/// Pieces of one page: some milliseconds. A page that finds little in them ends early.
const PIECES_MAX: u32 = 64;

/// A choice of retained messages.
#[derive(Debug, Clone, Copy, Default)]
pub struct RetainedQuery<'a> {
    /// Those whose topics match this filter, as a subscription would; none for all, those of `$`
    /// topics included.
    pub filter: Option<&'a str>,
    /// Those of this owner: the empty name is that of anonymous clients. None for all.
    pub owner: Option<&'a str>,
    /// The topic to go on from, see [`RetainedPage::next`]; none to begin.
    pub from: Option<&'a str>,
}

/// Some of them, in the order of their topics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetainedPage {
    /// At most as many as were asked for; fewer, or none, is not the end.
    pub messages: Vec<RetainedSummary>,
    /// Where the next page begins; none behind the last message.
    pub next: Option<String>,
}

/// A retained message without its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetainedSummary {
    /// Topic Name.
    pub topic: String,
    /// Whose it is.
    pub owner: Option<Owner>,
    /// Bytes of its payload.
    pub payload_bytes: usize,
    /// Bytes for which it counts in the bounds of the store.
    pub bytes: usize,
    /// QoS that it was published with.
    pub qos: QoS,
    /// When it was set, as in [`super::RestoredRetained::set_at_ms`].
    pub set_at_ms: Option<i64>,
    /// When its time is over, in the host's milliseconds.
    pub expires_at_ms: Option<u64>,
}

impl Retained {
    /// The next messages whose topics match a filter, in the order of their topics, at most so many;
    /// and the topic from which the next ones go on. Fewer, or none, is not the end.
    pub fn messages(
        &self,
        filter: &str,
        from: Option<&str>,
        now_ms: u64,
        messages_max: usize,
    ) -> (Vec<Arc<Publication>>, Option<String>) {
        let mut place = Place { next: from.unwrap_or_default().to_owned() };
        let mut allowed = Allowance { steps: PIECE_STEPS, messages: messages_max };
        let mut found = Vec::new();
        let is_over = self.take(filter, &mut place, now_ms, &mut allowed, &mut found);
        (found, (!is_over).then_some(place.next))
    }

    /// A page of at most so many messages. Those whose time is over are left out.
    pub fn list(&self, query: &RetainedQuery<'_>, now_ms: u64, messages_max: usize) -> RetainedPage {
        let mut place = Place { next: query.from.unwrap_or_default().to_owned() };
        let mut messages = Vec::new();
        for _ in 0..PIECES_MAX {
            let mut allowed = Allowance { steps: PIECE_STEPS, messages: messages_max - messages.len() };
            let topics = self.read();
            let is_over = topics.walk(query.filter, &mut place, &mut allowed, |topic, kept| {
                if query.owner.is_some_and(|owner| kept.owner.as_deref() != Some(owner)) {
                    return None;
                }
                let publication = &kept.publication;
                publication.head.expiry_s(now_ms).ok()?;
                messages.push(RetainedSummary {
                    topic: topic.to_owned(),
                    owner: kept.owner.clone(),
                    payload_bytes: publication.payload().len(),
                    bytes: publication.bytes_held(),
                    qos: publication.head.qos,
                    set_at_ms: kept.set_at_ms,
                    expires_at_ms: publication.head.expires_at_ms,
                });
                Some(0)
            });
            drop(topics);
            if is_over {
                return RetainedPage { messages, next: None };
            }
            if messages.len() == messages_max {
                break;
            }
        }
        RetainedPage { messages, next: Some(place.next) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::publication::{Head, Message};
    use super::*;

    fn set(retained: &Retained, topic: &str, owner: Option<&Owner>, expires_at_ms: Option<u64>, now_ms: u64) {
        let head = Head { retain: true, qos: QoS::AtLeastOnce, expires_at_ms, ..Head::default() };
        let message = Message { topic, properties: &[], payload: b"xy", head };
        retained.set(&Publication::new(&message), owner, now_ms).expect("there is room");
    }

    fn topics(page: &RetainedPage) -> Vec<&str> {
        page.messages.iter().map(|one| one.topic.as_str()).collect()
    }

    #[test]
    fn pages_follow_each_other_and_select_by_filter_and_owner() {
        let retained = Retained::default();
        let (anna, nobody) = (Owner::from("anna"), Owner::from(""));
        set(&retained, "a/1", Some(&anna), None, 5);
        set(&retained, "a/2", Some(&nobody), None, 5);
        set(&retained, "b/1", Some(&anna), Some(10), 5);
        set(&retained, "b/2", None, None, 5);
        set(&retained, "$own/1", None, None, 5);
        let list = |query: RetainedQuery<'_>, messages_max| retained.list(&query, 9, messages_max);
        let first = list(RetainedQuery::default(), 2);
        assert_eq!((topics(&first), first.next.as_deref()), (vec!["$own/1", "a/1"], Some("a/2")));
        let rest = list(RetainedQuery { from: first.next.as_deref(), ..RetainedQuery::default() }, 9);
        assert_eq!((topics(&rest), rest.next.as_deref()), (vec!["a/2", "b/1", "b/2"], None));
        let of = |owner| list(RetainedQuery { owner: Some(owner), ..RetainedQuery::default() }, 9);
        assert_eq!(topics(&of("anna")), ["a/1", "b/1"]);
        assert_eq!(topics(&of("")), ["a/2"], "the server's own are nobody's");
        let filtered = list(RetainedQuery { filter: Some("+/1"), owner: Some("anna"), from: None }, 9);
        assert_eq!(topics(&filtered), ["a/1", "b/1"]);
        assert_eq!(topics(&retained.list(&RetainedQuery::default(), 10, 9)).len(), 4, "one is over");
        let one = &of("anna").messages[1];
        assert_eq!((one.payload_bytes, one.qos), (2, QoS::AtLeastOnce));
        assert_eq!((one.set_at_ms, one.expires_at_ms), (Some(5), Some(10)));
        assert_eq!(
            retained.bytes(),
            retained.list(&RetainedQuery::default(), 9, 9).messages.iter().map(|one| one.bytes).sum()
        );
    }

    #[test]
    fn a_page_that_finds_little_ends_early_and_says_where_the_next_begins() {
        let retained = Retained::default();
        let anna = Owner::from("anna");
        for number in 0..70_000 {
            set(&retained, &format!("t/{number:06}"), None, None, 0);
        }
        set(&retained, "z", Some(&anna), None, 0);
        let (mut from, mut pages, mut found) = (None::<String>, 0, 0);
        loop {
            let query = RetainedQuery { owner: Some("anna"), from: from.as_deref(), filter: None };
            let page = retained.list(&query, 0, 10);
            pages += 1;
            found += page.messages.len();
            match page.next {
                Some(next) => from = Some(next),
                None => break,
            }
        }
        assert_eq!((pages, found), (2, 1));
    }
}
