//! The points of a run so far: at most [`POINTS_MAX`], however long it runs.
//!
//! When there would be more, neighbours are joined and each point stands for twice as long from then on.

use super::point::Point;

/// Points kept of a run: more than a screen has columns. Beyond it two become one, and nothing is lost but detail.
pub(crate) const POINTS_MAX: usize = 2_048;

/// The points of a run.
#[derive(Debug, Default)]
pub(crate) struct Series {
    points: Vec<Point>,
    /// How many more intervals belong to the last point.
    open: usize,
    /// Intervals that a point stands for, less one.
    more: usize,
}

impl Series {
    /// Adds the next interval's figures.
    pub(crate) fn push(&mut self, point: Point) {
        if self.open > 0 {
            if let Some(last) = self.points.last_mut() {
                *last = last.join(point);
            }
            self.open -= 1;
            return;
        }
        if self.points.len() == POINTS_MAX {
            self.halve();
        }
        self.points.push(point);
        self.open = self.more;
    }

    /// All points, in order of time.
    pub(crate) fn points(&self) -> &[Point] {
        &self.points
    }

    fn halve(&mut self) {
        let halves = self.points.chunks(2).map(|pair| pair.iter().copied().reduce(Point::join));
        self.points = halves.flatten().collect();
        self.more = self.more * 2 + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::point::Times;

    #[test]
    fn a_long_run_keeps_its_span_its_peak_and_a_bounded_number_of_points() {
        let mut series = Series::default();
        for second in 1..=100_000_u32 {
            let max = if second == 77_777 { 900.0 } else { 5.0 };
            series.push(Point {
                at_s: f64::from(second),
                length_s: 1.0,
                answered: 40.0,
                response: Some(Times { p50: 1.0, p99: 4.0, max }),
                ..Point::default()
            });
        }
        let points = series.points();
        assert!(points.len() <= POINTS_MAX && points.len() > POINTS_MAX / 2, "{}", points.len());
        assert!((points.iter().map(|point| point.length_s).sum::<f64>() - 100_000.0).abs() < 1e-6);
        assert_eq!(points.last().map(|point| point.at_s), Some(100_000.0));
        assert!(points.iter().all(|point| (point.answered - 40.0).abs() < 1e-9));
        let peaks = points.iter().filter(|point| point.response.is_some_and(|times| times.max > 100.0));
        assert_eq!(peaks.count(), 1);
    }
}
