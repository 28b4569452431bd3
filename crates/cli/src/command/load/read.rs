//! Reading a scenario with the files that it names, and applying the changes from the command line.
//!
//! Secrets get their values here, and from then on the terminal hides them.

use std::env::VarError;
use std::path::{Path, PathBuf};

use clap::Args;
use stadium_scenario::Program;
use stadium_scenario::secret::Secrets;
use stadium_scenario::value::Value;

use crate::failure::{Context, Failure};
use crate::terminal::Terminal;

/// Which scenario, and what of it is different.
#[derive(Debug, Args)]
pub(super) struct Scenario {
    /// The scenario, a TOML file
    #[arg(value_name = "SCENARIO")]
    pub(super) file: PathBuf,

    /// Another address for a target: NAME=HOST:PORT, or HOST:PORT where there is one target
    #[arg(long = "target", value_name = "[NAME=]HOST:PORT")]
    targets: Vec<String>,

    /// Another first value for a variable of the scenario. Other users of this machine see the command line: give secrets by
    /// an environment variable or a file that the scenario names
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
    /// Reads it, and has the terminal hide what is secret in it.
    ///
    /// # Errors
    /// [`Failure::Problems`] with each problem's line, a caret under it and a suggestion; [`Failure::Usage`] for a flag that
    /// does not fit it, and for a secret without a value.
    pub(super) fn read(&self, terminal: &Terminal) -> Result<Program, Failure> {
        let mut program = read(&self.file)?;
        for change in &self.targets {
            retarget(&mut program, change)?;
        }
        let mut given = Vec::new();
        for change in &self.values {
            given.push(set(&mut program, change)?);
        }
        // Values that were given are hidden also in messages about those that were not.
        terminal.hide(Secrets::of(&program));
        find_secrets(&mut program, &self.folder(), &given)?;
        terminal.hide(Secrets::of(&program));
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

/// Sets a variable; gives its slot. The value is never part of a message: it may be secret.
fn set(program: &mut Program, change: &str) -> Result<usize, Failure> {
    let (name, value) =
        change.split_once('=').ok_or_else(|| Failure::Usage("--set takes NAME=VALUE".to_owned()))?;
    let slot = program.variables.iter().position(|known| known == name).ok_or_else(|| {
        Failure::Usage(format!(
            "--set {name}: the scenario has no variable {name}; it has: {}",
            program.variables.join(", ")
        ))
    })?;
    let is_secret = program.secrets.iter().any(|secret| usize::from(secret.slot.0) == slot);
    program.initial[slot] = match value.parse() {
        // A secret is shown to servers as it was given: 007 is not 7.
        Ok(number) if !is_secret => Value::Number(number),
        _ => Value::Text(value.to_owned()),
    };
    Ok(slot)
}

/// Gives secrets that no flag gave the values of their environment variables and files.
fn find_secrets(program: &mut Program, folder: &Path, given: &[usize]) -> Result<(), Failure> {
    for secret in &program.secrets {
        let slot = usize::from(secret.slot.0);
        if given.contains(&slot) {
            continue;
        }
        let name = &secret.name;
        let from_env = match &secret.env {
            None => None,
            Some(variable) => match std::env::var(variable) {
                Ok(value) => Some(value),
                Err(VarError::NotPresent) => None,
                Err(VarError::NotUnicode(_)) => {
                    return Err(Failure::Usage(format!(
                        "secret {name}: the variable {variable} is not UTF-8"
                    )));
                }
            },
        };
        let value = match (from_env, &secret.file) {
            (Some(value), _) => value,
            (None, Some(file)) => {
                let path = folder.join(file);
                let text = std::fs::read_to_string(&path).map_err(|error| {
                    Failure::Usage(format!("secret {name}: reading {}: {error}", path.display()))
                })?;
                text.trim_end_matches(['\r', '\n']).to_owned()
            }
            (None, None) => {
                let how = match &secret.env {
                    Some(variable) => {
                        format!("set the environment variable {variable}, or use --set {name}=VALUE")
                    }
                    None => format!("use --set {name}=VALUE, or have the scenario name an `env` or a `file`"),
                };
                return Err(Failure::Usage(format!("secret {name} has no value: {how}")));
            }
        };
        program.initial[slot] = Value::Text(value);
    }
    Ok(())
}
