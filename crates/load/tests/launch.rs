//! Workers started over SSH, by a real sshd on this machine's loopback: through its tunnel, directly, and copied.
//!
//! The harness is our own because workers are this same binary. sshd runs as the user that runs the
//! tests, with keys made for the occasion; no configuration of the machine is read or changed.

#[allow(dead_code, reason = "shared with tests/workers.rs")]
mod fixture;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use clap::Parser;
use fixture::{Web, compile, folder, in_time, scenario, until};
use libtest_mimic::{Arguments, Failed, Trial};
use stadium_load::run::{Run, RunOptions};
use stadium_load::workers::launch::{Hosts, Launched};
use stadium_load::workers::{self, WORKER_ARGUMENTS, WorkerArgs, Workers};
use tempfile::TempDir;

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).take(2).collect();
    if given == WORKER_ARGUMENTS {
        let own = Own::parse_from(std::env::args().skip(2));
        return match workers::serve(&own.worker, None, compile) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let tests: [(&str, fn()); 3] = [
        ("workers_are_reached_through_ssh_and_end_with_it", workers_are_reached_through_ssh_and_end_with_it),
        ("the_binary_is_copied_and_removed_again", the_binary_is_copied_and_removed_again),
        ("a_host_that_cannot_reports_why", a_host_that_cannot_reports_why),
    ];
    let tests = tests.into_iter().map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), tests.collect()).exit_code()
}

#[derive(Parser)]
struct Own {
    #[command(flatten)]
    worker: WorkerArgs,
}

/// An sshd that lets the key in its folder in. Killed when it goes out of scope.
struct Sshd {
    child: Child,
    port: u16,
    folder: TempDir,
}

impl Sshd {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = |name: &str| folder.path().join(name).display().to_string();
        for key in ["host", "user"] {
            let made =
                Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &path(key)]).status();
            assert!(made.expect("ssh-keygen is there (Debian: openssh-client)").success());
        }
        let port = free_port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\n\
             UsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n",
            path("host"),
            path("user.pub")
        );
        std::fs::write(path("config"), config).expect("it is writable");
        // Debian's sshd wants this folder where root runs it; it is emptied at every start of the machine.
        let _ = std::fs::create_dir("/run/sshd");
        let child = Command::new("/usr/sbin/sshd")
            .args(["-D", "-f", &path("config"), "-E", &path("log")])
            .stdin(Stdio::null())
            .spawn()
            .expect("sshd is there (Debian: openssh-server)");
        let sshd = Sshd { child, port, folder };
        until("sshd", || std::net::TcpStream::connect(("127.0.0.1", sshd.port)).is_ok());
        sshd
    }

    /// The beginning of a file of hosts.
    fn options(&self) -> String {
        format!(
            "options = [\"-F\", \"none\", \"-p\", \"{}\", \"-i\", {:?}, \"-o\", \"StrictHostKeyChecking=no\", \"-o\", \
             \"UserKnownHostsFile=/dev/null\", \"-o\", \"LogLevel=ERROR\"]\n",
            self.port,
            self.folder.path().join("user")
        )
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let bound = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    bound.local_addr().expect("it is bound").port()
}

fn own() -> std::path::PathBuf {
    std::env::current_exe().expect("this binary has a path")
}

/// Runs 100 users on them, and returns how many were answered, and the workers' names.
fn run(launched: &Launched) -> (u64, Vec<String>) {
    let web = Web::start();
    let group = Workers::connect(launched.addresses(), "", compile).expect("they answer");
    let folder = folder();
    let text = scenario(web.address, 100.0, Duration::from_secs(1));
    let program = compile(&text, &mut |_| Ok(b"/".to_vec())).expect("well formed");
    let options = RunOptions { folder: folder.path().to_owned(), ..RunOptions::default() };
    let run = Run::start_on(program, &options, &group).expect("the run starts");
    let result = in_time(move || run.wait(&mut |_| {}).expect("the run ends"));
    assert_eq!(web.answered(), result.total.answered);
    (result.total.answered, result.workers.into_iter().map(|worker| worker.name).collect())
}

fn workers_are_reached_through_ssh_and_end_with_it() {
    let sshd = Sshd::start();
    let (inside, outside) = (free_port(), free_port());
    let hosts = format!(
        "{}binary = {:?}\n[[hosts]]\nssh = \"127.0.0.1\"\nname = \"it's in\"\nport = {inside}\nloops = 1\n\
         [[hosts]]\nssh = \"127.0.0.1\"\nname = \"direct\"\naddress = \"127.0.0.1:{outside}\"\nloops = 1\n",
        sshd.options(),
        own()
    );
    let hosts = Hosts::parse(&hosts).expect("well formed");
    let launched = Launched::start(&hosts, &own()).expect("they start");
    assert_ne!(launched.addresses()[0], format!("127.0.0.1:{inside}"), "it is reached through a tunnel");
    assert_eq!(launched.addresses()[1], format!("127.0.0.1:{outside}"));
    assert_eq!(run(&launched), (100, vec!["it's in".to_owned(), "direct".to_owned()]));
    drop(launched);
    // Both have left with their ssh.
    for port in [inside, outside] {
        until("the worker to leave", || TcpListener::bind(("127.0.0.1", port)).is_ok());
    }
}

fn the_binary_is_copied_and_removed_again() {
    let sshd = Sshd::start();
    let port = free_port();
    let text = format!(
        "{}copy = true\nbinary = \"/nowhere\"\n[[hosts]]\nssh = \"127.0.0.1\"\nport = {port}\nloops = 1\n",
        sshd.options()
    );
    let launched = Launched::start(&Hosts::parse(&text).expect("well formed"), &own()).expect("it starts");
    let copy = running_from("/tmp/stadium-", port).expect("it runs from its copy");
    assert_eq!(run(&launched).0, 100);
    drop(launched);
    until("the copy to be removed", || !Path::new(&copy).exists());
}

/// The binary of the process that listens on that port, where its path begins so.
fn running_from(prefix: &str, port: u16) -> Option<String> {
    let listen = format!("127.0.0.1:{port}");
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok()).find_map(|line| {
        let words: Vec<String> =
            line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        (words[0].starts_with(prefix) && words.contains(&listen)).then(|| words[0].clone())
    })
}

fn a_host_that_cannot_reports_why() {
    let sshd = Sshd::start();
    let error = |text: &str| {
        let hosts = Hosts::parse(text).expect("well formed");
        Launched::start(&hosts, &own()).expect_err("it cannot start").to_string()
    };
    let host = "[[hosts]]\nssh = \"127.0.0.1\"\n";
    let missing = error(&format!("{}binary = \"/nowhere/stadium\"\n{host}", sshd.options()));
    assert!(missing.contains("127.0.0.1") && missing.contains("/nowhere/stadium"), "{missing}");
    let closed = format!("options = [\"-F\", \"none\", \"-p\", \"{}\"]\n{host}", free_port());
    assert!(error(&closed).contains("refused"), "{}", error(&closed));
    let none = error(&format!("program = \"/nowhere/ssh\"\n{host}"));
    assert!(none.contains("/nowhere/ssh"), "{none}");
}
