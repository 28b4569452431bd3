//! `stadium service list`: what stands in discovery's tree.

use std::time::Duration;

use serde_json::json;
use stadium_discovery::State;

use super::place::{Place, PlaceFlags};
use crate::failure::Failure;
use crate::terminal::{Style, Terminal};

/// Lists.
pub(super) fn run(flags: &PlaceFlags, deadline: Duration, terminal: &Terminal) -> Result<(), Failure> {
    let Place::Discovery(discovery) = flags.open()? else {
        return Err(Failure::Usage(
            "a list is asked of discovery: name it with --discovery, such as etcd://127.0.0.1:2379"
                .to_owned(),
        ));
    };
    let services = discovery.list(deadline).map_err(|error| Failure::Unavailable(error.to_string()))?;
    if let Some(why) = discovery.status().trouble() {
        terminal.note(format_args!("the list is not whole: {why}"));
    }
    if terminal.is_json() {
        let services: Vec<_> = services
            .iter()
            .map(|service| {
                let instances: Vec<_> = service
                    .instances
                    .iter()
                    .map(|instance| {
                        json!({
                            "address": instance.address,
                            "state": word(instance.state),
                            "load": instance.load,
                            "zone": instance.zone,
                            "weight": instance.weight,
                        })
                    })
                    .collect();
                json!({"name": service.name, "version": service.version, "instances": instances})
            })
            .collect();
        return terminal.json(&json!({ "services": services }));
    }
    for service in &services {
        terminal.data(&format!(
            "{} {}",
            terminal.out(Style::Strong, &service.name),
            terminal.out(Style::Faint, format_args!("version {}", service.version))
        ))?;
        for instance in &service.instances {
            let style = if instance.state == State::Serving { Style::Good } else { Style::Warning };
            terminal.data(&format!(
                "  {:<22} {} load {:.2}, weight {}{}",
                instance.address.to_string(),
                terminal.out(style, format_args!("{:<9}", word(instance.state))),
                instance.load,
                instance.weight,
                instance.zone.as_ref().map(|zone| format!(", zone {zone}")).unwrap_or_default(),
            ))?;
        }
    }
    if services.is_empty() {
        terminal.note("discovery knows no service");
    }
    Ok(())
}

fn word(state: State) -> &'static str {
    match state {
        State::Serving => "serving",
        State::Quiescing => "quiescing",
    }
}
