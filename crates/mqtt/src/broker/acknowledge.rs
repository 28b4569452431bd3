//! A client answers: PUBACK, PUBREC and PUBCOMP for what was sent to it, PUBREL for what it sent
//! (MQTT 5.0 sections 3.4 to 3.7 and 4.3).

use super::deliver::report;
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
                let known = self.release(key, ack.packet_id);
                let reason = not_found_unless(known, version);
                host.send(link, |buf| encode::ack(buf, AckKind::Pubcomp, version, ack.packet_id, reason));
            }
        }
        Ok(())
    }

    /// PUBACK or PUBCOMP: the delivery is done and the client's window opens by one. An id that is not
    /// in flight is answered by nothing (section 4.3.2 has no answer for it).
    fn finished<H>(&mut self, host: &mut H, key: SessionKey, packet_id: u16, qos: QoS)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.sessions.get_mut(key.index as usize) else { return };
        let expected = self
            .flights
            .find_mut(&session.in_flight, packet_id)
            .is_some_and(|flight| flight.qos == qos && flight.stage != Stage::Queued);
        if !expected {
            return;
        }
        let Some(flight) = self.flights.remove(&mut session.in_flight, packet_id) else { return };
        // At QoS 2 it was acknowledged with its PUBREC, unless the client left that out.
        if let Some(publication) = flight.publication {
            host.count(Event::Acknowledged);
            report(host, session.link, publication.head.receipt, Progress::Acknowledged);
        }
        if !session.queued.is_empty() {
            self.courier().pump(host, key.index);
        }
    }

    /// PUBREC: the client has it. The message may go; only the id must be released.
    fn received_once<H>(&mut self, host: &mut H, key: SessionKey, link: L, packet_id: u16, reason: ReasonCode)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.sessions.get_mut(key.index as usize) else { return };
        let version = session.version;
        let flight = self
            .flights
            .find_mut(&session.in_flight, packet_id)
            .filter(|flight| flight.qos == QoS::ExactlyOnce && flight.stage != Stage::Queued);
        let Some(flight) = flight else {
            let reason = not_found_unless(false, version);
            host.send(link, |buf| encode::ack(buf, AckKind::Pubrel, version, packet_id, reason));
            return;
        };
        let receipt = flight.receipt();
        let first = flight.publication.take().is_some();
        if first {
            host.count(Event::Acknowledged);
            report(host, Some(link), receipt, Progress::Acknowledged);
        }
        if reason.is_error() {
            // The client refused it: done, and never sent again [MQTT-4.3.3-4].
            self.flights.remove(&mut session.in_flight, packet_id);
            self.courier().pump(host, key.index);
            return;
        }
        flight.stage = Stage::Released;
        host.send(link, |buf| encode::ack(buf, AckKind::Pubrel, version, packet_id, ReasonCode::Success));
    }
}

fn not_found_unless(known: bool, version: Version) -> ReasonCode {
    if known || version == Version::V311 { ReasonCode::Success } else { ReasonCode::PacketIdentifierNotFound }
}
