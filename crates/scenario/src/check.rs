//! What must be true of an answer, for the step to have succeeded.
//!
//! A check looks at one subject (status, a value in JSON, a header, the body, the time, variables) and wants one thing of
//! it. Checks of literals allocate nothing.

use crate::expression::{Comparison, Expression};
use crate::extract::Answer;
use crate::json_path::JsonPath;
use crate::scope::Scope;
use crate::template::Template;
use crate::value::Operand;

/// What must be true of an answer.
#[derive(Debug, Clone)]
pub struct Check {
    /// As one would write it: "status is 200". Figures are counted by it.
    pub text: String,
    /// What is looked at.
    pub test: Test,
}

/// What a check looks at.
#[derive(Debug, Clone)]
pub enum Test {
    /// The status is in one of these ranges, both ends included.
    Status(Vec<(u32, u32)>),
    /// A value in a JSON body.
    Json(JsonPath, Want),
    /// A header.
    Header(String, Want),
    /// The body.
    Body(Want),
    /// The body has at least and at most so many bytes.
    Bytes(u64, u64),
    /// It took less than so many nanoseconds.
    Below(u64),
    /// An expression over the variables, after extraction.
    Expression(Expression),
}

/// What is wanted of a subject.
#[derive(Debug, Clone)]
pub enum Want {
    /// It is there.
    Exists,
    /// It is not there.
    Absent,
    /// It compares so with an expression.
    Is(Comparison, Expression),
    /// It is this text.
    Text(Template),
    /// It contains these bytes.
    Contains(Box<memchr::memmem::Finder<'static>>),
    /// It contains this text, which varies.
    ContainsText(Template),
    /// It matches.
    Matches(regex::bytes::Regex),
}

impl Check {
    /// Whether it holds.
    pub fn holds(&self, answer: &dyn Answer, scope: &mut Scope<'_>) -> bool {
        match &self.test {
            Test::Status(ranges) => answer
                .status()
                .is_some_and(|status| ranges.iter().any(|(from, to)| (*from..=*to).contains(&status))),
            Test::Json(path, want) => want.holds(path.find(answer.body()), scope),
            Test::Header(name, want) => want.holds_bytes(answer.header(name), scope),
            Test::Body(want) => want.holds_bytes(Some(answer.body()), scope),
            Test::Bytes(least, most) => (*least..=*most).contains(&(answer.body().len() as u64)),
            Test::Below(ns) => answer.elapsed_ns() < *ns,
            Test::Expression(expression) => expression.truth(scope),
        }
    }

    /// Whether it looks at the status.
    pub fn is_of_status(&self) -> bool {
        matches!(self.test, Test::Status(_))
    }
}

impl Want {
    /// Of bytes: a header or a body.
    fn holds_bytes(&self, subject: Option<&[u8]>, scope: &mut Scope<'_>) -> bool {
        match (self, subject) {
            (Want::Contains(finder), Some(bytes)) => finder.find(bytes).is_some(),
            (Want::Matches(regex), Some(bytes)) => regex.is_match(bytes),
            (Want::Text(template), Some(bytes)) => match template.literal() {
                Some(literal) => literal == bytes,
                None => self.holds(Some(Operand::from_bytes(bytes)), scope),
            },
            (_, subject) => self.holds(subject.map(Operand::from_bytes), scope),
        }
    }

    fn holds(&self, subject: Option<Operand<'_>>, scope: &mut Scope<'_>) -> bool {
        let Some(subject) = subject else {
            return matches!(self, Want::Absent);
        };
        match self {
            Want::Exists => true,
            Want::Absent => false,
            Want::Is(comparison, expression) => comparison.holds(&subject, &expression.operand(scope)),
            Want::Text(template) => match (template.literal(), template.lone()) {
                (Some(literal), _) => literal == subject.text().as_bytes(),
                (None, Some(expression)) => Comparison::Equal.holds(&subject, &expression.operand(scope)),
                (None, None) => written(template, scope) == subject.text().as_bytes(),
            },
            Want::Contains(finder) => finder.find(subject.text().as_bytes()).is_some(),
            Want::ContainsText(template) => {
                memchr::memmem::find(subject.text().as_bytes(), &written(template, scope)).is_some()
            }
            Want::Matches(regex) => regex.is_match(subject.text().as_bytes()),
        }
    }
}

fn written(template: &Template, scope: &mut Scope<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    template.write(scope, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Canned, with_scope};
    use crate::value::Value;

    fn holds(test: Test) -> bool {
        let answer = Canned::new(204, r#"{"ok":true,"n":5,"name":"Ada","none":null}"#)
            .header("Content-Type", "application/json");
        let check = Check { text: String::new(), test };
        with_scope(&mut [Value::Number(5.0), "Ada".into()], |scope| check.holds(&answer, scope))
    }

    fn json(path: &str, want: Want) -> Test {
        Test::Json(JsonPath::parse(path).unwrap(), want)
    }

    fn expression(text: &str) -> Expression {
        Expression::parse(text, &mut vec!["n".to_owned(), "name".to_owned()]).unwrap()
    }

    fn template(text: &str) -> Template {
        Template::parse(text, &mut vec!["n".to_owned(), "name".to_owned()]).unwrap()
    }

    fn finder(text: &str) -> Box<memchr::memmem::Finder<'static>> {
        memchr::memmem::Finder::new(text.as_bytes()).into_owned().into()
    }

    #[test]
    fn checks_that_hold() {
        for test in [
            Test::Status(vec![(200, 200), (204, 204)]),
            Test::Status(vec![(200, 299)]),
            json("$.ok", Want::Is(Comparison::Equal, Expression::constant(Value::Bool(true)))),
            json("$.n", Want::Is(Comparison::AtLeast, expression("n"))),
            json("$.n", Want::Text(template("5"))),
            json("$.n", Want::Text(template("${n}"))),
            json("$.name", Want::Text(template("${name}"))),
            json("$.name", Want::Text(template("A${'da'}"))),
            json("$.name", Want::Contains(finder("da"))),
            json("$.name", Want::ContainsText(template("${'d'}a"))),
            json("$.none", Want::Exists),
            json("$.missing", Want::Absent),
            Test::Header("content-type".into(), Want::Matches(regex::bytes::Regex::new("json$").unwrap())),
            Test::Header("age".into(), Want::Absent),
            Test::Body(Want::Contains(finder("\"Ada\""))),
            Test::Bytes(10, 100),
            Test::Below(1_000_001),
            Test::Expression(expression("n == 5")),
        ] {
            assert!(holds(test.clone()), "{test:?}");
        }
    }

    #[test]
    fn checks_that_do_not_hold() {
        for test in [
            Test::Status(vec![(200, 200)]),
            json("$.ok", Want::Is(Comparison::Equal, Expression::constant(Value::Bool(false)))),
            json("$.n", Want::Is(Comparison::Above, expression("n"))),
            json("$.missing", Want::Exists),
            json("$.missing", Want::Is(Comparison::NotEqual, expression("1"))),
            json("$.name", Want::Absent),
            json("$.name", Want::Text(template("Ad"))),
            Test::Header("content-type".into(), Want::Text(template("text/html"))),
            Test::Header("age".into(), Want::Contains(finder(""))),
            Test::Body(Want::Matches(regex::bytes::Regex::new("^\\[").unwrap())),
            Test::Bytes(0, 9),
            Test::Below(1_000_000),
            Test::Expression(expression("n != 5")),
        ] {
            assert!(!holds(test.clone()), "{test:?}");
        }
    }
}
