//! The calling actors, and fleets of serving ones.

use anyhow::Result;
use serde_json::{Value, json};

use crate::actor::Actor;
use crate::language::Language;

/// The bearer token that every client shows.
pub const BEARER: &str = "shown-by-the-conformance-runner";

/// The calling actors.
pub struct Callers(pub Vec<Actor>);

impl Callers {
    /// Starts one for each language.
    pub fn start(languages: &[Language], mutant: Option<&str>) -> Result<Self> {
        side_by_side(languages, |language| Actor::start(language, mutant)).map(Self)
    }

    /// Those whose clients have guards and discovery.
    pub fn complete(&self) -> impl Iterator<Item = &Actor> {
        self.0.iter().filter(|actor| actor.language.is_complete())
    }
}

/// Makes a client of this name that knows these servers.
pub fn client(actor: &Actor, name: &str, settings: Value) -> Result<()> {
    let mut settings = settings;
    settings["bearer"] = BEARER.into();
    actor.ask(json!({"do": "client", "client": name, "settings": settings}))?;
    Ok(())
}

/// Makes a client that knows servers by their addresses.
pub fn client_of(actor: &Actor, name: &str, addresses: &[&str]) -> Result<()> {
    client(actor, name, json!({"instances": addresses}))
}

/// Closes a client.
pub fn close(actor: &Actor, name: &str) -> Result<()> {
    actor.ask(json!({"do": "close", "client": name})).map(drop)
}

/// A server of a fleet.
pub struct Member {
    /// Its process.
    pub actor: Actor,
    /// The name that its replies have.
    pub name: String,
    /// Its address.
    pub address: String,
}

impl Member {
    /// Starts one; `settings` are a server's.
    pub fn start(language: Language, name: &str, settings: Value, mutant: Option<&str>) -> Result<Self> {
        let actor = Actor::start(language, mutant)?;
        let address = actor.serve(name, settings)?;
        Ok(Self { actor, name: name.to_owned(), address })
    }
}

/// Starts one server for each language.
pub fn fleet(languages: &[Language], settings: &Value) -> Result<Vec<Member>> {
    side_by_side(languages, |language| Member::start(language, language.name(), settings.clone(), None))
}

/// Starts one of each language, all at the same time: virtual machines are slow.
pub fn side_by_side<T: Send>(
    languages: &[Language],
    start: impl Fn(Language) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let start = &start;
    std::thread::scope(|scope| {
        let starting: Vec<_> =
            languages.iter().map(|&language| scope.spawn(move || start(language))).collect();
        starting.into_iter().map(|one| one.join().expect("starting does not panic")).collect()
    })
}
