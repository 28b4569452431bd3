//! The language of scenario files: tables, their keys, the values and the meaning of each.
//!
//! Defined here once: the reader refuses keys that are not here, the JSON schema is made of it, and the reference page is
//! tested against it.

use Shape::{Any, Bool, Duration, Expression, Json, List, Map, Number, Scalar, Template, Text, Whole, Words};

/// A table with known keys.
pub(crate) struct Table {
    /// Its name in a sentence.
    pub(crate) name: &'static str,
    /// Where the table is one of several: keys of which it has exactly one, and by which it is known.
    pub(crate) marks: &'static [&'static str],
    pub(crate) keys: &'static [Key],
}

/// A key of a table.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) shape: Shape,
    pub(crate) is_required: bool,
}

/// What a key holds.
pub(crate) enum Shape {
    Text,
    /// A text with `${...}`.
    Template,
    Expression,
    /// A time with its unit.
    Duration,
    Bool,
    /// Nothing but `true`: the presence of the key is its meaning.
    True,
    /// A whole number between the two.
    Whole(u64, u64),
    Number,
    Words(&'static [&'static str]),
    /// A text, a number, true or false.
    Scalar,
    /// Anything that JSON can hold.
    Json,
    /// A list of steps.
    Steps,
    List(&'static Shape),
    /// Names, each with a value.
    Map(&'static Shape),
    Table(&'static Table),
    Any(&'static [Shape]),
}

const fn key(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, doc, shape, is_required: false }
}

const fn must(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, doc, shape, is_required: true }
}

/// The largest rate of users a second, number of users, weight.
pub(crate) const NUMBER_MAX: f64 = 1e9;
/// Steps that one message waits for, at most.
pub(crate) const COUNT_MAX: u64 = 1_000_000_000;

pub(crate) static SCENARIO: Table = Table {
    name: "a scenario",
    marks: &[],
    keys: &[
        key("name", Text, "Its name, in reports."),
        key("description", Text, "What it is for, in a sentence."),
        key(
            "seed",
            Whole(0, i64::MAX as u64),
            "What random numbers start from: two runs with one seed draw the same. Default 1.",
        ),
        key(
            "users_max",
            Whole(1, 1_000_000_000),
            "The most users in a session at once, over all workers; those due beyond are counted and not begun. Default 100000.",
        ),
        key(
            "grace",
            Duration,
            "How long users may take to finish when the last phase has ended. Default 10s.",
        ),
        key("timeout", Duration, "Time for a step that says none. Default 30s."),
        key("variables", Map(&Scalar), "First values of variables."),
        key(
            "secrets",
            Map(&Shape::Table(&SECRET)),
            "Variables whose values are not in this file and are never shown, by name.",
        ),
        key("targets", Map(&Shape::Table(&TARGET)), "Where steps go, by name."),
        key(
            "data",
            Map(&Shape::Table(&DATA)),
            "Tables that sessions draw rows from, by name. Columns are variables: `table.column`.",
        ),
        key("phases", List(&Shape::Table(&PHASE)), "Times of the run, one after the other."),
        key("sessions", List(&Shape::Table(&SESSION)), "What users do."),
        key("fleets", List(&Shape::Table(&FLEET)), "Swarms of MQTT devices that are there besides."),
        key(
            "thresholds",
            Any(&[List(&Text), Map(&Text)]),
            "What must be true of the result; otherwise the exit code is not 0.",
        ),
    ],
};

pub(crate) static SECRET: Table = Table {
    name: "a secret",
    marks: &[],
    keys: &[
        key("env", Text, "The environment variable that holds its value."),
        key(
            "file",
            Text,
            "The file that holds its value, beside the scenario; a line end after it does not count.",
        ),
    ],
};

pub(crate) static TARGET: Table = Table {
    name: "a target",
    marks: &[],
    keys: &[
        must(
            "url",
            Text,
            "Scheme, host, port and path: http, https, mqtt, mqtts, mqtt+ws, mqtt+wss, rsocket, rsockets, tcp or tls.",
        ),
        key("http", Any(&[Number, Words(&["1.1", "2"])]), "Version of HTTP: 1.1 or 2. Default 1.1."),
        key("mqtt", Any(&[Number, Words(&["3.1.1", "5"])]), "Version of MQTT: 3.1.1 or 5. Default 5."),
        key("tls", Shape::Table(&TLS), "TLS, where the scheme has it."),
        key(
            "connections",
            Any(&[Words(&["per-user", "per-request"]), Shape::Table(&SHARED)]),
            "Who uses which connection. Default per-user.",
        ),
        key("connect_timeout", Duration, "Time for a connection, TLS and upgrades included. Default 10s."),
        key("cookies", Bool, "Whether users keep cookies and send them again. Default true."),
        key("headers", Map(&Template), "Headers of every request."),
        key("metrics", Text, "URL of Prometheus figures, kept beside the run's."),
        key("source_addresses", List(&Text), "Local addresses to connect from, in turn."),
    ],
};

pub(crate) static SHARED: Table = Table {
    name: "connections",
    marks: &[],
    keys: &[must(
        "shared",
        Whole(1, 1_000_000),
        "Connections of each loop that all its users share; HTTP only.",
    )],
};

pub(crate) static TLS: Table = Table {
    name: "`tls`",
    marks: &[],
    keys: &[
        key("authority", Text, "File of the authorities to believe (PEM). Default: the system's."),
        key("insecure", Bool, "Whether any certificate will do. Default false."),
        key(
            "resumption",
            Bool,
            "Whether TLS sessions are resumed; otherwise every connection is a full handshake. Default true.",
        ),
        key("server_name", Text, "The name to ask for and to verify. Default: the host."),
        key("certificate", Text, "File of a certificate chain of our own (PEM); needs `key`."),
        key("key", Text, "File of its private key (PEM)."),
    ],
};

pub(crate) static DATA: Table = Table {
    name: "a table of data",
    marks: &[],
    keys: &[
        key("file", Text, "A CSV file; its first line names the columns."),
        key("columns", List(&Text), "Names of the columns, for a file whose first line is data."),
        key("delimiter", Text, "What stands between fields. Default a comma."),
        key("rows", List(&Map(&Scalar)), "The rows, instead of a file."),
        key(
            "order",
            Words(&["sequential", "random", "unique"]),
            "How rows are drawn; `unique`: each at most once in the run. Default sequential.",
        ),
    ],
};

pub(crate) static PHASE: Table = Table {
    name: "a phase",
    marks: &[],
    keys: &[
        key("name", Text, "Its name, in reports."),
        must("duration", Duration, "How long it is."),
        key(
            "rate",
            Any(&[Number, Shape::Table(&RAMP)]),
            "Users that come in a second (an open model): a number, or from and to.",
        ),
        key(
            "users",
            Any(&[Number, Shape::Table(&RAMP)]),
            "Users that are there (a closed model): a number, or from and to.",
        ),
        key(
            "spacing",
            Words(&["constant", "poisson"]),
            "How far apart users come at a rate. Default constant.",
        ),
        key("measured", Bool, "Whether its figures count; those of a warm-up do not. Default true."),
        key("mix", Map(&Number), "Weights of the sessions in this phase. Default: their own."),
    ],
};

pub(crate) static RAMP: Table = Table {
    name: "a ramp",
    marks: &[],
    keys: &[must("from", Number, "At the phase's start."), must("to", Number, "At its end.")],
};

pub(crate) static SESSION: Table = Table {
    name: "a session",
    marks: &[],
    keys: &[
        must("name", Text, "Its name, in reports and mixes."),
        key("weight", Number, "How many of the users do it, against the others. Default 1."),
        key("target", Text, "Target of its steps that say none."),
        key(
            "draw",
            Any(&[Text, List(&Text)]),
            "Tables that a row is drawn from at its start. Those whose columns it uses are drawn from without being named.",
        ),
        must("steps", Shape::Steps, "What is done, one after the other."),
    ],
};

/// What a step may be.
pub(crate) static STEP_TABLES: &[&Table] = &[
    &HTTP,
    &EVENTS_STEP,
    &WEBSOCKET_STEP,
    &MQTT_STEP,
    &RSOCKET_STEP,
    &TCP_STEP,
    &THINK,
    &PACE,
    &REPEAT,
    &WHILE,
    &IF,
    &CHOOSE,
    &SET,
    &DRAW,
    &END,
];

/// Methods of HTTP, as keys of a step.
pub(crate) const METHODS: &[&str] = &["get", "post", "put", "delete", "patch", "head", "options"];

const NAME: Key = key("name", Text, "Its name, in reports; unique in the session.");
const STEP_TARGET: Key = key("target", Text, "Where it goes, where several targets would do.");
const TIMEOUT: Key = key("timeout", Duration, "Time for it, from when it is sent to its answer's end.");
const EXTRACT: Key = key(
    "extract",
    Map(&EXTRACTION),
    "Variables taken from the answer: a path into JSON (`$.token`), or a table.",
);
const CHECK: Key = key("check", CHECK_SHAPE, "What must be true of the answer.");
const ON_FAILURE: Key =
    key("on_failure", Words(&["end", "continue"]), "What the user does where it fails. Default end.");
static EXTRACTION: Shape = Any(&[Text, Shape::Table(&TAKE)]);
static ONE_CHECK: Shape = Shape::Table(&CHECKS);
const CHECK_SHAPE: Shape = Any(&[Shape::Table(&CHECKS), List(&ONE_CHECK)]);
const HEADERS: Key = key("headers", Map(&Template), "Headers besides the target's.");

pub(crate) static HTTP: Table = Table {
    name: "an HTTP step",
    marks: METHODS,
    keys: &[
        key("get", Template, "GET: path and query."),
        key("post", Template, "POST: path and query."),
        key("put", Template, "PUT: path and query."),
        key("delete", Template, "DELETE: path and query."),
        key("patch", Template, "PATCH: path and query."),
        key("head", Template, "HEAD: path and query."),
        key("options", Template, "OPTIONS: path and query."),
        HEADERS,
        key(
            "json",
            Json,
            "The body as JSON; a text that is one `${...}` alone becomes the value, with its kind.",
        ),
        key("body", BYTES, "The body."),
        key("form", Map(&Any(&[Template, Scalar])), "The body as fields of a form."),
        NAME,
        STEP_TARGET,
        TIMEOUT,
        EXTRACT,
        CHECK,
        ON_FAILURE,
    ],
};

const BYTES: Shape = Any(&[Template, Shape::Table(&DATA_BYTES)]);

pub(crate) static DATA_BYTES: Table = Table {
    name: "bytes",
    marks: &[],
    keys: &[
        key("text", Template, "As a text."),
        key("base64", Text, "In base64."),
        key("hex", Text, "In hexadecimal digits; blanks do not count."),
        key("file", Text, "The bytes of a file."),
    ],
};

pub(crate) static EVENTS_STEP: Table = Table {
    name: "a step of an event stream",
    marks: &["events"],
    keys: &[
        key(
            "events",
            Shape::Table(&EVENTS),
            "Opens a stream of server-sent events, waits for some and closes it.",
        ),
        NAME,
        STEP_TARGET,
        TIMEOUT,
        EXTRACT,
        CHECK,
        ON_FAILURE,
    ],
};

pub(crate) static EVENTS: Table = Table {
    name: "`events`",
    marks: &[],
    keys: &[
        must("get", Template, "Path and query of the stream."),
        key("count", Whole(1, COUNT_MAX), "Events to wait for. Default 1."),
        HEADERS,
    ],
};

pub(crate) static WEBSOCKET_STEP: Table = Table {
    name: "a WebSocket step",
    marks: &["websocket"],
    keys: &[
        key(
            "websocket",
            Any(&[
                Shape::Table(&WEBSOCKET_OPEN),
                Shape::Table(&WEBSOCKET_SEND),
                Shape::Table(&RECEIVE),
                Shape::Table(&CLOSE),
            ]),
            "Opens the user's WebSocket, sends, receives or closes it.",
        ),
        NAME,
        STEP_TARGET,
        TIMEOUT,
        EXTRACT,
        CHECK,
        ON_FAILURE,
    ],
};

pub(crate) static WEBSOCKET: &[&Table] = &[&WEBSOCKET_OPEN, &WEBSOCKET_SEND, &RECEIVE, &CLOSE];

static WEBSOCKET_OPEN: Table = Table {
    name: "a WebSocket's opening",
    marks: &["open"],
    keys: &[
        key("open", Template, "Path and query."),
        HEADERS,
        key("subprotocol", Text, "Subprotocol to ask for."),
    ],
};

static WEBSOCKET_SEND: Table = Table {
    name: "a WebSocket message",
    marks: &["send"],
    keys: &[
        key("send", BYTES, "The message."),
        key("binary", Bool, "Whether it is a binary message. Default: bytes are, texts are not."),
        key("receive", Whole(0, COUNT_MAX), "Messages to wait for then. Default 0."),
    ],
};

static RECEIVE: Table = Table {
    name: "a wait for messages",
    marks: &["receive"],
    keys: &[key("receive", Whole(1, COUNT_MAX), "Messages to wait for.")],
};

static CLOSE: Table =
    Table { name: "a close", marks: &["close"], keys: &[key("close", Shape::True, "Closes it: `true`.")] };

static OPEN: Table =
    Table { name: "an opening", marks: &["open"], keys: &[key("open", Shape::True, "Opens it: `true`.")] };

pub(crate) static MQTT_STEP: Table = Table {
    name: "an MQTT step",
    marks: &["mqtt"],
    keys: &[
        key(
            "mqtt",
            Any(&[
                Shape::Table(&MQTT_CONNECT),
                Shape::Table(&MQTT_SUBSCRIBE),
                Shape::Table(&MQTT_PUBLISH),
                Shape::Table(&RECEIVE),
                Shape::Table(&MQTT_DISCONNECT),
            ]),
            "Connects, subscribes, publishes, receives or disconnects.",
        ),
        NAME,
        STEP_TARGET,
        TIMEOUT,
        EXTRACT,
        CHECK,
        ON_FAILURE,
    ],
};

pub(crate) static MQTT: &[&Table] =
    &[&MQTT_CONNECT, &MQTT_SUBSCRIBE, &MQTT_PUBLISH, &RECEIVE, &MQTT_DISCONNECT];

static MQTT_CONNECT: Table = Table {
    name: "an MQTT connect",
    marks: &["connect"],
    keys: &[key(
        "connect",
        Any(&[Shape::Table(&CONNECT), Shape::True]),
        "CONNECT to CONNACK: `true`, or a table.",
    )],
};

pub(crate) static CONNECT: Table = Table {
    name: "`connect`",
    marks: &[],
    keys: &[
        key("client_id", Template, "The client id. Default: one by the server."),
        key("user_name", Template, "The user name."),
        key("password", Template, "The password."),
        key("clean_start", Bool, "Clean start (MQTT 5), clean session (3.1.1). Default true."),
        key("keep_alive", Duration, "Keep-alive. Default 60s."),
        key("session_expiry", Duration, "Session expiry interval (MQTT 5). Default 0s."),
    ],
};

static MQTT_SUBSCRIBE: Table = Table {
    name: "an MQTT subscription",
    marks: &["subscribe"],
    keys: &[
        key("subscribe", Any(&[Template, List(&Template)]), "Topic filters."),
        key("qos", Whole(0, 2), "QoS asked for. Default 0."),
    ],
};

static MQTT_PUBLISH: Table = Table {
    name: "an MQTT publish",
    marks: &["publish"],
    keys: &[
        key("publish", Template, "The topic."),
        key("payload", BYTES, "The payload. Default empty."),
        key("qos", Whole(0, 2), "QoS 0, 1 or 2. Default 0."),
        key("retain", Bool, "Whether it is retained. Default false."),
        key(
            "stamped",
            Bool,
            "Whether a stamp stands before the payload, so that loss, duplicates and order are counted. Default false.",
        ),
    ],
};

static MQTT_DISCONNECT: Table = Table {
    name: "an MQTT disconnect",
    marks: &["disconnect"],
    keys: &[key("disconnect", Shape::True, "DISCONNECT: `true`.")],
};

pub(crate) static RSOCKET_STEP: Table = Table {
    name: "an RSocket step",
    marks: &["rsocket"],
    keys: &[
        key(
            "rsocket",
            Any(&[
                Shape::Table(&RSOCKET_REQUEST),
                Shape::Table(&RSOCKET_FIRE),
                Shape::Table(&RSOCKET_STREAM),
            ]),
            "A request, a message without an answer, or a stream.",
        ),
        NAME,
        STEP_TARGET,
        TIMEOUT,
        EXTRACT,
        CHECK,
        ON_FAILURE,
    ],
};

pub(crate) static RSOCKET: &[&Table] = &[&RSOCKET_REQUEST, &RSOCKET_FIRE, &RSOCKET_STREAM];

const PAYLOAD_DATA: Key = key("data", BYTES, "The payload's data. Default empty.");
const MIME: Key =
    key("mime", Text, "The data's MIME type, said at the set-up. Default application/octet-stream.");

static RSOCKET_REQUEST: Table = Table {
    name: "an RSocket request",
    marks: &["request"],
    keys: &[key("request", Template, "The route; one answer is awaited."), PAYLOAD_DATA, MIME],
};

static RSOCKET_FIRE: Table = Table {
    name: "an RSocket message without an answer",
    marks: &["fire"],
    keys: &[key("fire", Template, "The route; nothing is awaited."), PAYLOAD_DATA, MIME],
};

static RSOCKET_STREAM: Table = Table {
    name: "an RSocket stream",
    marks: &["stream"],
    keys: &[
        key("stream", Template, "The route."),
        key("count", Whole(1, COUNT_MAX), "Payloads to wait for before it is cancelled. Default all."),
        PAYLOAD_DATA,
        MIME,
    ],
};

pub(crate) static TCP_STEP: Table = Table {
    name: "a TCP step",
    marks: &["tcp"],
    keys: &[
        key(
            "tcp",
            Any(&[
                Shape::Table(&OPEN),
                Shape::Table(&TCP_SEND),
                Shape::Table(&TCP_RECEIVE),
                Shape::Table(&CLOSE),
            ]),
            "Opens the user's connection, sends, receives or closes it.",
        ),
        NAME,
        STEP_TARGET,
        TIMEOUT,
        EXTRACT,
        CHECK,
        ON_FAILURE,
    ],
};

pub(crate) static TCP: &[&Table] = &[&OPEN, &TCP_SEND, &TCP_RECEIVE, &CLOSE];

const UNTIL: Shape = Any(&[Text, Shape::Table(&UNTIL_TABLE)]);

static TCP_SEND: Table = Table {
    name: "bytes to send",
    marks: &["send"],
    keys: &[
        key("send", BYTES, "The bytes."),
        key(
            "until",
            UNTIL,
            "How the answer ends: with a text, `{ bytes = 10 }`, `{ end = true }`. Default: there is none.",
        ),
    ],
};

static TCP_RECEIVE: Table = Table {
    name: "bytes to receive",
    marks: &["receive"],
    keys: &[key("receive", UNTIL, "How they end: with a text, `{ bytes = 10 }`, `{ end = true }`.")],
};

pub(crate) static UNTIL_TABLE: Table = Table {
    name: "an end of bytes",
    marks: &[],
    keys: &[
        key("text", Text, "They end with this text."),
        key("hex", Text, "They end with these bytes, in hexadecimal digits."),
        key("bytes", Whole(1, COUNT_MAX), "They are so many."),
        key("end", Bool, "They end with the connection: `true`."),
    ],
};

pub(crate) static THINK: Table = Table {
    name: "a think step",
    marks: &["think"],
    keys: &[key(
        "think",
        Any(&[Duration, Shape::Table(&PAUSE)]),
        "Waits: a time, `{ from, to }`, `{ exponential }` or `{ mean, deviation }`.",
    )],
};

pub(crate) static PACE: Table = Table {
    name: "a pace step",
    marks: &["pace"],
    keys: &[key(
        "pace",
        Duration,
        "Waits until so long after it was last here, whatever was done between: the next step is due then, however late it is.",
    )],
};

pub(crate) static PAUSE: Table = Table {
    name: "a pause",
    marks: &[],
    keys: &[
        key("from", Duration, "The shortest, evenly distributed."),
        key("to", Duration, "The longest, evenly distributed."),
        key("exponential", Duration, "The mean, exponentially distributed; at most ten times it."),
        key("mean", Duration, "The mean, normally distributed."),
        key("deviation", Duration, "The standard deviation; never below zero."),
    ],
};

pub(crate) static REPEAT: Table = Table {
    name: "a repeat step",
    marks: &["repeat"],
    keys: &[
        key(
            "repeat",
            Any(&[Whole(0, COUNT_MAX), Words(&["forever"]), Expression]),
            "How often: a number, an expression, or `forever`.",
        ),
        key("index", Text, "A variable that counts the rounds, from 0."),
        must("steps", Shape::Steps, "What is repeated."),
    ],
};

pub(crate) static WHILE: Table = Table {
    name: "a while step",
    marks: &["while"],
    keys: &[
        key("while", Expression, "Repeats while this is true."),
        must("steps", Shape::Steps, "What is repeated."),
    ],
};

pub(crate) static IF: Table = Table {
    name: "an if step",
    marks: &["if"],
    keys: &[
        key("if", Expression, "What is asked."),
        must("then", Shape::Steps, "Done where it is true."),
        key("else", Shape::Steps, "Done where it is not."),
    ],
};

pub(crate) static CHOOSE: Table = Table {
    name: "a choose step",
    marks: &["choose"],
    keys: &[key("choose", List(&Shape::Table(&BRANCH)), "Does one of these, by weight.")],
};

pub(crate) static BRANCH: Table = Table {
    name: "a branch",
    marks: &[],
    keys: &[
        key("weight", Number, "Its weight. Default 1."),
        must("steps", Shape::Steps, "What is done; may be empty."),
    ],
};

pub(crate) static SET: Table = Table {
    name: "a set step",
    marks: &["set"],
    keys: &[key("set", Map(&Any(&[Expression, Scalar])), "Gives variables values: texts are expressions.")],
};

pub(crate) static DRAW: Table = Table {
    name: "a draw step",
    marks: &["draw"],
    keys: &[key("draw", Any(&[Text, List(&Text)]), "Takes the next row of a table.")],
};

pub(crate) static END: Table = Table {
    name: "an end step",
    marks: &["end"],
    keys: &[key("end", Words(&["ok", "failed"]), "Ends the session here, well or not.")],
};

pub(crate) static TAKE: Table = Table {
    name: "an extraction",
    marks: &[],
    keys: &[
        key("json", Text, "A path into a JSON body."),
        key("regex", Text, "A regular expression; the first match in the body."),
        key(
            "group",
            Any(&[Whole(0, 100), Text]),
            "Its group, by number or name. Default 1 where there is one.",
        ),
        key("header", Text, "A header."),
        key("body", Shape::True, "The whole body: `true`."),
        key("status", Shape::True, "The status: `true`."),
        key("default", Scalar, "What the variable gets where it is not there. Without one the step fails."),
    ],
};

pub(crate) static CHECKS: Table = Table {
    name: "a check",
    marks: &[],
    keys: &[
        key(
            "status",
            Any(&[Whole(0, 4999), Text, List(&Any(&[Whole(0, 4999), Text]))]),
            "The status: 200, \"2xx\", or a list of them. Default for HTTP: below 400.",
        ),
        key("json", Map(&WANT), "Values in a JSON body, by their path."),
        key("header", Map(&WANT), "Headers, by name."),
        key("body", Any(&[Template, Shape::Table(&BODY_WANT)]), "The body."),
        key("below", Duration, "The longest that it may take."),
        key("holds", Any(&[Expression, List(&Expression)]), "Expressions over variables, after extraction."),
    ],
};

const WANT: Shape = Any(&[Template, Scalar, Shape::Table(&WANT_TABLE)]);

const EQUALS: Key = key("equals", Any(&[Template, Scalar]), "It is this.");
const CONTAINS: Key = key("contains", Template, "It contains this text.");
const MATCHES: Key = key("matches", Text, "It matches this regular expression.");

pub(crate) static WANT_TABLE: Table = Table {
    name: "what is wanted",
    marks: &[],
    keys: &[
        key("exists", Bool, "Whether it is there."),
        EQUALS,
        CONTAINS,
        MATCHES,
        key("not", Any(&[Template, Scalar]), "It is not this."),
        key("above", Any(&[Expression, Number]), "It is greater than this."),
        key("at_least", Any(&[Expression, Number]), "It is this or greater."),
        key("below", Any(&[Expression, Number]), "It is less than this."),
        key("at_most", Any(&[Expression, Number]), "It is this or less."),
    ],
};

pub(crate) static BODY_WANT: Table = Table {
    name: "what is wanted of a body",
    marks: &[],
    keys: &[
        EQUALS,
        CONTAINS,
        MATCHES,
        key("bytes", Any(&[Whole(0, u64::MAX), Shape::Table(&SIZE)]), "How many bytes it has."),
    ],
};

pub(crate) static SIZE: Table = Table {
    name: "a number of bytes",
    marks: &[],
    keys: &[
        key("from", Whole(0, u64::MAX), "At least. Default 0."),
        key("to", Whole(0, u64::MAX), "At most. Default any."),
    ],
};

/// Device profiles of a fleet.
pub(crate) const PROFILES: &[&str] = &["steady", "phone", "sleepy", "carrier", "commuter", "background"];

pub(crate) static FLEET: Table = Table {
    name: "a fleet",
    marks: &[],
    keys: &[
        must("name", Text, "Its name, in reports."),
        key("target", Text, "The MQTT target, where several would do."),
        must("devices", Whole(1, 100_000_000), "How many devices."),
        key("connects_per_second", Number, "Devices that arrive in a second. Default 1000."),
        key("start", Duration, "When they begin to arrive, from the run's start. Default 0s."),
        key("id_prefix", Text, "The client id: this and a number. Default the fleet's name and a hyphen."),
        key("subscriptions", List(&Text), "What each subscribes to; `{id}` and `{number}` are filled in."),
        key("qos", Whole(0, 2), "QoS of the subscriptions. Default 0."),
        key("keep_alive", Duration, "Keep-alive. Default 60s."),
        key("user_name", Text, "The user name; `{id}` and `{number}` are filled in."),
        key("password", Text, "The password; `{id}` and `{number}` are filled in."),
        key("profile", Words(PROFILES), "How the devices behave. Default steady."),
        key("processes", Whole(0, 1024), "Processes that hold them. Default 0: as many as open files ask."),
        key("broadcast", Shape::Table(&TRAFFIC), "A message to all."),
        key("uplink", Shape::Table(&TRAFFIC), "What each device publishes."),
        key("storm", Duration, "Cuts all devices at once, so long after the start."),
    ],
};

pub(crate) static TRAFFIC: Table = Table {
    name: "messages of a fleet",
    marks: &[],
    keys: &[
        must("rate", Number, "Messages a second: of the broadcaster, or of each device."),
        must("topic", Text, "The topic; for uplinks `{id}` and `{number}` are filled in."),
        key("bytes", Whole(0, 268_435_455), "Bytes of the payload. Default 100."),
        key("qos", Whole(0, 2), "QoS 0, 1 or 2. Default 0."),
    ],
};
