//! Waiting for a move or a drain: a bar while a person watches, and an end by a signal.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use stadium_cluster_admin::{Error, Progress, Waiting};

use super::WaitFlags;
use crate::failure::{Context, Failure};
use crate::terminal::Terminal;

/// Runs `act`, which waits as the flags say. `label` is the bar's; `undo` is the command that takes
/// the request back.
pub(super) fn with_progress<T>(
    wait: WaitFlags,
    label: &str,
    undo: &str,
    terminal: &Terminal,
    act: impl FnOnce(Option<Waiting<'_>>) -> Result<T, Error>,
) -> Result<T, Failure> {
    if wait.no_wait {
        return act(None).map_err(failed);
    }
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGINT, SIGTERM] {
        let value = usize::try_from(number).unwrap_or_default();
        flag::register_usize(number, Arc::clone(&signal), value).context("signals cannot be listened for")?;
    }
    let bar = terminal.progress(1, label);
    let mut last = String::new();
    let mut tell = |progress: &Progress| {
        bar.set_length(progress.all as u64);
        bar.set_position(progress.done as u64);
        bar.set_message(progress.step.clone());
        // Without a bar, each step is a line.
        if !terminal.is_watched() && !terminal.is_json() && progress.step != last {
            terminal.note(&progress.step);
            last.clone_from(&progress.step);
        }
        match signal.load(Ordering::Relaxed) {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    };
    let at_most = Duration::from_millis(wait.timeout);
    let done = act(Some(Waiting { at_most, tell: &mut tell }));
    bar.finish_and_clear();
    done.map_err(|error| match error {
        Error::Interrupted => {
            terminal.note(format_args!("{error}. To take it back: {undo}"));
            Failure::Signalled(u8::try_from(signal.load(Ordering::Relaxed)).unwrap_or_default())
        }
        Error::TimedOut { .. } => Failure::Deadline(format!("{error}. To take it back: {undo}")),
        other => failed(other),
    })
}

/// A refusal of the cluster, in the words of the command line.
pub(super) fn failed(error: Error) -> Failure {
    Failure::new(error.to_string())
}
