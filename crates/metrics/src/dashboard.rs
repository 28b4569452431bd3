//! Dashboards as they are defined: rows of panels, each with its queries.
//!
//! In a query `{$}` stands for the selector of the chosen job and instances, `{$, …}` for that and
//! more matchers.

/// A dashboard of Grafana.
#[derive(Debug)]
pub struct Dashboard {
    /// The file's name without `.json`, and the end of the dashboard's id.
    pub name: &'static str,
    /// Its title, after *Stadium*.
    pub title: &'static str,
    /// Its rows, from the top.
    pub rows: &'static [Row],
}

/// A heading and the panels below it.
#[derive(Debug)]
pub struct Row {
    /// The heading.
    pub title: &'static str,
    /// The panels, from left to right.
    pub panels: &'static [Panel],
}

/// A graph or a number.
#[derive(Debug)]
pub struct Panel {
    /// Its title.
    pub title: &'static str,
    /// How it looks.
    pub shape: Shape,
    /// The unit, as Grafana names it.
    pub unit: &'static str,
    /// Query and legend of each series; labels in the legend are written `{label}`.
    pub queries: &'static [(&'static str, &'static str)],
}

/// How a panel looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Lines over time.
    Lines,
    /// One number, a quarter as wide as a row of numbers.
    Number,
    /// One number that is 1 while all is well, shown as words.
    Light,
}

/// The rows of a dashboard.
macro_rules! dashboard {
    ($name:literal $title:literal $(
        $row:literal { $($shape:ident $panel:literal in $unit:literal { $($query:literal => $legend:literal),+ })+ }
    )+) => {
        use $crate::dashboard::{Dashboard, Panel, Row, Shape};
        /// The dashboard of this file.
        pub(super) const DASHBOARD: Dashboard = Dashboard { name: $name, title: $title, rows: &[$(
            Row { title: $row, panels: &[$(
                Panel { title: $panel, shape: Shape::$shape, unit: $unit, queries: &[$(($query, $legend)),+] }
            ),+] }
        ),+] };
    };
}
pub(crate) use dashboard;

impl Dashboard {
    /// All its panels.
    pub fn panels(&self) -> impl Iterator<Item = &'static Panel> {
        self.rows.iter().flat_map(|row| row.panels)
    }
}

/// A query for one job and the instances that a regular expression matches; `window` is the range
/// of its rates.
pub fn query(template: &str, job: &str, instance: &str, window: &str) -> String {
    let chosen = format!("{{job=\"{job}\", instance=~\"{instance}\"");
    template.replace("{$", &chosen).replace("[$]", &format!("[{window}]"))
}
