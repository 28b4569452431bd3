//! The terminal that shows a run: takes it over, draws, reads keys, gives it back.
//!
//! It draws on standard error: standard output stays free for data. The terminal is given back when
//! the view is closed or dropped, and before a panic's message is printed. [`super::screen`]
//! decides what is drawn.

use std::io::{self, IsTerminal, Stderr};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::cursor::{Hide, Show};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::backend::CrosstermBackend;

use super::screen::Screen;
use super::wish::Wish;
use crate::run::Progress;

/// Whether the terminal is ours now. Only one view can have it.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The live view of a run.
pub struct Terminal {
    inner: ratatui::Terminal<CrosstermBackend<Stderr>>,
    screen: Screen,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").field("screen", &self.screen).finish()
    }
}

impl Terminal {
    /// Whether there is a person to show anything to: standard input and standard error are a terminal that can do
    /// more than print lines.
    pub fn watched() -> bool {
        io::stderr().is_terminal()
            && io::stdin().is_terminal()
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Takes the terminal over.
    ///
    /// # Errors
    /// Where it cannot be, or is taken already; then it is as it was before.
    pub fn open() -> io::Result<Self> {
        if TAKEN.swap(true, Ordering::SeqCst) {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "the terminal shows another run already",
            ));
        }
        restore_on_panic();
        let taken = enable_raw_mode().and_then(|()| {
            execute!(io::stderr(), EnterAlternateScreen, Hide)?;
            ratatui::Terminal::new(CrosstermBackend::new(io::stderr()))
        });
        match taken {
            Ok(inner) => {
                let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
                Ok(Terminal { inner, screen: Screen::new(colour) })
            }
            Err(error) => {
                let _ = restore();
                Err(error)
            }
        }
    }

    /// Shows how far the run is. A paused picture takes it all in and shows it later.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn show(&mut self, progress: &Progress<'_>) -> io::Result<()> {
        self.screen.hear(progress);
        if self.screen.paused { Ok(()) } else { self.draw() }
    }

    /// What was asked for since the last time, by `q`, Ctrl-C or Esc: first to finish, then to stop. Also pauses and
    /// goes on for `p`. Never waits.
    pub fn key(&mut self) -> Option<Wish> {
        let before = self.screen.asked;
        while event::poll(Duration::ZERO).unwrap_or(false) {
            match event::read() {
                Ok(Event::Key(key)) => self.press(key),
                // The next drawing asks for the size itself.
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.screen.asked.filter(|wish| Some(*wish) != before)
    }

    /// Gives the terminal back. Harmless when repeated.
    ///
    /// # Errors
    /// Where it is gone.
    pub fn close(&mut self) -> io::Result<()> {
        restore()
    }

    fn press(&mut self, key: KeyEvent) {
        let drawn = press(&mut self.screen, key);
        if drawn {
            let _ = self.draw();
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.inner.draw(|frame| self.screen.draw(frame)).map(|_| ())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = restore();
    }
}

/// Takes a key in; returns whether the picture changes for it.
fn press(screen: &mut Screen, key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        _ if key.kind == KeyEventKind::Release => false,
        KeyCode::Char('c') if control => end(screen),
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => end(screen),
        KeyCode::Char('p' | 'P') => {
            screen.paused = !screen.paused;
            true
        }
        _ => false,
    }
}

fn end(screen: &mut Screen) -> bool {
    screen.asked = Some(if screen.asked.is_none() { Wish::Finish } else { Wish::Stop });
    true
}

fn restore() -> io::Result<()> {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return Ok(());
    }
    let left = execute!(io::stderr(), LeaveAlternateScreen, Show);
    disable_raw_mode().and(left)
}

/// Puts the terminal's restoration before what a panic prints anyway.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let _ = restore();
            before(panic);
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_q_finishes_the_second_stops_and_p_pauses() {
        let mut screen = Screen::new(false);
        let key = |code| KeyEvent::new(code, KeyModifiers::NONE);
        assert!(press(&mut screen, key(KeyCode::Char('p'))) && screen.paused);
        assert!(press(&mut screen, key(KeyCode::Char('p'))) && !screen.paused);
        assert!(!press(&mut screen, key(KeyCode::Char('c'))), "c alone is no key of ours");
        press(&mut screen, key(KeyCode::Char('q')));
        assert_eq!(screen.asked, Some(Wish::Finish));
        press(&mut screen, KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert_eq!(screen.asked, Some(Wish::Stop));
    }
}
