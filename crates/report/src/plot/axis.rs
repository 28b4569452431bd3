//! Where an axis begins and ends, and which of its values are written beside it.
//!
//! Ticks are round: 1, 2 or 5 times a power of ten, whole minutes on a time axis, decades on a logarithmic one.

use super::Unit;
use crate::number;

/// How values are laid along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// From zero (or the least, where that is below), evenly.
    Linear,
    /// By their logarithm: a value of zero or less has no place.
    Log,
}

/// A vertical axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    scale: Scale,
    from: f64,
    to: f64,
    /// Value and text, from the lowest.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis on which all values fit; values that are no numbers are ignored.
    pub(crate) fn new(values: impl Iterator<Item = f64> + Clone, scale: Scale, unit: Unit) -> Axis {
        let finite = values.filter(|value| value.is_finite());
        match scale {
            Scale::Linear => Axis::linear(finite, unit),
            Scale::Log => Axis::log(finite, unit),
        }
    }

    fn linear(values: impl Iterator<Item = f64>, unit: Unit) -> Axis {
        let (least, most) =
            values.fold((0.0_f64, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
        let most = match unit {
            Unit::Share if most <= 0.0 => 0.01,
            _ if most <= least => least + 1.0,
            _ => most,
        };
        let mut step = round_step((most - least) / 4.0);
        if unit == Unit::Count {
            step = step.max(1.0);
        }
        let (first, last) = ((least / step).floor() as i64, (most / step - 1e-9).ceil() as i64);
        let ticks =
            (first..=last).map(|index| index as f64 * step).map(|value| (value, unit.text(value))).collect();
        Axis { scale: Scale::Linear, from: first as f64 * step, to: last as f64 * step, ticks }
    }

    fn log(values: impl Iterator<Item = f64>, unit: Unit) -> Axis {
        let positive = values.filter(|value| *value > 0.0);
        let (least, most) = positive
            .fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
        if least > most {
            return Axis { scale: Scale::Log, from: 1.0, to: 10.0, ticks: Vec::new() };
        }
        let decades = (most / least).log10();
        let steps: &[f64] = if decades < 1.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let (low, high) = (least.log10().floor() as i32, most.log10().ceil() as i32 + 1);
        let round: Vec<f64> =
            (low..=high).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power))).collect();
        let from = round.iter().rev().find(|value| **value <= least * 1.000_001).copied().unwrap_or(least);
        let mut to = round.iter().find(|value| **value >= most * 0.999_999).copied().unwrap_or(most);
        if to <= from {
            to = from * 10.0;
        }
        let every = (decades / 6.0).ceil().max(1.0) as usize;
        let inside = round.into_iter().filter(|value| (from..=to).contains(value));
        let ticks = inside.step_by(every).map(|value| (value, unit.text(value))).collect();
        Axis { scale: Scale::Log, from, to, ticks }
    }

    /// Where a value stands: 0 at the lower end, 1 at the upper; nothing where it has no place.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let place = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log if value <= 0.0 => return None,
            Scale::Log => (value / self.from).ln() / (self.to / self.from).ln(),
        };
        place.is_finite().then(|| place.clamp(0.0, 1.0))
    }
}

/// The least of 1, 2, 5 times a power of ten that is not below a value.
fn round_step(least: f64) -> f64 {
    if !least.is_finite() || least <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|step| step * power)
        .find(|step| *step >= least * 0.999_999)
        .unwrap_or(10.0 * power)
}

/// Round times of a time axis in seconds: about `wanted` of them, never so many more that they
/// touch.
pub(crate) fn time_ticks(from_s: f64, to_s: f64, wanted: usize) -> Vec<(f64, String)> {
    let length = to_s - from_s;
    if !length.is_finite() || length <= 0.0 {
        return Vec::new();
    }
    let least = length / wanted.max(1) as f64;
    let whole = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0];
    let whole = whole.into_iter().chain([10_800.0, 21_600.0, 43_200.0, 86_400.0]);
    let step = if least <= 0.5 {
        round_step(least)
    } else {
        whole.into_iter().find(|step| *step >= least).unwrap_or(round_step(least / 86_400.0) * 86_400.0)
    };
    let first = (from_s / step).ceil() as i64;
    let last = (to_s / step + 1e-9).floor() as i64;
    (first..=last).map(|index| index as f64 * step).map(|at| (at, time_label(at))).collect()
}

/// A time of a run as text: `8 s`, `1:05`, `1:00:05`.
pub(crate) fn time_label(at_s: f64) -> String {
    if at_s < 60.0 {
        return format!("{} s", number::number(at_s));
    }
    let whole = at_s.round() as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ticks: &[(f64, String)]) -> Vec<&str> {
        ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_hold_all_values() {
        let axis = Axis::new([0.0, 473.0].into_iter(), Scale::Linear, Unit::Rate);
        assert_eq!(texts(&axis.ticks), ["0/s", "200/s", "400/s", "600/s"]);
        let axis = Axis::new([2.1e6, 1.5e9, f64::NAN].into_iter(), Scale::Log, Unit::Time);
        assert_eq!(texts(&axis.ticks), ["1 ms", "10 ms", "100 ms", "1 s", "10 s"]);
        let axis = Axis::new([2.1e6, 4e6].into_iter(), Scale::Log, Unit::Time);
        assert_eq!(texts(&axis.ticks), ["2 ms", "5 ms"]);
        assert_eq!(axis.place(2e6), Some(0.0));
        assert_eq!(axis.place(0.0), None);
    }

    #[test]
    fn an_axis_without_values_or_with_one_is_still_an_axis() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [vec![], vec![0.0], vec![5.0], vec![f64::INFINITY, -1.0]] {
                let axis = Axis::new(values.iter().copied(), scale, Unit::Count);
                assert!(axis.from < axis.to, "{scale:?} {values:?}");
                assert!(axis.ticks.len() < 10);
            }
        }
    }

    #[test]
    fn time_ticks_are_whole_seconds_minutes_and_hours() {
        assert_eq!(texts(&time_ticks(0.0, 120.0, 6)), ["0 s", "30 s", "1:00", "1:30", "2:00"]);
        assert_eq!(texts(&time_ticks(0.0, 7200.0, 5)), ["0 s", "30:00", "1:00:00", "1:30:00", "2:00:00"]);
        assert_eq!(texts(&time_ticks(0.0, 2.0, 4)), ["0 s", "0.5 s", "1 s", "1.5 s", "2 s"]);
        assert!(time_ticks(0.0, 1e9, 6).len() <= 7);
        assert!(time_ticks(0.0, 0.0, 6).is_empty());
    }
}
