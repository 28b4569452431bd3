//! A client comes or goes: CONNECT, DISCONNECT, takeover, wills and the end of sessions
//! (MQTT 5.0 sections 3.1, 3.2, 3.14 and 4.1).
//!
//! The edge has read the CONNECT and authenticated the client before it comes here. From then on exactly
//! one of two things follows for its link: a refusal, or a session and one call of
//! [`Broker::disconnected`] when the connection is gone.

use std::hash::BuildHasher;
use std::sync::Arc;

use smallvec::SmallVec;

use super::deadlines::Due;
use super::deliver::report;
use super::durable::{
    Away, Change, Connected, KeptSubscription, KeptWill, Origin, Persisted, ReplyTo, Then, What,
};
use super::flight::List;
use super::host::{Action, Client, Close, Drop, Event, Host, Interest, Progress};
use super::parts::{Decides, Line};
use super::publication::{Head, Message, Publication};
use super::publish::is_of_shares;
use super::session::{Arriving, HeldWill, Rare, Session, SessionKey, SharedId};
use super::shared::Presence;
use super::shares::Shares;
use super::{Broker, Flow};
use crate::packet::{Connack, Connect, Disconnect, Packet, QoS, Version, Will};
use crate::property::UserPropertiesBuffer;
use crate::reason::ReasonCode;

/// The retry delay that a client gets that could not be let in, in milliseconds.
const BUSY_RETRY_MS: u64 = 5_000;

/// A client that asks to be let in, already authenticated.
#[derive(Debug)]
pub struct Arrival<'a, L, I> {
    /// Its connection.
    pub link: L,
    /// Its CONNECT.
    pub connect: &'a Connect<'a>,
    /// What authentication found.
    pub identity: I,
}

/// A client that was let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admitted {
    /// Its session.
    pub session: SessionKey,
    /// The keep alive that holds for it, in seconds; 0 for none.
    pub keep_alive_s: u16,
    /// What it speaks.
    pub version: Version,
    /// It is let in when its session is durable, and the host hears by [`Host::entered`]: until then its connection must not be read.
    pub waits: bool,
}

/// Refuses a CONNECT that could not be read; see [`refuse_within`], for there its limit is known.
pub fn refuse<H: Host>(
    host: &mut H,
    link: H::Link,
    version: Version,
    reason: ReasonCode,
    retry_after_ms: Option<u64>,
) {
    refuse_within(host, link, version, u32::MAX, reason, retry_after_ms);
}

/// Refuses a CONNECT with a CONNACK of at most `packet_bytes_max` bytes [MQTT-3.2.2-19], where the version
/// has a word for the reason, and closes. With `retry_after_ms` an MQTT 5.0 client gets the time
/// after which it may reconnect.
pub fn refuse_within<H: Host>(
    host: &mut H,
    link: H::Link,
    version: Version,
    packet_bytes_max: u32,
    reason: ReasonCode,
    retry_after_ms: Option<u64>,
) {
    let mut properties = UserPropertiesBuffer::default();
    let mut text = String::new();
    if let Some(delay) = retry_after_ms {
        // Seconds, as in HTTP's header of that name, with their thousandths.
        properties.push("retry-after", &format!("{}.{:03}", delay / 1000, delay % 1000));
        text = format!("come back in {delay} ms");
    }
    if version == Version::V5 || reason.v311_return_code().is_some() {
        let connack = Packet::Connack(Connack {
            reason,
            reason_string: (!text.is_empty()).then_some(text.as_str()),
            user_properties: properties.properties(),
            ..Connack::default()
        });
        host.send(link, |buf| {
            connack.encode_within(version, packet_bytes_max, buf);
        });
    }
    host.close(link, Close::Refused(reason));
}

/// Sends a DISCONNECT where the version lets a server send one.
pub(super) fn say_disconnect<H: Host>(
    host: &mut H,
    link: H::Link,
    version: Version,
    packet_bytes_max: u32,
    reason: ReasonCode,
    server_reference: Option<&str>,
) {
    if version == Version::V5 {
        let packet = Packet::Disconnect(Disconnect { reason, server_reference, ..Disconnect::default() });
        host.send(link, |buf| {
            packet.encode_within(version, packet_bytes_max, buf);
        });
    }
}

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    /// Lets a client in, taking its session over from an older connection if there is one, or refuses it
    /// with a CONNACK. `None` when it was refused and the broker asked the host to close.
    pub fn connect<H>(&mut self, host: &mut H, arrival: Arrival<'_, L, I>) -> Option<Admitted>
    where
        H: Host<Link = L, Identity = I>,
    {
        let Arrival { link, connect, identity } = arrival;
        let version = connect.version;
        let mut assigned = String::new();
        let client_id = if connect.client_id.is_empty() {
            if version == Version::V311 && !connect.clean_start {
                // [MQTT-3.1.3-8] of 3.1.1.
                refuse(host, link, version, ReasonCode::ClientIdentifierNotValid, None);
                return None;
            }
            self.assign_client_id(host, &mut assigned);
            assigned.as_str()
        } else {
            connect.client_id
        };
        if let Err(reason) = self.admissible(host, client_id, connect, &identity) {
            let retry_after_ms = (reason == ReasonCode::ServerBusy).then_some(BUSY_RETRY_MS);
            let packet_bytes_max = connect.maximum_packet_size.unwrap_or(u32::MAX);
            refuse_within(host, link, version, packet_bytes_max, reason, retry_after_ms);
            return None;
        }
        let was_durable = self
            .find_session(client_id)
            .and_then(|key| self.session(key))
            .is_some_and(|session| session.durable);
        self.ending = None;
        let present = self.take_over(host, client_id, connect.clean_start, &identity);
        let ending = self.ending.take();
        let session_expiry_s = self.granted_expiry_s(connect);
        let key = match present {
            Some(key) => key,
            None => {
                let key = self.begin_session(client_id, identity.clone(), Some(link));
                if self.config.durable && session_expiry_s > 0 {
                    let incarnation = host.random();
                    if let Some(session) = self.session_mut(key) {
                        session.durable = true;
                        session.rare().incarnation = incarnation;
                    }
                }
                key
            }
        };
        let keep_alive_s = self.granted_keep_alive_s(host, connect);
        let in_flight_max = self.config.in_flight_max;
        let will = connect.will.as_ref().map(|will| self.hold_will(key, will, version, host.random().max(1)));
        let Some(session) = self.session_mut(key) else {
            refuse(host, link, version, ReasonCode::UnspecifiedError, None);
            return None;
        };
        session.link = Some(link);
        session.identity = identity;
        session.version = version;
        session.expiry_s = session_expiry_s;
        session.keep_alive_s = keep_alive_s;
        session.packet_bytes_max = connect.maximum_packet_size.unwrap_or(u32::MAX);
        session.receive_maximum = connect.receive_maximum.unwrap_or(u16::MAX).min(in_flight_max);
        if let Some(rare) = &mut session.rare {
            rare.will_at.cancel();
            rare.ends_at.cancel();
            rare.will = None;
            rare.aliases = Vec::new();
            rare.unreleased_before = rare.unreleased.len();
        }
        let mut connack = Vec::new();
        if !self.say_connack(key, connect, client_id, present.is_some(), &mut connack) {
            // A client that takes no packet of this size cannot get what it must know
            // [MQTT-3.1.4-5].
            let packet_bytes_max = connect.maximum_packet_size.unwrap_or(u32::MAX);
            refuse_within(host, link, version, packet_bytes_max, ReasonCode::PacketTooLarge, None);
            self.detach(host, key);
            return None;
        }
        let arriving = Arriving { connack, will, present: present.is_some() };
        let session = self.session_mut(key)?;
        let waits = was_durable || session.durable;
        if waits {
            session.link = None;
            session.rare().arriving = Some(Box::new((link, arriving)));
            match ending {
                // Else the host would let go of what the session before it leaves.
                Some(ending) => self.pendings.before_successor(ending, key, link),
                None => self.keep_arrival(host, key, link),
            }
        } else {
            self.enter(host, key, link, arriving);
        }
        Some(Admitted { session: key, keep_alive_s, version, waits })
    }

    /// Reports to the host a client that connects to a session that persists, or to one in the
    /// place of one that did.
    fn keep_arrival<H>(&mut self, host: &mut H, key: SessionKey, link: L)
    where
        H: Host<Link = L, Identity = I>,
    {
        let then = self.pendings.add(1, What::Admit { key, link });
        let Some(session) = self.session_mut(key) else { return };
        let client_id = session.client_id.clone();
        if !session.durable {
            host.persist(&client_id, Change::End { incarnation: None }, then);
            return;
        }
        session.rare().reported = true;
        let Some(session) = self.session(key) else { return };
        let rare = session.rare.as_deref();
        let will = rare.and_then(|rare| rare.arriving.as_deref()).and_then(|(_, one)| one.will.as_ref());
        let connected = Connected {
            incarnation: rare.map_or(0, |rare| rare.incarnation),
            version: session.version,
            expiry_s: session.expiry_s,
            identity: &session.identity,
            will: will.map(|will| KeptWill {
                id: will.id,
                publication: &will.publication,
                delay_s: will.delay_s,
                expiry_s: will.expiry_s,
            }),
        };
        host.persist(&client_id, Change::Connect(connected), then);
        if rare.is_some_and(|rare| rare.out_of_step) {
            self.keep_subscriptions(host, key);
        }
    }

    /// The session before this one has ended for good.
    pub(super) fn succeed<H>(&mut self, host: &mut H, key: SessionKey, link: L)
    where
        H: Host<Link = L, Identity = I>,
    {
        let rare = self.session(key).and_then(|session| session.rare.as_ref());
        let arriving = rare.and_then(|rare| rare.arriving.as_ref());
        // Else its connection is gone, or another one came.
        if arriving.is_some_and(|arriving| arriving.0 == link) {
            self.keep_arrival(host, key, link);
        }
    }

    /// Reports all subscriptions to the host again.
    fn keep_subscriptions<H>(&mut self, host: &mut H, key: SessionKey)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session_mut(key) else { return };
        session.rare().out_of_step = false;
        let Some(session) = self.session(key) else { return };
        let own = session.subscriptions.iter().filter_map(|held| {
            let subscriber = self.filters.subscriber(held.filter, held.position)?;
            let id = if subscriber.has_id() { session.subscription_id(held.filter) } else { None };
            let filter = self.filters.text(held.filter);
            Some(KeptSubscription { filter, options: subscriber.options(), id, shared: SharedId::NONE })
        });
        let shared = session.rare.iter().flat_map(|rare| rare.shared.iter()).map(|held| KeptSubscription {
            filter: &held.filter,
            options: held.options,
            id: held.subscription_id,
            shared: held.id,
        });
        for kept in own.chain(shared) {
            host.persist(&session.client_id, Change::Subscribe(kept), Then::NOTHING);
        }
    }

    /// The reported arrival of a client is durable, or not.
    pub(super) fn admit<H>(&mut self, host: &mut H, key: SessionKey, link: L, persisted: Persisted)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session_mut(key) else { return };
        let Some(rare) = &mut session.rare else { return };
        if rare.arriving.as_ref().is_none_or(|arriving| arriving.0 != link) {
            // It is gone, or another one came.
            return;
        }
        let Some(arriving) = rare.arriving.take() else { return };
        let (version, packet_bytes_max) = (session.version, session.packet_bytes_max);
        if let Some(reason) = persisted.refusal() {
            if persisted == Persisted::Unknown {
                // A CONNACK of either kind might be wrong.
                host.close(link, Close::Refused(reason));
            } else {
                let reason = ReasonCode::ServerBusy;
                refuse_within(host, link, version, packet_bytes_max, reason, Some(BUSY_RETRY_MS));
            }
            if arriving.1.present {
                session.rare().out_of_step = true;
                self.detach(host, key);
            } else {
                self.end_session(host, key);
            }
            return;
        }
        session.link = Some(link);
        self.enter(host, key, link, arriving.1);
        host.entered(link);
    }

    /// Lets a client in.
    fn enter<H>(&mut self, host: &mut H, key: SessionKey, link: L, arriving: Arriving)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Arriving { connack, will, present } = arriving;
        host.send(link, |buf| buf.extend_from_slice(&connack));
        if let (Some(will), Some(session)) = (will, self.session_mut(key)) {
            session.rare().will = Some(will);
        }
        if present {
            host.count(Event::SessionResumed);
            self.notify_groups(host, key, Presence::Here);
            self.resume(host, key);
        }
    }

    /// The connection of a session is gone, for whatever reason. Nothing happens if another connection
    /// has taken the session over.
    pub fn disconnected<H>(&mut self, host: &mut H, key: SessionKey, link: L)
    where
        H: Host<Link = L, Identity = I>,
    {
        if self.session(key).is_some_and(|session| session.any_link() == Some(link)) {
            self.detach(host, key);
        }
    }

    /// Ends the connection of a client on an operator's command. Returns whether it had one.
    pub fn kick<H>(&mut self, host: &mut H, client_id: &str) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(key) = self.find_session(client_id) else { return false };
        self.end_connection(host, key, ReasonCode::AdministrativeAction, None, Close::Administrative)
    }

    /// Ends a client's session with all that it holds, and closes its connection. Its will is not
    /// published. Returns whether it had a session.
    pub fn forget_session<H>(&mut self, host: &mut H, client_id: &str) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(key) = self.find_session(client_id) else { return false };
        if let Some(rare) = self.session_mut(key).and_then(|session| session.rare.as_mut()) {
            rare.will = None;
        }
        self.end_connection(host, key, ReasonCode::AdministrativeAction, None, Close::Administrative);
        self.end_session(host, key);
        true
    }

    /// Redirects a client to another server and closes its connection. Its session stays as
    /// DISCONNECT by the server leaves it. Returns whether it was connected.
    pub fn move_away<H>(&mut self, host: &mut H, key: SessionKey, server_reference: Option<&str>) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        let reason = match server_reference {
            Some(_) => ReasonCode::UseAnotherServer,
            None => ReasonCode::ServerShuttingDown,
        };
        self.end_connection(host, key, reason, server_reference, Close::Drained)
    }

    /// No packet came within one and a half times the keep alive [MQTT-3.1.2-22].
    pub fn keep_alive_over<H>(&mut self, host: &mut H, key: SessionKey) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        self.end_connection(host, key, ReasonCode::KeepAliveTimeout, None, Close::KeepAlive)
    }

    fn end_connection<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        reason: ReasonCode,
        server_reference: Option<&str>,
        close: Close,
    ) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session(key) else { return false };
        let Some(link) = session.any_link() else { return false };
        // A client that waits for its CONNACK must not get a DISCONNECT before it [MQTT-3.14.0-1].
        if session.link.is_some() {
            say_disconnect(host, link, session.version, session.packet_bytes_max, reason, server_reference);
        }
        host.close(link, close);
        true
    }

    /// Packets that steer the connection: DISCONNECT and AUTH, and those that no client may send now.
    pub(super) fn control<H>(&mut self, host: &mut H, key: SessionKey, link: L, packet: &Packet<'_>) -> Flow
    where
        H: Host<Link = L, Identity = I>,
    {
        let Packet::Disconnect(disconnect) = packet else {
            // AUTH without a method agreed upon [MQTT-4.12.0-6], or a packet that only a server sends.
            return self.violated(host, key, link, ReasonCode::ProtocolError);
        };
        let session_expiry_s_max = self.config.session_expiry_s_max;
        let Some(session) = self.session_mut(key) else { return Flow::Closed };
        if let Some(expiry_s) = disconnect.session_expiry_s {
            if session.expiry_s == 0 && expiry_s != 0 {
                // A session that was to end with the connection cannot be kept now (section 3.14.2.2.2).
                return self.violated(host, key, link, ReasonCode::ProtocolError);
            }
            session.expiry_s = expiry_s.min(session_expiry_s_max);
        }
        if disconnect.reason == ReasonCode::Success
            && let Some(rare) = &mut session.rare
        {
            rare.will = None;
        }
        host.close(link, Close::Asked);
        Flow::Closed
    }

    fn admissible<H>(
        &self,
        host: &mut H,
        client_id: &str,
        connect: &Connect<'_>,
        identity: &I,
    ) -> Result<(), ReasonCode>
    where
        H: Host<Link = L, Identity = I>,
    {
        if connect.authentication_method.is_some() {
            // No method is offered: section 4.12.
            return Err(ReasonCode::BadAuthenticationMethod);
        }
        if let Some(key) = self.find_session(client_id) {
            let session = &self.sessions[key.index as usize];
            if session.any_link().is_some() && !host.same_owner(&session.identity, identity) {
                return Err(ReasonCode::NotAuthorized);
            }
        } else if self.sessions.len() >= self.config.sessions_max {
            return Err(ReasonCode::ServerBusy);
        }
        if let Some(will) = &connect.will {
            let client = Client { client_id, identity };
            if !host.authorise(client, Action::publish(will.retain), will.topic) {
                return Err(ReasonCode::NotAuthorized);
            }
            if self.config.reserved(will.topic).is_some() || is_of_shares(will.topic) {
                // A will is for subscribers, and these topics have none.
                return Err(ReasonCode::TopicNameInvalid);
            }
            if !crate::topic::has_levels_within(will.topic, self.config.topic_levels_max) {
                return Err(ReasonCode::TopicNameInvalid);
            }
            if will.properties.payload_format == Some(1) && std::str::from_utf8(will.payload).is_err() {
                return Err(ReasonCode::PayloadFormatInvalid);
            }
        }
        Ok(())
    }

    /// The client's session, cut from its old connection, if it goes on.
    fn take_over<H>(
        &mut self,
        host: &mut H,
        client_id: &str,
        clean_start: bool,
        identity: &I,
    ) -> Option<SessionKey>
    where
        H: Host<Link = L, Identity = I>,
    {
        let key = self.find_session(client_id)?;
        self.end_connection(host, key, ReasonCode::SessionTakenOver, None, Close::TakenOver);
        let same_owner =
            self.session(key).is_some_and(|session| host.same_owner(&session.identity, identity));
        if clean_start || !same_owner {
            // The session ends here, and with it the wait of a delayed will [MQTT-3.1.2-4, MQTT-3.1.2-8].
            self.end_session(host, key);
            return None;
        }
        if self.session(key).is_some_and(|session| session.any_link().is_some()) {
            self.detach(host, key);
        }
        // Unless it was one that ends with its connection.
        self.session(key).map(|_| key)
    }

    /// A session lost its connection: its will and its end are due now or later.
    pub(super) fn detach<H>(&mut self, host: &mut H, key: SessionKey)
    where
        H: Host<Link = L, Identity = I>,
    {
        let now_ms = host.now_ms();
        let Some(session) = self.sessions.get_mut(key.index as usize) else { return };
        session.link = None;
        let mut is_over = !session.persists();
        if let Some(rare) = &mut session.rare {
            if let Some(arriving) = rare.arriving.take() {
                if session.durable && !rare.reported {
                    // Nobody was promised anything of it.
                    is_over = true;
                } else {
                    // It was never let in, but its will counts from now on: it was reported to the
                    // host.
                    rare.will = arriving.1.will;
                }
            }
            rare.drop_held();
        }
        for list in [&mut session.in_flight, &mut session.queued] {
            self.flights.remove_transient(list, |receipt| {
                report(host, None, receipt, Progress::Dropped(Drop::SessionEnded));
            });
        }
        if is_over {
            self.end_session(host, key);
            return;
        }
        let expiry_s = session.expiry_s;
        let rare = session.rare();
        rare.aliases = Vec::new();
        let will_delay_s = rare.will.as_ref().map(|will| will.delay_s);
        let mut away = Away { ends_at_ms: None, will_at_ms: None, sent_below: 0 };
        if let Some(delay_s) = will_delay_s.filter(|&delay_s| delay_s > 0 && delay_s < expiry_s) {
            let at_ms = now_ms + u64::from(delay_s) * 1000;
            away.will_at_ms = Some(at_ms);
            rare.will_at.set(at_ms, Due::Will, key, &mut self.deadlines);
        }
        if expiry_s != u32::MAX {
            let at_ms = now_ms + u64::from(expiry_s) * 1000;
            away.ends_at_ms = Some(at_ms);
            rare.ends_at.set(at_ms, Due::Session, key, &mut self.deadlines);
        }
        if will_delay_s.is_some_and(|delay_s| delay_s >= expiry_s) {
            // It is published when the session ends.
            away.will_at_ms = away.ends_at_ms;
        }
        if will_delay_s == Some(0) {
            self.publish_will(host, key);
            // Killed before it is owed durably, the server publishes it when it starts.
            let rare = self.session(key).and_then(|session| session.rare.as_deref());
            away.will_at_ms = rare.and_then(|rare| rare.will_on_its_way).map(|_| now_ms);
        }
        if let Some(session) = self.session(key).filter(|session| session.durable) {
            away.sent_below = self.first_unsent(session);
            host.persist(&session.client_id, Change::Disconnect(away), Then::NOTHING);
        }
        self.notify_groups(host, key, Presence::Away);
    }

    /// The lowest number of a queued message that was not sent, where all below it may have been.
    fn first_unsent(&self, session: &Session<L, I>) -> u32 {
        let next = session.rare.as_ref().map_or(0, |rare| rare.last_queued_message.wrapping_add(1));
        let unsent = self.flights.iter(&session.queued).find(|one| one.packet_id == 0 && one.number != 0);
        let in_line = session.rare.as_ref().and_then(|rare| rare.line.front()).map(Line::number);
        unsent.map(|one| one.number).or(in_line).unwrap_or(next)
    }

    /// Forgets a session and everything it held. A will that still waited is published
    /// [MQTT-3.1.2-8]: its delay never outlasts the session. The host hears of the end when what the session leaves to
    /// others is durable: killed before, the server ends it again.
    pub(super) fn end_session<H>(&mut self, host: &mut H, key: SessionKey)
    where
        H: Host<Link = L, Identity = I>,
    {
        if self.session(key).is_none() {
            return;
        }
        self.publish_will(host, key);
        let durable = self.sessions[key.index as usize].durable;
        let ending = durable.then(|| self.pendings.add(1, What::Nothing));
        let rare = self.sessions[key.index as usize].rare.take();
        let mut shared = Shares::default();
        let mut unfinished: Vec<(Arc<Publication>, QoS, SharedId, u32)> = Vec::new();
        let mut ended = 0;
        if let Some(rare) = rare {
            let Rare { incarnation, noted, shared: held, will_on_its_way, line, .. } = *rare;
            shared = held;
            ended = incarnation;
            if let Some(ending) = ending {
                let client_id = self.sessions[key.index as usize].client_id.clone();
                for entry in line {
                    self.leave_undecided(key, &client_id, &entry, ending);
                    if let Line::Ready(publication, one) = entry {
                        unfinished.push((publication, one.qos, one.shared, one.number));
                    }
                }
                let handed_on = Vec::new();
                let what = What::End { client_id, incarnation, noted, handed_on, successor: None };
                self.pendings.goes_on(ending, what);
                if let Some(will) = will_on_its_way {
                    self.pendings.after_will(will, ending);
                }
            }
        }
        for held in shared.iter() {
            if durable {
                self.group_interest(host, &held.filter, Interest::Lost);
            }
            self.leave_group(host, key, &held.filter);
        }
        let subscriptions = std::mem::take(&mut self.sessions[key.index as usize].subscriptions);
        for held in subscriptions {
            if durable {
                host.keep_interest(self.config.loop_index, self.filters.text(held.filter), Interest::Lost);
            }
            self.drop_subscription(host, held);
        }
        let queued_messages = self.mailboxes.forget(key);
        let Session { client_id, in_flight, queued, .. } = self.sessions.remove(key.index as usize);
        let hash = self.hasher.hash_one(&*client_id);
        if let Ok(entry) = self.by_client_id.find_entry(hash, |&at| at == key.index) {
            entry.remove();
        }
        for mut list in [in_flight, queued] {
            while let Some(flight) = self.flights.pop_front(&mut list) {
                let (qos, shared, number) = (flight.qos, flight.shared, flight.number);
                unfinished.extend(flight.publication.map(|one| (one, qos, shared, number)));
            }
        }
        unfinished.extend(
            queued_messages.into_iter().map(|one| (one.publication, one.qos, one.shared, one.number)),
        );
        unfinished.retain(|(publication, ..)| {
            let head = publication.head;
            if head.is_transient() {
                report(host, None, head.receipt, Progress::Dropped(Drop::SessionEnded));
            }
            !head.is_transient()
        });
        for (publication, qos, came_by, number) in unfinished {
            report(host, None, publication.head.receipt, Progress::Dropped(Drop::SessionEnded));
            match shared.iter().find(|held| held.id == came_by && qos == QoS::AtLeastOnce) {
                Some(held) => {
                    let at = self.config.loop_index;
                    let to = ending.map(|then| ReplyTo { at, then, must: true, decides: Decides::Each });
                    let origin = ending
                        .filter(|_| number != 0 && publication.head.qos == QoS::ExactlyOnce)
                        .map(|ending| {
                            let origin = Origin::of_handed_on(ended, number);
                            self.pendings.hands_on(ending, origin);
                            origin
                        });
                    self.give_back(host, &held.filter, publication, origin, to);
                }
                None => host.count(Event::Dropped(Drop::SessionEnded)),
            }
        }
        if let Some(ending) = ending {
            self.ending = (self.pendings.left(ending) > 1).then_some(ending);
            self.persisted(host, ending, Persisted::Done);
        }
    }

    pub(super) fn begin_session(&mut self, client_id: &str, identity: I, link: Option<L>) -> SessionKey {
        let generation = self.next_generation;
        self.next_generation = self.next_generation.wrapping_add(1).max(1);
        let index = self.sessions.insert(Session {
            client_id: client_id.into(),
            identity,
            link,
            subscriptions: SmallVec::new(),
            rare: None,
            in_flight: List::default(),
            queued: List::default(),
            generation,
            expiry_s: 0,
            packet_bytes_max: u32::MAX,
            last_packet_id: 0,
            receive_maximum: u16::MAX,
            keep_alive_s: 0,
            version: Version::V5,
            came_round: false,
            durable: false,
        });
        let index = u32::try_from(index).expect("sessions are bounded far below 2^32");
        let (sessions, hasher) = (&self.sessions, &self.hasher);
        self.by_client_id.insert_unique(hasher.hash_one(client_id), index, |&at| {
            hasher.hash_one(&*sessions[at as usize].client_id)
        });
        SessionKey { index, generation }
    }

    fn assign_client_id<H>(&self, host: &mut H, into: &mut String)
    where
        H: Host<Link = L, Identity = I>,
    {
        use std::fmt::Write as _;
        loop {
            into.clear();
            // Writing to a string cannot fail.
            let _ = write!(into, "auto-{:016x}", host.random());
            // Ids that hash to this loop spare the connection a move; an id in use is not given twice.
            if host.is_home_of(into) && self.find_session(into).is_none() {
                return;
            }
        }
    }

    fn granted_expiry_s(&self, connect: &Connect<'_>) -> u32 {
        let asked_s = match connect.version {
            Version::V5 => connect.session_expiry_s.unwrap_or(0),
            Version::V311 if connect.clean_start => 0,
            Version::V311 => u32::MAX,
        };
        asked_s.min(self.config.session_expiry_s_max)
    }

    /// A client that asks for no keep alive, or too long a one, is held to ours if the CONNACK can
    /// carry it. It is spread over a fifth of its value: timers that were set together need not
    /// fire together.
    fn granted_keep_alive_s<H>(&self, host: &mut H, connect: &Connect<'_>) -> u16
    where
        H: Host<Link = L, Identity = I>,
    {
        let (asked, max) = (connect.keep_alive_s, self.config.keep_alive_s_max);
        if connect.version == Version::V311 || max == 0 || (asked != 0 && asked <= max) {
            return asked;
        }
        let spread = u64::from(max / 5) + 1;
        max - u16::try_from(host.random() % spread).expect("a fifth of a u16 fits")
    }

    fn hold_will(&mut self, key: SessionKey, will: &Will<'_>, version: Version, id: u64) -> HeldWill {
        let mut properties = Vec::new();
        if version == Version::V5 {
            will.properties.encode_forwardable(&mut properties);
        }
        let message = Message {
            topic: will.topic,
            properties: &properties,
            payload: will.payload,
            head: Head {
                qos: will.qos,
                retain: will.retain,
                origin: key,
                origin_loop: self.config.loop_index,
                ..Head::default()
            },
        };
        HeldWill {
            id,
            publication: Arc::new(Publication::new(&message)),
            delay_s: will.delay_s,
            expiry_s: will.properties.message_expiry_s,
        }
    }

    /// Returns whether the client's maximum packet size allowed it.
    fn say_connack(
        &self,
        key: SessionKey,
        connect: &Connect<'_>,
        client_id: &str,
        session_present: bool,
        into: &mut Vec<u8>,
    ) -> bool {
        let Some(session) = self.session(key) else { return false };
        let config = &self.config;
        let mut response_information = String::new();
        if let Some(prefix) =
            config.response_topic_prefix.as_ref().filter(|_| connect.request_response_information)
        {
            response_information = format!("{prefix}/{client_id}");
        }
        let asked_expiry_s = connect.session_expiry_s.unwrap_or(0);
        let connack = Packet::Connack(Connack {
            session_present,
            session_expiry_s: (asked_expiry_s != session.expiry_s).then_some(session.expiry_s),
            receive_maximum: (config.receive_maximum != u16::MAX).then_some(config.receive_maximum),
            maximum_packet_size: Some(config.packet_bytes_max),
            assigned_client_id: connect.client_id.is_empty().then_some(client_id),
            topic_alias_maximum: (config.topic_alias_maximum > 0).then_some(config.topic_alias_maximum),
            server_keep_alive_s: (session.keep_alive_s != connect.keep_alive_s)
                .then_some(session.keep_alive_s),
            response_information: (!response_information.is_empty()).then_some(response_information.as_str()),
            ..Connack::default()
        });
        let (version, limit) = (connect.version, session.packet_bytes_max);
        connack.encode_within(version, limit, into)
    }
}
