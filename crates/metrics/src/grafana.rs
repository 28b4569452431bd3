//! A dashboard as the JSON that Grafana imports or provisions.
//!
//! The layout is a grid of 24 columns: numbers are 4 wide, lines 8, so that neither leaves a gap in
//! a full row.

use serde_json::{Value, json};

use crate::dashboard::{Dashboard, Panel, Shape, query};
use crate::definition::Definition;
use crate::page::names;
use crate::table;

/// Columns of Grafana's grid.
const COLUMNS: u64 = 24;

/// The JSON of a dashboard. It asks for its data source when it is imported.
pub fn json(dashboard: &Dashboard) -> Value {
    let mut panels = Vec::new();
    let mut below = 0;
    for row in dashboard.rows {
        panels.push(json!({
            "type": "row", "id": panels.len() + 1, "title": row.title, "collapsed": false, "panels": [],
            "gridPos": { "x": 0, "y": below, "w": COLUMNS, "h": 1 },
        }));
        below += 1;
        let (mut x, mut tallest) = (0, 0);
        for panel in row.panels {
            let (w, h) = size(panel.shape);
            if x + w > COLUMNS || tallest > h {
                (x, below, tallest) = (0, below + tallest, 0);
            }
            panels.push(self::panel(panel, panels.len() + 1, [x, below, w, h]));
            (x, tallest) = (x + w, tallest.max(h));
        }
        below += tallest;
    }
    json!({
        "uid": format!("stadium-{}", dashboard.name),
        "title": format!("Stadium: {}", dashboard.title),
        "tags": ["stadium"],
        "schemaVersion": 39,
        "version": 1,
        "editable": true,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": { "from": "now-1h", "to": "now" },
        "timepicker": {},
        "timezone": "browser",
        "annotations": { "list": [] },
        "links": [{
            "title": "Stadium", "type": "dashboards", "tags": ["stadium"], "asDropdown": true,
            "includeVars": true, "keepTime": true, "targetBlank": false, "icon": "external link", "tooltip": "", "url": "",
        }],
        "templating": { "list": [
            { "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0,
              "includeAll": false, "multi": false, "refresh": 1, "regex": "" },
            variable("job", "Job", "label_values(stadium_build_info, job)", false),
            variable("instance", "Instance", "label_values(stadium_build_info{job=\"$job\"}, instance)", true),
        ] },
        "panels": panels,
    })
}

fn size(shape: Shape) -> (u64, u64) {
    match shape {
        Shape::Lines => (8, 8),
        Shape::Number | Shape::Light => (4, 4),
    }
}

fn variable(name: &str, label: &str, query: &str, several: bool) -> Value {
    json!({
        "name": name, "label": label, "type": "query", "hide": 0, "refresh": 2, "regex": "", "sort": 1,
        "datasource": source(), "query": { "query": query, "refId": name },
        "includeAll": several, "multi": several, "allValue": if several { json!(".*") } else { Value::Null },
    })
}

fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

fn panel(panel: &Panel, id: usize, [x, y, w, h]: [u64; 4]) -> Value {
    let targets: Vec<Value> = panel
        .queries
        .iter()
        .enumerate()
        .map(|(index, (template, legend))| {
            let name = char::from(b'A' + u8::try_from(index).expect("a panel has a few queries"));
            json!({
                "refId": name.to_string(),
                "expr": query(template, "$job", "$instance", "$__rate_interval"),
                "legendFormat": legend.replace('{', "{{").replace('}', "}}"),
                "datasource": source(),
                "editorMode": "code",
                "range": panel.shape == Shape::Lines,
                "instant": panel.shape != Shape::Lines,
            })
        })
        .collect();
    let mut defaults =
        json!({ "unit": panel.unit, "min": 0, "mappings": [], "color": { "mode": "palette-classic" } });
    if panel.shape == Shape::Light {
        defaults["mappings"] = json!([{ "type": "value", "options": {
            "0": { "text": "No", "color": "red", "index": 0 },
            "1": { "text": "Yes", "color": "green", "index": 1 },
        } }]);
        defaults["color"] = json!({ "mode": "thresholds" });
        defaults["thresholds"] = json!({ "mode": "absolute", "steps": [
            { "color": "red", "value": null }, { "color": "green", "value": 1 },
        ] });
    }
    let (kind, options) = match panel.shape {
        Shape::Lines => {
            defaults["custom"] =
                json!({ "drawStyle": "line", "lineWidth": 1, "fillOpacity": 8, "showPoints": "never" });
            (
                "timeseries",
                json!({
                    "legend": { "displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": [] },
                    "tooltip": { "mode": "multi", "sort": "desc" },
                }),
            )
        }
        Shape::Number | Shape::Light => (
            "stat",
            json!({
                "reduceOptions": { "calcs": ["lastNotNull"], "fields": "", "values": false },
                "colorMode": if panel.shape == Shape::Light { "background" } else { "value" },
                "graphMode": "none", "justifyMode": "auto", "orientation": "auto", "textMode": "value",
            }),
        ),
    };
    json!({
        "type": kind, "id": id, "title": panel.title, "description": description(panel),
        "gridPos": { "x": x, "y": y, "w": w, "h": h },
        "datasource": source(), "targets": targets,
        "fieldConfig": { "defaults": defaults, "overrides": [] },
        "options": options,
    })
}

/// The help of the metrics that a panel shows, and what to do when they rise.
fn description(panel: &Panel) -> String {
    let shown = |definition: &&Definition| {
        let series = definition.series();
        panel.queries.iter().any(|(query, _)| names(query).any(|name| series.iter().any(|one| one == name)))
    };
    let mut text = Vec::new();
    for row in table::rows().filter(shown) {
        text.push(format!("**{}**: {}. {} {}", row.family(), row.help, row.rises, row.act));
    }
    text.join("\n\n")
}
