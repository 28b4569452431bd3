//! What a seed decides about the push platform: apps, devices, which commands come how often, how devices behave.
//!
//! Devices are few, so that most pushes are for several of them and each of them is owed several pushes.

use fastrand::Rng;
use stadium_push::{AppName, AppSettings, Cap, DeviceId, Milliseconds};

/// The push platform of a run.
#[derive(Debug, Clone)]
pub struct PushPlan {
    /// The apps, `default` first; their devices have the same ids.
    pub apps: Vec<(AppName, AppSettings)>,
    /// The devices of each app.
    pub devices: Vec<DeviceId>,
    /// How often each command comes.
    pub weights: Vec<(Kind, u32)>,
    /// Commands of a step, at most.
    pub commands_max: u32,
    /// Pushes that a run asks for, at most: each look asks for all of them.
    pub pushes_max: usize,
    /// One in so many steps a device comes or goes.
    pub comes_and_goes: u32,
    /// Of what a device gets, in per cent: acknowledged soon.
    pub acknowledges: u8,
    /// Refused, of what is not acknowledged soon; the rest is kept, until the connection ends.
    pub refuses: u8,
    /// Steps until a device answers, at most.
    pub answer_steps_max: u32,
    /// The time to live of pushes that set one.
    pub expiry: Milliseconds,
    /// One in so many messages between shards comes late, or twice; 0 for none.
    pub messages: u32,
    /// Once in so many steps one shard's journal fails, the others go on; 0 for never.
    pub lose_one: u32,
}

/// A kind of command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// To one device.
    Single,
    /// To an audience.
    Many,
    /// To devices that are connected, kept nowhere.
    Live,
    /// What was asked before, again.
    Repeat,
    /// An id that is used, with other content.
    Reuse,
    /// A push that waits for its time.
    Later,
    /// A push at a local time.
    Local,
    Cancel,
    Schedule,
    Unschedule,
    /// Tags, opt-in, quiet hours, a name.
    Change,
    Remove,
    Revoke,
    /// Its user opened what it got.
    Opened,
    /// Its user clicked what it got, whether or not it was reported as opened.
    Clicked,
    /// A device settles pushes of its inbox over HTTP.
    Settle,
    /// Present pushes are looked at.
    Ask,
    /// What can never be right.
    Wrong,
}

/// All kinds, with how often each usually comes.
const ALL: &[(Kind, u32)] = &[
    (Kind::Single, 24),
    (Kind::Many, 14),
    (Kind::Live, 8),
    (Kind::Repeat, 8),
    (Kind::Reuse, 2),
    (Kind::Later, 5),
    (Kind::Local, 2),
    (Kind::Cancel, 5),
    (Kind::Schedule, 3),
    (Kind::Unschedule, 1),
    (Kind::Change, 16),
    (Kind::Remove, 2),
    (Kind::Revoke, 2),
    (Kind::Opened, 3),
    (Kind::Clicked, 3),
    (Kind::Settle, 3),
    (Kind::Ask, 4),
    (Kind::Wrong, 2),
];

impl PushPlan {
    /// The seed's choices for the push platform.
    pub fn new(random: &mut Rng, shards: u16, is_alone: bool) -> PushPlan {
        let often = |random: &mut Rng, choices: &[u32]| choices[random.usize(..choices.len())];
        let apps = ["default", "shop"][..random.usize(1..3)].iter().map(|name| {
            let settings = AppSettings {
                register_at_connect: random.u8(..4) > 0,
                inbox_max: [3, 8, 100][random.usize(..3)],
                cap: (random.u8(..6) == 0).then(|| Cap { pushes: random.u16(1..5), within: 30_000 }),
                ..AppSettings::default()
            };
            (AppName::new(name).expect("a name"), settings)
        });
        let apps = apps.collect();
        let devices =
            (0..random.usize(2..9)).map(|at| DeviceId::new(&format!("d{at}")).expect("an id")).collect();
        let weights = ALL.iter().map(|&(kind, usual)| {
            let factor = match kind {
                Kind::Single | Kind::Many => often(random, &[1, 1, 2]),
                _ => often(random, &[0, 1, 1, 3]),
            };
            (kind, usual * factor)
        });
        let weights = weights.collect();
        PushPlan {
            apps,
            devices,
            weights,
            commands_max: if is_alone { [2, 4, 8][random.usize(..3)] } else { 2 },
            pushes_max: [20, 40, 60][random.usize(..3)],
            comes_and_goes: [2, 5, 20][random.usize(..3)],
            acknowledges: [100, 80, 30][random.usize(..3)],
            refuses: [0, 20][random.usize(..2)],
            answer_steps_max: [1, 4, 20][random.usize(..3)],
            expiry: [3_000, 60_000, 3_600_000][random.usize(..3)],
            messages: if shards > 1 { often(random, &[0, 12, 4]) } else { 0 },
            lose_one: often(random, &[0, 0, 40, 100]),
        }
    }

    /// The index of an app.
    pub fn app(&self, name: &AppName) -> Option<usize> {
        self.apps.iter().position(|(app, _)| app == name)
    }

    /// The index of a device.
    pub fn device(&self, id: &DeviceId) -> Option<usize> {
        self.devices.iter().position(|device| device == id)
    }
}
