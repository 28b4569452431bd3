//! A push to everybody who is connected, all of whom read at once: from its acceptance to the last acknowledgement.
//!
//! The same devices then hear the bare loop: one message from a publisher, sent to each socket, its acknowledgements read.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::api::{Api, Times};
use super::phones::{Heard, Phones, notification};
use super::platform::Platform;
use super::sizes::Sizes;
use super::{Numbers, named};
use crate::figure::median;
use crate::machine;
use crate::process::{Cores, Pinned};
use crate::server::{Kind, Places, Server, Setup};

/// Name of the measurement.
pub(super) const NAME: &str = "lights";
/// Handshakes in flight.
pub(super) const HANDSHAKES: usize = 200;

/// Connects all registered devices and pushes to them.
pub(super) fn take(platform: &Platform, sizes: &Sizes) -> Result<Numbers> {
    platform.move_to(Cores::First)?;
    let pinned = Pinned::to(Cores::Second)?;
    let mut phones = Phones::new(platform.server.mqtt()?, 0..sizes.connected)?;
    phones.connect(HANDSHAKES)?;
    let mut taken = Vec::new();
    let (cpu, server_cpu, mut spent) =
        (machine::own_cpu_time()?, machine::cpu_time(platform.server.pid())?, Duration::ZERO);
    for number in 0..u32::try_from(sizes.pushes)? {
        phones.expect(number, 1);
        let (push, times, heard) = push_and_hear(platform, &mut phones, number)?;
        spent += heard.last - times.asked;
        taken.push(Taken::of(times, heard));
        await_delivered(platform, &push, u64::from(sizes.connected))?;
    }
    let deliveries = f64::from(sizes.connected) * sizes.pushes as f64;
    let client = (machine::own_cpu_time()? - cpu).as_secs_f64();
    let server = (machine::cpu_time(platform.server.pid())? - server_cpu).as_secs_f64();
    drop(pinned);
    platform.move_to(Cores::Both)?;
    let mut numbers = Taken::numbers(&taken, sizes.connected);
    numbers.extend(named([
        ("server_cpu_us_per_delivery", server * 1e6 / deliveries),
        ("client_cpu_us_per_delivery", client * 1e6 / deliveries),
        ("in_measure_s", spent.as_secs_f64()),
    ]));
    Ok(numbers)
}

/// The same by the bare loop.
pub(super) fn limit(places: &Places, sizes: &Sizes) -> Result<Numbers> {
    let server = Server::start(Kind::Bare, places, &Setup::one_core())?;
    let _pinned = Pinned::to(Cores::Second)?;
    let mut phones = Phones::new(server.address, 0..sizes.connected)?;
    let publisher = phones.add_publisher();
    phones.connect(HANDSHAKES)?;
    let mut taken = Vec::new();
    for number in 0..u32::try_from(sizes.pushes)? {
        phones.expect(number, 1);
        let asked = Instant::now();
        phones.publish(publisher, number)?;
        let heard = phones.hear_all()?;
        taken.push(Taken::of(Times { asked, answered: asked }, heard));
    }
    Ok(Taken::numbers(&taken, sizes.connected))
}

/// One push to all registered devices, heard by those that are connected; returns its path.
pub(super) fn push_and_hear(
    platform: &Platform,
    phones: &mut Phones,
    number: u32,
) -> Result<(String, Times, Heard)> {
    let mut api = Api::connect(platform)?;
    let (heard, pushed) = std::thread::scope(|scope| {
        let pusher = scope.spawn(move || push_to_all(&mut api, number));
        let heard = phones.hear_all();
        (heard, pusher.join())
    });
    let Ok(pushed) = pushed else { bail!("the pusher panicked") };
    let (path, times) = pushed?;
    Ok((path, times, heard?))
}

/// Pushes to all registered devices; returns where to see it.
pub(super) fn push_to_all(api: &mut Api<'_>, number: u32) -> Result<(String, Times)> {
    let body = json!({ "audience": "all", "notification": notification(number) }).to_string();
    let (accepted, times) = api.ask("POST", "/api/apps/default/pushes", &body)?;
    let path = accepted.get("url").and_then(Value::as_str).context("an accepted push without its url")?;
    Ok((path.to_owned(), times))
}

/// Waits until the server counts so many deliveries of a push, and no more.
pub(super) fn await_delivered(platform: &Platform, push: &str, devices: u64) -> Result<Value> {
    let counted = |view: &Value, count: &str| view["counts"][count].as_u64();
    let mut api = Api::connect(platform)?;
    api.wait_until(push, "the acknowledgement of a push", |view| {
        counted(view, "delivered") == Some(devices) && counted(view, "in_flight") == Some(0)
    })
}

/// Times of one push, milliseconds.
pub(super) struct Taken {
    accepted: f64,
    first: f64,
    first_of_request: f64,
    last: f64,
    last_of_request: f64,
}

impl Taken {
    pub(super) fn of(times: Times, heard: Heard) -> Self {
        let ms = |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64() * 1e3;
        Self {
            accepted: ms(times.asked, times.answered),
            first: ms(times.answered, heard.first),
            first_of_request: ms(times.asked, heard.first),
            last: ms(times.answered, heard.last),
            last_of_request: ms(times.asked, heard.last),
        }
    }

    /// Medians. Deliveries a second count from the request on, so that nothing is left out.
    pub(super) fn numbers(taken: &[Self], devices: u32) -> Numbers {
        let of = |value: fn(&Self) -> f64| {
            median(&taken.iter().map(value).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        let last_of_request = of(|taken| taken.last_of_request);
        named([
            ("accepted_ms", of(|taken| taken.accepted)),
            ("first_ms", of(|taken| taken.first)),
            ("first_of_request_ms", of(|taken| taken.first_of_request)),
            ("last_ms", of(|taken| taken.last)),
            ("last_of_request_ms", last_of_request),
            ("deliveries_per_s", f64::from(devices) * 1e3 / last_of_request),
        ])
    }
}
