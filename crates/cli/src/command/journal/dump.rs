//! `stadium journal dump`: records in words, one after the other.
//!
//! Damage is described and stepped over, so that everything readable is shown. Names and reasons
//! come from outside and are cleaned of control characters.

use clap::Args;
use serde_json::{Value, json};
use stadium_journal::{Error, Position};
use stadium_node::{RecordDescription, describe_record};

use super::place::{PlaceArguments, Shard};
use crate::failure::{Context, Failure};
use crate::shown::timestamp;
use crate::terminal::{Style, Terminal, count};

/// Which records.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// Only records from this position on, such as 0x1c40
    #[arg(long, value_name = "POSITION", value_parser = parse_position, default_value = "0")]
    from: u64,
    /// At most so many records of each shard
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Only records that concern this job
    #[arg(long, value_name = "ID")]
    job: Option<u64>,
}

fn parse_position(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("{text:?} is no position such as 0x1c40"))
}

/// Prints them.
pub(super) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut damages = 0;
    for shard in arguments.place.shards()? {
        damages += dump(&shard, arguments, terminal)?;
    }
    match damages {
        0 => Ok(()),
        _ => Err(Failure::new(format!("damaged in {damages} places: `stadium journal verify` shows more"))),
    }
}

/// One shard's records; how many damages were stepped over.
fn dump(shard: &Shard, arguments: &Arguments, terminal: &Terminal) -> Result<u64, Failure> {
    let inspection = shard.inspect()?;
    let mut reader = inspection.reader().context(shard.shown())?;
    let mut damages = 0;
    let mut left = arguments.limit.unwrap_or(u64::MAX);
    // A position between two records is no place to go to, so that reading begins at the start.
    let mut seeking = Some(Position::START);
    while left > 0 {
        let sought = seeking.take().map_or(Ok(()), |to| reader.seek(to));
        let damage = match sought.and_then(|()| reader.next()) {
            Ok(None) => break,
            Ok(Some(record)) => {
                if record.position.0 < arguments.from {
                    continue;
                }
                let described = describe_record(shard.number, record.position.0, record.body);
                let about = |job: u64| described.events.iter().any(|event| event.job == Some(job));
                if arguments.job.is_none_or(about) {
                    left -= 1;
                    print(shard, record.position, record.body.len(), &described, terminal)?;
                }
                continue;
            }
            Err(Error::Corrupt(damage)) => damage,
            Err(error) => return Err(Failure::new(format!("{}: {error}", shard.shown()))),
        };
        damages += 1;
        terminal.note(format_args!("{} {damage}", terminal.err(Style::Bad, "damage:")));
        match inspection.after_damage(damage.position).context(shard.shown())? {
            Some(next) => seeking = Some(next),
            None => break,
        }
    }
    Ok(damages)
}

fn print(
    shard: &Shard,
    position: Position,
    bytes: usize,
    described: &RecordDescription,
    terminal: &Terminal,
) -> Result<(), Failure> {
    if terminal.is_json() {
        let events: Vec<Value> = described
            .events
            .iter()
            .map(|event| json!({"job": event.job.map(|job| job.to_string()), "what": event.text}))
            .collect();
        return terminal.json(&json!({
            "shard": shard.number,
            "position": position.0,
            "bytes": bytes,
            "time_ms": described.time_ms,
            "events": events,
            "trouble": described.trouble,
        }));
    }
    terminal.data(&format!(
        "{} {}, shard {}, {} bytes",
        terminal.out(Style::Name, position),
        timestamp(described.time_ms),
        shard.number,
        count(bytes as u64)
    ))?;
    for event in &described.events {
        let job = event.job.map(|job| format!("job {job}: ")).unwrap_or_default();
        let text: String = event.text.chars().map(|c| if c.is_control() { '·' } else { c }).collect();
        terminal.data(&format!("  {job}{text}"))?;
    }
    match &described.trouble {
        Some(trouble) => terminal.data(&format!("  {} {trouble}", terminal.out(Style::Bad, "the rest:"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_hexadecimal_or_decimal() {
        assert_eq!(parse_position("0x1c40"), Ok(0x1c40));
        assert_eq!(parse_position("4096"), Ok(4096));
        assert!(parse_position("1c40").is_err());
    }
}
