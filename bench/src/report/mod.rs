//! Results with plots: one HTML file with everything in it, without scripts.
//!
//! What a bench shows is its own business; the frame, the bars of a rate and the table of figures are the same for all. How plots
//! are drawn is in [`plot`].

use std::fmt::Write as _;

use crate::figure::{Better, Contender, Figure, Samples, shown};

pub(crate) mod plot;

use plot::{Bar, Mark};

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;color:#1d2733;background:#fff;max-width:880px;margin:32px auto;padding:0 20px}\
h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:36px 0 2px}p{margin:4px 0 10px;color:#52606d}\
svg{display:block;width:100%;height:auto;font:13px system-ui,sans-serif}\
table{border-collapse:collapse;width:100%;font-size:14px}th,td{text-align:left;padding:6px 10px 6px 0;vertical-align:top;\
border-bottom:1px solid #e4e9ee}th{font-weight:600}td.n,th.n{text-align:right;white-space:nowrap}\
.missed{color:#b3261e;font-weight:600}.ink{fill:#1d2733}.soft{fill:#6b7885}.grid{stroke:#e4e9ee}.axis{stroke:#9aa7b4}\
.ours{fill:#0b6e4f;stroke:#0b6e4f}.peer{fill:#8fa3b7;stroke:#8fa3b7}.whisker{stroke:#1d2733}\
.must{stroke:#c77700;stroke-dasharray:5 4}.limit{stroke:#7a3fc0;stroke-dasharray:2 3}.mustink{fill:#c77700}.limitink{fill:#7a3fc0}";

/// Begins a page.
pub(crate) fn begin(title: &str, what: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{0}</title><style>{STYLE}</style>\n<h1>{0}</h1>\n<p>{1}</p>\n",
        plot::escaped(title),
        plot::escaped(what)
    )
}

/// A plot with what it shows.
pub(crate) fn section(html: &mut String, title: &str, what: &str, plot: &str) {
    let _ = writeln!(html, "<h2>{}</h2>\n<p>{}</p>\n{plot}", plot::escaped(title), plot::escaped(what));
}

/// Bars of a sample, the highest first; none where nobody has it.
pub(crate) fn bars<K: Contender>(
    samples: &Samples<K>,
    sample: &str,
    contenders: impl Iterator<Item = K>,
    product: K,
    marks: &[Mark],
) -> Option<String> {
    let mut bars: Vec<Bar<'_>> = contenders
        .filter_map(|contender| {
            let (runs, value) = (samples.runs(sample, contender), samples.median(sample, contender)?);
            Some(Bar { name: contender.name(), is_ours: contender == product, value, runs })
        })
        .collect();
    bars.sort_by(|one, other| other.value.total_cmp(&one.value));
    (!bars.is_empty()).then(|| plot::bars(&bars, marks))
}

/// The table of figures, and the end of the page.
pub(crate) fn end<K: Contender>(html: &mut String, figures: &[Figure], peers: &[K]) {
    html.push_str(
        "<h2>Figures</h2>\n<table><tr><th>figure</th><th class=n>stadium</th><th class=n>must</th><th class=n>aim</th>\
         <th class=n>best peer</th><th>reached</th></tr>\n",
    );
    for figure in figures {
        let optional = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), shown);
        let verdict = figure.verdict().replace("**", "");
        let class = if verdict == "missed" { " class=missed" } else { "" };
        let best = peers.iter().filter_map(|peer| figure.peers.get(peer.name()).copied());
        let best = match figure.better {
            Better::Higher => best.reduce(f64::max),
            Better::Lower => best.reduce(f64::min),
        };
        let _ = writeln!(
            html,
            "<tr><td>{}, {}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td{class}>{verdict}\
             </td></tr>",
            plot::escaped(&figure.figure),
            figure.unit,
            optional(figure.value),
            optional(figure.must),
            optional(figure.aim),
            optional(best),
        );
    }
    html.push_str("</table>\n</html>\n");
}
