//! What the functions of expressions do, and how they are called.
//!
//! One table: name, the least and the most arguments. `matches` is not in it as a function: its pattern is compiled when
//! the expression is read.

use std::borrow::Cow;

use base64::Engine as _;
use sha2::Digest as _;

use super::{Chance, Node};
use crate::encode;
use crate::value::{Operand, Value};

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Random,
    Uniform,
    Choice,
    Uuid,
    Now,
    User,
    Len,
    Lower,
    Upper,
    Trim,
    Base64,
    Hex,
    Sha256,
    Contains,
    StartsWith,
    EndsWith,
    Number,
    Text,
    Join,
    Min,
    Max,
    Round,
    Floor,
    JsonEscape,
    UrlEncode,
    Default,
}

/// Name, function, the least and the most arguments.
pub(super) const FUNCTIONS: &[(&str, Function, usize, usize)] = &[
    ("random", Function::Random, 2, 2),
    ("uniform", Function::Uniform, 0, 2),
    ("choice", Function::Choice, 1, MANY),
    ("uuid", Function::Uuid, 0, 0),
    ("now", Function::Now, 0, 0),
    ("user", Function::User, 0, 0),
    ("len", Function::Len, 1, 1),
    ("lower", Function::Lower, 1, 1),
    ("upper", Function::Upper, 1, 1),
    ("trim", Function::Trim, 1, 1),
    ("base64", Function::Base64, 1, 1),
    ("hex", Function::Hex, 1, 1),
    ("sha256", Function::Sha256, 1, 1),
    ("contains", Function::Contains, 2, 2),
    ("starts_with", Function::StartsWith, 2, 2),
    ("ends_with", Function::EndsWith, 2, 2),
    ("number", Function::Number, 1, 1),
    ("text", Function::Text, 1, 1),
    ("join", Function::Join, 1, MANY),
    ("min", Function::Min, 1, MANY),
    ("max", Function::Max, 1, MANY),
    ("round", Function::Round, 1, 2),
    ("floor", Function::Floor, 1, 1),
    ("json_escape", Function::JsonEscape, 1, 1),
    ("url_encode", Function::UrlEncode, 1, 1),
    ("default", Function::Default, 2, 2),
];

/// The function whose pattern is compiled.
pub(super) const MATCHES: &str = "matches";

/// Arguments that a function takes at most.
pub(super) const MANY: usize = 64;

impl Function {
    pub(super) fn call<'s>(
        self,
        arguments: &'s [Node],
        variables: &'s [Value],
        chance: &mut Chance<'_>,
    ) -> Operand<'s> {
        let operand = |at: usize, chance: &mut Chance<'_>| {
            arguments.get(at).map_or(Operand::Null, |node| node.evaluate(variables, chance))
        };
        match self {
            Function::Random => match (operand(0, chance).number(), operand(1, chance).number()) {
                (Some(low), Some(high)) => random(low, high, chance),
                _ => Operand::Null,
            },
            Function::Uniform => {
                let low = if arguments.is_empty() { Some(0.0) } else { operand(0, chance).number() };
                let high = if arguments.len() < 2 { Some(1.0) } else { operand(1, chance).number() };
                match (low, high) {
                    (Some(low), Some(high)) => Operand::Number(low + chance.random.f64() * (high - low)),
                    _ => Operand::Null,
                }
            }
            Function::Choice => {
                let which = chance.random.usize(..arguments.len().max(1));
                operand(which, chance)
            }
            Function::Uuid => owned(uuid(chance.random)),
            Function::Now => Operand::Number(chance.wall_ms as f64),
            Function::User => Operand::Number(chance.user as f64),
            Function::Len => Operand::Number(operand(0, chance).text().chars().count() as f64),
            Function::Lower => owned(operand(0, chance).text().to_lowercase()),
            Function::Upper => owned(operand(0, chance).text().to_uppercase()),
            Function::Trim => match operand(0, chance).text() {
                Cow::Borrowed(text) => Operand::Text(Cow::Borrowed(text.trim())),
                Cow::Owned(text) => owned(text.trim().to_owned()),
            },
            Function::Base64 => {
                owned(base64::engine::general_purpose::STANDARD.encode(operand(0, chance).text().as_bytes()))
            }
            Function::Hex => owned(encode::hex(operand(0, chance).text().as_bytes())),
            Function::Sha256 => {
                owned(encode::hex(&sha2::Sha256::digest(operand(0, chance).text().as_bytes())))
            }
            Function::Contains => {
                let text = operand(0, chance).text();
                Operand::Bool(text.contains(&*operand(1, chance).text()))
            }
            Function::StartsWith => {
                let text = operand(0, chance).text();
                Operand::Bool(text.starts_with(&*operand(1, chance).text()))
            }
            Function::EndsWith => {
                let text = operand(0, chance).text();
                Operand::Bool(text.ends_with(&*operand(1, chance).text()))
            }
            Function::Number => match operand(0, chance) {
                Operand::Bool(value) => Operand::Number(f64::from(u8::from(value))),
                other => other.number().map_or(Operand::Null, Operand::Number),
            },
            Function::Text => Operand::Text(operand(0, chance).text()),
            Function::Join => {
                let mut text = String::new();
                for at in 0..arguments.len() {
                    text.push_str(&operand(at, chance).text());
                }
                owned(text)
            }
            Function::Min => fold(arguments, variables, chance, f64::min),
            Function::Max => fold(arguments, variables, chance, f64::max),
            Function::Round => {
                let places = operand(1, chance).number().unwrap_or(0.0).clamp(0.0, 15.0).round();
                let scale = 10f64.powi(places as i32);
                operand(0, chance)
                    .number()
                    .map_or(Operand::Null, |number| Operand::Number((number * scale).round() / scale))
            }
            Function::Floor => {
                operand(0, chance).number().map_or(Operand::Null, |number| Operand::Number(number.floor()))
            }
            Function::JsonEscape => {
                let mut out = Vec::new();
                encode::json_text(operand(0, chance).text().as_bytes(), &mut out);
                owned(String::from_utf8(out).expect("escapes of a text are a text"))
            }
            Function::UrlEncode => {
                let mut out = Vec::new();
                encode::percent(operand(0, chance).text().as_bytes(), &mut out);
                owned(String::from_utf8(out).expect("percent signs and what they leave are ASCII"))
            }
            Function::Default => match operand(0, chance) {
                Operand::Null => operand(1, chance),
                value => value,
            },
        }
    }
}

fn owned(text: String) -> Operand<'static> {
    Operand::Text(Cow::Owned(text))
}

/// A whole number from `low` to `high`, both included.
fn random(low: f64, high: f64, chance: &mut Chance<'_>) -> Operand<'static> {
    let (low, high) = (low.ceil() as i64, high.floor() as i64);
    if low > high {
        return Operand::Null;
    }
    Operand::Number(chance.random.i64(low..=high) as f64)
}

/// The least or the greatest of what are numbers.
fn fold(
    arguments: &[Node],
    variables: &[Value],
    chance: &mut Chance<'_>,
    choose: fn(f64, f64) -> f64,
) -> Operand<'static> {
    let mut best: Option<f64> = None;
    for node in arguments {
        if let Some(number) = node.evaluate(variables, chance).number() {
            best = Some(best.map_or(number, |held| choose(held, number)));
        }
    }
    best.map_or(Operand::Null, Operand::Number)
}

/// A random UUID, version 4 (RFC 9562, 5.4).
fn uuid(random: &mut fastrand::Rng) -> String {
    let bits = (random.u128(..) & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{bits:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}
