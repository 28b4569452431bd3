//! The simulated server: shards that write, checkpoint and remove segments, and files beside them.
//!
//! All shards read one clock. After a moment was asked for, later records have a later time.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use stadium_archive::Backup;
use stadium_journal::{Position, shards};

use super::shard::Shard;
use super::state::{Change, record};

/// The contents that the file of rules has by turns: what was stored once comes back.
const RULES: [&str; 2] = ["rules of spring\n", "rules of summer\n"];

/// A version of a file.
#[derive(Debug, Clone)]
struct Version {
    from_ms: u64,
    content: Vec<u8>,
}

/// The server and what is known about it.
pub struct Server {
    /// The data directory.
    pub data: PathBuf,
    /// The shards; none while it is between two lives.
    pub shards: Vec<Shard>,
    files: BTreeMap<&'static str, Vec<Version>>,
    /// No record has a time before it.
    floor_ms: u64,
    /// The newest time at which all records were durable.
    durable_ms: u64,
    next_id: u64,
}

impl Server {
    /// Makes the data directory.
    pub fn new(data: &Path, count: u16) -> Result<Self, String> {
        let all = data.join("shards");
        let made = fs::create_dir_all(&all).and_then(|()| shards::write(&all, count));
        made.map_err(|error| error.to_string())?;
        let open = |number| Shard::new(number, shards::folder(&all, number));
        let shards = (0..count).map(open).collect::<Result<_, _>>()?;
        let (files, data) = (BTreeMap::new(), data.to_owned());
        let mut server = Self { data, shards, files, floor_ms: 1, durable_ms: 0, next_id: 0 };
        for name in ["rules.toml", "audit.ndjson", "erasures.ndjson"] {
            server.write_file(name, 0, b"").map_err(|error| error.to_string())?;
        }
        Ok(server)
    }

    /// Is killed and starts again.
    pub fn restart(&mut self) -> Result<(), String> {
        let before = std::mem::take(&mut self.shards);
        self.shards = before.into_iter().map(Shard::restart).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Some things happen at a time.
    pub fn step(&mut self, now_ms: u64, payload_bytes: usize, rng: &mut Rng) -> Result<(), String> {
        self.floor_ms = self.floor_ms.max(now_ms);
        let time_ms = self.floor_ms;
        for shard in &mut self.shards {
            for _ in 0..rng.u32(0..4) {
                let items: Vec<u64> = shard.state.items.keys().copied().collect();
                let change = match items.get(rng.usize(0..items.len().max(1) * 2)) {
                    Some(id) => Change::Remove(*id),
                    None => {
                        self.next_id += 1;
                        Change::Put(self.next_id)
                    }
                };
                let bytes = if matches!(change, Change::Put(_)) { rng.usize(0..=payload_bytes) } else { 0 };
                shard.append(time_ms, record(time_ms, change, bytes))?;
            }
            match rng.u32(0..8) {
                0 => shard.checkpoint()?,
                1 => drop(shard.remove_segments(false)?),
                _ => {}
            }
        }
        if rng.bool() {
            self.commit()?;
        }
        let written = match rng.u32(0..6) {
            0 | 3 => self.write_file("rules.toml", now_ms, RULES[rng.usize(0..RULES.len())].as_bytes()),
            1 => self.add_lines("audit.ndjson", now_ms, rng.usize(1..400)),
            2 => self.add_lines("erasures.ndjson", now_ms, 1),
            _ => Ok(()),
        };
        written.map_err(|error| error.to_string())
    }

    /// Makes all records durable.
    pub fn commit(&mut self) -> Result<(), String> {
        self.shards.iter_mut().try_for_each(Shard::commit)?;
        self.durable_ms = self.floor_ms;
        Ok(())
    }

    /// A moment: each record that is written later has a later time.
    pub fn moment(&mut self, now_ms: u64) -> u64 {
        let moment_ms = self.floor_ms.max(now_ms);
        self.floor_ms = moment_ms + 1;
        moment_ms
    }

    /// Whether all records up to a moment are durable.
    pub fn is_durable(&self, moment_ms: u64) -> bool {
        self.durable_ms > moment_ms
    }

    /// Segments before these positions are stored.
    pub fn hold(&mut self, stored: Option<&[Position]>) {
        for (shard, position) in self.shards.iter_mut().zip(stored.unwrap_or_default()) {
            shard.held = *position;
        }
    }

    /// Compares the files in a restored directory: those of a backup are of the time in which it
    /// was written.
    pub fn compare_files(
        &self,
        restored: &Path,
        backup: &Backup,
        within_ms: (u64, u64),
    ) -> Result<(), String> {
        for (name, versions) in &self.files {
            if !backup.files.iter().any(|file| file.name == *name) {
                return Err(format!("backup {} has no file {name}", backup.number));
            }
            let found = fs::read(restored.join(name)).map_err(|error| format!("{name}: {error}"))?;
            let ends = versions.iter().skip(1).map(|next| next.from_ms).chain([u64::MAX]);
            let is_of_then = versions.iter().zip(ends).any(|(version, end_ms)| {
                version.from_ms <= within_ms.1 && end_ms >= within_ms.0 && version.content == found
            });
            // Lists of erased users are those of the newest backup, so never older ones.
            let is_later =
                *name == "erasures.ndjson" && versions.iter().any(|version| version.content == found);
            if !is_of_then && !is_later {
                return Err(format!(
                    "{name} of backup {} is not what it was at {within_ms:?}",
                    backup.number
                ));
            }
        }
        Ok(())
    }

    fn add_lines(&mut self, name: &'static str, now_ms: u64, lines: usize) -> io::Result<()> {
        let mut content = self.files[name].last().map(|newest| newest.content.clone()).unwrap_or_default();
        for line in 0..lines {
            content.extend_from_slice(format!("{{\"at\":{now_ms},\"line\":{line}}}\n").as_bytes());
        }
        self.write_file(name, now_ms, &content)
    }

    fn write_file(&mut self, name: &'static str, now_ms: u64, content: &[u8]) -> io::Result<()> {
        fs::write(self.data.join(name), content)?;
        self.files.entry(name).or_default().push(Version { from_ms: now_ms, content: content.to_owned() });
        Ok(())
    }
}
