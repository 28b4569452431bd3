//! The parts of the HTTP port: what all requests share, and the state of each feature.
//!
//! An endpoint names the parts that it needs in its arguments, so a feature knows only its own.

use std::sync::Arc;

use axum::extract::FromRef;
use parking_lot::Mutex;

use crate::config::Config;
use crate::connections::Connections;
use crate::fleet::Fleet;
use crate::live::broadcast::Live;
use crate::live::history::History;
use crate::me::device::DeviceRates;
use crate::me::tokens::DeviceTokens;
use crate::metrics::requests::Requests;
use crate::metrics::sources::Sources;
use crate::queue::samples::Samples;
use crate::request::app::App;
use crate::request::idempotency::Ids;
use crate::start_error::StartError;
use crate::topics::routes::PublishIds;
use crate::topics::stream::StreamEnds;
use crate::topics::tickets::Tickets;
use crate::users::cluster::ClusterSlot;
use crate::users::record::Erasures;
use crate::wallet::figures::Figures;
use crate::wallet::movers::Movers;
use crate::webpush::WebPush;

/// All parts, shared by the connections.
#[derive(Clone)]
pub(crate) struct Port(Arc<Parts>);

struct Parts {
    app: Arc<App>,
    push_ids: Arc<Mutex<Ids>>,
    publish_ids: Arc<PublishIds>,
    tickets: Arc<Tickets>,
    stream_ends: Arc<StreamEnds>,
    connections: Arc<Connections>,
    live: Arc<Live>,
    history: Arc<History>,
    queues: Arc<Samples>,
    requests: Arc<Requests>,
    wallets: Arc<Figures>,
    movers: Arc<Movers>,
    webpush: Arc<WebPush>,
    device_tokens: Arc<DeviceTokens>,
    device_rates: Arc<DeviceRates>,
    erasures: Arc<Erasures>,
    cluster_users: Arc<ClusterSlot>,
}

impl Port {
    /// Reads the keys and the secrets of Web Push, of device tokens and of tickets in the data
    /// directory or of the cluster, or makes them.
    pub(crate) fn open(config: Config, fleet: Arc<dyn Fleet>) -> Result<Self, StartError> {
        let app = Arc::new(App::open(config, fleet)?);
        let webpush = WebPush::open(&app.config).map_err(StartError::WebPush)?;
        let device_tokens = DeviceTokens::open(&app.config).map_err(StartError::DeviceTokens)?;
        let tickets = Tickets::open(&app.config).map_err(StartError::Tickets)?;
        Ok(Self(Arc::new(Parts {
            erasures: Arc::new(Erasures::of(&app.config.data_dir)),
            app,
            push_ids: Arc::default(),
            publish_ids: Arc::default(),
            tickets: Arc::new(tickets),
            stream_ends: Arc::default(),
            connections: Arc::default(),
            live: Arc::default(),
            history: Arc::default(),
            queues: Arc::default(),
            requests: Arc::default(),
            wallets: Arc::default(),
            movers: Arc::default(),
            webpush: Arc::new(webpush),
            device_tokens: Arc::new(device_tokens),
            device_rates: Arc::default(),
            cluster_users: Arc::default(),
        })))
    }

    /// One of the parts.
    pub(crate) fn part<T: FromRef<Self>>(&self) -> T {
        T::from_ref(self)
    }
}

/// Maps each part's type to its field.
macro_rules! parts {
    ($($field:ident: $type:ty;)*) => {
        $(
            impl FromRef<Port> for Arc<$type> {
                fn from_ref(port: &Port) -> Self {
                    Arc::clone(&port.0.$field)
                }
            }
        )*
    };
}

parts! {
    app: App;
    push_ids: Mutex<Ids>;
    publish_ids: PublishIds;
    tickets: Tickets;
    stream_ends: StreamEnds;
    connections: Connections;
    live: Live;
    history: History;
    queues: Samples;
    requests: Requests;
    wallets: Figures;
    movers: Movers;
    webpush: WebPush;
    device_tokens: DeviceTokens;
    device_rates: DeviceRates;
    erasures: Erasures;
    cluster_users: ClusterSlot;
}

impl FromRef<Port> for Sources {
    fn from_ref(port: &Port) -> Self {
        Self {
            app: port.part(),
            connections: port.part(),
            requests: port.part(),
            queues: port.part(),
            wallets: port.part(),
            stream_ends: port.part(),
        }
    }
}
