//! The binary `stadium`: parses the command line, runs one command, and ends with an honest exit code.
//!
//! Data goes to standard output, everything else to standard error. Each command is a file in
//! [`command`]; servers and settings are `stadium_node`'s, simulated devices `stadium_load`'s.

#![cfg_attr(not(feature = "lab"), allow(dead_code, reason = "the load lab and the demo use it"))]

mod api;
mod arguments;
mod command;
mod failure;
mod interrupted;
mod of_app;
mod on;
mod once;
mod packaged;
mod profile;
mod push_report;
mod server;
mod settings_flags;
mod shown;
mod span;
mod table;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use failure::Failure;
use terminal::Terminal;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let terminal = Terminal::new(arguments.json);
    match run(arguments, &terminal) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal.failure(&failure);
            failure.exit_code()
        }
    }
}

fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.command {
        Command::Init(init) => command::init::run(*init, terminal),
        Command::Doctor(doctor) => command::doctor::run(&doctor, terminal),
        Command::Apply(apply) => command::apply::run(*apply, terminal),
        Command::Export(export) => command::apply::export(*export, terminal),
        Command::Serve(serve) => command::serve::run(&serve, terminal),
        #[cfg(feature = "lab")]
        Command::Demo(demo) => command::demo::run(&demo, terminal),
        #[cfg(feature = "lab")]
        Command::Load(load) => command::load::run(&load, terminal),
        Command::Push(push) => command::push::run(*push, terminal),
        Command::App(app) => command::app::run(app, terminal),
        Command::Audience(audience) => command::audience::run(audience, terminal),
        Command::Schedule(schedule) => command::schedule::run(*schedule, terminal),
        Command::Queue(queue) => command::queue::run(*queue, terminal),
        Command::Wallet(wallet) => command::wallet::run(*wallet, terminal),
        Command::Device(device) => command::device::run(*device, terminal),
        Command::Publish(publish) => command::publish::run(publish, terminal),
        Command::Retained(retained) => command::retained::run(retained, terminal),
        Command::User(user) => command::user::run(user, terminal),
        Command::Service(service) => command::service::run(*service, terminal),
        Command::Memcache(memcache) => command::memcache::run(*memcache, terminal),
        Command::Cluster(cluster) => command::cluster::run(cluster, terminal),
        Command::Journal(journal) => command::journal::run(journal, terminal),
        Command::Backup(backup) => command::backup::run(&backup, terminal),
        Command::Restore(restore) => command::restore::run(&restore, terminal),
        Command::Key(key) => command::key::run(key, terminal),
        Command::Audit(audit) => command::audit::run(audit, terminal),
        Command::Health(health) => command::health::run(&health, terminal),
        Command::Api(api) => command::api::run(*api, terminal),
        Command::Profile(profile) => command::profile::run(profile, terminal),
        Command::Openapi => command::openapi::run(terminal),
        Command::Metrics(metrics) => command::metrics::run(metrics, terminal),
        Command::Config(config) => command::config::run(config, terminal),
        Command::Completions { shell } => command::completions::run(shell),
        Command::Man { directory } => command::man::run(&directory, terminal),
    }
}
