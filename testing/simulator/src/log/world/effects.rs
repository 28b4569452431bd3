//! What the owners of nodes ask for, and what they report.
//!
//! Each report is checked against the log at once.

use stadium_journal_log::{Effect, Error, Header, Judge, Offset, Sequence};

use super::super::node::{Answer, Outgoing, Role};
use super::super::truth;
use super::World;

impl<J: Judge> World<J> {
    /// Looks for the end of the log. An earlier search counts no more.
    pub(super) fn search(&mut self, node: usize) {
        self.searches += 1;
        self.nodes[node].searching = Some(self.searches);
        let (start, life) = (Offset(self.partition.start()), self.nodes[node].life);
        if self.nodes[node].mark().offset < start {
            self.post(node, life, Answer::Trimmed(start));
        } else if let Some(end) = self.partition.end() {
            self.post(node, life, Answer::End(self.searches, Offset(end)));
        }
    }

    /// Does what a node's owner asks for.
    pub(super) fn carry_out(&mut self, number: usize) -> Result<(), String> {
        while let Some(effect) = self.nodes[number].next_effect() {
            self.line(|| match effect {
                Effect::Append(Header { claim, sequence, .. }) => {
                    format!(
                        "node {number} sends sequence {sequence}, epoch {}, {:?}",
                        claim.epoch, claim.writer
                    )
                }
                effect => format!("node {number}: {effect:?}"),
            });
            match effect {
                Effect::FindEnd => self.search(number),
                Effect::Read { to, .. } => {
                    self.summary.gaps += u64::from(self.nodes[number].is_serving());
                    self.nodes[number].read_to = to;
                }
                Effect::Append(header) => self.append_for(number, header),
                Effect::Serving(_) => {
                    self.summary.claims += 1;
                    let node = &mut self.nodes[number];
                    node.position = node.mark().end;
                    node.outgoing.retain(|own| own.header.sequence != Sequence::FENCE);
                }
                Effect::Durable { writer, sequence, .. } => {
                    for id in self.nodes[number].settle(writer, sequence) {
                        self.truth.acknowledge(id).map_err(|what| format!("node {number}: {what}"))?;
                        self.count(number, id)?;
                    }
                }
                Effect::GivenUp { writer, from } => {
                    let ids = self.nodes[number].give_up(writer, from);
                    self.summary.given_up += ids.len() as u64;
                    for id in &ids {
                        self.truth.give_up(*id).map_err(|what| format!("node {number}: {what}"))?;
                    }
                    self.nodes[number].given_up.extend(ids);
                }
                Effect::Unknown { writer, from } => {
                    self.summary.unknown += self.nodes[number].give_up(writer, from).len() as u64;
                }
                Effect::Uncertain => {
                    self.summary.claimed_again += 1;
                    let writer = self.writer(number);
                    if let Role::Owner(owner) = &mut self.nodes[number].role {
                        owner.claim_again(writer);
                    }
                }
                Effect::Fenced { .. } => {
                    self.summary.fenced += 1;
                    let node = &mut self.nodes[number];
                    node.outgoing.clear();
                    node.searching = None;
                    if let Role::Owner(owner) = &node.role {
                        node.role = Role::Standby(owner.reader().clone());
                    }
                }
                Effect::Failed(Error::Trimmed { .. }) => {
                    self.summary.trimmed += 1;
                    self.restart(number, "was trimmed")?;
                }
                Effect::Failed(error) => return Err(format!("node {number}: {error}")),
            }
        }
        Ok(())
    }

    /// Sends a message for a node: a fence, a new message, or one that it sent before.
    fn append_for(&mut self, number: usize, header: Header) {
        let node = &mut self.nodes[number];
        if let Some(again) = node.outgoing.iter().find(|own| own.header.is_copy_of(&header)).cloned() {
            self.summary.sent_again += u64::from(header.sequence != Sequence::FENCE);
            self.send(number, &again);
            return;
        }
        let id = match header.sequence {
            Sequence::FENCE => None,
            _ => node.taken.pop_front(),
        };
        let body =
            id.map(|id| truth::body(id, self.random.usize(..self.plan.body_bytes))).unwrap_or_default();
        let mut bytes = Vec::new();
        header.encode(&body, &mut bytes).expect("an owner writes what can be read");
        let message = Outgoing { header, bytes: bytes.into(), id };
        self.nodes[number].outgoing.push_back(message.clone());
        self.send(number, &message);
    }
}
