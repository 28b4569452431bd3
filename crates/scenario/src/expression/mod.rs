//! Expressions: the language of conditions, assignments and `${...}` in templates.
//!
//! Parsed once, with names turned into slots; evaluated by walking a tree. A variable and a literal
//! are borrowed, so a comparison of them allocates nothing. A value that cannot be computed is
//! null. The language is described in docs/load-scenarios.md; reading is in `parse`, what functions
//! do is in `functions`.

mod functions;
mod parse;

pub(crate) use parse::last_line;

use std::cmp::Ordering;

use crate::mistake::Mistake;
use crate::program::Slot;
use crate::scope::Scope;
use crate::value::{Operand, Value};
use functions::Function;

/// What a name in an expression stands for.
pub trait Names {
    /// The slot of a variable, or nothing where there is none of that name.
    fn slot(&mut self, name: &str) -> Option<Slot>;
    /// A name that may have been meant.
    fn suggestion(&self, name: &str) -> Option<String>;
}

/// Names by their position.
impl Names for Vec<String> {
    fn slot(&mut self, name: &str) -> Option<Slot> {
        let position = self.iter().position(|known| known == name)?;
        u16::try_from(position).ok().map(Slot)
    }

    fn suggestion(&self, name: &str) -> Option<String> {
        crate::mistake::nearest(name, self.iter().map(String::as_str)).map(str::to_owned)
    }
}

/// An expression.
#[derive(Debug, Clone)]
pub struct Expression {
    node: Node,
}

/// One operation and what it is done on.
#[derive(Debug, Clone)]
enum Node {
    Literal(Value),
    Variable(Slot),
    Not(Box<Node>),
    Negative(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Compare(Comparison, Box<Node>, Box<Node>),
    Arithmetic(Arithmetic, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
    Matches(Box<Node>, regex::Regex),
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// What is done with two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// What an evaluation reads beside the variables, which are borrowed on their own.
struct Chance<'c> {
    random: &'c mut fastrand::Rng,
    wall_ms: u64,
    user: u64,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn parse(text: &str, names: &mut impl Names) -> Result<Expression, Mistake> {
        Ok(Expression { node: parse::expression(text, names)? })
    }

    /// One that is always the same.
    pub fn constant(value: Value) -> Expression {
        Expression { node: Node::Literal(value) }
    }

    /// A variable and one.
    pub(crate) fn next(slot: Slot) -> Expression {
        let one = Node::Literal(Value::Number(1.0));
        Expression { node: Node::Arithmetic(Arithmetic::Add, Node::Variable(slot).into(), one.into()) }
    }

    /// Whether a variable is below something.
    pub(crate) fn below(slot: Slot, limit: Expression) -> Expression {
        Expression { node: Node::Compare(Comparison::Below, Node::Variable(slot).into(), limit.node.into()) }
    }

    /// A variable.
    pub(crate) fn of(slot: Slot) -> Expression {
        Expression { node: Node::Variable(slot) }
    }

    /// What it is, where it is always the same.
    pub(crate) fn literal(&self) -> Option<&Value> {
        match &self.node {
            Node::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// The variable, where it is nothing but one.
    pub fn variable(&self) -> Option<Slot> {
        match self.node {
            Node::Variable(slot) => Some(slot),
            _ => None,
        }
    }

    /// Its value.
    pub fn value(&self, scope: &mut Scope<'_>) -> Value {
        self.operand(scope).into_value()
    }

    /// Whether its value counts as true.
    pub fn truth(&self, scope: &mut Scope<'_>) -> bool {
        self.operand(scope).truthy()
    }

    /// Its value, borrowed where that is possible.
    pub(crate) fn operand<'s>(&'s self, scope: &'s mut Scope<'_>) -> Operand<'s> {
        let mut chance = Chance { random: scope.random, wall_ms: scope.wall_ms, user: scope.user };
        self.node.evaluate(scope.variables, &mut chance)
    }
}

impl Node {
    fn evaluate<'s>(&'s self, variables: &'s [Value], chance: &mut Chance<'_>) -> Operand<'s> {
        match self {
            Node::Literal(value) => value.operand(),
            Node::Variable(slot) => variables.get(usize::from(slot.0)).map_or(Operand::Null, Value::operand),
            Node::Not(of) => Operand::Bool(!of.evaluate(variables, chance).truthy()),
            Node::Negative(of) => of
                .evaluate(variables, chance)
                .number()
                .map_or(Operand::Null, |number| Operand::Number(-number)),
            Node::And(one, other) => Operand::Bool(
                one.evaluate(variables, chance).truthy() && other.evaluate(variables, chance).truthy(),
            ),
            Node::Or(one, other) => Operand::Bool(
                one.evaluate(variables, chance).truthy() || other.evaluate(variables, chance).truthy(),
            ),
            Node::Compare(comparison, one, other) => {
                let one = one.evaluate(variables, chance);
                Operand::Bool(comparison.holds(&one, &other.evaluate(variables, chance)))
            }
            Node::Arithmetic(operation, one, other) => {
                let one = one.evaluate(variables, chance);
                operation.apply(one, other.evaluate(variables, chance))
            }
            Node::Call(function, arguments) => function.call(arguments, variables, chance),
            Node::Matches(of, regex) => Operand::Bool(regex.is_match(&of.evaluate(variables, chance).text())),
        }
    }
}

impl Comparison {
    /// Whether it holds. Two texts are equal when they are the same; otherwise what reads as a number is one. Nothing is
    /// above or below null.
    pub(crate) fn holds(self, one: &Operand<'_>, other: &Operand<'_>) -> bool {
        match self {
            Comparison::Equal => equal(one, other),
            Comparison::NotEqual => !equal(one, other),
            Comparison::Below => order(one, other) == Some(Ordering::Less),
            Comparison::AtMost => matches!(order(one, other), Some(Ordering::Less | Ordering::Equal)),
            Comparison::Above => order(one, other) == Some(Ordering::Greater),
            Comparison::AtLeast => matches!(order(one, other), Some(Ordering::Greater | Ordering::Equal)),
        }
    }

    /// As it is written.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Below => "<",
            Comparison::AtMost => "<=",
            Comparison::Above => ">",
            Comparison::AtLeast => ">=",
        }
    }
}

fn equal(one: &Operand<'_>, other: &Operand<'_>) -> bool {
    match (one, other) {
        (Operand::Text(one), Operand::Text(other)) => one == other,
        (Operand::Number(_), Operand::Text(_)) | (Operand::Text(_), Operand::Number(_)) => {
            one.number().is_some_and(|number| Some(number) == other.number())
        }
        // A variable from a table holds `true` as a text.
        (Operand::Bool(value), Operand::Text(text)) | (Operand::Text(text), Operand::Bool(value)) => {
            text == if *value { "true" } else { "false" }
        }
        (one, other) => one == other,
    }
}

fn order(one: &Operand<'_>, other: &Operand<'_>) -> Option<Ordering> {
    if let (Some(one), Some(other)) = (one.number(), other.number()) {
        return one.partial_cmp(&other);
    }
    match (one, other) {
        (Operand::Text(one), Operand::Text(other)) => Some(one.cmp(other)),
        (Operand::Bool(one), Operand::Bool(other)) => Some(one.cmp(other)),
        _ => None,
    }
}

impl Arithmetic {
    fn apply<'s>(self, one: Operand<'s>, other: Operand<'s>) -> Operand<'s> {
        let (Some(left), Some(right)) = (one.number(), other.number()) else {
            let is_text = matches!(one, Operand::Text(_)) || matches!(other, Operand::Text(_));
            return match self {
                Arithmetic::Add if is_text => {
                    let mut text = one.text().into_owned();
                    text.push_str(&other.text());
                    Operand::Text(text.into())
                }
                _ => Operand::Null,
            };
        };
        let result = match self {
            Arithmetic::Add => left + right,
            Arithmetic::Subtract => left - right,
            Arithmetic::Multiply => left * right,
            Arithmetic::Divide => left / right,
            Arithmetic::Remainder => left % right,
        };
        if result.is_finite() { Operand::Number(result) } else { Operand::Null }
    }
}

#[cfg(test)]
mod tests;
