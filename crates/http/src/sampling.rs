//! Figures over time, as the console draws them: a point every two seconds, the last two minutes.

use std::collections::VecDeque;
use std::time::Duration;

/// Time between two looks: an eye sees it move, and a thousand queues cost a shard less than a millisecond.
pub(crate) const PERIOD: Duration = Duration::from_secs(2);

/// Points kept of each figure: two minutes. The oldest leaves.
pub(crate) const POINTS: usize = 60;

/// Adds a point; the oldest leaves where there are as many as are kept.
pub(crate) fn keep(points: &mut VecDeque<f32>, point: f32) {
    if points.len() >= POINTS {
        points.pop_front();
    }
    points.push_back(point);
}

/// Points as they are shown.
pub(crate) fn line(points: &VecDeque<f32>) -> Vec<f32> {
    // Four digits are more than a line of 60 points shows.
    points.iter().map(|point| (point * 100.0).round() / 100.0).collect()
}
