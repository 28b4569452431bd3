//! The screen, drawn into a buffer and read back.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use super::*;
use crate::view::sample;

fn heard(seconds: u32) -> Screen {
    let result = sample::result(seconds);
    let mut screen = Screen::new(true);
    for interval in &result.series {
        screen.hear(&sample::progress(&result, Some(interval)));
    }
    screen
}

fn drawn(screen: &Screen, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a buffer can be had");
    terminal.draw(|frame| screen.draw(frame)).expect("a buffer takes everything");
    terminal
}

fn lines(terminal: &Terminal<TestBackend>) -> Vec<String> {
    let buffer = terminal.backend().buffer();
    let width = usize::from(buffer.area.width);
    let rows = buffer.content.chunks(width);
    rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned())
        .collect()
}

#[test]
fn everything_fits_eighty_by_twenty_four() {
    let screen = lines(&drawn(&heard(12), 80, 24));
    assert!(screen[0].starts_with("stadium load voting night"), "{screen:#?}");
    assert!(screen[0].ends_with("0:12 of 1:00, 0:48 left"), "{screen:#?}");
    assert!(screen[1].starts_with("rise · 1 to 100 users/s ━") && screen[1].ends_with("60%"), "{screen:#?}");
    assert_eq!(screen[2], "997/s answered of 1,000/s  ! 36 failed, 0.3%  p50 2 ms  p99 12 ms");
    assert!(screen[3].starts_with("120 users █"), "{screen:#?}");
    let text = screen.join("\n");
    for part in ["┄ offered 1,000/s", "━ answered 997/s", "p50 2 ms  p99 12 ms  max 61 ms"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let step = screen.iter().find(|line| line.starts_with("log in ")).expect("the step has a row");
    assert!(step.contains("2 ms") && step.contains("12 ms") && !step.contains("5,982"), "{step}");
    assert!(screen.iter().any(|line| line.ends_with("36 timeout")), "{text}");
    assert_eq!(screen[22], "Generator late p99 400 µs · busiest loop 34% · machine 50% · steal 0%");
    assert!(screen[23].starts_with("q finish early"));
}

#[test]
fn plots_draw_lines_between_labelled_ends() {
    let screen = lines(&drawn(&heard(12), 120, 40));
    let braille = screen.iter().filter(|line| line.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)));
    assert!(braille.count() >= 2, "{screen:#?}");
    let text = screen.join("\n");
    assert!(screen.iter().any(|line| line.starts_with("vote ") && line.contains(" 5,982 ")), "{text}");
    for part in [
        "1,000│",
        "500│",
        "━ p50 2 ms  ━ p99 12 ms  ┄ max 61 ms",
        "1 ms│",
        "10 ms│",
        "100 ms│",
        "0:00",
        "0:12",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn any_size_is_drawn_and_small_ones_keep_the_figures() {
    let screen = heard(30);
    for width in [1, 2, 7, 20, 59, 60, 79, 200, 300] {
        for height in [1, 2, 5, 8, 19, 20, 24, 50, 100] {
            drawn(&screen, width, height);
        }
    }
    let small = lines(&drawn(&screen, 50, 10));
    assert!(small[2].starts_with("997/s answered"), "{small:#?}");
    assert!(small[8].starts_with("Generator late"), "{small:#?}");
    let narrow = lines(&drawn(&screen, 60, 18));
    assert!(narrow[2].contains("! 90 failed"), "{narrow:#?}");
    assert!(narrow.iter().any(|line| line.starts_with("log in ")), "{narrow:#?}");
    assert!(narrow.iter().any(|line| line == " 90 timeout"), "{narrow:#?}");
}

#[test]
fn an_ill_generator_is_marked_first_and_in_colour() {
    let mut screen = heard(3);
    let mut result = sample::result(4);
    result.generator.not_begun = 7;
    let interval = stadium_report::Interval { busy: 0.99, steal: 0.3, ..sample::interval(4, 1_000, 0) };
    screen.hear(&sample::progress(&result, Some(&interval)));
    let terminal = drawn(&screen, 80, 24);
    let line = &lines(&terminal)[22];
    assert!(line.starts_with("Generator ! busiest loop 99% · ! steal 30% · ! 7 users not begun"), "{line}");
    assert_eq!(terminal.backend().buffer()[(10, 22)].fg, Color::Yellow);
}

#[test]
fn more_steps_and_kinds_than_fit_are_counted() {
    let mut result = sample::result(2);
    let step = result.steps[0].clone();
    result.steps =
        (0..40).map(|n| stadium_report::Step { name: format!("step {n}"), ..step.clone() }).collect();
    result.steps[3].session = "other".into();
    let mut interval = sample::interval(1, 1_000, 0);
    interval.errors = (0..30).map(|n| (format!("kind {n:02}"), 100 - n)).collect();
    let mut screen = Screen::new(false);
    screen.hear(&sample::progress(&result, Some(&interval)));
    let terminal = drawn(&screen, 80, 24);
    let text = lines(&terminal).join("\n");
    assert!(text.contains("and 33 more") && text.contains("other kinds"), "{text}");
    assert!(text.contains("voter / step 0") && text.contains("other / step 3"), "{text}");
    assert!(text.contains("100 kind 00"), "the most frequent comes first\n{text}");
    assert!(
        terminal.backend().buffer().content.iter().all(|cell| cell.fg == Color::Reset),
        "no colour was wanted"
    );
}

#[test]
fn an_empty_run_and_a_pause_are_shown() {
    let result = sample::result(0);
    let mut screen = Screen::new(true);
    screen.hear(&sample::progress(&result, None));
    assert!(lines(&drawn(&screen, 80, 24))[2].contains("first second"));
    screen.paused = true;
    assert!(lines(&drawn(&screen, 80, 24))[23].starts_with("Paused"));
    screen.asked = Some(Wish::Finish);
    assert!(lines(&drawn(&screen, 80, 24))[23].starts_with("Finishing"));
}
