//! The selection and the order of the cases.
//!
//! A server is started for each language, and all clients call it side by side. Mixed fleets follow.

use anyhow::Result;
use serde_json::json;

use crate::actor::Actor;
use crate::cases::discovery::{self, Newcomers};
use crate::cases::{self, Case, Pair, ends, faults, guards};
use crate::language::Language;
use crate::mutants::{self, Mutant, Role};
use crate::report::Report;
use crate::stage::{self, Callers, Member};

/// The selection.
pub struct Plan {
    /// Languages that call.
    pub clients: Vec<Language>,
    /// Languages that serve.
    pub servers: Vec<Language>,
    /// Only cases whose name contains this.
    pub only: Option<String>,
    /// Every fault of every server, and a new server of every language after each outage of a registry.
    pub long: bool,
}

impl Plan {
    fn wants(&self, case: &str) -> bool {
        self.only.as_ref().is_none_or(|only| case.contains(only.as_str()))
    }

    fn wants_one_of(&self, cases: &[&str]) -> bool {
        cases.iter().any(|case| self.wants(case))
    }
}

/// Runs all cases that are wanted. Returns how many held and how many did not.
pub fn all(plan: &Plan) -> Result<(usize, usize)> {
    let report = Report::default();
    let callers = Callers::start(&plan.clients, None)?;
    for &language in &plan.servers {
        with_server(plan, &callers, language, None, &report)?;
    }
    if plan.wants_one_of(&[guards::AFFINITY, guards::BALANCE]) {
        let fleet = stage::fleet(&plan.servers, &json!({}))?;
        guards::affinity(&callers, &fleet, &report)?;
        guards::balance(&callers, &fleet, &report);
    }
    if plan.wants_one_of(&faults::ALL) {
        play_faults(plan, &callers, &report)?;
    }
    play_discovery(plan, &callers, &report)?;
    let failed = report.failed();
    for verdict in &failed {
        let server = verdict.server.map_or("all", Language::name);
        let why = verdict.failure.as_deref().unwrap_or_default();
        eprintln!("FAILED {} {} -> {server}: {why}", verdict.case, verdict.client.name());
    }
    Ok((report.verdicts().len() - failed.len(), failed.len()))
}

/// The cases that have one server.
fn with_server(
    plan: &Plan,
    callers: &Callers,
    language: Language,
    mutant: Option<&str>,
    report: &Report,
) -> Result<()> {
    let server = Member::start(language, language.name(), json!({}), mutant)?;
    let wanted: Vec<&Case> = cases::PAIRS.iter().filter(|case| plan.wants(case.name)).collect();
    // The clients do not know of each other, and run side by side.
    std::thread::scope(|scope| {
        for caller in &callers.0 {
            let (server, wanted) = (&server, &wanted);
            scope.spawn(move || pairs(caller, server, wanted, report));
        }
    });
    if plan.wants(ends::QUIESCE) {
        let set_up = ends::quiesce(callers, &server, language, mutant, report);
        if let Err(error) = set_up {
            ends::failed_for_all(callers, ends::QUIESCE, Some(language), &error, report);
        }
    }
    if plan.wants_one_of(&[ends::KILLED_ONCE, ends::KILLED_IDEMPOTENT])
        && let Err(error) = ends::killed(callers, &server, language, report)
    {
        ends::failed_for_all(callers, ends::KILLED_ONCE, Some(language), &error, report);
    }
    Ok(())
}

fn pairs(caller: &Actor, server: &Member, wanted: &[&Case], report: &Report) {
    let name = format!("to-{}", server.name);
    let made = stage::client_of(caller, &name, &[&server.address]);
    let tag = caller.language.name().to_owned();
    let pair = Pair { client: caller, name: name.clone(), server: &server.actor, tag };
    for case in wanted {
        if case.is_unary || caller.language.is_complete() {
            report.check(case.name, caller.language, Some(server.actor.language), || match &made {
                Ok(()) => (case.run)(&pair),
                Err(error) => anyhow::bail!("there is no client: {error:#}"),
            });
        }
    }
    // A client that could not be made cannot be closed.
    _ = stage::close(caller, &name);
}

fn play_faults(plan: &Plan, callers: &Callers, report: &Report) -> Result<()> {
    // A client needs another server to turn to.
    let mut servers = plan.servers.clone();
    if servers.len() < 2 {
        servers.push(if servers[0] == Language::Rust { Language::Cpp } else { Language::Rust });
    }
    let mut faults = faults::Faults::start(callers, &servers)?;
    for (nth, fault) in faults::ALL.into_iter().enumerate().filter(|(_, fault)| plan.wants(fault)) {
        let is_victim = |at: usize| plan.long || fault == faults::KILLED || at == nth % plan.servers.len();
        for (_, &server) in plan.servers.iter().enumerate().filter(|(at, _)| is_victim(*at)) {
            faults.play(fault, server, report)?;
        }
    }
    Ok(())
}

fn play_discovery(plan: &Plan, callers: &Callers, report: &Report) -> Result<()> {
    for (nth, cases) in [discovery::ETCD, discovery::ZOOKEEPER].iter().enumerate() {
        if plan.wants_one_of(&cases.names()) {
            // Two outages each: with four languages each has a new server once.
            let newcomers = if plan.long { Newcomers::All } else { Newcomers::OneFrom(2 * nth) };
            discovery::play(cases, |case| plan.wants(case), &plan.servers, newcomers, callers, report)?;
        }
    }
    Ok(())
}

/// Runs every mutant against its case. Returns how many were found and how many were not.
pub fn mutants() -> Result<(usize, usize)> {
    let mut missed = 0;
    for mutant in mutants::ALL {
        let verdicts = play(mutant)?;
        let is_found = verdicts.iter().any(|(case, failed)| *case == mutant.case && *failed);
        missed += usize::from(!is_found);
        let word = if is_found { "found" } else { "MISSED" };
        let role = if mutant.role == Role::Client { "client" } else { "server" };
        println!("{word:<6} {role} {:<26} by {}", mutant.name, mutant.case);
    }
    Ok((mutants::ALL.len() - missed, missed))
}

fn play(mutant: &Mutant) -> Result<Vec<(&'static str, bool)>> {
    let report = Report::silent();
    let plan = Plan {
        clients: vec![Language::Rust],
        servers: vec![Language::Rust],
        only: Some(mutant.case.to_owned()),
        long: false,
    };
    let of = |role| (mutant.role == role).then_some(mutant.name);
    let callers = Callers::start(&plan.clients, of(Role::Client))?;
    if faults::ALL.contains(&mutant.case) {
        play_faults(&plan, &callers, &report)?;
    } else if discovery::ETCD.names().contains(&mutant.case) {
        play_discovery(&plan, &callers, &report)?;
    } else if mutant.case == guards::AFFINITY {
        let fleet = ["a", "b", "c"].map(|name| Member::start(Language::Rust, name, json!({}), None));
        let fleet = fleet.into_iter().collect::<Result<Vec<_>>>()?;
        guards::affinity(&callers, &fleet, &report)?;
    } else {
        with_server(&plan, &callers, Language::Rust, of(Role::Server), &report)?;
    }
    Ok(report.verdicts().into_iter().map(|one| (one.case, one.failure.is_some())).collect())
}
