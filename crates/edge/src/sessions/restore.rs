//! Brings sessions and retained messages back when the server starts, before a loop reads its first connection.
//!
//! All shards are read, and each session is given to the loop that its client id belongs to. When every loop has its own, the wills and ends
//! that fell due meanwhile take place.

use std::collections::HashMap;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use stadium_mqtt::broker::{
    Away, Owner, Publication, Restored, RestoredMessage, RestoredRetained, RestoredSubscription,
    RestoredWill, SharedId,
};
use stadium_mqtt::packet::{QoS, SubscriptionOptions, Version};
use stadium_reactor::Io;
use stadium_session::{Answer, Command, Message as Kept, Page, Part, Presence, RetainedImage, SessionImage};
use stadium_shard::Shards;

use super::mapping::read;
use crate::device_loop::DeviceLoop;
use crate::message::Message;
use crate::turn::{Shared, Turn, Who};

/// Entries of a page.
const PAGE_ENTRIES: u32 = 1_024;

/// How long a shard that has recovered may take to give a page.
const PAGE_WITHIN: Duration = Duration::from_secs(60);

/// The sessions of one loop on their way back.
pub(crate) struct Returning {
    sessions: Vec<SessionImage>,
    /// Where the loops wait for each other.
    all_back: Arc<Barrier>,
}

impl Returning {
    /// Reads everything that the shards keep. Retained messages go to the loops' common store at once.
    ///
    /// # Errors
    ///
    /// A shard that does not answer.
    pub(crate) fn read(shards: &Shards, shared: &Shared, loops: usize) -> Result<Vec<Returning>, String> {
        let mut sessions: Vec<Vec<SessionImage>> = (0..loops).map(|_| Vec::new()).collect();
        let mut retained = 0_u64;
        for shard in 0..shards.count() {
            each_page(shards, shard, Part::Sessions, |page| {
                for session in page.sessions {
                    sessions[shared.home_of(&session.connect.client)].push(session);
                }
            })?;
            each_page(shards, shard, Part::Retained, |page| {
                for RetainedImage { number, owner, set_at, message } in page.retained {
                    retained += u64::from(!message.payload().is_empty());
                    shared.retained.restore(&RestoredRetained {
                        publication: &shared.publication(&message),
                        owner: owner.as_deref().map(Owner::from).as_ref(),
                        set_at_ms: set_at.map(|at| shared.clock.signed_node_ms(at)),
                        number,
                    });
                }
            })?;
        }
        let count: usize = sessions.iter().map(Vec::len).sum();
        tracing::info!(sessions = count, retained, "Sessions are back");
        let all_back = Arc::new(Barrier::new(loops));
        Ok(sessions
            .into_iter()
            .map(|sessions| Returning { sessions, all_back: Arc::clone(&all_back) })
            .collect())
    }
}

fn each_page(shards: &Shards, shard: u16, part: Part, mut look: impl FnMut(Page)) -> Result<(), String> {
    let mut from = 0;
    loop {
        let command = Command::Page { part, from, entries_max: PAGE_ENTRIES };
        let answer = shards.submit_session(shard, command).wait(PAGE_WITHIN);
        let page = match answer {
            Some(Ok(Answer::Page(page))) => page,
            Some(Ok(_)) => return Err(format!("shard {shard} answered something else than was asked")),
            Some(Err(refusal)) => return Err(format!("shard {shard}: {refusal}")),
            None => return Err(format!("shard {shard} did not answer within {PAGE_WITHIN:?}")),
        };
        let next = page.next;
        look(page);
        match next {
            Some(next) => from = next,
            None => return Ok(()),
        }
    }
}

impl DeviceLoop {
    /// Takes this loop's sessions back. Returns when all loops have theirs.
    pub(crate) fn take_back(&mut self, io: &mut Io<Message>, returning: Returning) {
        let shared = Arc::clone(&self.around.shared);
        // A message that many are owed comes back once.
        let mut publications = HashMap::new();
        for image in returning.sessions {
            let client = image.connect.client.clone();
            let restored = match restored(&shared, image, &mut publications) {
                Ok(restored) => restored,
                Err(error) => {
                    tracing::error!(client_id = %client, error, "A session that was kept cannot be read");
                    continue;
                }
            };
            let mut turn = Turn { io: &mut *io, around: &mut self.around };
            if !self.broker.restore(&mut turn, restored) {
                tracing::warn!(client_id = %client, "No room for a session that was kept");
            }
        }
        // Groups on other loops have members here. These joins are in the mailboxes before any loop
        // reads a connection, and a turn begins with its mailbox: no publish misses a member.
        self.around.send_forwards();
        returning.all_back.wait();
        let mut turn = Turn { io: &mut *io, around: &mut self.around };
        self.broker.restored(&mut turn);
        self.broker.advance(&mut turn);
        self.around.send_forwards();
        self.keep_sessions(io);
        self.set_alarm(io);
    }
}

type Publications = HashMap<*const Kept, (Arc<Kept>, Arc<Publication>)>;

fn publication(shared: &Shared, message: &Arc<Kept>, known: &mut Publications) -> Arc<Publication> {
    let (_, publication) = known
        .entry(Arc::as_ptr(message))
        .or_insert_with(|| (Arc::clone(message), shared.publication(message)));
    Arc::clone(publication)
}

fn restored(shared: &Shared, image: SessionImage, known: &mut Publications) -> Result<Restored<Who>, String> {
    let connect = image.connect;
    let subscriptions = image.subscriptions.into_iter().map(|kept| {
        let options = SubscriptionOptions::from_byte(kept.options)
            .ok_or_else(|| format!("the options {} of {}", kept.options, kept.filter))?;
        Ok(RestoredSubscription {
            filter: kept.filter.into(),
            options,
            id: kept.id,
            shared: SharedId::from_number(kept.shared),
        })
    });
    let queued = image.owed.into_iter().map(|owed| RestoredMessage {
        number: owed.delivery,
        publication: owed.message.as_ref().map(|message| publication(shared, message, known)),
        qos: if owed.qos == 2 { QoS::ExactlyOnce } else { QoS::AtLeastOnce },
        retain: owed.retain,
        shared: SharedId::from_number(owed.shared),
        ids: owed.ids,
    });
    Ok(Restored {
        client_id: connect.client.into(),
        identity: read(&connect.identity)?,
        incarnation: connect.incarnation,
        version: if connect.version == 5 { Version::V5 } else { Version::V311 },
        expiry_s: connect.expiry_s,
        will: connect.will.map(|will| RestoredWill {
            id: will.id,
            publication: shared.publication(&will.message),
            delay_s: will.delay_s,
            expiry_s: will.expiry_s,
        }),
        away: match image.presence {
            Presence::Here => None,
            Presence::Away { ends_at, will_at, sent_below } => Some(Away {
                ends_at_ms: ends_at.map(|at| shared.clock.node_ms(at)),
                will_at_ms: will_at.map(|at| shared.clock.node_ms(at)),
                sent_below,
            }),
        },
        subscriptions: subscriptions.collect::<Result<_, String>>()?,
        unreleased: image.unreleased,
        queued_messages: queued.collect(),
    })
}
