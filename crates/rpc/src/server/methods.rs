//! Every method that the server answers, by route; shared by its loops.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::method::Interaction;
use crate::service::{Function, FunctionKind, Service};

/// One route.
pub(crate) struct Method {
    pub(crate) route: String,
    /// Its service, by place.
    pub(crate) service: u16,
    pub(crate) interaction: Interaction,
    pub(crate) function: Function,
    /// Traits answer also when the service is full.
    pub(crate) is_trait: bool,
    /// Whether its service has interceptors.
    pub(crate) intercepted: bool,
}

/// The table.
pub(crate) struct Methods {
    table: Vec<Method>,
    places: HashMap<Box<str>, u16, RandomState>,
}

impl Methods {
    /// Takes the services' methods, in their order, and the traits of each.
    ///
    /// # Errors
    /// The route that two functions want, or that is not its service's, or that there are too many.
    pub(crate) fn new(
        services: &[Service],
        traits: Vec<(u16, crate::service::Served)>,
    ) -> Result<Self, String> {
        let mut methods = Self { table: Vec::new(), places: HashMap::default() };
        for (service, one) in services.iter().enumerate() {
            for served in &one.served {
                let prefix = served.route.split_once('/').map(|(name, _)| name);
                if prefix != Some(one.name.as_str()) {
                    return Err(format!(
                        "the route `{}` does not belong to the service `{}`",
                        served.route, one.name
                    ));
                }
                if !fits(served.function.kind(), served.interaction) {
                    return Err(format!(
                        "`{}` is {}, and its function answers otherwise",
                        served.route,
                        served.interaction.words()
                    ));
                }
                methods.add(service as u16, served.clone(), false, !one.interceptors.is_empty())?;
            }
        }
        for (service, served) in traits {
            let intercepted = !services[usize::from(service)].interceptors.is_empty();
            methods.add(service, served, true, intercepted)?;
        }
        Ok(methods)
    }

    fn add(
        &mut self,
        service: u16,
        served: crate::service::Served,
        is_trait: bool,
        intercepted: bool,
    ) -> Result<(), String> {
        let place = u16::try_from(self.table.len()).map_err(|_| "more than 65,536 routes".to_owned())?;
        if self.places.insert(served.route.as_str().into(), place).is_some() {
            return Err(format!("the route `{}` is served twice", served.route));
        }
        self.table.push(Method {
            route: served.route,
            service,
            interaction: served.interaction,
            function: served.function,
            is_trait,
            intercepted,
        });
        Ok(())
    }

    pub(crate) fn find(&self, route: &str) -> Option<u16> {
        self.places.get(route).copied()
    }

    pub(crate) fn at(&self, place: u16) -> &Method {
        &self.table[usize::from(place)]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Method> {
        self.table.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }
}

/// Whether a function of that kind can answer such calls.
fn fits(kind: FunctionKind, interaction: Interaction) -> bool {
    match kind {
        FunctionKind::Inline | FunctionKind::Unary => {
            matches!(interaction, Interaction::Unary | Interaction::OneWay)
        }
        FunctionKind::Pieces => interaction == Interaction::Unary,
        FunctionKind::Ticking => interaction == Interaction::Stream,
        FunctionKind::Stream => matches!(interaction, Interaction::Stream | Interaction::Channel),
    }
}
