//! `$SYS/...`: the server's figures as MQTT messages, under the names that mosquitto uses.
//!
//! A loop with a subscriber of such topics computes the figures of the node each interval and
//! publishes those that changed to its own subscribers. A new subscription gets them at once, as it
//! would get retained messages. A loop without such a subscriber does nothing: it reads one number
//! at the end of a turn. Messages leave at QoS 0, so no session is owed any.

use std::sync::Arc;

use parking_lot::Mutex;
use stadium_mqtt::broker::{Head, Message as MqttMessage, Publication, Retained};
use stadium_reactor::Io;

use crate::counts::Counts;
use crate::device_loop::DeviceLoop;
use crate::message::Message;
use crate::turn::{Shared, Turn};

/// Figures younger than this are not computed anew for another subscription: a client that
/// subscribes in a row costs no more than one computation a second, about 50 µs.
const FRESH_MS: u64 = 1_000;

/// Windows of the moving averages, with the last level of their topics.
const WINDOWS: [(&str, f64); 3] = [("1min", 60_000.0), ("5min", 300_000.0), ("15min", 900_000.0)];

/// The figures whose averages are below `$SYS/broker/load`.
const LOADS: [&str; 9] = [
    "messages/received",
    "messages/sent",
    "publish/received",
    "publish/sent",
    "publish/dropped",
    "bytes/received",
    "bytes/sent",
    "connections",
    "sockets",
];

/// The topics of the node.
#[derive(Debug)]
pub(crate) struct SysTopics {
    /// Time between two publications; 0 for no such topics.
    interval_ms: u64,
    /// The messages for new subscriptions.
    store: Arc<Retained>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// When the figures were computed, in the node's milliseconds.
    computed_ms: Option<u64>,
    /// The interval whose publications are in `due`.
    tick: u64,
    /// The texts as they were computed last, each with whether subscribers are owed it.
    texts: Vec<(String, String, Owed)>,
    /// The messages that changed in the interval `tick`.
    due: Vec<Arc<Publication>>,
    averages: Averages,
}

/// Whether a figure has changed since it was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    Yes,
    No,
}

/// Exponential moving averages of rates, per minute. After a time in which nobody asked they go on
/// with the mean rate of that time.
#[derive(Debug, Default)]
struct Averages {
    at_ms: u64,
    totals: [u64; LOADS.len()],
    values: [[f64; WINDOWS.len()]; LOADS.len()],
}

impl Averages {
    fn advance(&mut self, now_ms: u64, totals: [u64; LOADS.len()]) {
        let passed_ms = now_ms.saturating_sub(self.at_ms) as f64;
        if passed_ms == 0.0 {
            return;
        }
        for (load, total) in totals.iter().enumerate() {
            let per_minute = total.saturating_sub(self.totals[load]) as f64 * 60_000.0 / passed_ms;
            for (value, (_, window_ms)) in self.values[load].iter_mut().zip(WINDOWS) {
                let kept = (-passed_ms / window_ms).exp();
                *value = *value * kept + per_minute * (1.0 - kept);
            }
        }
        (self.at_ms, self.totals) = (now_ms, totals);
    }
}

/// The counts that the figures are made of.
#[derive(Debug, Default)]
struct Sample {
    counts: Counts,
    bytes_in: u64,
    bytes_out: u64,
    accepts: u64,
    retained: usize,
}

impl Sample {
    fn take(shared: &Shared) -> Self {
        let mut sample = Self { retained: shared.retained.len(), ..Self::default() };
        for (index, published) in shared.published.iter().enumerate() {
            sample.counts.add(&published.read());
            let stats = shared.handle(index).stats();
            sample.bytes_in += stats.bytes_in.value();
            sample.bytes_out += stats.bytes_out.value();
            sample.accepts += stats.accepts.value();
        }
        sample
    }

    /// In the order of [`LOADS`].
    fn totals(&self) -> [u64; LOADS.len()] {
        let Self { counts, bytes_in, bytes_out, accepts, .. } = self;
        let connects = counts.connects + counts.connects_refused;
        [
            counts.packets_in,
            counts.packets_out,
            counts.publishes_in_total(),
            counts.deliveries_total(),
            counts.drops.iter().sum(),
            *bytes_in,
            *bytes_out,
            connects,
            *accepts,
        ]
    }

    /// The topics below `$SYS/broker`, averages left out, and their texts.
    fn figures(&self, uptime_s: u64) -> Vec<(&'static str, String)> {
        let Self { counts, .. } = self;
        let [packets_in, packets_out, published, sent, dropped, bytes_in, bytes_out, ..] = self.totals();
        let number = |value: u64| value.to_string();
        vec![
            ("version", concat!("stadium version ", env!("CARGO_PKG_VERSION")).to_owned()),
            ("uptime", format!("{uptime_s} seconds")),
            ("clients/connected", number(counts.connected)),
            ("clients/disconnected", number(counts.sessions.saturating_sub(counts.connected))),
            ("clients/total", number(counts.sessions)),
            ("clients/expired", number(counts.sessions_expired)),
            ("messages/received", number(packets_in)),
            ("messages/sent", number(packets_out)),
            ("publish/messages/received", number(published)),
            ("publish/messages/sent", number(sent)),
            ("publish/messages/dropped", number(dropped)),
            ("bytes/received", number(bytes_in)),
            ("bytes/sent", number(bytes_out)),
            ("subscriptions/count", number(counts.subscriptions)),
            ("retained messages/count", self.retained.to_string()),
            ("store/messages/count", number(self.retained as u64 + counts.queued_messages)),
        ]
    }
}

impl SysTopics {
    pub(crate) fn new(interval_ms: u64) -> Self {
        Self { interval_ms, store: Arc::new(Retained::default()), state: Mutex::default() }
    }

    /// The messages for new subscriptions; none where there are no such topics.
    pub(crate) fn store(&self) -> Option<&Arc<Retained>> {
        (self.interval_ms > 0).then_some(&self.store)
    }

    /// Brings the messages for new subscriptions up to date.
    pub(crate) fn refresh(&self, shared: &Shared) -> bool {
        if self.interval_ms == 0 {
            return false;
        }
        let (mut state, now_ms) = (self.state.lock(), shared.now_ms());
        if state.computed_ms.is_none_or(|at_ms| now_ms >= at_ms + FRESH_MS) {
            self.compute(&mut state, &Sample::take(shared), now_ms);
        }
        true
    }

    /// The messages of the interval `tick` that changed since they were published; the first loop
    /// that asks computes them.
    fn due(&self, shared: &Shared, tick: u64) -> Vec<Arc<Publication>> {
        let mut state = self.state.lock();
        if state.tick < tick {
            self.compute(&mut state, &Sample::take(shared), shared.now_ms());
            state.tick = tick;
            let mut due = Vec::new();
            for (topic, text, owed) in &mut state.texts {
                if std::mem::replace(owed, Owed::No) == Owed::Yes {
                    due.push(Arc::new(publication(topic, text)));
                }
            }
            state.due = due;
        }
        state.due.clone()
    }

    fn compute(&self, state: &mut State, sample: &Sample, now_ms: u64) {
        state.averages.advance(now_ms, sample.totals());
        let figures = sample.figures(now_ms / 1_000).into_iter();
        let figures = figures.map(|(name, text)| (format!("$SYS/broker/{name}"), text));
        let averages = LOADS.iter().zip(&state.averages.values).flat_map(|(load, values)| {
            let named = WINDOWS.iter().zip(values);
            named.map(move |((window, _), value)| {
                (format!("$SYS/broker/load/{load}/{window}"), format!("{value:.2}"))
            })
        });
        let before = std::mem::take(&mut state.texts);
        for (place, (topic, text)) in figures.chain(averages).enumerate() {
            let known = before.get(place);
            let owed = match known {
                Some((_, same, owed)) if *same == text => *owed,
                _ => {
                    // There are fewer topics than the store has room for.
                    let _ = self.store.set(&publication(&topic, &text), None, now_ms);
                    Owed::Yes
                }
            };
            state.texts.push((topic, text, owed));
        }
        state.computed_ms = Some(now_ms);
    }
}

/// A message of the server's own. It is marked as retained, for subscribers that ask to see that
/// (Retain As Published).
fn publication(topic: &str, text: &str) -> Publication {
    let head = Head { retain: true, ..Head::default() };
    Publication::new(&MqttMessage { topic, properties: &[], payload: text.as_bytes(), head })
}

impl DeviceLoop {
    /// When figures are published next, in the node's milliseconds; never without a subscriber.
    pub(crate) fn sys_due_ms(&mut self, now_ms: u64) -> Option<u64> {
        let interval_ms = self.sys_interval_ms()?;
        if self.sys_tick == 0 {
            self.sys_tick = (now_ms / interval_ms).max(1);
        }
        Some((self.sys_tick + 1) * interval_ms)
    }

    /// Publishes the figures to this loop's subscribers, where an interval is over.
    pub(crate) fn publish_sys_topics(&mut self, io: &mut Io<Message>) {
        let Some(interval_ms) = self.sys_interval_ms() else { return };
        let tick = self.around.now_ms(io) / interval_ms;
        if self.sys_tick == 0 || tick <= self.sys_tick {
            return;
        }
        self.sys_tick = tick;
        for publication in self.around.shared.sys_topics.due(&self.around.shared, tick) {
            let mut turn = Turn { io: &mut *io, around: &mut self.around };
            self.broker.forwarded(&mut turn, &publication);
        }
    }

    /// The interval, where this loop has a subscriber.
    fn sys_interval_ms(&mut self) -> Option<u64> {
        let shared = &self.around.shared;
        let interval_ms = shared.sys_topics.interval_ms;
        if interval_ms == 0 || !shared.interests.has_of_server(self.around.index) {
            self.sys_tick = 0;
            return None;
        }
        Some(interval_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(topics: &SysTopics) -> Vec<(String, String, Owed)> {
        topics.state.lock().texts.clone()
    }

    #[test]
    fn averages_follow_the_rate_and_go_on_after_a_time_without_readers() {
        let mut averages = Averages::default();
        let mut totals = [0; LOADS.len()];
        for second in 1..=600 {
            totals[0] = second * 10;
            averages.advance(second * 1_000, totals);
        }
        let [one, five, fifteen] = averages.values[0];
        assert!((599.0..601.0).contains(&one), "600 a minute for ten minutes: {one}");
        assert!((500.0..540.0).contains(&five) && (280.0..300.0).contains(&fifteen), "{five} {fifteen}");
        assert_eq!(averages.values[1], [0.0; 3], "nothing was counted there");
        // An hour without a reader, at a tenth of that.
        totals[0] += 3_600;
        averages.advance(4_200_000, totals);
        let [one, five, fifteen] = averages.values[0];
        assert!((59.0..61.0).contains(&one) && (59.0..61.0).contains(&five), "{one} {five}");
        assert!((63.0..67.0).contains(&fifteen), "{fifteen}");
    }

    #[test]
    fn what_changed_is_owed_once_also_if_it_changed_back() {
        let topics = SysTopics::new(10_000);
        let compute = |connected: u64, now_ms: u64| {
            let counts = Counts { connected, sessions: connected, ..Counts::default() };
            let sample = Sample { counts, ..Sample::default() };
            topics.compute(&mut topics.state.lock(), &sample, now_ms);
        };
        let settle = || {
            for (.., owed) in &mut topics.state.lock().texts {
                *owed = Owed::No;
            }
        };
        let owed = || {
            let owed = texts(&topics).into_iter().filter(|(.., owed)| *owed == Owed::Yes);
            owed.map(|(topic, text, _)| (topic, text)).collect::<Vec<_>>()
        };
        compute(5, 1_000);
        assert_eq!(owed().len(), texts(&topics).len(), "all of it is new");
        assert_eq!(topics.store.len(), texts(&topics).len());
        settle();
        compute(5, 1_200);
        assert!(owed().is_empty(), "nothing has changed");
        compute(6, 1_300);
        compute(5, 1_400);
        let of_clients = [("$SYS/broker/clients/connected", "5"), ("$SYS/broker/clients/total", "5")];
        let of_clients = of_clients.map(|(topic, text)| (topic.to_owned(), text.to_owned()));
        assert_eq!(owed(), of_clients, "a subscriber of between has read 6");
    }
}
