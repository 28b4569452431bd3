//! A loop's counts of what its devices do, published for other threads at the end of each turn.
//!
//! The loop counts in plain integers; [`Published`] holds the copy that others read, with relaxed loads.
//! Bytes and system calls are counted by the reactor.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stadium_mqtt::broker::{Close, Drop, Event};
use stadium_mqtt::packet::QoS;

/// Buckets of a latency histogram: two for each doubling from one microsecond, the last is open.
pub const LATENCY_BUCKETS: usize = 56;

/// The upper bound of a bucket in microseconds.
pub fn latency_bucket_bound_us(bucket: usize) -> f64 {
    2_f64.powf(bucket as f64 / 2.0)
}

/// The square root of two, in millionths: a bound over the one before it.
const ROOT_MILLIONTHS: u64 = 1_414_213;

fn latency_bucket(took: Duration) -> usize {
    let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    let Some(doublings) = (ns.saturating_sub(1) / 1_000).checked_ilog2() else { return 0 };
    let lower = doublings as usize * 2;
    if lower + 2 >= LATENCY_BUCKETS {
        return LATENCY_BUCKETS - 1;
    }
    let middle_ns = (ROOT_MILLIONTHS << doublings) / 1_000;
    lower + if ns <= middle_ns { 1 } else { 2 }
}

/// Names of why deliveries were dropped, in the order of [`Counts::drops`].
pub const DROPS: [&str; 6] = ["slow_reader", "queue_full", "expired", "too_large", "session_ended", "denied"];

/// Names of why the edge ended connections, in the order of [`Counts::closes`].
pub const CLOSES: [&str; 9] = [
    "client_disconnect",
    "protocol_violation",
    "taken_over",
    "keep_alive",
    "administrative",
    "drained",
    "before_authentication",
    "not_authorised",
    "busy",
];

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A loop's counts since it started; fields whose text has "now" are current values.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
            /// Messages from devices, by QoS.
            pub publishes_in: [u64; 3],
            /// Messages queued to connections, by QoS.
            pub deliveries: [u64; 3],
            /// Deliveries dropped, by [`DROPS`].
            pub drops: [u64; DROPS.len()],
            /// Connections that the edge ended, by [`CLOSES`].
            pub closes: [u64; CLOSES.len()],
            /// From a message's arrival to its handing to the kernel, see [`latency_bucket_bound_us`].
            pub latency: [u64; LATENCY_BUCKETS],
        }

        impl Default for Counts {
            fn default() -> Self {
                Self {
                    $($name: 0,)*
                    publishes_in: [0; 3],
                    deliveries: [0; 3],
                    drops: [0; DROPS.len()],
                    closes: [0; CLOSES.len()],
                    latency: [0; LATENCY_BUCKETS],
                }
            }
        }

        /// The copy that other threads read.
        #[derive(Debug)]
        pub(crate) struct Published {
            $($name: AtomicU64,)*
            publishes_in: [AtomicU64; 3],
            deliveries: [AtomicU64; 3],
            drops: [AtomicU64; DROPS.len()],
            closes: [AtomicU64; CLOSES.len()],
            latency: [AtomicU64; LATENCY_BUCKETS],
        }

        impl Default for Published {
            fn default() -> Self {
                Self {
                    $($name: AtomicU64::new(0),)*
                    publishes_in: Default::default(),
                    deliveries: Default::default(),
                    drops: Default::default(),
                    closes: Default::default(),
                    latency: std::array::from_fn(|_| AtomicU64::new(0)),
                }
            }
        }

        impl Published {
            pub(crate) fn publish(&self, counts: &Counts) {
                $(self.$name.store(counts.$name, Ordering::Relaxed);)*
                store(&self.publishes_in, &counts.publishes_in);
                store(&self.deliveries, &counts.deliveries);
                store(&self.drops, &counts.drops);
                store(&self.closes, &counts.closes);
                store(&self.latency, &counts.latency);
            }

            pub(crate) fn read(&self) -> Counts {
                Counts {
                    $($name: self.$name.load(Ordering::Relaxed),)*
                    publishes_in: load(&self.publishes_in),
                    deliveries: load(&self.deliveries),
                    drops: load(&self.drops),
                    closes: load(&self.closes),
                    latency: load(&self.latency),
                }
            }
        }

        impl Counts {
            /// Adds another loop's counts.
            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
                add(&mut self.publishes_in, &other.publishes_in);
                add(&mut self.deliveries, &other.deliveries);
                add(&mut self.drops, &other.drops);
                add(&mut self.closes, &other.closes);
                add(&mut self.latency, &other.latency);
            }
        }
    };
}

counts! {
    /// Devices connected now.
    connected,
    /// Sessions now, connected or kept.
    sessions,
    /// Subscriptions now.
    subscriptions,
    /// Deliveries now in flight or queued.
    deliveries_pending,
    /// Messages now kept for devices that are away.
    queued_messages,
    /// Bytes now held by sessions and subscriptions, estimated.
    session_bytes,
    /// Publications now waiting for the mailbox of another loop.
    forwards_waiting,
    /// Messages of applications that were accepted.
    application_messages,
    /// Messages of applications that nobody got, or of which that is not known.
    application_messages_refused,
    /// Publications given to other loops.
    forwarded,
    /// MQTT packets from devices.
    packets_in,
    /// MQTT packets queued to connections.
    packets_out,
    /// CONNECTs accepted.
    connects,
    /// CONNECTs refused.
    connects_refused,
    /// Deliveries acknowledged.
    acknowledgements,
    /// Publishes refused by authorisation.
    publishes_denied,
    /// Subscriptions refused by authorisation.
    subscribes_denied,
    /// Sessions resumed.
    sessions_resumed,
    /// Sessions whose time was over.
    sessions_expired,
    /// Wills published.
    wills,
    /// Messages that were to be retained and were not: the store was full.
    retains_refused,
    /// Messages that were to be retained and were not: their principal was at its quota.
    retains_over_quota,
    /// Replays of retained messages that ended at their bound.
    replays_cut,
    /// Requests to services whose answer has not left, now.
    requests_in_flight,
    /// Requests to services that were taken.
    requests,
    /// Requests to services that were refused: a bound was reached, or there is no such service.
    requests_refused,
    /// Answers of services given to devices.
    answers,
    /// Answers dropped: the device was gone, or had not subscribed to its response topic.
    answers_dropped,
    /// Messages of devices taken for feeds, once for each feed.
    uplinks,
    /// Of those: no queue took them.
    uplinks_dropped,
    /// Sum of the latencies in microseconds.
    latency_sum_us,
}

impl Counts {
    pub(crate) fn count(&mut self, event: Event) {
        match event {
            Event::PublishReceived(qos) => self.publishes_in[qos as usize] += 1,
            Event::Delivered(qos) => self.deliveries[qos as usize] += 1,
            Event::Acknowledged => self.acknowledgements += 1,
            Event::Dropped(why) => self.drops[drop_index(why)] += 1,
            Event::PublishDenied => self.publishes_denied += 1,
            Event::SubscribeDenied => self.subscribes_denied += 1,
            Event::SessionResumed => self.sessions_resumed += 1,
            Event::SessionExpired => self.sessions_expired += 1,
            Event::WillPublished => self.wills += 1,
            Event::RetainRefused => self.retains_refused += 1,
            Event::RetainOverQuota => self.retains_over_quota += 1,
            Event::ReplayCut => self.replays_cut += 1,
        }
    }

    pub(crate) fn record_latency(&mut self, took: Duration, times: u64) {
        self.latency[latency_bucket(took)] += times;
        self.latency_sum_us += u64::try_from(took.as_micros()).unwrap_or(u64::MAX).saturating_mul(times);
    }

    /// Messages queued to connections, of any QoS.
    pub fn deliveries_total(&self) -> u64 {
        self.deliveries.iter().sum()
    }

    /// Messages from devices, of any QoS.
    pub fn publishes_in_total(&self) -> u64 {
        self.publishes_in.iter().sum()
    }

    pub(crate) fn closed(&mut self, why: Close) {
        self.closes[close_index(why)] += 1;
    }

    /// What [`CLOSES`] calls it.
    pub(crate) fn close_name(why: Close) -> &'static str {
        CLOSES[close_index(why)]
    }

    pub(crate) fn closed_before_authentication(&mut self) {
        self.closes[6] += 1;
    }

    pub(crate) fn closed_not_authorised(&mut self) {
        self.closes[7] += 1;
    }

    pub(crate) fn closed_busy(&mut self) {
        self.closes[8] += 1;
    }
}

fn close_index(why: Close) -> usize {
    match why {
        Close::Asked => 0,
        Close::Refused(_) => 1,
        Close::TakenOver => 2,
        Close::KeepAlive => 3,
        Close::Administrative => 4,
        Close::Drained => 5,
    }
}

fn drop_index(why: Drop) -> usize {
    match why {
        Drop::SlowReader => 0,
        Drop::QueueFull => 1,
        Drop::Expired => 2,
        Drop::TooLarge => 3,
        Drop::SessionEnded => 4,
        Drop::Denied => 5,
    }
}

/// QoS as an index of the arrays above.
const _: () = assert!(QoS::ExactlyOnce as usize == 2);

fn store<const N: usize>(to: &[AtomicU64; N], from: &[u64; N]) {
    for (to, from) in to.iter().zip(from) {
        to.store(*from, Ordering::Relaxed);
    }
}

fn load<const N: usize>(from: &[AtomicU64; N]) -> [u64; N] {
    std::array::from_fn(|at| from[at].load(Ordering::Relaxed))
}

fn add<const N: usize>(to: &mut [u64; N], from: &[u64; N]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_latency_is_in_the_first_bucket_whose_bound_it_does_not_exceed() {
        for bucket in 0..LATENCY_BUCKETS - 1 {
            let bound = Duration::from_secs_f64(latency_bucket_bound_us(bucket) / 1e6);
            let little = bound.mul_f64(1e-5) + Duration::from_nanos(1);
            assert_eq!(latency_bucket(bound - little), bucket, "just below the bound of {bucket}");
            assert_eq!(latency_bucket(bound + little), bucket + 1, "just above the bound of {bucket}");
        }
        assert_eq!(latency_bucket(Duration::ZERO), 0);
        assert_eq!(latency_bucket(Duration::MAX), LATENCY_BUCKETS - 1);
    }

    #[test]
    fn a_metric_is_updated_in_less_than_10_ns() {
        const UPDATES: u32 = 100_000;
        let mut counts = Counts::default();
        let mut cost = |update: &dyn Fn(&mut Counts, u32)| {
            let mut once = || {
                let begun = Instant::now();
                for number in 0..UPDATES {
                    update(black_box(&mut counts), number);
                }
                begun.elapsed() / UPDATES
            };
            // The least of several: other programs only add to it.
            (0..50).map(|_| once()).min().expect("there are several")
        };
        let counter = cost(&|counts, _| counts.count(Event::Delivered(QoS::AtMostOnce)));
        // Times of many buckets.
        let histogram =
            cost(&|counts, number| counts.record_latency(Duration::from_nanos(u64::from(number) << 5), 1));
        println!("a counter is updated in {counter:?}, a histogram in {histogram:?}");
        assert!(counter.max(histogram) < Duration::from_nanos(10), "{counter:?}, {histogram:?}");
    }
}
