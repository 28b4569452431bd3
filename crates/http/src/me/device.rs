//! The device that asks, as its token names it: the caller of `/api/me/...`.
//!
//! An API key is no device, and a device's token is no API key: neither reaches the other's
//! endpoints. Requests of a device are bounded by a rate, as they are over MQTT.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use parking_lot::Mutex;
use stadium_push::{DeviceView, Refusal, refusal};
use stadium_registry::{AppName, DeviceId};

use crate::devices::registry::known;
use crate::me::tokens::DeviceTokens;
use crate::request::access::bearer;
use crate::request::app::App;
use crate::request::problem::{DEVICE_TOKEN_WRONG, Problem, REQUESTS_TOO_MANY};

/// Requests of a device in one second of the clock.
const PER_SECOND: u32 = 10;

/// The device of a request's token.
pub(crate) struct OwnDevice {
    pub(crate) app: AppName,
    pub(crate) device: DeviceId,
}

impl OwnDevice {
    /// Its registration; a problem where it is revoked or not registered.
    pub(crate) async fn known(&self, app: &App) -> Result<Box<DeviceView>, Problem> {
        let view = known(app, &self.app, &self.device).await?;
        not_revoked(&self.app, &view)?;
        Ok(view)
    }
}

/// Refuses a device that is revoked, as its shard does.
pub(crate) fn not_revoked(app: &AppName, view: &DeviceView) -> Result<(), Problem> {
    if !view.device.revoked {
        return Ok(());
    }
    let reason = format!("device {} of app {app} is revoked", view.device.id);
    Err(Refusal::Rejected { code: refusal::REVOKED, reason }.into())
}

impl<S: Sync> FromRequestParts<S> for OwnDevice
where
    Arc<App>: FromRef<S>,
    Arc<DeviceTokens>: FromRef<S>,
    Arc<DeviceRates>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let now_s = seconds_now();
        let claims = bearer(&parts.headers)
            .and_then(|token| Arc::<DeviceTokens>::from_ref(state).read(token, now_s))
            .ok_or_else(|| {
                let detail = "send the header `Authorization: Bearer st_...` with a token of the device \
                              that is not over";
                Problem::new(DEVICE_TOKEN_WRONG, detail)
            })?;
        let own = Self { app: claims.app, device: claims.device };
        if !Arc::<DeviceRates>::from_ref(state).take(&own, now_s) {
            let detail = format!("a device may ask {PER_SECOND} times a second");
            return Err(Problem::new(REQUESTS_TOO_MANY, detail).retry_after(Duration::from_secs(1)));
        }
        if let Some(parameters) = Arc::<App>::from_ref(state).parameters.get() {
            parameters.check(parts)?;
        }
        Ok(own)
    }
}

/// Seconds since 1970.
pub(crate) fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Requests of each device in the present second. Bounded by the requests that a second takes.
#[derive(Default)]
pub(crate) struct DeviceRates(Mutex<Second>);

#[derive(Default)]
struct Second {
    at_s: u64,
    asked: HashMap<(AppName, DeviceId), u32>,
}

impl DeviceRates {
    /// Whether the device may ask once more.
    fn take(&self, own: &OwnDevice, now_s: u64) -> bool {
        let mut second = self.0.lock();
        if second.at_s != now_s {
            second.at_s = now_s;
            second.asked.clear();
        }
        let asked = second.asked.entry((own.app.clone(), own.device.clone())).or_default();
        *asked += 1;
        *asked <= PER_SECOND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_has_its_own_rate_and_a_new_one_each_second() {
        let own = |device: &str| OwnDevice {
            app: AppName::new("shop").expect("a name"),
            device: DeviceId::new(device).expect("a name"),
        };
        let rates = DeviceRates::default();
        assert!((0..PER_SECOND).all(|_| rates.take(&own("a"), 7)));
        assert!(!rates.take(&own("a"), 7));
        assert!(rates.take(&own("b"), 7));
        assert!(rates.take(&own("a"), 8));
    }
}
