//! When a node's report is worth a write. Each write travels to every node of the cluster.

use std::time::Duration;

use stadium_membership::BootTime;

use crate::shared::Report;

/// How far a load moves before the planner needs to know.
const STEP: f32 = 0.05;

/// The shortest time between two writes that differ in load only.
const INTERVAL: Duration = Duration::from_secs(1);

/// When `wanted` is to be written: at once where shards or the drain changed.
pub(crate) fn due(wanted: &Report, written: Option<&(Report, BootTime)>) -> Option<BootTime> {
    let Some((written, at)) = written else { return Some(BootTime::default()) };
    let rest = Report { load: written.load, ..*wanted };
    match rest == *written {
        false => Some(BootTime::default()),
        true => ((wanted.load - written.load).abs() > STEP).then(|| at.after(INTERVAL)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_written_at_once_and_loads_once_a_second() {
        let report = Report::default();
        let at = BootTime(Duration::from_secs(9));
        let written = (report, at);
        assert_eq!(due(&report, None), Some(BootTime::default()));
        assert_eq!(due(&report, Some(&written)), None);
        assert_eq!(due(&Report { load: 0.04, ..report }, Some(&written)), None);
        assert_eq!(due(&Report { load: 0.5, ..report }, Some(&written)), Some(at.after(INTERVAL)));
        let draining = Report { draining: true, load: 0.5, ..report };
        assert_eq!(due(&draining, Some(&written)), Some(BootTime::default()));
    }
}
