//! Ctrl-C and SIGTERM: the first lets a run end with the figures until then, the second ends the process.
//!
//! For commands whose only work is a run; a command with signals of its own stops it by its control
//! instead.

use std::io;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Has the next SIGINT or SIGTERM of this process do `first`, and the one after it leave at once with exit code 128
/// plus the signal's number.
///
/// # Errors
/// Where the system lets no handler be set, or gives no thread.
pub fn on_interrupt(first: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new()
        .name("interrupt".to_owned())
        .spawn(move || {
            let mut signals = signals.forever();
            if signals.next().is_some() {
                first();
            }
            if let Some(signal) = signals.next() {
                std::process::exit(128 + signal);
            }
        })
        .map(drop)
}
