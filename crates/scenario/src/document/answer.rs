//! What a step makes of its answer: extractions and checks.
//!
//! Their texts are those that reports count by.

use super::Builder;
use super::reader::{Fields, Item};
use super::shape;
use crate::check::{Check, Test, Want};
use crate::expression::{Comparison, Expression};
use crate::extract::{Extract, Source};
use crate::json_path::JsonPath;
use crate::mistake::Mistake;
use crate::template::{Encoding, Template};

/// The highest status that HTTP steps without a check of it may have.
const STATUS_GOOD_MAX: u32 = 399;
/// The highest status there is: close codes of WebSockets go so far (RFC 6455, section 7.4.2).
const STATUS_MAX: u32 = 4999;

impl<'a> Builder<'a, '_> {
    pub(super) fn extractions(&mut self, item: Option<&'a Item<'a>>) -> Vec<Extract> {
        let mut extractions = Vec::new();
        let Some(item) = item else {
            return extractions;
        };
        for entry in self.reader.map(item) {
            let Some(slot) = self.variables.declare_here(entry.key) else {
                self.too_many_variables(entry.at);
                break;
            };
            if let Some((source, from, default)) = self.source(entry.item) {
                let text = format!("{} from {from}", entry.key);
                extractions.push(Extract { slot, source, default, text });
            }
        }
        extractions
    }

    fn source(&mut self, item: &'a Item<'a>) -> Option<(Source, String, Option<crate::value::Value>)> {
        if item.get_ref().is_str() {
            let path = self.json_path(item)?;
            let text = path.text().to_owned();
            return Some((Source::Json(path), text, None));
        }
        let fields = self.reader.fields(item, &shape::TAKE)?;
        let kinds = ["json", "regex", "header", "body", "status"];
        let given: Vec<(&str, &'a Item<'a>)> =
            kinds.iter().filter_map(|kind| fields.item(kind).map(|item| (*kind, item))).collect();
        let [(kind, item)] = given.as_slice() else {
            let message = "an extraction has one of `json`, `regex`, `header`, `body`, `status`";
            self.reader.problem(fields.at.clone(), message);
            return None;
        };
        if let Some(group) = fields.item("group").filter(|_| *kind != "regex") {
            self.reader.problem(group.span(), "`group` belongs to a `regex`");
        }
        let default = fields.item("default").and_then(|item| self.reader.value(item));
        let (source, text) = match *kind {
            "json" => {
                let path = self.json_path(item)?;
                let text = path.text().to_owned();
                (Source::Json(path), text)
            }
            "regex" => {
                let regex = self.regex(item)?;
                let group = self.group(&fields, &regex)?;
                let text = format!("/{}/", regex.as_str());
                (Source::Regex(regex, group), text)
            }
            "header" => {
                let name = self.reader.text(item)?;
                (Source::Header(name.to_owned()), format!("header {name}"))
            }
            "body" => {
                self.is_true(item);
                (Source::Body, "body".to_owned())
            }
            _ => {
                self.is_true(item);
                (Source::Status, "status".to_owned())
            }
        };
        Some((source, text, default))
    }

    /// A key whose presence is its whole meaning.
    pub(super) fn is_true(&mut self, item: &'a Item<'a>) {
        if self.reader.bool(item) == Some(false) {
            self.reader.problem(item.span(), "only `true` says something here");
        }
    }

    fn group(&mut self, fields: &Fields<'a>, regex: &regex::bytes::Regex) -> Option<usize> {
        let Some(item) = fields.item("group") else {
            return Some(usize::from(regex.captures_len() > 1));
        };
        if let Some(name) = item.get_ref().as_str() {
            let found = regex.capture_names().position(|known| known == Some(name));
            if found.is_none() {
                self.reader.problem(item.span(), format!("the expression has no group `{name}`"));
            }
            return found;
        }
        let group = self.reader.whole(item, 0..=100).and_then(|group| usize::try_from(group).ok())?;
        if group >= regex.captures_len() {
            let message = format!("the expression has {} groups", regex.captures_len() - 1);
            self.reader.problem(item.span(), message);
        }
        Some(group)
    }

    fn json_path(&mut self, item: &'a Item<'a>) -> Option<JsonPath> {
        let text = self.reader.text(item)?;
        match JsonPath::parse(text) {
            Ok(path) => Some(path),
            Err(mistake) => {
                self.reader.note_in(item, mistake);
                None
            }
        }
    }

    /// Checks of a step. Those of HTTP get one of the status where they have none.
    pub(super) fn checks(&mut self, item: Option<&'a Item<'a>>, is_http: bool) -> Vec<Check> {
        let mut checks = Vec::new();
        let items = item.map_or(&[][..], |item| self.reader.list_or_one(item));
        for item in items {
            if let Some(fields) = self.reader.fields(item, &shape::CHECKS) {
                self.check(&fields, &mut checks);
            }
        }
        if is_http && !checks.iter().any(Check::is_of_status) {
            let text = format!("status below {}", STATUS_GOOD_MAX + 1);
            checks.insert(0, Check { text, test: Test::Status(vec![(0, STATUS_GOOD_MAX)]) });
        }
        checks
    }

    fn check(&mut self, fields: &Fields<'a>, checks: &mut Vec<Check>) {
        if let Some(item) = fields.item("status") {
            let mut ranges = Vec::new();
            let mut words = Vec::new();
            for item in self.reader.list_or_one(item) {
                if let Some((range, word)) = self.status(item) {
                    ranges.push(range);
                    words.push(word);
                }
            }
            checks.push(Check {
                text: format!("status is {}", words.join(" or ")),
                test: Test::Status(ranges),
            });
        }
        if let Some(item) = fields.item("json") {
            for entry in self.reader.map(item) {
                let path = match JsonPath::parse(entry.key) {
                    Ok(path) => Some(path),
                    Err(mistake) => {
                        self.reader.note(Mistake { range: entry.at.clone(), ..mistake });
                        None
                    }
                };
                for (want, text) in self.wants(entry.item) {
                    if let Some(path) = &path {
                        let test = Test::Json(path.clone(), want);
                        checks.push(Check { text: format!("{} {text}", entry.key), test });
                    }
                }
            }
        }
        if let Some(item) = fields.item("header") {
            for entry in self.reader.map(item) {
                for (want, text) in self.wants(entry.item) {
                    let test = Test::Header(entry.key.to_owned(), want);
                    checks.push(Check { text: format!("header {} {text}", entry.key), test });
                }
            }
        }
        if let Some(item) = fields.item("body") {
            self.body_check(item, checks);
        }
        if let Some(item) = fields.item("below")
            && let Some(ns) = self.reader.duration(item)
        {
            let text = format!("took below {}", self.reader.text(item).unwrap_or_default());
            checks.push(Check { text, test: Test::Below(ns) });
        }
        if let Some(item) = fields.item("holds") {
            for item in self.reader.list_or_one(item) {
                if let Some(expression) = self.expression(item) {
                    let text = self.reader.text(item).unwrap_or_default().to_owned();
                    checks.push(Check { text, test: Test::Expression(expression) });
                }
            }
        }
    }

    /// A status, or a class of them as "2xx".
    fn status(&mut self, item: &'a Item<'a>) -> Option<((u32, u32), String)> {
        let Some(text) = item.get_ref().as_str() else {
            let status = self.whole_u32(item, 0..=u64::from(STATUS_MAX))?;
            return Some(((status, status), status.to_string()));
        };
        let class = text.strip_suffix("xx").and_then(|digit| digit.parse::<u32>().ok());
        let range = match (class, text.parse::<u32>(), text.split_once('-')) {
            (Some(class @ 1..=9), ..) => Some((class * 100, class * 100 + 99)),
            (None, Ok(status), _) if status <= STATUS_MAX => Some((status, status)),
            (None, _, Some((from, to))) => from.trim().parse().ok().zip(to.trim().parse().ok()),
            _ => None,
        };
        if range.is_none_or(|(from, to): (u32, u32)| from > to) {
            self.reader.note(
                Mistake::new(item.span(), format!("`{text}` is not a status"))
                    .hint("a status is 200, a class is \"2xx\", a range is \"200-204\""),
            );
            return None;
        }
        range.map(|range| (range, text.to_owned()))
    }

    fn body_check(&mut self, item: &'a Item<'a>, checks: &mut Vec<Check>) {
        if !item.get_ref().is_table() {
            for (want, text) in self.wants(item) {
                checks.push(Check { text: format!("body {text}"), test: Test::Body(want) });
            }
            return;
        }
        let Some(fields) = self.reader.fields(item, &shape::BODY_WANT) else {
            return;
        };
        for key in ["equals", "contains", "matches"] {
            if let Some((want, text)) = fields.item(key).and_then(|item| self.want(key, item)) {
                checks.push(Check { text: format!("body {text}"), test: Test::Body(want) });
            }
        }
        let Some(item) = fields.item("bytes") else {
            return;
        };
        let (least, most) = if item.get_ref().is_table() {
            let Some(fields) = self.reader.fields(item, &shape::SIZE) else {
                return;
            };
            let mut end = |key| fields.item(key).and_then(|item| self.reader.whole(item, 0..=u64::MAX));
            (end("from").unwrap_or(0), end("to").unwrap_or(u64::MAX))
        } else {
            let bytes = self.reader.whole(item, 0..=u64::MAX).unwrap_or(0);
            (bytes, bytes)
        };
        if least > most {
            self.reader.problem(item.span(), "`from` is greater than `to`");
        }
        let text = match (least, most) {
            (least, most) if least == most => format!("body has {least} bytes"),
            (least, u64::MAX) => format!("body has at least {least} bytes"),
            (least, most) => format!("body has {least} to {most} bytes"),
        };
        checks.push(Check { text, test: Test::Bytes(least, most) });
    }

    /// The answers that a subject must give, and how one would write them.
    fn wants(&mut self, item: &'a Item<'a>) -> Vec<(Want, String)> {
        if !item.get_ref().is_table() {
            return self.want("equals", item).into_iter().collect();
        }
        let Some(fields) = self.reader.fields(item, &shape::WANT_TABLE) else {
            return Vec::new();
        };
        let mut wants = Vec::new();
        for key in shape::WANT_TABLE.keys {
            if let Some(item) = fields.item(key.name) {
                wants.extend(self.want(key.name, item));
            }
        }
        if wants.is_empty() && !self.reader.has_problems() {
            self.reader.problem(
                fields.at.clone(),
                "nothing is wanted: `{ exists = true }`, `{ contains = \"...\" }`, ...",
            );
        }
        wants
    }

    fn want(&mut self, key: &str, item: &'a Item<'a>) -> Option<(Want, String)> {
        let text = match item.get_ref().as_str() {
            Some(text) => format!("\"{text}\""),
            None => {
                let mut text = Vec::new();
                self.reader.value(item)?.write(&mut text);
                String::from_utf8_lossy(&text).into_owned()
            }
        };
        Some(match key {
            "exists" => match self.reader.bool(item)? {
                true => (Want::Exists, "exists".to_owned()),
                false => (Want::Absent, "does not exist".to_owned()),
            },
            "equals" if item.get_ref().is_str() => {
                (Want::Text(self.template(item, Encoding::Plain)?), format!("is {text}"))
            }
            "equals" => (self.constant(Comparison::Equal, item)?, format!("is {text}")),
            "not" if item.get_ref().is_str() => {
                let template = self.template(item, Encoding::Plain)?;
                (self.not_text(item, template)?, format!("is not {text}"))
            }
            "not" => (self.constant(Comparison::NotEqual, item)?, format!("is not {text}")),
            "contains" => {
                let template = self.template(item, Encoding::Plain)?;
                let want = match template.literal() {
                    Some(bytes) => Want::Contains(memchr::memmem::Finder::new(bytes).into_owned().into()),
                    None => Want::ContainsText(template),
                };
                (want, format!("contains {text}"))
            }
            "matches" => {
                let regex = self.regex(item)?;
                let text = format!("matches /{}/", regex.as_str());
                (Want::Matches(regex), text)
            }
            _ => {
                let (comparison, word) = match key {
                    "above" => (Comparison::Above, "is above"),
                    "at_least" => (Comparison::AtLeast, "is at least"),
                    "below" => (Comparison::Below, "is below"),
                    _ => (Comparison::AtMost, "is at most"),
                };
                let expression = self.expression_or_constant(item)?;
                let text = text.trim_matches('"');
                (Want::Is(comparison, expression), format!("{word} {text}"))
            }
        })
    }

    fn constant(&mut self, comparison: Comparison, item: &'a Item<'a>) -> Option<Want> {
        let value = self.reader.value(item)?;
        Some(Want::Is(comparison, Expression::constant(value)))
    }

    /// A text that something must not be: one that never varies, or one expression.
    fn not_text(&mut self, item: &'a Item<'a>, template: Template) -> Option<Want> {
        let expression = match (template.literal(), template.lone()) {
            (Some(bytes), _) => Expression::constant(String::from_utf8_lossy(bytes).as_ref().into()),
            (None, Some(expression)) => expression.clone(),
            (None, None) => {
                self.reader.problem(item.span(), "`not` takes a text, or one `${...}` alone");
                return None;
            }
        };
        Some(Want::Is(Comparison::NotEqual, expression))
    }
}
