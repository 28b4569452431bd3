//! Reading a scenario with the files that it names, and changing what the command line says otherwise.

use std::path::{Path, PathBuf};

use clap::Args;
use stadium_scenario::Program;
use stadium_scenario::value::Value;

use crate::failure::{Context, Failure};

/// Which scenario, and what of it is different.
#[derive(Debug, Args)]
pub(super) struct Scenario {
    /// The scenario, a TOML file
    #[arg(value_name = "SCENARIO")]
    pub(super) file: PathBuf,

    /// Another address for a target: NAME=HOST:PORT, or HOST:PORT where there is one target
    #[arg(long = "target", value_name = "[NAME=]HOST:PORT")]
    targets: Vec<String>,

    /// Another first value for a variable of the scenario
    #[arg(long = "set", value_name = "NAME=VALUE")]
    values: Vec<String>,

    /// One more threshold, such as "response.p99 < 50ms"
    #[arg(long = "threshold", value_name = "THRESHOLD")]
    thresholds: Vec<String>,

    /// What random numbers start from, instead of the scenario's seed
    #[arg(long)]
    seed: Option<u64>,
}

impl Scenario {
    /// Reads it.
    ///
    /// # Errors
    /// [`Failure::Problems`] with each problem's line, a caret under it and a suggestion.
    pub(super) fn read(&self) -> Result<Program, Failure> {
        let mut program = read(&self.file)?;
        for change in &self.targets {
            retarget(&mut program, change)?;
        }
        for change in &self.values {
            set(&mut program, change)?;
        }
        program.thresholds.extend(self.thresholds.iter().map(|text| (text.clone(), 0)));
        program.seed = self.seed.unwrap_or(program.seed);
        Ok(program)
    }

    /// What file names in it are relative to.
    pub(super) fn folder(&self) -> PathBuf {
        folder(&self.file)
    }
}

fn folder(file: &Path) -> PathBuf {
    file.parent().map(Path::to_owned).unwrap_or_default()
}

/// Reads a scenario file.
pub(super) fn read(file: &Path) -> Result<Program, Failure> {
    let text = std::fs::read_to_string(file).context(format!("reading {}", file.display()))?;
    let folder = folder(file);
    let mut open = |name: &str| std::fs::read(folder.join(name)).map_err(|error| error.to_string());
    stadium_scenario::parse(&text, &mut open).map_err(|problems| {
        let name = file.display().to_string();
        let mut lines: Vec<String> = problems.iter().map(|problem| problem.render(&name, &text)).collect();
        lines.push(match problems.len() {
            1 => format!("{name}: one problem"),
            count => format!("{name}: {count} problems"),
        });
        Failure::Problems(lines.join("\n"))
    })
}

fn retarget(program: &mut Program, change: &str) -> Result<(), Failure> {
    let names: Vec<&str> = program.targets.iter().map(|target| target.name.as_str()).collect();
    let known = names.join(", ");
    let wrong =
        |why: &str| Failure::Usage(format!("--target {change}: {why}; targets of the scenario: {known}"));
    let (name, address) = match change.split_once('=') {
        Some((name, address)) => (Some(name), address),
        None => (None, change),
    };
    let place = match name {
        Some(name) => names.iter().position(|known| *known == name).ok_or_else(|| wrong("no such target"))?,
        None if names.len() == 1 => 0,
        None => return Err(wrong("say which target: NAME=HOST:PORT")),
    };
    let (host, port) = address.rsplit_once(':').ok_or_else(|| wrong("an address is HOST:PORT"))?;
    let port = port.parse().map_err(|_| wrong("the port is no number from 1 to 65535"))?;
    let target = &mut program.targets[place];
    target.host = host.trim_matches(['[', ']']).to_owned();
    target.port = port;
    Ok(())
}

fn set(program: &mut Program, change: &str) -> Result<(), Failure> {
    let (name, value) =
        change.split_once('=').ok_or_else(|| Failure::Usage(format!("--set {change}: it is NAME=VALUE")))?;
    let slot = program.variables.iter().position(|known| known == name).ok_or_else(|| {
        Failure::Usage(format!(
            "--set {change}: the scenario has no variable {name}; it has: {}",
            program.variables.join(", ")
        ))
    })?;
    program.initial[slot] = match value.parse() {
        Ok(number) => Value::Number(number),
        Err(_) => Value::Text(value.to_owned()),
    };
    Ok(())
}
