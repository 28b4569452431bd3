//! What of a coordinator's program may differ from its text, on its way to workers: a search changes phases, flags change
//! targets' addresses, variables and the seed.

use stadium_scenario::Program;
use stadium_scenario::program::{Arrivals, Phase, Spacing};
use stadium_scenario::value::Value;

use super::proto;
use super::proto::phase::Model;
use super::proto::value::Value as Sent;

/// Writes what a program has into a request.
pub(crate) fn write(program: &Program, request: &mut proto::Users) {
    request.phases = write_phases(&program.phases);
    request.seed = program.seed;
    request.users_max = program.users_max;
    request.grace_ns = program.grace_ns;
    let place = |host: &String, port: u16| proto::Place { host: host.clone(), port: port.into() };
    request.targets = program.targets.iter().map(|target| place(&target.host, target.port)).collect();
    let value = |value: &Value| proto::Value {
        value: match value {
            Value::Null => None,
            Value::Bool(value) => Some(Sent::Bool(*value)),
            Value::Number(value) => Some(Sent::Number(*value)),
            Value::Text(text) => Some(Sent::Text(text.clone())),
        },
    };
    request.initial = program.initial.iter().map(value).collect();
}

fn write_phases(phases: &[Phase]) -> Vec<proto::Phase> {
    let one = |phase: &Phase| {
        let (model, from, to) = match phase.arrivals {
            Arrivals::None => (Model::None, 0.0, 0.0),
            Arrivals::Open { from, to, spacing: Spacing::Constant } => (Model::Constant, from, to),
            Arrivals::Open { from, to, spacing: Spacing::Poisson } => (Model::Poisson, from, to),
            Arrivals::Closed { from, to } => (Model::Closed, from, to),
        };
        proto::Phase {
            name: phase.name.clone(),
            duration_ns: phase.duration_ns,
            model: model.into(),
            from,
            to,
            measured: phase.measured,
            mix: phase.mix.clone(),
        }
    };
    phases.iter().map(one).collect()
}

/// Makes a program what its coordinator's is.
pub(crate) fn apply(request: &proto::Users, program: &mut Program) -> Result<(), String> {
    let sessions = program.sessions.len();
    let one = |phase: &proto::Phase| {
        let (from, to) = (phase.from, phase.to);
        let sane = |value: f64| value.is_finite() && value >= 0.0;
        if phase.mix.len() != sessions || !phase.mix.iter().chain([&from, &to]).all(|value| sane(*value)) {
            return Err(format!("phase {:?} does not fit the scenario", phase.name));
        }
        let arrivals = match phase.model() {
            Model::None => Arrivals::None,
            Model::Constant => Arrivals::Open { from, to, spacing: Spacing::Constant },
            Model::Poisson => Arrivals::Open { from, to, spacing: Spacing::Poisson },
            Model::Closed => Arrivals::Closed { from, to },
        };
        Ok(Phase {
            name: phase.name.clone(),
            duration_ns: phase.duration_ns,
            arrivals,
            measured: phase.measured,
            mix: phase.mix.clone(),
        })
    };
    program.phases = request.phases.iter().map(one).collect::<Result<_, _>>()?;
    (program.seed, program.users_max, program.grace_ns) = (request.seed, request.users_max, request.grace_ns);
    if request.targets.len() != program.targets.len() || request.initial.len() != program.initial.len() {
        return Err("its targets or variables are not those of the scenario's text".to_owned());
    }
    for (target, place) in program.targets.iter_mut().zip(&request.targets) {
        target.host.clone_from(&place.host);
        target.port = u16::try_from(place.port).map_err(|_| format!("port {} cannot be", place.port))?;
    }
    for (own, value) in program.initial.iter_mut().zip(&request.initial) {
        *own = match &value.value {
            None => Value::Null,
            Some(Sent::Bool(value)) => Value::Bool(*value),
            Some(Sent::Number(value)) => Value::Number(*value),
            Some(Sent::Text(text)) => Value::Text(text.clone()),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_arrives_as_it_was() {
        let phase = |arrivals| Phase {
            name: "one".to_owned(),
            duration_ns: 5,
            arrivals,
            measured: true,
            mix: Vec::new(),
        };
        let mut program = crate::engine::testing::program();
        program.phases = [
            Arrivals::None,
            Arrivals::Open { from: 1.0, to: 2.5, spacing: Spacing::Constant },
            Arrivals::Open { from: 3.0, to: 3.0, spacing: Spacing::Poisson },
            Arrivals::Closed { from: 0.0, to: 9.0 },
        ]
        .map(phase)
        .to_vec();
        (program.seed, program.users_max, program.grace_ns) = (7, 8, 9);
        program.initial =
            vec![Value::Null, Value::Bool(true), Value::Number(1.5), Value::Text("a".to_owned())];
        let mut request = proto::Users::default();
        write(&program, &mut request);
        let mut there = crate::engine::testing::program();
        there.initial = vec![Value::Null; 4];
        apply(&request, &mut there).expect("they fit");
        let shown = |program: &Program| format!("{:?}", program.phases);
        assert_eq!(shown(&there), shown(&program));
        assert_eq!((there.seed, there.users_max, there.grace_ns), (7, 8, 9));
        assert_eq!(there.initial, program.initial);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let phase = proto::Phase { mix: vec![1.0], ..proto::Phase::default() };
        let rate = proto::Phase { from: f64::NAN, ..proto::Phase::default() };
        let default = proto::Users::default;
        let value = proto::Users { initial: vec![proto::Value::default()], ..default() };
        let phases = [phase, rate].map(|phase| proto::Users { phases: vec![phase], ..default() });
        for request in phases.into_iter().chain([value]) {
            assert!(apply(&request, &mut crate::engine::testing::program()).is_err());
        }
    }
}
