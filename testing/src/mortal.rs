//! Processes that end with the suite that started them.

use std::ffi::OsStr;
use std::process::{Child, Command, Stdio};

use crate::process::{Process, Signal};

/// A command whose process the kernel ends with the thread that starts it, should the suite be killed.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}

/// A process that ends with its owner.
#[derive(Debug)]
pub struct Mortal(Child);

impl Mortal {
    /// Starts it, silent.
    pub fn start(command: &mut Command) -> Self {
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self(spawned.unwrap_or_else(|why| panic!("cannot start {command:?}: {why}")))
    }

    /// Stops it where it stands; its connections stay open and silent.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        Process(self.0.id()).signal(signal).expect("our own child, which is not waited for yet");
    }
}

impl Drop for Mortal {
    fn drop(&mut self) {
        self.0.kill().expect("our own child");
        self.0.wait().expect("our own child");
    }
}
