//! `stadium service`: services found, described, called and looked after.
//!
//! A service is asked over RPC like by any other caller; what a method takes and answers is learnt from the service
//! itself ([`contract`]). Where it is looked for is in [`place`], how it is called in [`caller`].

mod call;
mod caller;
mod care;
mod contract;
mod describe;
mod list;
mod place;

use std::time::Duration;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::terminal::Terminal;
use caller::BearerFlags;
#[cfg(feature = "lab")]
pub(crate) use place::discovery;
use place::{PlaceFlags, TlsFlags};

/// What to do with services.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 done; 75 the service is busy, try again; 65 it rejected the request, which will never work; 69 no instance could be
reached, or what became of the call is unknown; 124 the deadline passed; 1 anything else; 2 wrong usage.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the services and instances that discovery knows
    List {
        #[command(flatten)]
        place: PlaceFlags,
        #[command(flatten)]
        patience: Patience,
    },
    /// Show a service's methods and messages, as it describes itself
    Describe {
        /// The service, such as `geo`
        name: String,
        #[command(flatten)]
        place: PlaceFlags,
        #[command(flatten)]
        patience: Patience,
    },
    /// Call a method with JSON and print its answer as JSON; a stream's answers one a line
    Call(call::Arguments),
    /// Ask whether instances take requests; exit code 69 where none does
    Health {
        /// The service
        name: String,
        #[command(flatten)]
        place: PlaceFlags,
        #[command(flatten)]
        patience: Patience,
    },
    /// Show what instances have done: requests by their end, latencies, load
    Statistics {
        /// The service
        name: String,
        #[command(flatten)]
        place: PlaceFlags,
        #[command(flatten)]
        patience: Patience,
    },
    /// Have an instance leave: it notifies its callers and discovery, finishes what it has, and
    /// takes nothing new
    Quiesce {
        /// The service
        name: String,
        /// The instance
        #[arg(value_name = "HOST:PORT")]
        instance: String,
        /// How long what is under way may take [default: the service's own bound]
        #[arg(long, value_name = "TIME", value_parser = duration)]
        within: Option<Duration>,
        #[command(flatten)]
        bearer: BearerFlags,
        #[command(flatten)]
        tls: TlsFlags,
        #[command(flatten)]
        patience: Patience,
    },
    /// Show or set the log level of instances
    LogLevel {
        /// The service
        name: String,
        /// The level to set [default: only show it]
        #[arg(value_parser = ["error", "warn", "info", "debug", "trace", "off"])]
        level: Option<String>,
        #[command(flatten)]
        bearer: BearerFlags,
        #[command(flatten)]
        place: PlaceFlags,
        #[command(flatten)]
        patience: Patience,
    },
}

/// How long to wait.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Patience {
    /// Longest wait for an answer: 500ms, 2s, 1m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5s")]
    deadline: Duration,
}

/// Does one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::List { place, patience } => list::run(&place, patience.deadline, terminal),
        Action::Describe { name, place, patience } => {
            describe::run(&name, &place, patience.deadline, terminal)
        }
        Action::Call(arguments) => call::run(&arguments, terminal),
        Action::Health { name, place, patience } => care::health(&name, &place, patience.deadline, terminal),
        Action::Statistics { name, place, patience } => {
            care::statistics(&name, &place, patience.deadline, terminal)
        }
        Action::Quiesce { name, instance, within, bearer, tls, patience } => {
            care::quiesce(&name, &instance, within, &tls, &bearer.metadata()?, patience.deadline, terminal)
        }
        Action::LogLevel { name, level, bearer, place, patience } => {
            care::log_level(&name, level.as_deref(), &place, &bearer.metadata()?, patience.deadline, terminal)
        }
    }
}

/// A time such as `500ms`, `2s` or `1m`, up to a day.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        _ => return Err("expected a time such as 500ms, 2s or 1m".to_owned()),
    };
    let seconds = number.parse::<f64>().map_err(|error| error.to_string())? * scale;
    if !(0.001..=86_400.0).contains(&seconds) {
        return Err("must be 1ms to 24h".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_carry_their_unit() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1_500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "2", "s", "-1s", "0s", "2d", "25h", "1..5s", "1 s"] {
            assert!(duration(wrong).is_err(), "{wrong:?}");
        }
    }
}
