//! The task that takes the samples of the live view, once a second.
//!
//! Between samples it looks at the newest push five times a second, so that a page sees it light
//! the fleet up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use crate::live::broadcast::Live;
use crate::live::history::History;
use crate::live::samples::Sample;
use crate::push::direct::views::PushView;
use crate::request::app::App;

/// How often the newest push is looked at.
const PUSH_PERIOD: Duration = Duration::from_millis(200);

/// A sample is taken at each so many looks: once a second.
const LOOKS_PER_SAMPLE: u32 = 5;

/// Takes the samples until it is stopped.
pub(crate) async fn sample(app: Arc<App>, live: Arc<Live>, history: Arc<History>) {
    let mut ticks = tokio::time::interval(PUSH_PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut before = (Instant::now(), app.fleet.stats());
    let mut shown = None;
    let mut looks = 0;
    loop {
        ticks.tick().await;
        if app.views.open() > 0 {
            let newest = app.fleet.pushes(None, None, 1).pop();
            if newest != shown
                && let Some(push) = &newest
            {
                live.push_changed(&PushView::of(push));
            }
            shown = newest;
        }
        looks += 1;
        if looks < LOOKS_PER_SAMPLE {
            continue;
        }
        looks = 0;
        let now = (Instant::now(), app.fleet.stats());
        live.sampled(&Sample::between(&app, &before, &now));
        history.sampled(&now);
        before = now;
    }
}
