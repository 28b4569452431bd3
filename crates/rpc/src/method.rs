//! A method's name, its interaction and its types, known to server and client alike.
//!
//! A [`Method`] is a constant, as a rule one that `stadium-rpc-build` generated from a `.proto` file. Its
//! types make that a call and the function that answers it cannot disagree.

use std::marker::PhantomData;

/// How a method's messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interaction {
    /// One request, one answer.
    Unary,
    /// One request, no answer.
    OneWay,
    /// One request, a stream of answers.
    Stream,
    /// A stream of requests, a stream of answers.
    Channel,
}

impl Interaction {
    /// What it is, for people who know RSocket.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Unary => "a request with one answer (REQUEST_RESPONSE)",
            Self::OneWay => "a request without an answer (REQUEST_FNF)",
            Self::Stream => "a request with a stream of answers (REQUEST_STREAM)",
            Self::Channel => "streams both ways (REQUEST_CHANNEL)",
        }
    }
}

/// Whether a call may be made twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Idempotency {
    /// Twice is not once: tried again only where the server reported that it did nothing.
    Unknown,
    /// Twice is as good as once: may be tried again after a broken connection, and hedged.
    Idempotent,
}

/// Data that are bytes and no message: what an upload's request has, and a download's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raw {}

/// A method of a service: requests are `Q`, answers are `A`.
pub struct Method<Q, A> {
    route: &'static str,
    interaction: Interaction,
    idempotency: Idempotency,
    messages: PhantomData<fn(Q) -> A>,
}

impl<Q, A> Clone for Method<Q, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q, A> Copy for Method<Q, A> {}

impl<Q, A> std::fmt::Debug for Method<Q, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Method")
            .field("route", &self.route)
            .field("interaction", &self.interaction)
            .field("idempotency", &self.idempotency)
            .finish()
    }
}

impl<Q, A> Method<Q, A> {
    const fn new(route: &'static str, interaction: Interaction) -> Self {
        Self { route, interaction, idempotency: Idempotency::Unknown, messages: PhantomData }
    }

    /// One request, one answer. `route` is `SERVICE/METHOD`.
    #[must_use]
    pub const fn unary(route: &'static str) -> Self {
        Self::new(route, Interaction::Unary)
    }

    /// One request, no answer.
    #[must_use]
    pub const fn one_way(route: &'static str) -> Self {
        Self::new(route, Interaction::OneWay)
    }

    /// One request, a stream of answers.
    #[must_use]
    pub const fn stream(route: &'static str) -> Self {
        Self::new(route, Interaction::Stream)
    }

    /// A stream of requests, a stream of answers.
    #[must_use]
    pub const fn channel(route: &'static str) -> Self {
        Self::new(route, Interaction::Channel)
    }

    /// The same method, promised to be idempotent: clients may try it again and hedge it.
    #[must_use]
    pub const fn idempotent(mut self) -> Self {
        self.idempotency = Idempotency::Idempotent;
        self
    }

    /// `SERVICE/METHOD`.
    #[must_use]
    pub const fn route(&self) -> &'static str {
        self.route
    }

    /// How its messages go.
    #[must_use]
    pub const fn interaction(&self) -> Interaction {
        self.interaction
    }

    /// Whether a call may be made twice.
    #[must_use]
    pub const fn idempotency(&self) -> Idempotency {
        self.idempotency
    }
}
