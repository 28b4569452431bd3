//! The verbs, and how the resources of each are named.

use std::fmt;
use std::str::FromStr;

use crate::invalid::Invalid;

/// How the resources of a verb are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The node itself: there is one, and it is not named.
    Node,
    /// An app: `shop`.
    App,
    /// A thing of an app: `shop/phone-7`.
    OfApp,
    /// A name that belongs to no app: a queue, a wallet.
    Name,
    /// An MQTT topic or topic filter. Devices hold such verbs by rules ([`crate::topics`]), keys and
    /// people by grants. The text of a filter that begins as a pattern does is meant by it.
    Topic,
}

macro_rules! verbs {
    ($($name:ident $word:literal $kind:ident $reserved:expr, $about:literal;)*) => {
        /// An action that needs a right.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Verb {
            $(#[doc = $about] $name,)*
        }

        impl Verb {
            /// Every verb, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The verb as it is written in grants.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }

            /// How its resources are named.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$name => Kind::$kind),* }
            }

            /// The beginnings of reserved names. A pattern means such a name only if it begins in
            /// the same way: `*` does not mean `events.shop.crm`, and `events.*` does.
            pub const fn reserved(self) -> &'static [&'static str] {
                match self { $(Self::$name => $reserved),* }
            }

            /// The actions in words.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$name => $about),* }
            }
        }
    };
}

/// Queues that the server fills or empties itself.
const QUEUES: &[&str] = &["events.", "stadium."];

/// Topics of the server. As in MQTT, what means all topics does not mean these.
const TOPICS: &[&str] = &["$"];

/// Wallets of the house, which may be overdrawn.
const SYSTEM: &[&str] = &["debit=@"];

verbs! {
    AppRead "app.read" App &[], "See an app's settings.";
    AppManage "app.manage" App &[], "Declare and drop an app, its feeds and its templates.";
    AudienceRead "audience.read" App &[], "See and count audiences.";
    AudienceWrite "audience.write" App &[], "Save and drop audiences, change lists.";
    AuditRead "audit.read" Node &[], "Read the audit log.";
    DeviceRead "device.read" OfApp &[], "See devices, their attributes and connections.";
    DeviceWrite "device.write" OfApp &[], "Register and change devices and their browser subscriptions.";
    DeviceManage "device.manage" OfApp &[], "Remove, revoke and disconnect devices, issue credentials.";
    KeysManage "keys.manage" Node &[], "List, make, rotate and revoke API keys.";
    NodeRead "node.read" Node &[], "Read metrics, the live view and the state of the cluster.";
    NodeOperate "node.operate" Node &[], "Quiesce the node, set log levels, trace packets.";
    PushRead "push.read" App &[], "See pushes, their reports and schedules, without contents.";
    PushPayload "push.payload" App &[], "See the contents of pushes and of scheduled ones.";
    PushSend "push.send" App &[], "Send, edit, cancel and schedule pushes.";
    QueueRead "queue.read" Name &[], "See queues, jobs and their histories, without payloads.";
    QueuePayload "queue.payload" Name QUEUES, "See the payloads of jobs.";
    QueuePut "queue.put" Name QUEUES, "Put jobs.";
    QueueReserve "queue.reserve" Name QUEUES, "Reserve jobs and end their leases.";
    QueueControl "queue.control" Name QUEUES, "Pause, resume, kick and redrive queues, edit and delete jobs, set schedules.";
    QueueManage "queue.manage" Name QUEUES, "Declare, drop and purge queues.";
    RetainedRead "retained.read" Node &[], "List retained messages, without their payloads.";
    RetainedManage "retained.manage" Node &[], "Remove retained messages.";
    RulesRead "rules.read" Node &[], "See the rules over topics.";
    RulesWrite "rules.write" Node &[], "Replace the rules over topics.";
    StreamPublish "stream.publish" Topic TOPICS, "Publish to a topic, or have a will there, without RETAIN.";
    StreamRetain "stream.retain" Topic TOPICS, "Set or remove a topic's retained message, by a PUBLISH or a will.";
    StreamSubscribe "stream.subscribe" Topic TOPICS, "Subscribe to a filter, and be sent messages of its topics.";
    UserExport "user.export" Node &[], "Export everything that the server has of a user.";
    UserErase "user.erase" Node &[], "Erase a user, and see erasures and their receipts.";
    WalletRead "wallet.read" Name &[], "See wallets, transfers and statements.";
    WalletTransfer "wallet.transfer" Name SYSTEM, "Transfer, hold, capture, void and reverse; the resource is `debit=WALLET`, the wallet that pays.";
    WalletManage "wallet.manage" Name &["@"], "Declare assets, open accounts and change their rules.";
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Verb {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let verb = Self::ALL.iter().find(|verb| verb.word() == text);
        verb.copied().ok_or_else(|| Invalid(format!("there is no verb `{text}`")))
    }
}
