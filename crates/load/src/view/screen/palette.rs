//! The screen's styles, and times as it writes them.

use ratatui::style::{Color, Modifier, Style};
use stadium_report::number;

/// Styles of the screen, all plain where colour is unwelcome.
#[derive(Debug, Clone, Copy)]
pub(in crate::view) struct Palette {
    colour: bool,
}

impl Palette {
    pub(in crate::view) fn new(colour: bool) -> Self {
        Palette { colour }
    }

    fn of(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }
    pub(in crate::view) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
    pub(in crate::view) fn faint(self) -> Style {
        self.of(Color::DarkGray)
    }
    pub(in crate::view) fn good(self) -> Style {
        self.of(Color::Green)
    }
    pub(in crate::view) fn warning(self) -> Style {
        self.of(Color::Yellow).add_modifier(Modifier::BOLD)
    }
    pub(in crate::view) fn bad(self) -> Style {
        self.of(Color::Red).add_modifier(Modifier::BOLD)
    }
    pub(in crate::view) fn first(self) -> Style {
        self.of(Color::Cyan)
    }
}

/// Milliseconds in the unit a person would choose.
pub(in crate::view) fn ms(value: f64) -> String {
    number::time(value * 1e6)
}
