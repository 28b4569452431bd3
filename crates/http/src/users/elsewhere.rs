//! The data of a user on other nodes of a cluster, for an export: asked for, and answered.
//!
//! A node that is asked makes its lists ready and keeps them for a while; the node that exports
//! fetches them in pieces, since a message between nodes has a bound.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::fleet::BoxFuture;
use crate::request::problem::{NODE_SILENT, Problem};
use crate::users::list::NodePart;
use crate::users::on_node::{Here, OnNode};
use crate::users::record::new_id;

/// Bytes of a piece: a quarter of the longest message between nodes.
const PIECE_BYTES: usize = 1 << 20;

/// Exports that a node has ready at once: all of their lists are in memory. One more is refused.
const READY_MAX: usize = 8;

/// The time after which lists that nobody fetches are dropped.
const READY_FOR: Duration = Duration::from_secs(300);

/// The delay after which to ask for an export again that a node could not take part in.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// The other nodes of the cluster, as a node reaches them. No call waits.
pub trait OtherNodes: Send + Sync + 'static {
    /// The name of this node.
    fn me(&self) -> &str;

    /// The nodes that take part in the cluster now, as far as this one knows.
    fn registered(&self) -> BTreeSet<String>;

    /// Whether this node is the one that does what one node does for all.
    fn is_first(&self) -> bool;

    /// Asks a node. None where it is out of reach or has no answer.
    fn ask(&self, node: &str, question: Bytes) -> BoxFuture<'static, Option<Bytes>>;
}

/// The handling of nodes that do not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Away {
    /// The export is refused.
    Refuse,
    /// The export names them.
    Skip,
}

/// A question about a user.
#[derive(Serialize, Deserialize)]
enum Question {
    /// Make the lists ready.
    Prepare { clients: BTreeSet<String> },
    /// A piece of a list from this byte on.
    Piece { export: String, list: OnNode, from: usize },
    /// The lists are not needed any more.
    Drop { export: String },
    /// Count what an erasure would find.
    Count { clients: BTreeSet<String> },
}

/// The answer to [`Question::Prepare`]: none where the node has no room.
#[derive(Serialize, Deserialize)]
struct Prepared {
    export: Option<String>,
    /// Bytes of each list, as in [`OnNode::ALL`].
    bytes: Vec<usize>,
}

/// The lists of other nodes, ready to be fetched. Dropping it tells those nodes.
pub(crate) struct Elsewhere {
    nodes: Arc<dyn OtherNodes>,
    parts: Vec<Part>,
    skipped: Vec<String>,
}

struct Part {
    node: String,
    export: String,
    bytes: Vec<usize>,
}

impl Elsewhere {
    /// Has these nodes make their lists ready, all at once.
    pub(crate) async fn prepare(
        nodes: Arc<dyn OtherNodes>,
        others: BTreeSet<String>,
        clients: &BTreeSet<String>,
        away: Away,
    ) -> Result<Self, Problem> {
        let question = encoded(&Question::Prepare { clients: clients.clone() });
        let asked: Vec<_> =
            others.into_iter().map(|node| (nodes.ask(&node, question.clone()), node)).collect();
        let mut found = Self { nodes, parts: Vec::new(), skipped: Vec::new() };
        for (answer, node) in asked {
            let prepared = answer.await.and_then(|answer| serde_json::from_slice::<Prepared>(&answer).ok());
            match prepared {
                Some(Prepared { export: Some(export), bytes }) if bytes.len() == OnNode::ALL.len() => {
                    found.parts.push(Part { node, export, bytes });
                }
                _ => found.skipped.push(node),
            }
        }
        if away == Away::Refuse && !found.skipped.is_empty() {
            return Err(silent(&found.skipped.join(", ")));
        }
        Ok(found)
    }

    /// The name of this node.
    pub(crate) fn me(&self) -> &str {
        self.nodes.me()
    }

    /// The number of nodes that have lists ready.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// The nodes that did not answer.
    pub(crate) fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// The next piece of a list of the node `part`; none behind its end.
    pub(crate) async fn piece(
        &self,
        part: usize,
        list: OnNode,
        from: usize,
    ) -> Result<Option<Bytes>, Problem> {
        let Part { node, export, bytes } = &self.parts[part];
        if from >= bytes[list as usize] {
            return Ok(None);
        }
        let question = encoded(&Question::Piece { export: export.clone(), list, from });
        match self.nodes.ask(node, question).await {
            Some(piece) if !piece.is_empty() => Ok(Some(piece)),
            _ => Err(silent(node)),
        }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        for Part { node, export, .. } in &self.parts {
            // Nobody waits for it: the lists are dropped after a while anyway.
            drop(self.nodes.ask(node, encoded(&Question::Drop { export: export.clone() })));
        }
    }
}

/// The counts of each of these nodes for the clients.
pub(crate) async fn counts(
    nodes: &dyn OtherNodes,
    others: BTreeSet<String>,
    clients: BTreeSet<String>,
) -> Result<Vec<NodePart>, Problem> {
    let question = encoded(&Question::Count { clients });
    let asked: Vec<_> = others.into_iter().map(|node| (nodes.ask(&node, question.clone()), node)).collect();
    let mut parts = Vec::new();
    for (answer, node) in asked {
        let part = answer.await.and_then(|answer| serde_json::from_slice(&answer).ok());
        parts.push(part.ok_or_else(|| silent(&node))?);
    }
    Ok(parts)
}

fn silent(nodes: &str) -> Problem {
    let detail = format!(
        "these nodes of the cluster may have sessions of the user, and do not answer: {nodes}; ask again \
         when they are back; an export with away=skip has what the others have"
    );
    Problem::new(NODE_SILENT, detail).retry_after(ASK_AGAIN)
}

fn encoded(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).expect("names and numbers always serialise").into()
}

/// The lists that a node has ready for exports of other nodes.
#[derive(Default)]
pub(crate) struct Ready(Mutex<Vec<ReadyLists>>);

struct ReadyLists {
    export: String,
    lists: Vec<Bytes>,
    used: Instant,
}

impl Ready {
    /// The answer to a question of another node; none to one that cannot be read.
    pub(crate) async fn answer(&self, here: &Here, me: &str, question: &[u8]) -> Option<Vec<u8>> {
        match serde_json::from_slice(question).ok()? {
            Question::Prepare { clients } => {
                let prepared = match self.prepare(here, me, &clients).await {
                    Ok(prepared) => prepared,
                    Err(problem) => {
                        let words = problem.in_words();
                        tracing::warn!(problem = words, "An export of another node goes without this one");
                        Prepared { export: None, bytes: Vec::new() }
                    }
                };
                Some(encoded(&prepared).into())
            }
            Question::Piece { export, list, from } => self.piece(&export, list, from),
            Question::Drop { export } => {
                self.0.lock().retain(|one| one.export != export);
                Some(Vec::new())
            }
            Question::Count { clients } => {
                let counted = here.local().count(&clients).await.ok()?;
                Some(encoded(&counted).into())
            }
        }
    }

    async fn prepare(&self, here: &Here, me: &str, clients: &BTreeSet<String>) -> Result<Prepared, Problem> {
        let none = Prepared { export: None, bytes: Vec::new() };
        if !self.has_room() {
            return Ok(none);
        }
        let mut lists = Vec::new();
        for list in OnNode::ALL {
            let mut items = here.list(list, clients).await?;
            let texts = items.iter_mut().map(|item| {
                item["node"] = me.into();
                item.to_string()
            });
            lists.push(Bytes::from(texts.collect::<Vec<_>>().join(",\n")));
        }
        let Ok(export) = new_id() else { return Ok(none) };
        let bytes = lists.iter().map(Bytes::len).collect();
        let mut ready = self.0.lock();
        if ready.len() >= READY_MAX {
            return Ok(none);
        }
        ready.push(ReadyLists { export: export.clone(), lists, used: Instant::now() });
        Ok(Prepared { export: Some(export), bytes })
    }

    fn has_room(&self) -> bool {
        let mut ready = self.0.lock();
        ready.retain(|one| one.used.elapsed() < READY_FOR);
        ready.len() < READY_MAX
    }

    fn piece(&self, export: &str, list: OnNode, from: usize) -> Option<Vec<u8>> {
        let mut ready = self.0.lock();
        let one = ready.iter_mut().find(|one| one.export == export)?;
        one.used = Instant::now();
        let rest = one.lists[list as usize].get(from..)?;
        Some(rest[..rest.len().min(PIECE_BYTES)].to_vec())
    }
}
