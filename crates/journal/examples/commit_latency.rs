//! Commits a second and their latency, beside a bare loop of pwrite and fdatasync on a file that is allocated and written.
//!
//! `cargo run -p stadium-journal --example commit_latency -- FOLDER RECORDS BYTES SECONDS`: batches
//! of so many records of so many bytes. The two sides take turns, so that a disturbance of the disk
//! hits both.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use stadium_journal::{Error, FileJournal, Journal, Options};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| "commit-latency".to_owned()));
    let mut number = |usual: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (records, bytes, seconds) = (number(10), number(200), number(10));
    let rounds = 10;
    let each = Duration::from_secs_f64(seconds as f64 / rounds as f64);

    let mut journal = FileJournal::open(&folder.join("journal"), &Options::default()).expect("it opens");
    let mut bare = Bare::new(&folder.join("bare"), records * bytes);
    let body = vec![7; bytes];
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let until = Instant::now() + each;
        while Instant::now() < until {
            let begun = Instant::now();
            for _ in 0..records {
                while let Err(error) = journal.append(&body) {
                    assert!(matches!(error, Error::Busy { .. }), "{error}");
                    journal.wait(Duration::from_millis(10)).expect("the disk works");
                }
            }
            journal.commit().expect("the disk works");
            journal.wait(Duration::from_secs(60)).expect("the disk works");
            ours.push(begun.elapsed());
        }
        let until = Instant::now() + each;
        while Instant::now() < until {
            let begun = Instant::now();
            bare.commit();
            theirs.push(begun.elapsed());
        }
    }
    println!("batches of {records} records of {bytes} bytes, {rounds} turns of {each:?} each");
    print("journal", ours, each * rounds);
    print("bare loop", theirs, each * rounds);
}

fn print(name: &str, mut times: Vec<Duration>, all: Duration) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{name:10} {:8.0} commits/s   p50 {:.3} ms   p90 {:.3} ms   p99 {:.3} ms   max {:.3} ms",
        times.len() as f64 / all.as_secs_f64(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
}

/// The least that a durable write costs: one pwrite and one fdatasync.
struct Bare {
    file: std::fs::File,
    bytes: Vec<u8>,
    at: u64,
}

impl Bare {
    const FILE_BYTES: u64 = 64 << 20;

    fn new(path: &Path, bytes: usize) -> Self {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path).expect("a new file");
        let zeros = vec![0; 1 << 20];
        for at in 0..Self::FILE_BYTES >> 20 {
            file.write_all_at(&zeros, at << 20).expect("there is room");
        }
        file.sync_all().expect("the disk works");
        Self { file, bytes: vec![9; bytes], at: 0 }
    }

    fn commit(&mut self) {
        if self.at + self.bytes.len() as u64 > Self::FILE_BYTES {
            self.at = 0;
        }
        self.file.write_all_at(&self.bytes, self.at).expect("there is room");
        self.file.sync_data().expect("the disk works");
        self.at += self.bytes.len() as u64;
    }
}
