//! The bench of the push platform: devices in memory, audiences, pushes to those who are there and to those who come back, ingress.
//!
//! Rounds are outermost. A server takes all rows that need what it holds, one after the other; each
//! row states what it leaves behind, and the next one may rely on it.

mod api;
mod away;
mod broadcast;
mod devices;
mod ingress;
mod lights;
mod load;
mod page;
mod phones;
mod platform;
mod register;
mod registry;
mod requests;
pub(crate) mod responder;
mod rows;
mod sizes;
mod telemetry;

use anyhow::{Result, anyhow};
use clap::Args;

use crate::figure::{Contender, Figure, shown};
use crate::machine;
use crate::process::Cores;
use crate::selection::Selection;
use crate::server::Places;
use crate::services::Start;
use crate::taken::Taken;
use platform::Platform;
use sizes::Sizes;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// This product.
    Stadium,
    /// A loop that does nothing but the wire's work.
    Bare,
}

const SIDES: &[Side] = &[Side::Stadium, Side::Bare];

impl Contender for Side {
    fn name(self) -> &'static str {
        match self {
            Self::Stadium => "stadium",
            Self::Bare => "bare loop",
        }
    }
}

/// What a measurement gave, by name.
type Numbers = Vec<(String, f64)>;

fn named<const N: usize>(numbers: [(&str, f64); N]) -> Numbers {
    numbers.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// How much to measure.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    sizes: Sizes,
}

/// Measures and reports; an error when this product could not be measured.
pub(crate) fn run(options: &Options) -> Result<()> {
    let Options { selection, sizes } = options;
    let places = Places::find()?;
    let start = Start { places: &places, cores: Cores::Both, bench: "push" };
    let mut bench = Bench { options, start, round: 0, taken: Taken::default() };
    for round in 1..=selection.rounds {
        bench.round = round;
        bench.registered();
        bench.connected();
        bench.secured();
        bench.telemetry();
        bench.bare();
    }
    let taken = bench.taken;
    let figures: Vec<Figure> =
        rows::figures(&taken.samples, sizes).into_iter().filter(|figure| selection.shows(figure)).collect();
    let page = page::write(&figures, &taken, sizes, selection.rounds);
    println!("{page}");
    if sizes.is_published() {
        selection.write("push", &page, &figures)?;
    }
    taken.require(Side::Stadium)
}

/// A run.
struct Bench<'a> {
    options: &'a Options,
    start: Start<'a>,
    round: usize,
    taken: Taken<Side>,
}

impl Bench<'_> {
    /// Devices that are registered and never connect.
    fn registered(&mut self) {
        let sizes = &self.options.sizes;
        let start = self.start;
        self.on_server(
            &[registry::AUDIENCE, registry::REGISTRY],
            || Platform::start(&start, sizes),
            |bench, platform| {
                // What grows once, with the first devices, is no device's.
                const FIRST: u32 = 1_000;
                register::register(platform, 0..FIRST)?;
                let empty = machine::settled_resident_bytes(platform.server.pid())?;
                let mut registered = FIRST;
                if bench.wants(registry::AUDIENCE) {
                    register::register(platform, FIRST..sizes.devices)?;
                    registered = sizes.devices;
                    bench.take(registry::AUDIENCE, Side::Stadium, || {
                        registry::count(platform, sizes, registered)
                    });
                }
                bench.take(registry::REGISTRY, Side::Stadium, || {
                    registry::take(platform, sizes, registered, empty)
                });
                Ok(())
            },
        );
    }

    /// As many devices as can be connected at once.
    fn connected(&mut self) {
        let sizes = &self.options.sizes;
        let start = self.start;
        self.on_server(
            &[lights::NAME, away::NAME, away::SHARED],
            || Platform::start(&start, sizes),
            |bench, platform| {
                register::register(platform, 0..sizes.connected)?;
                bench.take(lights::NAME, Side::Stadium, || lights::take(platform, sizes));
                for (name, owed, from) in
                    [(away::NAME, away::Owed::Single, 1_000), (away::SHARED, away::Owed::Shared, 2_000)]
                {
                    bench.take(name, Side::Stadium, || away::take(platform, sizes, owed, from));
                }
                Ok(())
            },
        );
    }

    /// Many devices, few of them connected, and pushes over HTTPS.
    fn secured(&mut self) {
        let sizes = &self.options.sizes;
        let start = self.start;
        let names = [broadcast::NAME, ingress::NAME, ingress::SHARED, ingress::BATCHES];
        self.on_server(
            &names,
            || Platform::start_secured(&start, sizes),
            |bench, platform| {
                register::register(platform, 0..sizes.devices)?;
                bench.take(broadcast::NAME, Side::Stadium, || broadcast::take(platform, sizes));
                for (name, split) in [
                    (ingress::NAME, ingress::Split::Apart),
                    (ingress::SHARED, ingress::Split::Together),
                    (ingress::BATCHES, ingress::Split::Batches),
                ] {
                    bench.take(name, Side::Stadium, || ingress::take(platform, sizes, split));
                }
                Ok(())
            },
        );
    }

    /// Three servers that take turns.
    fn telemetry(&mut self) {
        let Self { options, start, .. } = *self;
        self.take(telemetry::NAME, Side::Stadium, || telemetry::take(&start, &options.sizes));
    }

    /// The limits.
    fn bare(&mut self) {
        let Self { options, start, .. } = *self;
        self.take(lights::NAME, Side::Bare, || lights::limit(start.places, &options.sizes));
        self.take(ingress::NAME, Side::Bare, || ingress::limit(&start, &options.sizes));
    }

    /// Starts a server where one of these is wanted, and has `measure` take them on it. A failure
    /// of the server is a failure of all.
    fn on_server(
        &mut self,
        names: &[&str],
        server: impl FnOnce() -> Result<Platform>,
        measure: impl FnOnce(&mut Self, &Platform) -> Result<()>,
    ) {
        if !self.options.selection.wants_contender(Side::Stadium)
            || !names.iter().any(|name| self.wants(name))
        {
            return;
        }
        eprintln!("round {}: a server for {}", self.round, names.join(", "));
        let result = server().and_then(|platform| {
            let measured = measure(self, &platform);
            platform.server.service().explain(measured)
        });
        if let Err(error) = result {
            let selection = &self.options.selection;
            for name in names.iter().filter(|name| selection.wants(name)) {
                self.taken.record(name, Side::Stadium, Err(anyhow!("{error:#}")));
            }
        }
    }

    fn wants(&self, measurement: &str) -> bool {
        self.options.selection.wants(measurement)
    }

    /// Takes a measurement if it is wanted, and keeps what it gave or why it failed.
    fn take(&mut self, measurement: &str, side: Side, take: impl FnOnce() -> Result<Numbers>) {
        if !self.wants(measurement) || !self.options.selection.wants_contender(side) {
            return;
        }
        eprintln!("round {}: {measurement}: {}", self.round, side.name());
        let result = take();
        for (name, value) in result.iter().flatten() {
            eprintln!("    {name} {}", shown(*value));
        }
        self.taken.record(measurement, side, result);
    }
}
