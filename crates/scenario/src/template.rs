//! Texts with expressions in them: `Bearer ${token}`.
//!
//! A template is a list of pieces. Writing one copies its literals and appends the values, each encoded for the place
//! that it goes to; nothing is allocated for variables and literals. `$${` is a literal `${`.

use crate::encode;
use crate::expression::{Expression, Names};
use crate::mistake::Mistake;
use crate::scope::Scope;
use crate::value::Operand;

/// A text with expressions in it.
#[derive(Debug, Clone, Default)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
enum Piece {
    Literal(Vec<u8>),
    Value(Expression, Encoding),
}

/// How values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// As they are.
    #[default]
    Plain,
    /// As JSON: texts in quotes, numbers, `true`, `false` and `null` without.
    Json,
    /// For the inside of a JSON string.
    JsonText,
    /// Percent-encoded, for a form or a query.
    Form,
    /// For a request's path and query: blanks, control characters and what is not ASCII are percent-encoded.
    Target,
    /// For a header: control characters become blanks.
    Header,
}

impl Template {
    /// Reads a template whose values are written as they are.
    ///
    /// # Errors
    /// What is wrong with an expression in it, or that one is not closed.
    pub fn parse(text: &str, names: &mut impl Names) -> Result<Template, Mistake> {
        Template::parse_as(text, Encoding::Plain, names)
    }

    /// Reads a template whose values are written in an encoding. Its literals are, too, for a JSON string, a form, a
    /// path and a header.
    ///
    /// # Errors
    /// What is wrong with an expression in it, or that one is not closed.
    pub fn parse_as(text: &str, encoding: Encoding, names: &mut impl Names) -> Result<Template, Mistake> {
        let mut template = Template::default();
        let mut at = 0;
        while let Some(dollar) = text[at..].find('$').map(|found| at + found) {
            let rest = &text[dollar..];
            if rest.starts_with("$${") {
                template.push_encoded(&text[at..dollar], encoding);
                template.push_encoded("${", encoding);
                at = dollar + 3;
            } else if let Some(after) = rest.strip_prefix("${") {
                template.push_encoded(&text[at..dollar], encoding);
                let end = dollar
                    + 2
                    + end_of_expression(after).ok_or_else(|| {
                        Mistake::new(dollar..text.len(), "`${` is not closed with `}`")
                            .hint("a literal `${` is written `$${`")
                    })?;
                let inside = &text[dollar + 2..end];
                let expression =
                    Expression::parse(inside, names).map_err(|mistake| mistake.moved(dollar + 2))?;
                template.pieces.push(Piece::Value(expression, encoding));
                at = end + 1;
            } else {
                template.push_encoded(&text[at..=dollar], encoding);
                at = dollar + 1;
            }
        }
        template.push_encoded(&text[at..], encoding);
        Ok(template)
    }

    /// One of bytes that are written as they are.
    pub fn bytes_from(bytes: Vec<u8>) -> Template {
        let mut template = Template::default();
        template.push_literal(&bytes);
        template
    }

    /// Its bytes, where it is the same every time.
    pub fn literal(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [] => Some(&[]),
            [Piece::Literal(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Appends it.
    pub fn write(&self, scope: &mut Scope<'_>, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Literal(bytes) => out.extend_from_slice(bytes),
                Piece::Value(expression, encoding) => encoding.write(&expression.operand(scope), out),
            }
        }
    }

    /// The expression, where it is nothing but one that is written as it is.
    pub(crate) fn lone(&self) -> Option<&Expression> {
        match self.pieces.as_slice() {
            [Piece::Value(expression, Encoding::Plain)] => Some(expression),
            _ => None,
        }
    }

    /// Appends bytes that are written as they are.
    pub(crate) fn push_literal(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if let Some(Piece::Literal(held)) = self.pieces.last_mut() {
            held.extend_from_slice(bytes);
        } else {
            self.pieces.push(Piece::Literal(bytes.to_vec()));
        }
    }

    /// Appends another template.
    pub(crate) fn push(&mut self, other: Template) {
        for piece in other.pieces {
            match piece {
                Piece::Literal(bytes) => self.push_literal(&bytes),
                value => self.pieces.push(value),
            }
        }
    }

    /// Appends a text as a JSON value: a lone `${...}` is the value itself, anything else a string.
    pub(crate) fn push_json(&mut self, text: &str, names: &mut impl Names) -> Result<(), Mistake> {
        let mut plain = Template::parse(text, names)?;
        if let [Piece::Value(_, encoding)] = plain.pieces.as_mut_slice() {
            *encoding = Encoding::Json;
            self.push(plain);
            return Ok(());
        }
        self.push_literal(b"\"");
        self.push(Template::parse_as(text, Encoding::JsonText, names)?);
        self.push_literal(b"\"");
        Ok(())
    }

    fn push_encoded(&mut self, text: &str, encoding: Encoding) {
        let mut bytes = Vec::new();
        let encoding = if encoding == Encoding::Json { Encoding::Plain } else { encoding };
        encoding.write(&Operand::Text(text.into()), &mut bytes);
        self.push_literal(&bytes);
    }
}

impl Encoding {
    fn write(self, value: &Operand<'_>, out: &mut Vec<u8>) {
        let Operand::Text(text) = value else {
            // Numbers and words of JSON are safe everywhere.
            match (self, value) {
                (Encoding::Json, Operand::Null) => out.extend_from_slice(b"null"),
                (Encoding::Json, Operand::Number(number)) if !number.is_finite() => {
                    out.extend_from_slice(b"null")
                }
                _ => value.write(out),
            }
            return;
        };
        match self {
            Encoding::Plain => out.extend_from_slice(text.as_bytes()),
            Encoding::Json => {
                out.push(b'"');
                encode::json_text(text.as_bytes(), out);
                out.push(b'"');
            }
            Encoding::JsonText => encode::json_text(text.as_bytes(), out),
            Encoding::Form => encode::percent(text.as_bytes(), out),
            Encoding::Target => encode::request_target(text.as_bytes(), out),
            Encoding::Header => encode::header_value(text.as_bytes(), out),
        }
    }
}

/// Where the `}` is that closes an expression: braces in its texts do not count.
fn end_of_expression(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(open), byte) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'}') => return Some(at),
            (None, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn names() -> Vec<String> {
        ["name", "n"].map(str::to_owned).to_vec()
    }

    fn written(template: &Template) -> String {
        let mut out = Vec::new();
        let mut variables = vec![Value::from("A \"b\"\r\n"), Value::Number(3.0)];
        let mut random = fastrand::Rng::with_seed(1);
        template.write(
            &mut Scope { variables: &mut variables, random: &mut random, wall_ms: 0, user: 0 },
            &mut out,
        );
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_encoded_for_their_place() {
        for (text, encoding, expected) in [
            ("x ${n + 1} y", Encoding::Plain, "x 4 y"),
            ("${name}", Encoding::Json, "\"A \\\"b\\\"\\r\\n\""),
            ("a\"${name}", Encoding::JsonText, "a\\\"A \\\"b\\\"\\r\\n"),
            ("/é ${name}", Encoding::Target, "/%C3%A9%20A%20\"b\"%0D%0A"),
            ("k ${name}", Encoding::Header, "k A \"b\"  "),
            ("$${n} costs $5, 5$", Encoding::Plain, "${n} costs $5, 5$"),
            ("${'}' + n}", Encoding::Plain, "}3"),
        ] {
            let template = Template::parse_as(text, encoding, &mut names()).unwrap();
            assert_eq!(written(&template), expected, "{text}");
        }
    }

    #[test]
    fn a_lone_expression_is_a_json_value() {
        let mut template = Template::default();
        template.push_json("${n}", &mut names()).unwrap();
        template.push_literal(b",");
        template.push_json("n${n}", &mut names()).unwrap();
        assert_eq!(written(&template), "3,\"n3\"");
    }

    #[test]
    fn what_does_not_vary_is_known() {
        assert_eq!(Template::parse("a$${b", &mut names()).unwrap().literal(), Some(&b"a${b"[..]));
        assert_eq!(Template::parse("", &mut names()).unwrap().literal(), Some(&b""[..]));
        assert!(Template::parse("${n}", &mut names()).unwrap().literal().is_none());
    }

    #[test]
    fn mistakes_lie_where_they_are() {
        let mistake = Template::parse("to ${nam}", &mut names()).unwrap_err();
        assert_eq!(mistake.range, 5..8);
        assert!(Template::parse("to ${n", &mut names()).unwrap_err().message.contains("not closed"));
    }
}
