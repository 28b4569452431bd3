//! The generator's health in words, with what is bad marked: one place for all views.

use stadium_report::{Generator, number};

use super::point::Point;
use crate::run::{LATENESS_MS_MAX, SATURATED, STEAL_MAX};

/// A part of the health line.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Sign {
    /// In words, a mark included where it is bad.
    pub(crate) text: String,
    /// Whether figures are to be doubted for it.
    pub(crate) bad: bool,
}

/// Signs of the generator's health in the newest interval and in the whole run.
pub(crate) fn signs(point: &Point, generator: &Generator) -> Vec<Sign> {
    let sign = |bad: bool, text: String| Sign { text: if bad { format!("! {text}") } else { text }, bad };
    let lateness = point.lateness_p99.map_or("-".to_owned(), |ms| number::time(ms * 1e6));
    let late = point.lateness_p99.is_some_and(|ms| ms > LATENESS_MS_MAX);
    let mut signs = vec![
        sign(late, format!("late p99 {lateness}")),
        sign(point.busy > SATURATED, format!("busiest loop {}", whole(point.busy))),
        sign(false, format!("machine {}", whole(point.machine_busy))),
        sign(point.steal > STEAL_MAX, format!("steal {}", whole(point.steal))),
    ];
    for (count, what) in [(generator.exhausted, "sockets refused"), (generator.not_begun, "users not begun")]
    {
        if count > 0 {
            signs.push(sign(true, format!("{} {what}", number::count(count))));
        }
    }
    signs
}

/// A share in whole percent: what moves each second needs no more.
fn whole(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_bad_is_marked_and_the_rest_is_not() {
        let well = Point { lateness_p99: Some(0.4), busy: 0.34, machine_busy: 1.0, ..Point::default() };
        let signs_of = |point: &Point, generator: &Generator| {
            signs(point, generator)
                .into_iter()
                .filter(|sign| sign.bad)
                .map(|sign| sign.text)
                .collect::<Vec<_>>()
        };
        assert!(signs_of(&well, &Generator::default()).is_empty());
        let ill = Point { lateness_p99: Some(34.0), busy: 0.99, steal: 0.2, ..Point::default() };
        let generator = Generator { exhausted: 3, not_begun: 1_200, ..Generator::default() };
        let expected = [
            "! late p99 34 ms",
            "! busiest loop 99%",
            "! steal 20%",
            "! 3 sockets refused",
            "! 1,200 users not begun",
        ];
        assert_eq!(signs_of(&ill, &generator), expected);
    }
}
