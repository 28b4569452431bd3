//! The figures of a source over a run: series, points where they changed, and what went wrong.
//!
//! A value that stays is kept as two points, the ends of its stretch, so that a source with a thousand quiet series costs
//! little. Between two points a line is exact.

use std::collections::HashMap;

use stadium_report::Scraped;

use super::text;

/// Series of a source that are followed; a source with more than that is none for a report.
const FOLLOWED_MAX: usize = 5_000;

/// A series and its last value.
#[derive(Debug)]
struct Series {
    counter: bool,
    points: Vec<(f64, f64)>,
    /// When the last point's value was seen last.
    seen_s: f64,
    changed: bool,
}

/// The figures of a source so far.
#[derive(Debug)]
pub(super) struct Collector {
    target: String,
    places: HashMap<String, usize>,
    series: Vec<Series>,
    asked: u64,
    failed: u64,
    failure: String,
    left_out: bool,
}

impl Collector {
    pub(super) fn new(target: String) -> Self {
        Collector {
            target,
            places: HashMap::new(),
            series: Vec::new(),
            asked: 0,
            failed: 0,
            failure: String::new(),
            left_out: false,
        }
    }

    /// Takes an answer in.
    pub(super) fn hear(&mut self, at_s: f64, answer: Result<String, String>) {
        self.asked += 1;
        let answer = answer.and_then(|text| match self.add(at_s, &text) {
            0 => Err("the answer has no metric in it".to_owned()),
            _ => Ok(()),
        });
        if let Err(failure) = answer {
            self.failed += 1;
            self.failure = failure;
        }
    }

    fn add(&mut self, at_s: f64, text: &str) -> usize {
        let mut count = 0;
        for sample in text::samples(text) {
            count += 1;
            let place = match self.places.get(sample.metric) {
                Some(place) => *place,
                None if self.series.len() == FOLLOWED_MAX => {
                    self.left_out = true;
                    continue;
                }
                None => {
                    let series =
                        Series { counter: sample.counter, points: Vec::new(), seen_s: at_s, changed: false };
                    self.series.push(series);
                    self.places.insert(sample.metric.to_owned(), self.series.len() - 1);
                    self.series.len() - 1
                }
            };
            self.series[place].add(at_s, sample.value);
        }
        count
    }

    /// At most so many series, those that changed first, and a complaint where there is cause.
    pub(super) fn finish(mut self, series_max: usize) -> (Vec<Scraped>, Option<String>) {
        self.series.iter_mut().for_each(Series::close);
        let mut names: Vec<(String, usize)> = self.places.into_iter().collect();
        names.sort_by_key(|&(_, place)| (!self.series[place].changed, place));
        names.truncate(series_max);
        let series = names.into_iter().map(|(metric, place)| Scraped {
            target: self.target.clone(),
            metric,
            counter: self.series[place].counter,
            points: std::mem::take(&mut self.series[place].points),
        });
        let series = series.collect();
        let complaint = match (self.failed, self.left_out) {
            (0, false) => None,
            (0, true) => Some(format!(
                "metrics of {}: more than {FOLLOWED_MAX} series, the rest was left out",
                self.target
            )),
            (failed, _) => Some(format!(
                "metrics of {}: {failed} of {} questions failed, lastly: {}",
                self.target, self.asked, self.failure
            )),
        };
        (series, complaint)
    }
}

impl Series {
    fn add(&mut self, at_s: f64, value: f64) {
        match self.points.last() {
            Some(&(_, last)) if last == value => self.seen_s = at_s,
            Some(_) => {
                self.close();
                self.points.push((at_s, value));
                self.changed = true;
                self.seen_s = at_s;
            }
            None => {
                self.points.push((at_s, value));
                self.seen_s = at_s;
            }
        }
    }

    /// Ends the stretch of the last value.
    fn close(&mut self) {
        if let Some(&(at_s, value)) = self.points.last()
            && at_s < self.seen_s
        {
            self.points.push((self.seen_s, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_stays_is_the_two_ends_of_its_stretch() {
        let mut collector = Collector::new("site".into());
        for (second, value) in [(0, 5), (1, 5), (2, 5), (3, 9), (4, 10), (5, 10)] {
            collector.hear(f64::from(second), Ok(format!("# TYPE a counter\na_total {value}\n")));
        }
        let (series, complaint) = collector.finish(10);
        assert_eq!(complaint, None);
        assert_eq!(series.len(), 1);
        assert!(series[0].counter && series[0].target == "site" && series[0].metric == "a_total");
        assert_eq!(series[0].points, [(0.0, 5.0), (2.0, 5.0), (3.0, 9.0), (4.0, 10.0), (5.0, 10.0)]);
    }

    #[test]
    fn series_that_change_come_before_those_that_do_not() {
        let mut collector = Collector::new("site".into());
        for second in 0..3 {
            let text: String = (0..300)
                .map(|n| format!("m{{n=\"{n}\"}} {}\n", if n % 100 == 7 { second } else { 0 }))
                .collect();
            collector.hear(f64::from(second), Ok(text));
        }
        let (series, _) = collector.finish(200);
        assert_eq!(series.len(), 200);
        let names: Vec<&str> = series[..4].iter().map(|one| one.metric.as_str()).collect();
        assert_eq!(names, ["m{n=\"7\"}", "m{n=\"107\"}", "m{n=\"207\"}", "m{n=\"0\"}"]);
    }

    #[test]
    fn failures_are_one_complaint_with_the_last_reason() {
        let mut collector = Collector::new("site".into());
        collector.hear(0.0, Ok("up 1\n".into()));
        collector.hear(1.0, Err("connection refused".into()));
        collector.hear(2.0, Ok("<html>not found</html>".into()));
        let (series, complaint) = collector.finish(200);
        assert_eq!(series.len(), 1);
        assert_eq!(
            complaint.as_deref(),
            Some("metrics of site: 2 of 3 questions failed, lastly: the answer has no metric in it")
        );
    }
}
