//! The configuration: one `stadium.toml`, the environment, the flags.
//!
//! [`load`] gives a [`Loaded`] whose settings are typed and within their bounds, or every problem
//! at once. Each setting is defined once, in [`sections`]; [`mod@reference`] generates its
//! documentation. What the parts of the product make of the settings is in [`crate::mapping`].

mod conflicts;
mod define;
mod layers;
mod problem;
pub mod reference;
mod sections;
mod value;

use std::path::{Path, PathBuf};

pub use define::{Described, Effective, Setting};
pub use layers::{Origin, Override, environment_name};
pub use problem::{Code, Problem, Problems};
pub use sections::{
    Access, Acme, Anonymous, AnswerScope, Auth, Backup, Cache, CacheRouting, Callback, CallerIdentities,
    Certificate, CertificateName, ClientCertificates, ClientIdBinding, Cluster, ClusterEtcd, ClusterKafka,
    ClusterLinks, DeviceRegistry, Devices, Discovery, DiscoveryBackend, GroupRoles, Http, IdentityRights,
    Journal, Limits, ListedService, Locations, Log, LogFormat, Method, Mqtt, Mqtts, Oidc, Password,
    ProxyProtocol, Push, Queue, Ratio, Rpc, SaslMechanism, Server, Session, Settings, ShardStore, Shards,
    SocketOptions, Sockets, Telemetry, TelemetryProtocol, Tls, Token, TokenAlgorithm, TokenKey, TokenKeys,
    TokenUsername, Tokens, Webhooks, Ws, Wss,
};
pub use value::{Addresses, Bounds, grouped};

use define::{Group, Reader};
use layers::Layers;
use value::Raw;

/// The file that is read from the working directory when none is named.
pub const FILE_NAME: &str = "stadium.toml";

/// Where values come from besides the defaults.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The configuration file; when none is named, [`FILE_NAME`] in the working directory if it is
    /// there.
    pub file: Option<PathBuf>,
    /// The environment, usually `std::env::vars()`.
    pub environment: Vec<(String, String)>,
    /// What the flags set.
    pub flags: Vec<Override>,
}

impl Sources {
    /// The process's own environment, and these flags.
    #[must_use]
    pub fn of_process(file: Option<PathBuf>, flags: Vec<Override>) -> Self {
        let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
        let environment = std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
        Self { file, environment, flags }
    }
}

/// A configuration that holds together.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The values.
    pub settings: Settings,
    /// Each setting's value and where it came from, in the order of the reference.
    pub effective: Vec<Effective>,
    /// The file that was read, if any.
    pub file: Option<PathBuf>,
}

/// Reads all sources. A later one wins: defaults, trial mode, file, environment, flags.
pub fn load(sources: &Sources) -> Result<Loaded, Problems> {
    let file = sources.file.clone().or_else(|| Some(PathBuf::from(FILE_NAME)).filter(|path| path.is_file()));
    let mut layers = Layers::default();
    let mut problems = Vec::new();
    if let Some(path) = &file {
        problems.extend(layers.read_file(path).err());
    }
    layers.read_environment(sources.environment.iter().cloned());
    layers.read_flags(&sources.flags);
    layers.read_standard_environment(&sources.environment);
    settle(layers, problems, file)
}

/// How a log line is to be written, also where other settings are wrong: so that a start that fails
/// says so in the form that was asked for. A value of its own that is wrong counts as none.
pub fn log_format(sources: &Sources) -> LogFormat {
    let file = sources.file.clone().or_else(|| Some(PathBuf::from(FILE_NAME)).filter(|path| path.is_file()));
    let mut layers = Layers::default();
    // `load` reports what is wrong with the file.
    let _ = file.map(|path| layers.read_file(&path));
    layers.read_environment(sources.environment.iter().cloned());
    layers.read_flags(&sources.flags);
    Settings::read(&mut Reader::new(&layers), "").log.format
}

/// Reads TOML text alone, as if it were the file `path`, without environment or flags.
pub fn from_toml(text: &str, path: &Path) -> Result<Loaded, Problems> {
    let mut layers = Layers::default();
    let problems = layers.read_toml(text, path).err().into_iter().collect();
    settle(layers, problems, Some(path.to_owned()))
}

fn settle(mut layers: Layers, mut problems: Vec<Problem>, file: Option<PathBuf>) -> Result<Loaded, Problems> {
    let known: Vec<String> = names().collect();
    for (name, origin) in layers.names() {
        if !known.iter().any(|known| known == name) {
            problems.push(unknown(name, origin, &known));
        }
    }
    if Settings::read(&mut Reader::new(&layers), "").server.trial {
        for (setting, raw) in trial() {
            layers.put_below(setting, raw, Origin::Trial);
        }
    }
    let mut reader = Reader::new(&layers);
    let settings = Settings::read(&mut reader, "");
    let Reader { effective, problems: misfits, .. } = reader;
    problems.extend(misfits);
    if problems.is_empty() {
        problems.extend(conflicts::find(&settings, &effective));
    }
    if problems.is_empty() { Ok(Loaded { settings, effective, file }) } else { Err(Problems(problems)) }
}

/// Reads TOML text whose settings may be wrong together.
#[cfg(test)]
pub(crate) fn without_conflicts(text: &str) -> Settings {
    let mut layers = Layers::default();
    layers.read_toml(text, Path::new(FILE_NAME)).expect("it is TOML");
    Settings::read(&mut Reader::new(&layers), "")
}

/// The settings of trial mode, unless another source sets them.
fn trial() -> [(&'static str, Raw); 2] {
    [("auth.anonymous", Raw::Word("anyone".to_owned())), ("http.open_read", Raw::Boolean(true))]
}

/// Every table with its settings, in the order of the reference.
#[must_use]
pub fn tables() -> Vec<Described> {
    Settings::describe("").into_iter().filter(|table| !table.settings.is_empty()).collect()
}

/// The full name of every setting.
pub fn names() -> impl Iterator<Item = String> {
    tables().into_iter().flat_map(|table| table.settings).map(|setting| setting.name)
}

/// The full name of every setting whose value is a table.
fn table_values() -> impl Iterator<Item = String> {
    let settings = tables().into_iter().flat_map(|table| table.settings);
    settings.filter(|setting| setting.is_table).map(|setting| setting.name)
}

fn unknown(name: &str, origin: &Origin, known: &[String]) -> Problem {
    let table = known.iter().any(|known| known.starts_with(&format!("{name}.")));
    let message = match problem::nearest(name, known.iter().map(String::as_str)) {
        _ if table => "is a table, not a setting: write its settings below it".to_owned(),
        Some(meant) => match origin {
            Origin::Environment(_) => {
                format!("is no setting; did you mean {meant} ({})?", environment_name(meant))
            }
            _ => format!("is no setting; did you mean {meant}?"),
        },
        None => "is no setting; `stadium config reference` lists them all".to_owned(),
    };
    Problem { code: Code::Unknown, setting: name.to_owned(), origin: origin.clone(), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        from_toml(text, Path::new("stadium.toml"))
            .expect_err("it is wrong")
            .0
            .iter()
            .map(Problem::to_string)
            .collect()
    }

    fn settings(text: &str) -> Settings {
        from_toml(text, Path::new("stadium.toml")).expect("it is right").settings
    }

    #[test]
    fn nothing_set_is_a_whole_configuration_on_loopback() {
        let settings = settings("");
        assert_eq!(settings.mqtt.listen, Addresses::loopback(1883));
        assert_eq!(settings.http.listen, Some(([127, 0, 0, 1], 8080).into()));
        assert!(
            settings.mqtts.listen.is_off()
                && settings.auth.anonymous == Anonymous::Refused
                && !settings.http.open_read
        );
        assert_eq!(settings.limits.before_auth_bytes, 393_216);
        assert_eq!(settings.limits.before_auth_total_bytes, 16_777_216);
        assert_eq!(settings.limits.before_auth_ms, 10_000);
    }

    #[test]
    fn every_problem_is_reported_at_once_with_its_place_and_a_suggestion() {
        let found = problems(
            "[limits]\nconnections_max = 0\nconections_max = 7\n\n[mqtt]\nbacklog = \"big\"\nlimits = 1\n[colour]\na = 1\n",
        );
        assert_eq!(
            found,
            [
                "stadium.toml:9: colour.a is no setting; `stadium config reference` lists them all (SET-002)",
                "stadium.toml:3: limits.conections_max is no setting; did you mean limits.connections_max? (SET-002)",
                "stadium.toml:7: mqtt.limits is no setting; did you mean mqtt.listen? (SET-002)",
                "stadium.toml:6: mqtt.backlog = \"big\": expected a whole number (SET-003)",
                "stadium.toml:2: limits.connections_max = 0: must be 1 to 10,000,000 connections (SET-004)",
            ]
        );
    }

    #[test]
    fn every_bound_is_kept_at_both_ends() {
        for setting in tables().into_iter().flat_map(|table| table.settings) {
            let Bounds::Number(range) = setting.bounds.clone() else { continue };
            let (table, key) = setting.name.rsplit_once('.').expect("every setting is in a table");
            // Lifetimes in the cache need one, and answers that are kept.
            let (before, after) = match table {
                "auth.callback" => {
                    ("url = \"http://h\"\n", "[cache]\nservers = [\"h\"]\nsecret_file = \"s\"\n")
                }
                // Segments move to a place.
                "backup" => ("to = \"file:///b\"\n", ""),
                _ => ("", ""),
            };
            let try_value = |value: u64| {
                let text = format!("[{table}]\n{before}{key} = {value}\n{after}");
                from_toml(&text, Path::new("s.toml"))
            };
            for within in [*range.start(), *range.end()] {
                let loaded = try_value(within);
                assert!(loaded.is_ok(), "{} = {within}: {}", setting.name, loaded.unwrap_err());
            }
            let beyond = [range.start().checked_sub(1), range.end().checked_add(1)];
            for outside in beyond.into_iter().flatten() {
                let problems = try_value(outside).expect_err("it is outside");
                assert!(
                    problems.0.iter().all(|problem| problem.code == Code::Bounds),
                    "{} = {outside}",
                    setting.name
                );
            }
        }
    }

    #[test]
    fn each_source_wins_over_the_one_below_and_is_named() {
        let sources = Sources {
            file: None,
            environment: vec![
                ("STADIUM_MQTT__LISTEN".to_owned(), "127.0.0.1:2".to_owned()),
                ("STADIUM_SERVER__LOOPS".to_owned(), "3".to_owned()),
                ("STADIUM_AUTH__TOKEN__LEEWAY_S".to_owned(), "7".to_owned()),
            ],
            flags: vec![Override {
                flag: "--loops".to_owned(),
                setting: "server.loops".to_owned(),
                value: "4".to_owned(),
            }],
        };
        let loaded = load(&sources).expect("it is right");
        assert_eq!(loaded.settings.mqtt.listen, Addresses::loopback(2));
        assert_eq!(loaded.settings.server.loops, 4);
        assert_eq!(loaded.settings.auth.token.leeway_s, 7);
        let origin = |name: &str| {
            loaded
                .effective
                .iter()
                .find(|effective| effective.name == name)
                .map(|found| found.origin.to_string())
        };
        assert_eq!(origin("mqtt.listen").as_deref(), Some("environment STADIUM_MQTT__LISTEN"));
        assert_eq!(origin("server.loops").as_deref(), Some("flag --loops"));
        assert_eq!(origin("http.listen").as_deref(), Some("default"));
    }

    #[test]
    fn trial_mode_opens_what_no_other_source_closes() {
        let open = settings("[server]\ntrial = true\n");
        assert!(open.auth.anonymous == Anonymous::Anyone && open.http.open_read);
        let closed = settings("[server]\ntrial = true\n[http]\nopen_read = false\n");
        assert!(closed.auth.anonymous == Anonymous::Anyone && !closed.http.open_read);
    }

    #[test]
    fn a_place_of_backups_that_cannot_work_is_refused() {
        for (given, why) in [
            ("to = \"backups\"", "is no URL"),
            ("to = \"ftp://host/x\"", "scheme that is not known"),
            ("to = \"s3:///prefix\"", "names no bucket"),
            ("to = \"file://backups\"", "three slashes"),
            ("to = \"file:///\"", "three slashes"),
            ("to = \"s3://key:secret@bucket/x\"", "parts that mean nothing here"),
            ("to = \"file:///srv/stadium/backups\"", "is inside the data directory"),
            ("secrets_key_file = \"key\"", "needs backup.to"),
        ] {
            let found = problems(&format!("[server]\ndata = \"/srv/stadium\"\n[backup]\n{given}\n"));
            assert!(found.len() == 1 && found[0].contains(why), "{given}: {found:?}");
            assert!(found[0].starts_with("stadium.toml:4: ") && !found[0].contains("secret@"), "{found:?}");
        }
        for right in ["s3://bucket", "s3://bucket/a/b", "gs://b/x", "az://c/x", "file:///srv/stadium-backups"]
        {
            let given = format!("[server]\ndata = \"/srv/stadium\"\n[backup]\nto = \"{right}\"\n");
            assert!(from_toml(&given, Path::new("stadium.toml")).is_ok(), "{right}");
        }
    }

    #[test]
    fn a_mistyped_variable_is_refused_with_the_right_name() {
        let sources = Sources {
            environment: vec![("STADIUM_SERVER__LOPS".to_owned(), "3".to_owned())],
            ..Sources::default()
        };
        let problems = load(&sources).expect_err("there is no such setting").to_string();
        assert_eq!(
            problems,
            "environment STADIUM_SERVER__LOPS: server.lops is no setting; did you mean server.loops \
             (STADIUM_SERVER__LOOPS)? (SET-002)"
        );
    }

    #[test]
    fn a_name_is_set_in_one_place_only() {
        let mut all: Vec<String> = names().collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(count > 100, "{count}");
    }
}
