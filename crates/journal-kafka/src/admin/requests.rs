//! The requests about brokers and topics.
//!
//! Each is written in one version that Kafka 2.2 to 4.x speak, as Kafka's protocol guide has it.

use super::connection::{Api, Connection};
use super::wire::{Reader, Writer};
use crate::failure::judge;
use stadium_journal_log::partition::Failure;

const PRODUCE: i16 = 0;
const FETCH: i16 = 1;
const LIST_OFFSETS: i16 = 2;
const DELETE_RECORDS: i16 = 21;
const METADATA: Api = Api::new(3, 4);
const API_VERSIONS: Api = Api { key: 18, version: 3, is_flexible: true };
const CREATE_TOPICS: Api = Api::new(19, 2);
const DESCRIBE_CONFIGS: Api = Api::new(32, 1);

/// How long a broker may take to make a topic.
const CREATE_WITHIN_MS: i32 = 10_000;

/// A broker, as the metadata of its cluster has it.
pub(super) struct Broker {
    pub(super) id: i32,
    /// HOST:PORT.
    pub(super) address: String,
    pub(super) rack: Option<String>,
}

/// The brokers, and the topic if it exists.
pub(super) struct Metadata {
    pub(super) brokers: Vec<Broker>,
    pub(super) controller: i32,
    pub(super) topic: Option<Topic>,
}

/// A topic.
pub(super) struct Topic {
    pub(super) partitions: Vec<PartitionState>,
}

/// A partition.
pub(super) struct PartitionState {
    pub(super) has_leader: bool,
    pub(super) replicas: usize,
    pub(super) in_sync: usize,
}

/// Whose settings are asked for.
#[derive(Clone, Copy)]
pub(super) enum Resource<'a> {
    Topic(&'a str),
    Broker(i32),
}

/// The requests and features of a broker.
pub(super) struct Able {
    /// Key of each request, and the range of its versions.
    requests: Vec<(i16, i16, i16)>,
    /// Whether its cluster keeps eligible leader replicas.
    pub(super) has_eligible_leaders: bool,
}

impl Able {
    /// The first request that the log needs and the broker has not.
    pub(super) fn lacks(&self) -> Option<&'static str> {
        let needed = [
            ("Produce 3", PRODUCE, 3),
            ("Fetch 4", FETCH, 4),
            // From this version on, a leader does not state an end that it does not know (KIP-207).
            ("ListOffsets 5", LIST_OFFSETS, 5),
            ("DeleteRecords", DELETE_RECORDS, 0),
            ("Metadata 4", METADATA.key, METADATA.version),
            ("CreateTopics 2", CREATE_TOPICS.key, CREATE_TOPICS.version),
            ("DescribeConfigs 1", DESCRIBE_CONFIGS.key, DESCRIBE_CONFIGS.version),
        ];
        let has = |key, version| self.requests.iter().any(|&(of, _, most)| of == key && most >= version);
        needed.into_iter().find(|&(_, key, version)| !has(key, version)).map(|(name, ..)| name)
    }
}

impl Connection {
    /// The requests and features of the broker. A broker before 2.4 answers with an older version of the answer,
    /// which has an error in the same place and the list of requests in an older form.
    pub(super) fn versions(&mut self) -> Result<Able, Failure> {
        let mut body = Writer::default();
        body.compact_string("stadium").compact_string(env!("CARGO_PKG_VERSION")).i8(0);
        /// UNSUPPORTED_VERSION
        const UNSUPPORTED: i16 = 35;
        let (error, able) = self.ask(API_VERSIONS, &body, |reader| {
            let error = reader.i16()?;
            if error == UNSUPPORTED {
                return Ok((error, Able { requests: Vec::new(), has_eligible_leaders: false }));
            }
            let requests = reader.compact_elements(|reader| {
                let request = (reader.i16()?, reader.i16()?, reader.i16()?);
                reader.tagged()?;
                Ok(request)
            })?;
            reader.i32()?;
            let mut has_eligible_leaders = false;
            for (tag, mut field) in reader.tagged()? {
                const FINALISED_FEATURES: usize = 2;
                if tag == FINALISED_FEATURES {
                    has_eligible_leaders = finalised(&mut field)?;
                }
            }
            Ok((error, Able { requests, has_eligible_leaders }))
        })?;
        match error {
            0 => Ok(able),
            UNSUPPORTED => self.old_versions(),
            _ => Err(judge(error).failure(format_args!("ApiVersions: error {error}"))),
        }
    }

    /// The same, of a broker that does not know the newest version.
    fn old_versions(&mut self) -> Result<Able, Failure> {
        let (error, requests) = self.ask(Api::new(API_VERSIONS.key, 0), &Writer::default(), |reader| {
            let error = reader.i16()?;
            Ok((error, reader.elements(|reader| Ok((reader.i16()?, reader.i16()?, reader.i16()?)))?))
        })?;
        match error {
            0 => Ok(Able { requests, has_eligible_leaders: false }),
            _ => Err(judge(error).failure(format_args!("ApiVersions: error {error}"))),
        }
    }

    /// The brokers, and a topic.
    pub(super) fn metadata(&mut self, topic: &str) -> Result<Metadata, Failure> {
        let mut body = Writer::default();
        // Asking for a topic does not make it.
        body.count(1).string(topic).i8(0);
        let (brokers, controller, topics) = self.ask(METADATA, &body, |reader| {
            reader.i32()?;
            let brokers = reader.elements(|reader| {
                let (id, host, port) = (reader.i32()?, reader.string()?.unwrap_or_default(), reader.i32()?);
                let rack = reader.string()?;
                let host = if host.contains(':') { format!("[{host}]") } else { host };
                Ok(Broker { id, address: format!("{host}:{port}"), rack })
            })?;
            reader.string()?;
            let controller = reader.i32()?;
            let topics = reader.elements(|reader| {
                let error = reader.i16()?;
                reader.string()?;
                reader.bool()?;
                Ok((error, reader.elements(partition)?))
            })?;
            Ok((brokers, controller, topics))
        })?;
        let topic = match topics.into_iter().next() {
            None => None,
            // LEADER_NOT_AVAILABLE: it was just made.
            Some((0 | 5, partitions)) => Some(Topic { partitions }),
            // UNKNOWN_TOPIC_OR_PARTITION
            Some((3, _)) => None,
            Some((error, _)) => {
                return Err(judge(error).failure(format_args!("topic {topic}: error {error}")));
            }
        };
        Ok(Metadata { brokers, controller, topic })
    }

    /// Makes a topic. Returns the broker's error code, and its words.
    pub(super) fn create(
        &mut self,
        topic: &str,
        partitions: i32,
        replication: i16,
        settings: &[(&str, String)],
    ) -> Result<(i16, String), Failure> {
        let mut body = Writer::default();
        body.count(1).string(topic).i32(partitions).i16(replication).count(0).count(settings.len());
        for (setting, value) in settings {
            body.string(setting).string(value);
        }
        body.i32(CREATE_WITHIN_MS).i8(0);
        let answers = self.ask(CREATE_TOPICS, &body, |reader| {
            reader.i32()?;
            reader.elements(|reader| {
                reader.string()?;
                Ok((reader.i16()?, reader.string()?.unwrap_or_default()))
            })
        })?;
        Ok(answers.into_iter().next().unwrap_or((-1, "the answer names no topic".into())))
    }

    /// The settings in force: name and value each.
    pub(super) fn describe(&mut self, resource: Resource<'_>) -> Result<Vec<(String, String)>, Failure> {
        const TOPIC: i8 = 2;
        const BROKER: i8 = 4;
        const NULL: i32 = -1;
        let (kind, name) = match resource {
            Resource::Topic(name) => (TOPIC, name.to_owned()),
            Resource::Broker(id) => (BROKER, id.to_string()),
        };
        let mut body = Writer::default();
        body.count(1).i8(kind).string(&name).i32(NULL).i8(0);
        let answers = self.ask(DESCRIBE_CONFIGS, &body, |reader| {
            reader.i32()?;
            reader.elements(|reader| {
                let (error, words) = (reader.i16()?, reader.string()?.unwrap_or_default());
                reader.i8()?;
                reader.string()?;
                Ok((error, words, reader.elements(setting)?))
            })
        })?;
        match answers.into_iter().next() {
            Some((0, _, values)) => Ok(values),
            Some((error, words, _)) => {
                Err(judge(error).failure(format_args!("settings of {name}: {words} (error {error})")))
            }
            None => Ok(Vec::new()),
        }
    }
}

fn partition(reader: &mut Reader<'_>) -> Result<PartitionState, super::wire::Malformed> {
    reader.i16()?;
    reader.i32()?;
    let leader = reader.i32()?;
    let replicas = reader.elements(Reader::i32)?.len();
    let in_sync = reader.elements(Reader::i32)?.len();
    Ok(PartitionState { has_leader: leader >= 0, replicas, in_sync })
}

fn setting(reader: &mut Reader<'_>) -> Result<(String, String), super::wire::Malformed> {
    let (name, value) = (reader.string()?.unwrap_or_default(), reader.string()?.unwrap_or_default());
    reader.bool()?;
    reader.i8()?;
    reader.bool()?;
    reader.elements(|reader| {
        reader.string()?;
        reader.string()?;
        reader.i8()
    })?;
    Ok((name, value))
}

/// Whether the cluster keeps eligible leader replicas, from its finalised features.
fn finalised(field: &mut Reader<'_>) -> Result<bool, super::wire::Malformed> {
    let features = field.compact_elements(|reader| {
        let feature = (reader.compact_string()?, reader.i16()?);
        reader.i16()?;
        reader.tagged()?;
        Ok(feature)
    })?;
    Ok(features.iter().any(|(name, level)| name == "eligible.leader.replicas.version" && *level >= 1))
}
