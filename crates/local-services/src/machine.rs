//! The programs of this machine that a cluster needs, and commands that install missing ones.
//!
//! Nothing is started or fetched here, so that a command can refuse before it has done anything.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::kafka::Source;

/// Where programs are looked for.
#[derive(Debug, Clone)]
pub struct Machine {
    path: Vec<PathBuf>,
    home: Option<PathBuf>,
    /// `KAFKA_HOME`.
    kafka_home: Option<PathBuf>,
    /// `JAVA_HOME`.
    java_home: Option<PathBuf>,
    /// `STADIUM_ETCD`.
    etcd: Option<PathBuf>,
    /// Where an unpacked Kafka usually is.
    opt_kafka: PathBuf,
}

/// All that a cluster on this machine needs.
#[derive(Debug, Clone)]
pub struct Services {
    /// The program etcd.
    pub etcd: PathBuf,
    /// The program java.
    pub java: PathBuf,
    /// Kafka's jars.
    pub kafka: Source,
}

/// A program that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Its name, with what was looked at where that is of use.
    pub what: String,
    /// How to install it: a command, or what to set.
    pub remedy: &'static str,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.remedy)
    }
}

impl Machine {
    /// This machine, as the environment describes it.
    pub fn this() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            path: std::env::split_paths(&path).collect(),
            home: variable("HOME"),
            kafka_home: variable("KAFKA_HOME"),
            java_home: variable("JAVA_HOME"),
            etcd: variable("STADIUM_ETCD"),
            opt_kafka: "/opt/kafka".into(),
        }
    }

    /// Finds etcd, Java and Kafka.
    ///
    /// # Errors
    /// Everything that is missing.
    pub fn services(&self) -> std::result::Result<Services, Vec<Missing>> {
        match (self.etcd(), self.java(), self.kafka()) {
            (Ok(etcd), Ok(java), Ok(kafka)) => Ok(Services { etcd, java, kafka }),
            (etcd, java, kafka) => Err([etcd.err(), java.err(), kafka.err()].into_iter().flatten().collect()),
        }
    }

    /// The program etcd: `STADIUM_ETCD`, or the one of `PATH`.
    ///
    /// # Errors
    /// There is none.
    pub fn etcd(&self) -> std::result::Result<PathBuf, Missing> {
        let remedy = "apt-get install etcd-server, or name the program in STADIUM_ETCD";
        match &self.etcd {
            Some(named) if is_program(named) => Ok(named.clone()),
            Some(named) => {
                let what = format!("STADIUM_ETCD is {}, which is no program", named.display());
                Err(Missing { what, remedy })
            }
            None => {
                self.program("etcd").ok_or_else(|| Missing { what: "etcd is not installed".into(), remedy })
            }
        }
    }

    /// The program java: the one of `JAVA_HOME`, or of `PATH`.
    ///
    /// # Errors
    /// There is none.
    pub fn java(&self) -> std::result::Result<PathBuf, Missing> {
        let named = self.java_home.as_ref().map(|home| home.join("bin/java")).filter(|java| is_program(java));
        named.or_else(|| self.program("java")).ok_or_else(|| Missing {
            what: "Java, in which Kafka runs, is not installed".into(),
            remedy: "apt-get install openjdk-17-jre-headless",
        })
    }

    /// Kafka's jars: of `KAFKA_HOME`; beside the `kafka-server-start.sh` of `PATH`; of `/opt/kafka`; fetched
    /// before; to be fetched with Maven. An installation that is too old is passed over.
    ///
    /// # Errors
    /// None of these.
    pub fn kafka(&self) -> std::result::Result<Source, Missing> {
        let mut too_old = None;
        let beside = ["kafka-server-start.sh", "kafka-server-start"].into_iter().find_map(|script| {
            // A link in /usr/local/bin names a script of the installation.
            let script = fs::canonicalize(self.program(script)?).ok()?;
            Some(script.parent()?.parent()?.to_owned())
        });
        let installed = self.kafka_home.clone().into_iter().chain(beside).chain([self.opt_kafka.clone()]);
        for home in installed {
            // Apache's archive and Confluent's packages.
            for libraries in [home.join("libs"), home.join("share/java/kafka")] {
                match Source::installed(&libraries) {
                    Some(source) if source.is_new_enough() => return Ok(source),
                    Some(source) => _ = too_old.get_or_insert((source, libraries)),
                    None => {}
                }
            }
        }
        if let Some(home) = &self.home {
            let source = Source::fetched(home, None);
            if source.is_here() || self.program("mvn").is_some() {
                return Ok(source);
            }
        }
        let what = match too_old {
            Some((source, libraries)) => {
                format!("{source} in {} is too old: 4.0 is needed", libraries.display())
            }
            None => "Kafka is not installed".to_owned(),
        };
        let remedy =
            "name the folder of a Kafka in KAFKA_HOME, or let Maven fetch one: apt-get install maven";
        Err(Missing { what, remedy })
    }

    fn program(&self, name: impl AsRef<OsStr>) -> Option<PathBuf> {
        let name = Path::new(name.as_ref());
        self.path.iter().map(|folder| folder.join(name)).find(|file| is_program(file))
    }
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose folders are below this one, with these programs on its path.
    fn machine(root: &Path, programs: &[&str]) -> Machine {
        let bin = root.join("bin");
        fs::create_dir_all(&bin).expect("a folder");
        for program in programs {
            let file = bin.join(program);
            fs::write(&file, "").expect("a file");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("its rights");
        }
        Machine {
            path: vec![bin],
            home: Some(root.join("home")),
            kafka_home: None,
            java_home: None,
            etcd: None,
            opt_kafka: root.join("opt/kafka"),
        }
    }

    fn jar(home: &Path, version: &str) {
        fs::create_dir_all(home.join("libs")).expect("a folder");
        fs::write(home.join(format!("libs/kafka_2.13-{version}.jar")), "").expect("a file");
    }

    #[test]
    fn everything_that_is_missing_is_named_with_its_command() {
        let root = tempfile::tempdir().expect("a folder");
        let missing = machine(root.path(), &[]).services().expect_err("nothing is there");
        let said: Vec<String> = missing.iter().map(Missing::to_string).collect();
        for (place, words) in ["etcd-server", "openjdk-17-jre-headless", "install maven"].iter().enumerate() {
            assert!(said[place].contains(words), "{said:?}");
        }
        let missing = machine(root.path(), &["java", "mvn"]).services().expect_err("no etcd");
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert!(machine(root.path(), &["etcd"]).services().is_ok());
    }

    #[test]
    fn kafka_is_taken_from_the_first_place_that_has_it() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |place: &str| root.path().join(place);
        let mut machine = machine(root.path(), &["mvn"]);
        let found = |machine: &Machine| machine.kafka().map(|source| source.to_string());
        assert_eq!(found(&machine).expect("Maven"), "Kafka 4.1.0, fetched with Maven");
        jar(&at("opt/kafka"), "4.0.1");
        assert_eq!(found(&machine).expect("unpacked"), "Kafka 4.0.1");
        // The script of the path is a link into an installation.
        jar(&at("elsewhere"), "4.0.2");
        machine.path.push(at("elsewhere/bin"));
        fs::create_dir_all(at("elsewhere/bin")).expect("a folder");
        fs::copy(at("bin/mvn"), at("elsewhere/bin/kafka-server-start.sh")).expect("a copy");
        assert_eq!(found(&machine).expect("on the path"), "Kafka 4.0.2");
        jar(&at("named"), "5.0.0");
        machine.kafka_home = Some(at("named"));
        assert_eq!(found(&machine).expect("named"), "Kafka 5.0.0");
    }

    #[test]
    fn a_kafka_that_is_too_old_is_passed_over_and_named_where_there_is_no_other() {
        let root = tempfile::tempdir().expect("a folder");
        let mut machine = machine(root.path(), &[]);
        jar(&root.path().join("old"), "3.9.1");
        machine.kafka_home = Some(root.path().join("old"));
        let missing = machine.kafka().expect_err("it is too old").to_string();
        assert!(missing.contains("Kafka 3.9.1") && missing.contains("4.0 is needed"), "{missing}");
    }

    #[test]
    fn a_named_etcd_must_be_a_program() {
        let root = tempfile::tempdir().expect("a folder");
        let mut machine = machine(root.path(), &["etcd"]);
        machine.etcd = Some(root.path().join("nothing"));
        assert!(machine.etcd().expect_err("nothing is there").what.contains("STADIUM_ETCD"));
        machine.etcd = Some(root.path().join("bin/etcd"));
        assert!(machine.etcd().is_ok());
    }
}
