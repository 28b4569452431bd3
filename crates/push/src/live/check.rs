//! Options that a live push cannot have: they are promises about time that nothing here keeps.

use crate::refusal::{OPTIONS, WHEN, rejected};
use crate::{NewPush, Options, Pace, Refusal, When};

/// Checks that a push can be a live one.
///
/// # Errors
///
/// `PSH-005` names the first option that needs a durable push, `PSH-008` a start other than now.
pub fn check(push: &NewPush) -> Result<(), Refusal> {
    let durable = Options::default();
    let Options { expiry, priority, collapse, pace, cap: _, quiet_hours: _, qos: _, holdout: _, trace: _ } =
        &push.options;
    let refused = |option: &str| {
        let reason = format!(
            "a live push goes to connected devices at once and is kept nowhere: leave out `{option}`, or make the push durable"
        );
        Err(rejected(OPTIONS, reason))
    };
    if expiry.is_some() {
        return refused("expiry_s");
    }
    if *priority != durable.priority {
        return refused("priority");
    }
    if collapse.is_some() {
        return refused("collapse_key");
    }
    if *pace != Pace::AtOnce {
        return refused("pace");
    }
    if push.when != When::Now {
        return Err(rejected(WHEN, "a live push starts now: leave out `when`, or make the push durable"));
    }
    Ok(())
}
