//! Reads expressions: a scanner of tokens and a parser by precedence.
//!
//! From weakest to strongest: `or ||`, `and &&`, `not`, comparisons, `+ -`, `* / %`, `- !`, calls and names. A mistake
//! names the bytes that are wrong.

use std::ops::Range;

use super::functions::{FUNCTIONS, MANY, MATCHES};
use super::{Arithmetic, Comparison, Names, Node};
use crate::mistake::Mistake;
use crate::value::Value;

/// Expressions may be nested so deep; more is a machine's work, or an attack on the stack.
const DEPTH_MAX: u32 = 48;

/// Operators in one expression. A chain of them is a tree that is as deep as it is long.
const OPERATORS_MAX: u32 = 256;

/// The smallest piece of an expression.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Number(f64),
    Text(String),
    Name(String),
    Sign(&'static str),
    End,
}

/// Signs, the longer before those that they begin with.
const SIGNS: &[&str] =
    &["&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "(", ")", "[", "]", ","];

pub(super) fn expression(text: &str, names: &mut impl Names) -> Result<Node, Mistake> {
    let mut parser = Parser { text, at: 0, token: Token::End, range: 0..0, depth: 0, operators: 0, names };
    parser.advance()?;
    if parser.token == Token::End {
        return Err(Mistake::new(0..text.len(), "an expression is missing"));
    }
    let node = parser.or()?;
    match parser.token {
        Token::End => Ok(node),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser<'t, 'n, N> {
    text: &'t str,
    /// Where the next token begins.
    at: usize,
    token: Token,
    range: Range<usize>,
    depth: u32,
    operators: u32,
    names: &'n mut N,
}

impl<N: Names> Parser<'_, '_, N> {
    fn advance(&mut self) -> Result<(), Mistake> {
        let rest = &self.text[self.at..];
        let start = self.at + (rest.len() - rest.trim_start().len());
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else {
            self.token = Token::End;
            self.range = start..start;
            return Ok(());
        };
        let (token, length) = match first {
            '0'..='9' | '.' => number(rest, start)?,
            '\'' | '"' => quoted(rest, start)?,
            first if first.is_ascii_alphabetic() || first == '_' => {
                let length = rest
                    .find(|at: char| !at.is_ascii_alphanumeric() && at != '_' && at != '.')
                    .unwrap_or(rest.len());
                (Token::Name(rest[..length].to_owned()), length)
            }
            _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (Token::Sign(sign), sign.len()),
                None => return Err(unknown_sign(first, start)),
            },
        };
        self.token = token;
        self.range = start..start + length;
        self.at = start + length;
        Ok(())
    }

    fn unexpected(&self, wanted: &str) -> Mistake {
        let found = match &self.token {
            Token::End => "the end".to_owned(),
            _ => format!("`{}`", &self.text[self.range.clone()]),
        };
        Mistake::new(self.range.clone(), format!("expected {wanted}, found {found}"))
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.token, Token::Sign(held) if held == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Name(held) if held == word)
    }

    fn expect(&mut self, sign: &str) -> Result<(), Mistake> {
        if self.is_sign(sign) { self.advance() } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn operator(&mut self) -> Result<(), Mistake> {
        self.operators += 1;
        if self.operators > OPERATORS_MAX {
            return Err(Mistake::new(self.range.clone(), format!("more than {OPERATORS_MAX} operators")));
        }
        self.advance()
    }

    fn or(&mut self) -> Result<Node, Mistake> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Mistake::new(self.range.clone(), format!("nested more than {DEPTH_MAX} deep")));
        }
        let mut node = self.and()?;
        while self.is_sign("||") || self.is_word("or") {
            self.operator()?;
            node = Node::Or(node.into(), self.and()?.into());
        }
        self.depth -= 1;
        Ok(node)
    }

    fn and(&mut self) -> Result<Node, Mistake> {
        let mut node = self.not()?;
        while self.is_sign("&&") || self.is_word("and") {
            self.operator()?;
            node = Node::And(node.into(), self.not()?.into());
        }
        Ok(node)
    }

    fn not(&mut self) -> Result<Node, Mistake> {
        if !self.is_word("not") {
            return self.comparison();
        }
        self.operator()?;
        Ok(Node::Not(self.not()?.into()))
    }

    fn comparison(&mut self) -> Result<Node, Mistake> {
        let node = self.sum()?;
        let Some(comparison) = self.comparison_sign() else {
            return Ok(node);
        };
        self.operator()?;
        let node = Node::Compare(comparison, node.into(), self.sum()?.into());
        match self.comparison_sign() {
            Some(_) => {
                Err(Mistake::new(self.range.clone(), "comparisons do not chain").hint("join them with `and`"))
            }
            None => Ok(node),
        }
    }

    fn comparison_sign(&self) -> Option<Comparison> {
        let Token::Sign(sign) = self.token else {
            return None;
        };
        [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Below,
            Comparison::AtMost,
            Comparison::Above,
            Comparison::AtLeast,
        ]
        .into_iter()
        .find(|comparison| comparison.sign() == sign)
    }

    fn sum(&mut self) -> Result<Node, Mistake> {
        let mut node = self.product()?;
        loop {
            let operation = match self.token {
                Token::Sign("+") => Arithmetic::Add,
                Token::Sign("-") => Arithmetic::Subtract,
                _ => return Ok(node),
            };
            self.operator()?;
            node = Node::Arithmetic(operation, node.into(), self.product()?.into());
        }
    }

    fn product(&mut self) -> Result<Node, Mistake> {
        let mut node = self.unary()?;
        loop {
            let operation = match self.token {
                Token::Sign("*") => Arithmetic::Multiply,
                Token::Sign("/") => Arithmetic::Divide,
                Token::Sign("%") => Arithmetic::Remainder,
                _ => return Ok(node),
            };
            self.operator()?;
            node = Node::Arithmetic(operation, node.into(), self.unary()?.into());
        }
    }

    fn unary(&mut self) -> Result<Node, Mistake> {
        if self.is_sign("!") {
            self.operator()?;
            return Ok(Node::Not(self.unary()?.into()));
        }
        if self.is_sign("-") {
            self.operator()?;
            return Ok(match self.unary()? {
                Node::Literal(Value::Number(number)) => Node::Literal(Value::Number(-number)),
                node => Node::Negative(node.into()),
            });
        }
        self.primary()
    }

    fn primary(&mut self) -> Result<Node, Mistake> {
        match std::mem::replace(&mut self.token, Token::End) {
            Token::Number(number) => {
                self.advance()?;
                Ok(Node::Literal(Value::Number(number)))
            }
            Token::Text(text) => {
                self.advance()?;
                Ok(Node::Literal(Value::Text(text)))
            }
            Token::Name(name) => self.name(name),
            Token::Sign("(") => {
                self.advance()?;
                let node = self.or()?;
                self.expect(")")?;
                Ok(node)
            }
            token => {
                self.token = token;
                Err(self.unexpected("a value"))
            }
        }
    }

    fn name(&mut self, name: String) -> Result<Node, Mistake> {
        let range = self.range.clone();
        self.advance()?;
        if self.is_sign("(") {
            return self.call(&name, range);
        }
        let literal = match name.as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            _ => None,
        };
        if let Some(value) = literal {
            return Ok(Node::Literal(value));
        }
        if !self.is_sign("[") {
            return self.variable(&name, range);
        }
        // voters['first name']: a column whose name is not a word.
        self.advance()?;
        let Token::Text(column) = std::mem::replace(&mut self.token, Token::End) else {
            return Err(Mistake::new(self.range.clone(), "expected a column's name in quotes"));
        };
        self.advance()?;
        let end = self.range.end;
        self.expect("]")?;
        self.variable(&format!("{name}.{column}"), range.start..end)
    }

    fn variable(&mut self, name: &str, range: Range<usize>) -> Result<Node, Mistake> {
        if let Some(slot) = self.names.slot(name) {
            return Ok(Node::Variable(slot));
        }
        let mistake = Mistake::new(range, format!("there is no variable `{name}`"));
        Err(match self.names.suggestion(name) {
            Some(near) => mistake.hint(format!("did you mean `{near}`?")),
            None if FUNCTIONS.iter().any(|(known, ..)| *known == name) => {
                mistake.hint(format!("the function is called with `{name}(...)`"))
            }
            None => mistake.hint("a text is written in quotes: 'text'"),
        })
    }

    fn call(&mut self, name: &str, range: Range<usize>) -> Result<Node, Mistake> {
        let found = FUNCTIONS.iter().find(|(known, ..)| *known == name);
        if found.is_none() && name != MATCHES {
            let known = FUNCTIONS.iter().map(|(known, ..)| *known).chain([MATCHES]);
            let mistake = Mistake::new(range, format!("there is no function `{name}`"));
            return Err(mistake.nearest(name, known));
        }
        self.advance()?;
        let mut arguments = Vec::new();
        let mut ranges = Vec::new();
        if !self.is_sign(")") {
            loop {
                let start = self.range.start;
                arguments.push(self.or()?);
                ranges.push(start..self.range.start);
                if !self.is_sign(",") {
                    break;
                }
                self.advance()?;
            }
        }
        let end = self.range.end;
        if !self.is_sign(")") {
            return Err(self.unexpected("`,` or `)`"));
        }
        self.advance()?;
        let (least, most) = found.map_or((2, 2), |(.., least, most)| (*least, *most));
        if arguments.len() < least || arguments.len() > most {
            let wanted = match (least, most) {
                (0, 0) => "no arguments".to_owned(),
                (least, most) if least == most => {
                    format!("{least} argument{}", if least == 1 { "" } else { "s" })
                }
                (least, MANY) => format!("at least {least} argument{}", if least == 1 { "" } else { "s" }),
                (least, most) => format!("{least} to {most} arguments"),
            };
            return Err(Mistake::new(
                range.start..end,
                format!("`{name}` takes {wanted}, not {}", arguments.len()),
            ));
        }
        let Some((_, function, ..)) = found else {
            return matches(arguments, &ranges[1]);
        };
        Ok(Node::Call(*function, arguments))
    }
}

fn matches(mut arguments: Vec<Node>, range: &Range<usize>) -> Result<Node, Mistake> {
    let Some(Node::Literal(Value::Text(pattern))) = arguments.pop() else {
        return Err(Mistake::new(range.clone(), "the pattern of `matches` is a text in quotes"));
    };
    let regex = regex::Regex::new(&pattern).map_err(|error| {
        Mistake::new(range.clone(), format!("not a regular expression: {}", last_line(&error)))
    })?;
    let of = arguments.pop().expect("two arguments were counted");
    Ok(Node::Matches(of.into(), regex))
}

/// The sentence of an error of the regex crate, without its picture.
pub(crate) fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default();
    line.trim().trim_start_matches("error: ").to_owned()
}

fn number(rest: &str, start: usize) -> Result<(Token, usize), Mistake> {
    let bytes = rest.as_bytes();
    let mut length = 0;
    while let Some(byte) = bytes.get(length) {
        let is_exponent_sign = matches!(byte, b'+' | b'-') && matches!(bytes[length - 1], b'e' | b'E');
        if !byte.is_ascii_alphanumeric() && !matches!(byte, b'.' | b'_') && !is_exponent_sign {
            break;
        }
        length += 1;
    }
    let written = &rest[..length];
    match written.replace('_', "").parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((Token::Number(number), length)),
        _ => Err(Mistake::new(start..start + length, format!("`{written}` is not a number"))),
    }
}

fn quoted(rest: &str, start: usize) -> Result<(Token, usize), Mistake> {
    let mut characters = rest.char_indices();
    let quote = characters.next().map_or('\'', |(_, quote)| quote);
    let mut text = String::new();
    while let Some((at, character)) = characters.next() {
        if character == quote {
            return Ok((Token::Text(text), at + 1));
        }
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some((_, 'n')) => text.push('\n'),
            Some((_, 'r')) => text.push('\r'),
            Some((_, 't')) => text.push('\t'),
            Some((_, '0')) => text.push('\0'),
            Some((_, same @ ('\\' | '\'' | '"'))) => text.push(same),
            // Patterns are full of them: \d stays \d.
            Some((_, other)) => text.extend(['\\', other]),
            None => break,
        }
    }
    Err(Mistake::new(start..start + rest.len(), format!("a text is not closed with {quote}")))
}

fn unknown_sign(sign: char, start: usize) -> Mistake {
    let mistake =
        Mistake::new(start..start + sign.len_utf8(), format!("`{sign}` is not known in expressions"));
    match sign {
        '=' => mistake.hint("values are compared with `==`"),
        '&' => mistake.hint("write `and` or `&&`"),
        '|' => mistake.hint("write `or` or `||`"),
        '$' | '{' | '}' => mistake.hint("an expression stands without `${` and `}` here"),
        _ => mistake,
    }
}
