//! The flags that set settings, shared by every command that reads the configuration.
//!
//! Each flag names the setting it sets; any other setting is reached by `--set`. Parsing the values
//! and telling mistakes is the business of `stadium_node::settings`.

use std::path::{Path, PathBuf};

use clap::Args;
use stadium_node::settings::{self, Loaded, LogFormat, Override, Sources};

use crate::failure::Failure;

/// The file, and any setting: for commands that need few of them.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct ConfigFlags {
    /// Configuration file [default: stadium.toml, if there is one]
    #[arg(long, value_name = "FILE", env = "STADIUM_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Any setting, as often as needed
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE", value_parser = parse_set)]
    set: Vec<(String, String)>,
}

impl ConfigFlags {
    /// As `--config FILE` alone.
    pub(crate) fn of_file(file: &Path) -> Self {
        Self { config: Some(file.to_owned()), set: Vec::new() }
    }

    /// Reads the whole configuration: defaults, file, environment, these flags.
    pub(crate) fn load(&self) -> Result<Loaded, Failure> {
        SettingsFlags { common: self.clone(), ..SettingsFlags::default() }.load()
    }
}

/// Flags that win over the environment and the file.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct SettingsFlags {
    #[command(flatten)]
    pub(crate) common: ConfigFlags,
    /// Trial mode: loopback only, anonymous devices, every topic allowed. Never for production
    #[arg(long)]
    trial: bool,
    /// Where MQTT listens, `off` for nowhere; several with commas [mqtt.listen]
    #[arg(long, value_name = "ADDR")]
    mqtt: Option<String>,
    /// Where MQTT over TLS listens [mqtts.listen]
    #[arg(long, value_name = "ADDR")]
    mqtts: Option<String>,
    /// Where MQTT over WebSocket listens, beside /mqtt on the HTTP port [ws.listen]
    #[arg(long, value_name = "ADDR")]
    ws: Option<String>,
    /// Where MQTT over WebSocket over TLS listens [wss.listen]
    #[arg(long, value_name = "ADDR")]
    wss: Option<String>,
    /// Where the HTTP API and the live page listen [http.listen]
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// Where the services of this process listen [rpc.listen]
    #[arg(long, value_name = "ADDR")]
    rpc: Option<String>,
    /// Directory of all state [server.data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// Event loops; 0 is one for each core [server.loops]
    #[arg(long, value_name = "N")]
    loops: Option<String>,
    /// Certificate chain of the TLS listeners, PEM [mqtts.certificate, wss.certificate]
    #[arg(long, value_name = "FILE")]
    certificate: Option<String>,
    /// Private key of the certificate, PEM [mqtts.key, wss.key]
    #[arg(long, value_name = "FILE")]
    certificate_key: Option<String>,
    /// What is logged, such as `warn` or `info,stadium_edge=debug` [log.level]
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
}

impl SettingsFlags {
    /// Reads the whole configuration: defaults, file, environment, these flags.
    pub(crate) fn load(&self) -> Result<Loaded, Failure> {
        settings::load(&Sources::of_process(self.common.config.clone(), self.overrides())).map_err(
            |problems| {
                let count = problems.0.len();
                let noun = if count == 1 { "problem" } else { "problems" };
                Failure::new(format!("the configuration has {count} {noun}:\n{problems}"))
            },
        )
    }

    /// How the log is to be written, also where the configuration is wrong.
    pub(crate) fn log_format(&self) -> LogFormat {
        settings::log_format(&Sources::of_process(self.common.config.clone(), self.overrides()))
    }

    fn overrides(&self) -> Vec<Override> {
        let flags = [
            ("--trial", "server.trial", self.trial.then_some("true")),
            ("--mqtt", "mqtt.listen", self.mqtt.as_deref()),
            ("--mqtts", "mqtts.listen", self.mqtts.as_deref()),
            ("--ws", "ws.listen", self.ws.as_deref()),
            ("--wss", "wss.listen", self.wss.as_deref()),
            ("--http", "http.listen", self.http.as_deref()),
            ("--rpc", "rpc.listen", self.rpc.as_deref()),
            ("--data", "server.data", self.data.as_deref()),
            ("--loops", "server.loops", self.loops.as_deref()),
            ("--certificate", "mqtts.certificate", self.certificate.as_deref()),
            ("--certificate", "wss.certificate", self.certificate.as_deref()),
            ("--certificate-key", "mqtts.key", self.certificate_key.as_deref()),
            ("--certificate-key", "wss.key", self.certificate_key.as_deref()),
            ("--log", "log.level", self.log.as_deref()),
        ];
        let named = flags.into_iter().filter_map(|(flag, setting, value)| {
            value.map(|value| Override {
                flag: flag.to_owned(),
                setting: setting.to_owned(),
                value: value.to_owned(),
            })
        });
        let set = self.common.set.iter().map(|(setting, value)| Override {
            flag: "--set".to_owned(),
            setting: setting.clone(),
            value: value.clone(),
        });
        named.chain(set).collect()
    }
}

fn parse_set(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((setting, value)) if setting.contains('.') => Ok((setting.trim().to_owned(), value.to_owned())),
        _ => Err("expected SECTION.KEY=VALUE, such as limits.connections_max=1000".to_owned()),
    }
}
