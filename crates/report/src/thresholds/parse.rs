//! Reads a threshold from its line.
//!
//! Every mistake points at the bytes that are wrong and, where something like them exists, suggests
//! it.

use std::ops::Range;

use super::figure::{Place, ROWS, Row, Stat, Which};
use super::{Comparison, Limit, Mistake, Scope, Threshold, Unit};

/// Reads one threshold: `response.p99 < 50ms`.
pub fn parse(text: &str) -> Result<Threshold, Mistake> {
    let mut line = Line { text, at: 0 };
    let mut scope = Scope::default();
    line.space();
    while line.scope(&mut scope)? {}
    let (row, stat, which) = line.figure(&scope)?;
    let comparison = line.comparison()?;
    let limit = line.limit(row)?;
    line.space();
    if line.at < text.len() {
        return Err(line.mistake(line.at..text.trim_end().len(), "nothing may follow a threshold's value"));
    }
    let figure = row.figure;
    Ok(Threshold { text: text.trim().to_owned(), scope, figure, stat, which, comparison, limit })
}

/// How alike two words must be for one to be suggested.
const ALIKE: f64 = 0.7;

/// The candidate that is most like a word.
fn nearest(word: &str, candidates: impl Iterator<Item = String>) -> Option<String> {
    let scored = candidates.map(|name| (strsim::normalized_damerau_levenshtein(word, &name), name));
    scored.filter(|&(alike, _)| alike >= ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

const SCOPES: [&str; 4] = ["session", "step", "fleet", "phase"];

struct Line<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Line<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn mistake(&self, at: Range<usize>, text: impl Into<String>) -> Mistake {
        Mistake { at, text: text.into(), suggestion: None }
    }

    /// The bytes from here to the next space or the end: what an unreadable token is.
    fn token(&self) -> Range<usize> {
        let length = self.rest().find(char::is_whitespace).unwrap_or(self.rest().len());
        self.at..self.at + length
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let mut word = &rest[..end];
        // The point of p99.9 belongs to it.
        if let Some(fraction) = rest[end..].strip_prefix('.')
            && word.len() > 1
            && word.starts_with('p')
            && word[1..].bytes().all(|byte| byte.is_ascii_digit())
        {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                word = &rest[..end + 1 + digits];
            }
        }
        self.at += word.len();
        word
    }

    /// A text in quotes, of either kind; a backslash takes the next character as it is.
    fn quoted(&mut self) -> Result<Option<String>, Mistake> {
        let Some(quote) = self.rest().chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return Ok(None);
        };
        let start = self.at;
        let mut found = String::new();
        let mut escaped = false;
        for (index, character) in self.rest().char_indices().skip(1) {
            match character {
                _ if escaped => {
                    found.push(character);
                    escaped = false;
                }
                '\\' => escaped = true,
                _ if character == quote => {
                    self.at = start + index + quote.len_utf8();
                    return Ok(Some(found));
                }
                _ => found.push(character),
            }
        }
        Err(self.mistake(start..self.text.len(), "the text in quotes does not end"))
    }

    /// `("text")`; where `bare`, the text may also stand without parentheses.
    fn argument(&mut self, of: &str, bare: bool) -> Result<Option<String>, Mistake> {
        let before = self.at;
        self.space();
        if self.eat("(") {
            self.space();
            let start = self.at;
            let Some(found) = self.quoted()? else {
                let rest = self.rest();
                let end = rest.find([')', ' ']).unwrap_or(rest.len());
                let mut mistake =
                    self.mistake(start..start + end, format!("{of} is named by a text in quotes"));
                if end > 0 {
                    mistake.suggestion = Some(format!("\"{}\"", &rest[..end]));
                }
                return Err(mistake);
            };
            self.space();
            if !self.eat(")") {
                return Err(self.mistake(self.at..self.at, "a closing parenthesis is missing here"));
            }
            return Ok(Some(found));
        }
        if bare && let Some(found) = self.quoted()? {
            return Ok(Some(found));
        }
        self.at = before;
        Ok(None)
    }

    /// Reads one scope, if one is next.
    fn scope(&mut self, scope: &mut Scope) -> Result<bool, Mistake> {
        let start = self.at;
        let word = self.word();
        if !SCOPES.contains(&word) {
            let is_argument = self.rest().trim_start().starts_with(['"', '\'']);
            if is_argument && !word.is_empty() {
                let suggestion = nearest(word, SCOPES.iter().map(|scope| (*scope).to_owned()));
                let text =
                    format!("`{word}` is not something that a figure can be of: session, step, fleet, phase");
                return Err(Mistake { at: start..self.at, text, suggestion });
            }
            self.at = start;
            return Ok(false);
        }
        let named = self.at;
        let Some(name) = self.argument(&format!("a {word}"), true)? else {
            let text = format!("which {word}? Its name follows in quotes");
            return Err(Mistake { at: start..named, text, suggestion: Some(format!("{word}(\"NAME\")")) });
        };
        let slot = match word {
            "session" => &mut scope.session,
            "step" => &mut scope.step,
            "fleet" => &mut scope.fleet,
            _ => &mut scope.phase,
        };
        if slot.replace(name).is_some() {
            return Err(self.mistake(start..self.at, format!("a figure is of one {word} only")));
        }
        let together =
            [scope.session.is_some() || scope.step.is_some(), scope.fleet.is_some(), scope.phase.is_some()];
        if together.into_iter().filter(|named| *named).count() > 1 {
            let text = "phases, fleets and sessions are measured apart: name only one (a step may stand in a session)";
            return Err(self.mistake(start..self.at, text));
        }
        self.space();
        if self.eat(".") {
            self.space();
        }
        Ok(true)
    }

    /// The figure: its row, which of its figures, and the text in its parentheses.
    fn figure(&mut self, scope: &Scope) -> Result<(&'static Row, Stat, Option<String>), Mistake> {
        let start = self.at;
        let mut names: Vec<&str> = Vec::new();
        let mut which = None;
        let mut which_at = start..start;
        loop {
            let name = self.word();
            if name.is_empty() {
                let at = if names.is_empty() { self.token() } else { self.at..self.at };
                return Err(self.mistake(at, "a figure is missing here, such as response.p99 or errors"));
            }
            names.push(name);
            let before = self.at;
            if let Some(text) = self.argument(&format!("`{name}`"), false)? {
                which_at = before..self.at;
                if which.replace(text).is_some() {
                    return Err(
                        self.mistake(which_at, "only one text in parentheses may follow a figure's name")
                    );
                }
            }
            if !self.eat(".") {
                break;
            }
        }
        let at = start..self.at;
        let (row, stat) = find(&names, scope.place(), at.clone())?;
        match (row.which, &which) {
            (Which::Must, None) => {
                let text = format!("which {}? It follows in parentheses and quotes", row.name);
                Err(Mistake { at, text, suggestion: Some(row.example()) })
            }
            (Which::None, Some(_)) => {
                let text = format!("`{}` takes nothing in parentheses", row.name);
                Err(Mistake { at: which_at, text, suggestion: None })
            }
            _ => Ok((row, stat, which)),
        }
    }

    fn comparison(&mut self) -> Result<Comparison, Mistake> {
        self.space();
        let table = [
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("==", Comparison::Equal),
            ("!=", Comparison::Different),
            ("<", Comparison::Less),
            (">", Comparison::More),
        ];
        for (token, comparison) in table {
            if self.eat(token) {
                return Ok(comparison);
            }
        }
        if self.rest().starts_with('=') {
            let text = "one `=` compares nothing";
            let suggestion = Some("==".to_owned());
            return Err(Mistake { at: self.at..self.at + 1, text: text.to_owned(), suggestion });
        }
        Err(self.mistake(self.token(), "a comparison is missing here: one of < <= > >= == !="))
    }

    fn limit(&mut self, row: &'static Row) -> Result<Limit, Mistake> {
        self.space();
        let start = self.at;
        let rest = self.rest();
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(rest.len());
        let Ok(number) = rest[..digits].replace('_', "").parse::<f64>() else {
            let usual = example_limit(row.units[0]);
            let text = format!("a value is missing here, such as {usual}");
            return Err(self.mistake(self.token(), text));
        };
        self.at += digits;
        let number_end = self.at;
        self.space();
        let unit_at = self.token();
        let word = &self.text[unit_at.clone()];
        let (factor, unit) = match word {
            "" => (1.0, Unit::Count),
            "ns" => (1.0, Unit::Time),
            "us" | "µs" | "μs" => (1e3, Unit::Time),
            "ms" => (1e6, Unit::Time),
            "s" => (1e9, Unit::Time),
            "min" => (60e9, Unit::Time),
            "h" => (3600e9, Unit::Time),
            "%" => (0.01, Unit::Share),
            "/s" => (1.0, Unit::Rate),
            "/min" => (1.0 / 60.0, Unit::Rate),
            "/h" => (1.0 / 3600.0, Unit::Rate),
            _ => {
                let units = ["ns", "us", "ms", "s", "min", "h", "%", "/s", "/min", "/h"];
                let text = format!("unknown unit `{word}`: there are {}", units.join(", "));
                let known = match word {
                    "sec" | "secs" | "second" | "seconds" => Some("s".to_owned()),
                    "msec" | "msecs" | "millis" | "milliseconds" => Some("ms".to_owned()),
                    "m" | "minute" | "minutes" => Some("min".to_owned()),
                    "rps" | "qps" | "/sec" | "/second" => Some("/s".to_owned()),
                    _ => nearest(word, units.iter().map(|unit| (*unit).to_owned())),
                };
                return Err(Mistake { at: unit_at, text, suggestion: known });
            }
        };
        if !row.units.contains(&unit) {
            let wanted: Vec<&str> = row.units.iter().map(|unit| unit.phrase()).collect();
            let found = if unit == Unit::Count {
                "this has no unit".to_owned()
            } else {
                format!("this is {}", unit.phrase())
            };
            let written = &self.text[start..number_end];
            let suggestion = match row.units[0] {
                Unit::Time => format!("{written}ms"),
                Unit::Share => format!("{written}%"),
                Unit::Rate => format!("{written}/s"),
                Unit::Count => written.to_owned(),
            };
            let text = format!("`{}` is {}; {found}", row.name, wanted.join(" or "));
            return Err(Mistake { at: start..unit_at.end, text, suggestion: Some(suggestion) });
        }
        self.at = unit_at.end;
        Ok(Limit { value: number * factor, unit })
    }
}

fn example_limit(unit: Unit) -> &'static str {
    match unit {
        Unit::Time => "50ms",
        Unit::Share => "0.1%",
        Unit::Rate => "200/s",
        Unit::Count => "0",
    }
}

/// Finds the row that names mean at a place.
fn find(names: &[&str], place: Place, at: Range<usize>) -> Result<(&'static Row, Stat), Mistake> {
    let whole = names.join(".");
    let here = || ROWS.iter().filter(|row| row.places.contains(&place));
    if let Some(row) = here().find(|row| row.name == whole) {
        if !row.is_time() {
            return Ok((row, Stat::Max));
        }
        let text = format!("`{whole}` is a time: say which one, p50, p99, p99.9, min, mean or max");
        return Err(Mistake { at, text, suggestion: Some(row.example()) });
    }
    let (last, first) = names.split_last().expect("a figure has at least one name");
    let stem = first.join(".");
    // `messages.latency.p99` means the same as `messages.p99`.
    let stem = stem.strip_suffix(".latency").unwrap_or(&stem);
    if let Some(row) = here().find(|row| row.name == stem) {
        if !row.is_time() {
            let text = format!("`{stem}` has no parts: `{last}` is too much");
            return Err(Mistake { at, text, suggestion: Some(row.example()) });
        }
        if let Some(stat) = Stat::read(last) {
            return Ok((row, stat));
        }
        let text =
            format!("`{last}` is no figure of a time: there are p50, p99, p99.9 and so on, min, mean, max");
        let suggestion = match *last {
            "avg" | "average" => Some(format!("{stem}.mean")),
            "med" | "median" => Some(format!("{stem}.p50")),
            _ => Some(row.example()),
        };
        return Err(Mistake { at, text, suggestion });
    }
    let elsewhere = ROWS.iter().find(|row| row.name == whole || row.name == stem);
    let text = match elsewhere {
        Some(row) => {
            let places: Vec<&str> = row.places.iter().map(|place| place.phrase()).collect();
            format!("{} has no figure `{}`; it is one of {}", place.phrase(), row.name, places.join(", "))
        }
        None => {
            let mut names: Vec<&str> = here().map(|row| row.name).collect();
            names.sort_unstable();
            format!("{} has no figure `{whole}`: it has {}", place.phrase(), names.join(", "))
        }
    };
    let tail = if Stat::read(last).is_some() { format!(".{last}") } else { String::new() };
    let candidates =
        here().map(|row| if row.is_time() { format!("{}{tail}", row.name) } else { row.name.to_owned() });
    let suggestion = nearest(&whole, candidates).map(|name| {
        let row = here().find(|row| row.name == name);
        row.map_or(name, Row::example)
    });
    Err(Mistake { at, text, suggestion })
}
