//! A contender's program at work: warmed up, measured, and checked.
//!
//! The program takes the time and compares values. Sets are counted by the server, system calls by the
//! kernel, allocations by a preloaded library, processor time by the clocks of both processes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::caller::Caller;
use super::calls::Counter;
use super::measurement::{Measurement, Read, Shape};
use super::server::Memcached;
use crate::figure::Contender as _;
use crate::program::Series;
use crate::server::Places;
use crate::{allocations, machine, process};

/// A cell that takes longer has failed.
const CELL_MAX: Duration = Duration::from_secs(90);

/// A program that waits for cells.
pub(super) struct Client {
    caller: Caller,
    series: Series,
    /// Shapes that it is warm for.
    warm: BTreeSet<Shape>,
    /// The file of the preloaded counter.
    allocations: Option<PathBuf>,
    log: PathBuf,
}

/// The time of a cell, and its figures.
struct Taken {
    seconds: f64,
    sets: f64,
    gets: f64,
    client_cpu: Duration,
    server_cpu: Duration,
}

impl Client {
    /// Starts it. Allocations are counted where all programs of the caller's language use libc's.
    pub(super) fn start(caller: Caller, places: &Places, counter: &Path, server: &Memcached) -> Result<Self> {
        let slug = format!("memcache-{}", caller.name().replace(' ', "-"));
        let log = places.target.join(format!("bench/{slug}.log"));
        let mut command = caller.program(places);
        command.args(["--connect", &server.service.address().to_string()]);
        let allocations = (caller == Caller::Rust).then(|| {
            let file = places.target.join(format!("bench/{slug}.allocations"));
            command.env("LD_PRELOAD", counter).env(allocations::FILE_VARIABLE, &file);
            file
        });
        let series = Series::start(&mut command, &log)?;
        Ok(Self { caller, series, warm: BTreeSet::new(), allocations, log })
    }

    /// One measurement; its numbers by name.
    pub(super) fn take(
        &mut self,
        measurement: &Measurement,
        server: &mut Memcached,
    ) -> Result<Vec<(String, f64)>> {
        let result = self.measure(measurement, server);
        result.with_context(|| {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            format!("its program printed: {}", log.lines().take(3).collect::<Vec<_>>().join("; "))
        })
    }

    fn measure(&mut self, measurement: &Measurement, server: &mut Memcached) -> Result<Vec<(String, f64)>> {
        let (shape, operations) = (measurement.shape, measurement.read.operations());
        if self.warm.insert(shape) {
            self.cell(shape, shape.warm_up(self.caller), server)?;
        }
        let numbers = match measurement.read {
            Read::Rate => {
                let taken = self.cell(shape, operations, server)?;
                let share = |cpu: Duration| cpu.as_secs_f64() / taken.seconds;
                vec![
                    ("per_second", (taken.sets + taken.gets) / taken.seconds),
                    ("client_cpu", share(taken.client_cpu)),
                    ("server_cpu", share(taken.server_cpu)),
                ]
            }
            Read::SystemCalls => {
                let counter = Counter::start(self.series.pid(), server.service.folder())?;
                let taken = self.cell(shape, operations, server)?;
                let calls = counter.stop()?;
                let each = |calls: u64| calls as f64 / (taken.sets + taken.gets) * 1e3;
                vec![
                    ("calls_per_thousand", each(calls.all)),
                    ("futex_per_thousand", each(calls.futex)),
                    ("yields_per_thousand", each(calls.sched_yield)),
                ]
            }
            Read::Allocations => {
                // A cell of one get has a thread and a line of output, too.
                let few = self.allocated(shape, 1, server)?;
                let many = self.allocated(shape, operations, server)?;
                let each = (many - few) / f64::from(operations - 1);
                vec![("allocations_per_get", (each * 1e3).round() / 1e3)]
            }
        };
        Ok(numbers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Allocations of a cell.
    fn allocated(&mut self, shape: Shape, operations: u32, server: &mut Memcached) -> Result<f64> {
        let file = self.allocations.clone().context("this program's allocations are not counted")?;
        let before = allocations::read(Some(&file))?;
        self.cell(shape, operations, server)?;
        Ok((allocations::read(Some(&file))? - before) as f64)
    }

    /// Runs a cell, and checks that no operation is lost.
    fn cell(&mut self, shape: Shape, operations: u32, server: &mut Memcached) -> Result<Taken> {
        let sets_before = server.sets()?;
        let clocks = |series: &Series| -> Result<_> {
            Ok((machine::cpu_time(series.pid())?, machine::cpu_time(server.service.pid())?))
        };
        let (client_before, server_before) = clocks(&self.series)?;
        let result = self.series.ask(&shape.cell(operations), CELL_MAX)?;
        let (client_after, server_after) = clocks(&self.series)?;
        let numbers = process::numbers(&result);
        let number = |name: &str| {
            process::number(&numbers, name).with_context(|| format!("the program prints no `{name}`"))
        };
        let (sets, gets, hits) = (number("sets")?, number("gets")?, number("hits")?);
        if sets + gets != f64::from(operations) {
            bail!("the program did {sets} sets and {gets} gets in place of {operations} operations");
        }
        if hits != gets {
            bail!("{hits} of {gets} gets had their key's value");
        }
        server.await_sets(sets_before + sets as u64)?;
        Ok(Taken {
            seconds: number("seconds")?,
            sets,
            gets,
            client_cpu: client_after - client_before,
            server_cpu: server_after - server_before,
        })
    }
}
