//! Scenario files: TOML, read, checked and compiled to a program.
//!
//! All problems of a file are found in one go. `shape` lists what a file may hold, `reader` reads
//! it, and each part has a module. docs/load-scenarios.md is the reference.

mod answer;
mod bytes;
mod data;
mod fleet;
mod phase;
mod reader;
mod session;
pub(crate) mod shape;
mod step;
mod target;
mod variables;

use toml::de::DeTable;

use crate::mistake::Mistake;
use crate::problem::Problem;
use crate::program::{Program, Secret, Session, Step, Target};
use crate::table::Table;
use crate::template::{Encoding, Template};
use reader::{Fields, Item, Reader};
use variables::Variables;

/// Time for a step that states none.
const TIMEOUT_NS: u64 = 30_000_000_000;

/// Problems that are reported; beyond, a file is something else.
const PROBLEMS_MAX: usize = 100;

/// Reads a scenario. `files` gives the bytes of a file that the scenario names, by the path that stands in it.
///
/// # Errors
/// All that is wrong with it, in the order of its text.
pub fn parse(
    text: &str,
    files: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<Program, Vec<Problem>> {
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader::new(text);
    for error in errors {
        let at = error.span().unwrap_or(0..0);
        reader.problem(at, format!("not TOML: {}", error.message()));
    }
    if reader.has_problems() {
        // The recovered document is not the intended one: problems of it would be false.
        return Err(reader.problems());
    }
    let at = root.span();
    let root = root.into_inner();
    let mut builder = Builder {
        reader,
        files,
        variables: Variables::default(),
        targets: Vec::new(),
        target_draws: Vec::new(),
        tables: Vec::new(),
        sessions: Vec::new(),
        session_names: Vec::new(),
        steps: Vec::new(),
        timeout_ns: TIMEOUT_NS,
    };
    let program = builder.scenario(&root, at, text);
    if builder.reader.has_problems() {
        let mut problems = builder.reader.problems();
        problems.truncate(PROBLEMS_MAX);
        return Err(problems);
    }
    Ok(program)
}

/// A program in the making.
struct Builder<'a, 'f> {
    reader: Reader<'a>,
    files: &'f mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
    variables: Variables,
    targets: Vec<Target>,
    /// Tables whose columns the headers of each target use.
    target_draws: Vec<Vec<usize>>,
    tables: Vec<Table>,
    sessions: Vec<Session>,
    /// Names and weights of all sessions.
    session_names: Vec<(&'a str, f64)>,
    steps: Vec<Step>,
    timeout_ns: u64,
}

impl<'a> Builder<'a, '_> {
    fn scenario(&mut self, root: &'a DeTable<'a>, at: std::ops::Range<usize>, text: &str) -> Program {
        let fields = self.reader.fields_of(root, at.start..at.start, &shape::SCENARIO);
        let reader = &mut self.reader;
        let name = fields.item("name").and_then(|item| reader.text(item)).unwrap_or("scenario").to_owned();
        let description =
            fields.item("description").and_then(|item| reader.text(item)).unwrap_or("").to_owned();
        let seed = fields.item("seed").and_then(|item| reader.whole(item, 0..=i64::MAX as u64)).unwrap_or(1);
        let users_max = fields
            .item("users_max")
            .and_then(|item| reader.whole(item, 1..=1_000_000_000))
            .unwrap_or(100_000);
        let grace_ns = fields.item("grace").and_then(|item| reader.duration(item)).unwrap_or(10_000_000_000);
        self.timeout_ns = self.timeout(&fields).unwrap_or(TIMEOUT_NS);

        self.initial(&fields);
        let secrets = self.secrets(&fields);
        self.data(&fields);
        let headers = self.open_targets(&fields);
        self.sessions(&fields, headers);
        let phases = self.phases(&fields);
        let fleets = self.fleets(&fields);
        if self.session_names.is_empty() && fleets.is_empty() && !self.reader.has_problems() {
            self.reader.note(
                Mistake::new(0..0, "the scenario does nothing")
                    .hint("it needs `[[sessions]]` with steps, or `[[fleets]]`"),
            );
        }
        if phases.is_empty() && !self.reader.has_problems() {
            self.reader.note(
                Mistake::new(0..0, "the scenario has no phases")
                    .hint("`[[phases]]` say how long it runs and who comes: duration = \"1m\", rate = 10"),
            );
        }
        Program {
            name,
            description,
            text: text.to_owned(),
            seed,
            targets: std::mem::take(&mut self.targets),
            tables: std::mem::take(&mut self.tables),
            variables: std::mem::take(&mut self.variables.names),
            initial: std::mem::take(&mut self.variables.initial),
            secrets,
            phases,
            sessions: std::mem::take(&mut self.sessions),
            steps: std::mem::take(&mut self.steps),
            thresholds: self.thresholds(&fields),
            fleets,
            users_max,
            grace_ns,
        }
    }

    /// First values of variables.
    fn initial(&mut self, fields: &Fields<'a>) {
        let Some(item) = fields.item("variables") else {
            return;
        };
        for entry in self.reader.map(item) {
            let value = self.reader.value(entry.item);
            if !self.is_variable(entry.key, &entry.at) {
                continue;
            }
            match self.variables.declare_everywhere(entry.key) {
                Some(slot) => {
                    self.variables.initial[usize::from(slot.0)] = value.unwrap_or_default();
                }
                None => self.too_many_variables(entry.at),
            }
        }
    }

    /// Variables whose values come from elsewhere.
    fn secrets(&mut self, fields: &Fields<'a>) -> Vec<Secret> {
        let mut secrets = Vec::new();
        let Some(item) = fields.item("secrets") else {
            return secrets;
        };
        for entry in self.reader.map(item) {
            if !entry.item.get_ref().is_table() {
                self.reader.note(
                    Mistake::new(entry.item.span(), "a secret's value does not stand in the scenario").hint(
                        format!("`{0} = {{ env = \"NAME\" }}`, `{0} = {{ file = \"PATH\" }}`, or `{0} = {{}}` for --set", entry.key),
                    ),
                );
                continue;
            }
            let Some(fields) = self.reader.fields(entry.item, &shape::SECRET) else {
                continue;
            };
            if !self.is_variable(entry.key, &entry.at) {
                continue;
            }
            if self.variables.is_known(entry.key) {
                self.reader.problem(entry.at.clone(), format!("`{}` is a variable already", entry.key));
                continue;
            }
            let reader = &mut self.reader;
            let mut text = |key: &str| fields.item(key).and_then(|item| reader.text(item)).map(str::to_owned);
            let (env, file) = (text("env"), text("file"));
            match self.variables.declare_everywhere(entry.key) {
                Some(slot) => secrets.push(Secret { name: entry.key.to_owned(), slot, env, file }),
                None => self.too_many_variables(entry.at),
            }
        }
        secrets
    }

    fn thresholds(&mut self, fields: &Fields<'a>) -> Vec<(String, u32)> {
        let Some(item) = fields.item("thresholds") else {
            return Vec::new();
        };
        let mut thresholds = Vec::new();
        if item.get_ref().is_table() {
            // "response.p99" = "< 50ms"
            for entry in self.reader.map(item) {
                if let Some(text) = self.reader.text(entry.item) {
                    thresholds.push((format!("{} {text}", entry.key), self.reader.line(entry.at.start)));
                }
            }
            return thresholds;
        }
        for item in self.reader.list(item) {
            if let Some(text) = self.reader.text(item) {
                thresholds.push((text.to_owned(), self.reader.line(item.span().start)));
            }
        }
        thresholds
    }

    fn timeout(&mut self, fields: &Fields<'a>) -> Option<u64> {
        let item = fields.item("timeout")?;
        let ns = self.reader.duration(item)?;
        if ns == 0 {
            self.reader.problem(item.span(), "a timeout of nothing lets nothing succeed");
        }
        Some(ns)
    }

    /// Whether a variable may be called so; notes a problem where not.
    fn is_variable(&mut self, name: &str, at: &std::ops::Range<usize>) -> bool {
        if variables::is_name(name) {
            return true;
        }
        self.reader.note(
            Mistake::new(at.clone(), format!("a variable cannot be called `{name}`"))
                .hint("names are letters, digits and `_`, and no digit first"),
        );
        false
    }

    fn too_many_variables(&mut self, at: std::ops::Range<usize>) {
        self.reader.problem(at, "more than 65535 variables");
    }

    /// Notes a mistake in a value's text. A variable of another session is reported as one.
    fn note_in(&mut self, item: &Item<'_>, mut mistake: Mistake) {
        let text = item.get_ref().as_str().unwrap_or("");
        if let Some(name) = text.get(mistake.range.clone())
            && self.variables.is_elsewhere(name)
        {
            mistake.hint = Some(format!("`{name}` is set in another session; each user does one session"));
        }
        self.reader.note_in(item, mistake);
    }

    fn template(&mut self, item: &'a Item<'a>, encoding: Encoding) -> Option<Template> {
        let text = self.reader.text(item)?;
        match Template::parse_as(text, encoding, &mut self.variables) {
            Ok(template) => Some(template),
            Err(mistake) => {
                self.note_in(item, mistake);
                None
            }
        }
    }

    fn expression(&mut self, item: &'a Item<'a>) -> Option<crate::expression::Expression> {
        let text = self.reader.text(item)?;
        match crate::expression::Expression::parse(text, &mut self.variables) {
            Ok(expression) => Some(expression),
            Err(mistake) => {
                self.note_in(item, mistake);
                None
            }
        }
    }

    /// An expression, or a constant that is not a text.
    fn expression_or_constant(&mut self, item: &'a Item<'a>) -> Option<crate::expression::Expression> {
        if item.get_ref().is_str() {
            return self.expression(item);
        }
        self.reader.value(item).map(crate::expression::Expression::constant)
    }

    fn regex(&mut self, item: &'a Item<'a>) -> Option<regex::bytes::Regex> {
        let text = self.reader.text(item)?;
        match regex::bytes::Regex::new(text) {
            Ok(regex) => Some(regex),
            Err(error) => {
                let message = format!("not a regular expression: {}", crate::expression::last_line(&error));
                self.reader.problem(item.span(), message);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
