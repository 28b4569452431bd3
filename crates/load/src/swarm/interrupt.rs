//! Ctrl-C and SIGTERM: the first ends the swarm with the figures until then, the second ends the process.
//!
//! For commands whose only work is the swarm; who has signals of its own calls [`Control::stop`] instead.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{Control, Error};

/// Has the next SIGINT or SIGTERM of this process stop the swarm, and the one after it leave at once with exit
/// code 128 plus the signal's number.
///
/// # Errors
/// [`Error::System`] where the system lets no handler be set.
pub fn stop_on_interrupt(control: Control) -> Result<(), Error> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Error::system("watching for Ctrl-C"))?;
    std::thread::Builder::new()
        .name("interrupt".to_owned())
        .spawn(move || {
            let mut signals = signals.forever();
            if signals.next().is_some() {
                control.stop();
            }
            if let Some(signal) = signals.next() {
                std::process::exit(128 + signal);
            }
        })
        .map(drop)
        .map_err(Error::system("starting a thread"))
}
