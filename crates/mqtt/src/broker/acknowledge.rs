//! A client answers: PUBACK, PUBREC and PUBCOMP for what was sent to it, PUBREL for what it sent
//! (MQTT 5.0 sections 3.4 to 3.7 and 4.3).

use super::deliver::report;
use super::durable::{Answer, Change, Origin, What, done};
use super::flight::Stage;
use super::host::{Event, Host, Progress};
use super::session::SessionKey;
use super::{Broker, Violation};
use crate::decode::{self, Frame};
use crate::encode;
use crate::packet::{AckKind, QoS, Version};
use crate::reason::ReasonCode;

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    pub(super) fn acknowledged<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        link: L,
        kind: AckKind,
        frame: &Frame<'_>,
    ) -> Result<(), Violation>
    where
        H: Host<Link = L, Identity = I>,
    {
        let version = self.version_of(key);
        let ack = decode::ack(frame, version)?;
        match kind {
            AckKind::Puback => self.finished(host, key, ack.packet_id, QoS::AtLeastOnce),
            AckKind::Pubcomp => self.finished(host, key, ack.packet_id, QoS::ExactlyOnce),
            AckKind::Pubrec => self.received_once(host, key, link, ack.packet_id, ack.reason),
            AckKind::Pubrel => {
                self.released(host, key, link, ack.packet_id);
                Ok(())
            }
        }
    }

    /// PUBREL: the packet id may be used again. What the host has noted of it goes first, and PUBCOMP waits for that.
    fn released<H>(&mut self, host: &mut H, key: SessionKey, link: L, packet_id: u16)
    where
        H: Host<Link = L, Identity = I>,
    {
        let known = self.release(key, packet_id);
        let Some(session) = self.session_mut(key) else { return };
        let (version, durable) = (session.version, session.durable);
        let reason = not_found_unless(known, version);
        let mut waits = None;
        if durable {
            let rare = session.rare();
            let noted = rare.noted.remove(&packet_id);
            if noted.is_none() && rare.releasing.contains(packet_id) {
                // Its client came back before the release was durable.
                self.asked_again(key, AckKind::Pubcomp, packet_id);
                return;
            }
            // One that is not known may have been released just before the server was killed.
            if noted.is_some() || (!known && rare.came_back) {
                let shards = noted.flatten();
                let origin = Origin { incarnation: rare.incarnation, packet_id };
                rare.releasing.insert(packet_id);
                let client_id = session.client_id.clone();
                let own = host.shard_of(&client_id);
                let then = self.pendings.part(&mut waits);
                host.persist(&client_id, Change::Released { packet_id }, then);
                let others = Self::forget(host, origin, shards.as_ref(), Some(own), then);
                self.pendings.more(then, others);
            }
        }
        let Some(then) = waits else {
            host.send(link, |buf| encode::ack(buf, AckKind::Pubcomp, version, packet_id, reason));
            return;
        };
        let place = self.hold(key);
        let answer = Answer::Released { packet_id, reason };
        self.pendings.goes_on(then, What::Answer { key, link, place, answer });
    }

    /// PUBACK or PUBCOMP: the delivery is done and the client's window opens by one. An id that is not
    /// in flight is answered by nothing (section 4.3.2 has no answer for it); one in flight at the other QoS,
    /// or at QoS 2 before its PUBREL, is a protocol error [MQTT-4.13.1-1].
    fn finished<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        packet_id: u16,
        qos: QoS,
    ) -> Result<(), Violation>
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.sessions.get_mut(key.index as usize) else { return Ok(()) };
        let stage = match qos {
            QoS::ExactlyOnce => Stage::Released,
            _ => Stage::Published,
        };
        match self.flights.find_mut(&session.in_flight, packet_id) {
            None => return Ok(()),
            Some(flight) if flight.qos == qos && flight.stage == stage => {}
            Some(_) => return Err(Violation(ReasonCode::ProtocolError)),
        }
        let Some(flight) = self.flights.remove(&mut session.in_flight, packet_id) else { return Ok(()) };
        done(host, &session.client_id, flight.number);
        // At QoS 2 it was acknowledged with its PUBREC.
        if let Some(publication) = flight.publication {
            host.count(Event::Acknowledged);
            report(host, session.link, publication.head.receipt, Progress::Acknowledged);
        }
        if !session.queued.is_empty() {
            self.deliverer().pump(host, key.index);
        }
        self.wake_replays(key);
        Ok(())
    }

    /// PUBREC: the client has it. The message may go; only the id must be released. For a delivery at QoS 1
    /// it is a protocol error [MQTT-4.13.1-1].
    fn received_once<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        link: L,
        packet_id: u16,
        reason: ReasonCode,
    ) -> Result<(), Violation>
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.sessions.get_mut(key.index as usize) else { return Ok(()) };
        let version = session.version;
        let Some(flight) = self.flights.find_mut(&session.in_flight, packet_id) else {
            // One that refuses ends the exchange: no PUBREL follows it (section 3.5.2.1).
            if !reason.is_error() {
                let reason = not_found_unless(false, version);
                host.send(link, |buf| encode::ack(buf, AckKind::Pubrel, version, packet_id, reason));
            }
            return Ok(());
        };
        if flight.qos != QoS::ExactlyOnce {
            return Err(Violation(ReasonCode::ProtocolError));
        }
        let receipt = flight.receipt();
        let first = flight.publication.take().is_some();
        if first {
            host.count(Event::Acknowledged);
            report(host, Some(link), receipt, Progress::Acknowledged);
        }
        if reason.is_error() {
            // The client refused it: done, and never sent again [MQTT-4.3.3-4].
            done(host, &session.client_id, flight.number);
            self.flights.remove(&mut session.in_flight, packet_id);
            self.deliverer().pump(host, key.index);
            self.wake_replays(key);
            return Ok(());
        }
        flight.stage = Stage::Released;
        if flight.number != 0 {
            // Were it sent again after its release, the client would take it for another message.
            let then = self.pendings.add(1, What::Release { key, link, packet_id });
            host.persist(&session.client_id, Change::Received { queued_message: flight.number }, then);
            return Ok(());
        }
        host.send(link, |buf| encode::ack(buf, AckKind::Pubrel, version, packet_id, ReasonCode::Success));
        Ok(())
    }
}

fn not_found_unless(known: bool, version: Version) -> ReasonCode {
    if known || version == Version::V311 { ReasonCode::Success } else { ReasonCode::PacketIdentifierNotFound }
}
