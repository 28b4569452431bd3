//! Puts, reserves and settles jobs on shards in a folder, and prints commands a second and processor
//! time for each command.
//!
//! `cargo run -p stadium-shard --example cycle -- FOLDER SHARDS WINDOW SECONDS`: `WINDOW` commands are
//! under way at once, each to a queue in turn; one of them shows the latency of a caller alone.

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use stadium_queue::{Answer, Command, NewJob, QueueName};
use stadium_shard::{Settings, Shards, Ticket};

const LONG: Duration = Duration::from_secs(60);

/// Queues, so that each shard has some.
const QUEUES: usize = 64;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, shards, window, seconds] = &arguments[..] else {
        eprintln!("usage: cycle FOLDER SHARDS WINDOW SECONDS");
        std::process::exit(2);
    };
    let number = |text: &String| text.parse::<u64>().expect("a number");
    let count = u16::try_from(number(shards)).expect("at most 1,024 shards");
    let window = usize::try_from(number(window)).expect("a small number");
    let shards =
        Shards::open(Settings::in_directory(Path::new(folder), count), |_, _| ()).expect("they open");
    let queues: Vec<QueueName> =
        (0..QUEUES).map(|queue| QueueName::new(&format!("queue-{queue}")).expect("a name")).collect();
    let payload = Bytes::from_static(&[7; 100]);

    cycle(&shards, &queues, window, &payload);
    let (began, cpu) = (Instant::now(), cpu_time());
    let until = began + Duration::from_secs(number(seconds));
    let mut commands = 0;
    while Instant::now() < until {
        commands += cycle(&shards, &queues, window, &payload);
    }
    let (took, cpu) = (began.elapsed(), cpu_time() - cpu);
    println!(
        "{:.0} commands/s, {:.1} us of processor for each",
        commands as f64 / took.as_secs_f64(),
        cpu.as_secs_f64() * 1e6 / commands as f64
    );
    assert!(shards.stop(LONG), "they stop");
}

/// Puts a window of jobs, takes them, and settles them; returns the number of commands.
fn cycle(shards: &Shards, queues: &[QueueName], window: usize, payload: &Bytes) -> u64 {
    let each = |make: &mut dyn FnMut(&QueueName) -> Command| -> Vec<Answer<Bytes>> {
        let tickets: Vec<Ticket> =
            queues.iter().cycle().take(window).map(|queue| shards.submit(make(queue))).collect();
        let answers = tickets.into_iter().map(|ticket| ticket.wait(LONG).expect("an answer"));
        answers.map(|answer| answer.expect("it is accepted")).collect()
    };
    each(&mut |queue| Command::Put {
        queue: queue.clone(),
        jobs: vec![NewJob { payload: payload.clone(), ..NewJob::default() }],
        principal: None,
    });
    let reserve = |queue: &QueueName| Command::Reserve {
        queue: queue.clone(),
        jobs_max: 1,
        lease: Some(60_000),
        wait: 0,
        worker: None,
    };
    let mut leases = each(&mut |queue| reserve(queue)).into_iter().flat_map(|answer| match answer {
        Answer::Reserved(jobs) => jobs.into_iter().map(|job| job.lease).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    });
    each(&mut |_| Command::Settle { leases: leases.next().into_iter().collect() });
    3 * window as u64
}

/// Processor time of this process, in ticks of 10 ms.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let after_name = stat.rsplit(')').next().expect("a name in parentheses");
    let ticks =
        after_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("ticks"));
    Duration::from_millis(ticks.sum::<u64>() * 10)
}
