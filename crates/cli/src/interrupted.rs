//! Signals by which a person ends a command that goes on for a while.
//!
//! The first Ctrl-C lets it end in order and show what it has; a second one ends the process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Context, Failure};

/// Ctrl-C and SIGTERM: the first asks to end in order, the second ends at once.
pub(crate) struct Interrupted(Arc<AtomicBool>);

impl Interrupted {
    /// Listens from here on.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: a second signal finds the flag that the first has set.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .context("signals cannot be listened for")?;
        }
        Ok(Self(asked))
    }

    /// Whether one came.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
