//! Makes the topic of a cluster, or checks it, over connections of its own.
//!
//! Neither client shows all that is asked for here: rskafka makes topics without settings and reads
//! none, rdkafka does not show which features the brokers have finalised. So five requests are
//! written out in `requests.rs`, over TLS and SASL of `connection.rs`, whichever client is in use.

mod connection;
mod requests;
mod scram;
mod wanted;
mod wire;

use std::fmt;
use std::time::{Duration, Instant};

use stadium_journal_log::partition::Failure;

use crate::failure::{NO_LEADER, OLD_BROKERS, REFUSED, UNREACHABLE, Verdict, WRONG_TOPIC, judge, with_code};
use crate::settings::{Mechanism, Settings, SettingsError};
use connection::Connection;
use requests::{Broker, PartitionState, Resource, Topic};

pub use wanted::Wrong;

/// How long the leaders of a topic that was just made may take to appear.
const TOPIC_APPEARS_WITHIN: Duration = Duration::from_secs(30);

/// How many brokers have each partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replication {
    /// Three, of which two are in sync whenever a message is acknowledged.
    Three,
    /// Two, both of which are in sync: a broker that is away stops all appends. For trials.
    Two,
    /// One: its disk is all there is. For trials and tests.
    One,
}

impl Replication {
    /// Replicas of each partition.
    const fn factor(self) -> i16 {
        match self {
            Self::Three => 3,
            Self::Two => 2,
            Self::One => 1,
        }
    }
}

/// The result of a check that passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Whether the topic was made.
    pub is_made: bool,
    /// A sentence for each thing that does no harm now and should be changed.
    pub warnings: Vec<String>,
}

/// What Kafka has of a cluster: brokers and the topic, as [`inspect`] found them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inspection {
    /// All brokers.
    pub brokers: Vec<BrokerState>,
    /// The cluster's topic, if it exists.
    pub topic: Option<TopicState>,
    /// A sentence for each thing that does no harm now and should be changed.
    pub warnings: Vec<String>,
}

/// A broker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokerState {
    /// Its id.
    pub id: i32,
    /// HOST:PORT.
    pub address: String,
    /// Its rack or zone, where it names one.
    pub rack: Option<String>,
    /// How long a connection and a first answer took, or why there was none.
    pub answered: Result<Duration, Failure>,
}

/// A topic that exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopicState {
    /// Its name.
    pub name: String,
    /// The number of its partitions.
    pub partitions: usize,
    /// Partitions that have no leader now.
    pub without_leader: usize,
    /// Partitions with fewer replicas in sync than replicas.
    pub out_of_sync: usize,
    /// Each setting that must be changed.
    pub wrong: Vec<Wrong>,
}

/// Why the topic cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The settings cannot be used.
    Settings(SettingsError),
    /// A broker could not be asked, or refused.
    Failed(Failure),
    /// The topic exists and has other settings. All that are wrong are listed.
    Wrong {
        /// Its name.
        topic: String,
        /// Each setting that must be changed.
        wrong: Vec<Wrong>,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(error) => error.fmt(f),
            Self::Failed(failure) => failure.fmt(f),
            Self::Wrong { topic, wrong } => {
                write!(f, "{}", with_code(WRONG_TOPIC, format_args!("topic {topic} cannot hold the log")))?;
                for Wrong { setting, found, wanted, mend } in wrong {
                    write!(f, "\n  {setting} is {found}, and must be {wanted}: {mend}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<SettingsError> for Error {
    fn from(error: SettingsError) -> Self {
        Self::Settings(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Makes the cluster's topic with a partition for each shard, or checks the one that exists.
///
/// It waits for brokers: some seconds at most, 30 s for a topic that it makes.
///
/// # Errors
/// No broker answers, they refuse, they are too old, or the topic exists and is not as it must be.
pub fn make_or_check(settings: &Settings, shards: u32, replication: Replication) -> Result<Checked, Error> {
    settings.check()?;
    let mut admin = Admin::connect(settings)?;
    let mut checked = Checked { is_made: false, warnings: password_warnings(settings) };
    for broker in admin.brokers(&mut checked.warnings)? {
        if let BrokerState { id, address, answered: Err(failure), .. } = broker {
            checked.warnings.push(format!("broker {id} at {address} does not answer: {failure}"));
        }
    }
    let topic = match admin.topic()? {
        Some(topic) => topic,
        None => {
            checked.is_made = admin.make(shards, replication)?;
            admin.wait_for_topic()?
        }
    };
    let wrong = admin.wrong(&topic, shards, replication)?;
    if wrong.is_empty() {
        return Ok(checked);
    }
    Err(Error::Wrong { topic: settings.topic(), wrong })
}

/// Looks at the brokers and at the cluster's topic, and changes nothing. It waits for brokers: a
/// request's timeout for each that is away.
///
/// # Errors
/// No broker answers, they refuse, or they are too old. A topic that is missing or wrong is none.
pub fn inspect(settings: &Settings, shards: u32, replication: Replication) -> Result<Inspection, Error> {
    settings.check()?;
    let mut admin = Admin::connect(settings)?;
    let mut warnings = password_warnings(settings);
    let brokers = admin.brokers(&mut warnings)?;
    let topic = match admin.topic()? {
        None => None,
        Some(topic) => {
            let count =
                |is: fn(&PartitionState) -> bool| topic.partitions.iter().filter(|one| is(one)).count();
            Some(TopicState {
                name: settings.topic(),
                partitions: topic.partitions.len(),
                without_leader: count(|partition| !partition.has_leader),
                out_of_sync: count(|partition| partition.in_sync < partition.replicas),
                wrong: admin.wrong(&topic, shards, replication)?,
            })
        }
    };
    Ok(Inspection { brokers, topic, warnings })
}

fn password_warnings(settings: &Settings) -> Vec<String> {
    let sends_password = settings.sasl.as_ref().is_some_and(|sasl| sasl.mechanism == Mechanism::Plain);
    match sends_password && settings.tls.is_none() {
        true => vec!["SASL PLAIN without TLS: everybody on the way can read the password".to_owned()],
        false => Vec::new(),
    }
}

/// The brokers, and a connection to one of them.
struct Admin<'s> {
    settings: &'s Settings,
    seed: Connection,
}

impl<'s> Admin<'s> {
    /// Connects to the first broker that answers.
    fn connect(settings: &'s Settings) -> Result<Self, Error> {
        let tls = settings.tls.as_ref().map(crate::tls::configuration).transpose()?;
        let mut last = None;
        for address in &settings.bootstrap {
            match Connection::open(settings, tls.as_ref(), address) {
                Ok(seed) => return Ok(Self { settings, seed }),
                Err(failure) => last = Some(failure),
            }
        }
        Err(last.unwrap_or_else(|| Verdict::later(UNREACHABLE).failure("no broker is named")).into())
    }

    /// Each broker, and sentences about what should be changed. Those that do not answer are in it.
    fn brokers(&mut self, warnings: &mut Vec<String>) -> Result<Vec<BrokerState>, Error> {
        let brokers = self.seed.metadata(&self.settings.topic())?.brokers;
        let tls = self.settings.tls.as_ref().map(crate::tls::configuration).transpose()?;
        let mut has_eligible_leaders = true;
        let mut states = Vec::with_capacity(brokers.len());
        for Broker { id, address, rack } in brokers {
            let connected = Instant::now();
            let mut connection = match Connection::open(self.settings, tls.as_ref(), &address) {
                Ok(connection) => connection,
                Err(failure) => {
                    states.push(BrokerState { id, address, rack, answered: Err(failure) });
                    continue;
                }
            };
            let able = connection.versions()?;
            if let Some(lacks) = able.lacks() {
                let what = format!("broker {id} at {address} lacks {lacks}: Kafka must be 2.2 or newer");
                return Err(Verdict::never(OLD_BROKERS).failure(what).into());
            }
            states.push(BrokerState { id, address, rack, answered: Ok(connected.elapsed()) });
            has_eligible_leaders &= able.has_eligible_leaders;
            match connection.describe(Resource::Broker(id)) {
                Ok(values) => warnings.extend(wanted::broker_warnings(id, &values)),
                Err(failure) => warnings.push(format!("settings of broker {id} cannot be seen: {failure}")),
            }
        }
        if !has_eligible_leaders {
            warnings.push(
                "the brokers do not keep eligible leader replicas (KIP-966): if all replicas of a partition \
                 fail, one that lacks acknowledged messages may lead it; run `kafka-features.sh upgrade \
                 --feature eligible.leader.replicas.version=1` (Kafka 4.0)"
                    .to_owned(),
            );
        }
        Ok(states)
    }

    /// The topic, if it exists.
    fn topic(&mut self) -> Result<Option<Topic>, Error> {
        Ok(self.seed.metadata(&self.settings.topic())?.topic)
    }

    /// All that is wrong with the topic's settings.
    fn wrong(&mut self, topic: &Topic, shards: u32, replication: Replication) -> Result<Vec<Wrong>, Error> {
        let name = self.settings.topic();
        let values = self.seed.describe(Resource::Topic(&name))?;
        let bootstrap = self.settings.bootstrap.join(",");
        Ok(wanted::wrong(&bootstrap, &name, topic, &values, shards, replication.factor()))
    }

    /// Makes the topic. False if somebody else did at the same time.
    fn make(&mut self, shards: u32, replication: Replication) -> Result<bool, Error> {
        let name = self.settings.topic();
        let settings = wanted::to_make(replication.factor());
        let metadata = self.seed.metadata(&name)?;
        // With ZooKeeper only the controller makes topics; with KRaft each broker passes it on.
        let controller = metadata.brokers.iter().find(|broker| broker.id == metadata.controller);
        let tls = self.settings.tls.as_ref().map(crate::tls::configuration).transpose()?;
        let mut elsewhere = match controller {
            Some(controller) => Some(Connection::open(self.settings, tls.as_ref(), &controller.address)?),
            None => None,
        };
        let connection = elsewhere.as_mut().unwrap_or(&mut self.seed);
        let shards = i32::try_from(shards)
            .map_err(|_| Verdict::never(REFUSED).failure("a topic has fewer partitions than that"))?;
        let (error, words) = connection.create(&name, shards, replication.factor(), &settings)?;
        /// TOPIC_ALREADY_EXISTS
        const EXISTS: i16 = 36;
        /// INVALID_REPLICATION_FACTOR
        const TOO_FEW_BROKERS: i16 = 38;
        let refused = |hint: &str| {
            let what = format!("topic {name} cannot be made: {words} (error {error}){hint}");
            let verdict = match error {
                TOO_FEW_BROKERS => Verdict::never(REFUSED),
                _ => judge(error),
            };
            Err(Error::Failed(verdict.failure(what)))
        };
        match error {
            0 => Ok(true),
            EXISTS => Ok(false),
            TOO_FEW_BROKERS => refused("; fewer replicas must be allowed explicitly, and lose data sooner"),
            _ => refused(""),
        }
    }

    /// Waits until every partition of the topic has a leader.
    fn wait_for_topic(&mut self) -> Result<Topic, Error> {
        let deadline = Instant::now() + TOPIC_APPEARS_WITHIN;
        loop {
            match self.topic()? {
                Some(topic) if topic.partitions.iter().all(|partition| partition.has_leader) => {
                    return Ok(topic);
                }
                _ if Instant::now() >= deadline => {
                    let what = format!(
                        "topic {} was made and has no leaders after {TOPIC_APPEARS_WITHIN:?}",
                        self.settings.topic()
                    );
                    return Err(Verdict::later(NO_LEADER).failure(what).into());
                }
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}
