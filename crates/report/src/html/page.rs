//! The page around a report: head, style, script, and how a table looks.
//!
//! The page forbids itself the network (Content-Security-Policy), so that what a server sent can fetch nothing.

use std::fmt::Write;

use super::escape::{escape, thin};
use crate::table::{News, Side, Table};

/// A page that is being written.
pub(crate) struct Page {
    head: String,
    /// What stands under the heading; already HTML.
    pub(crate) body: String,
}

impl Page {
    /// With a title and a line under it, both plain text.
    pub(crate) fn new(title: &str, subtitle: &str) -> Page {
        let (title, subtitle) = (escape(title), escape(subtitle));
        let style = include_str!("page.css");
        let head = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'\">\n<style>\n{style}</style>\n</head>\n<body>\n<header><div>\
             <p class=\"brand\">Stadium <span>load</span></p><p class=\"title\">{title}</p><p class=\"note\">{subtitle}</p></div>\
             <button id=\"theme\" type=\"button\" hidden aria-label=\"Theme: as the system\">◐</button></header>\n<main>\n"
        );
        Page { head, body: String::new() }
    }

    /// The whole file.
    pub(crate) fn finish(self) -> String {
        let script = include_str!("page.js");
        let Page { head, body } = self;
        format!(
            "{head}{body}\n</main>\n<button id=\"unzoom\" type=\"button\" hidden>Show all</button>\n\
             <script>\n{script}</script>\n</body>\n</html>\n"
        )
    }
}

/// Appends a table in a card; a table wider than the screen scrolls inside it.
pub(crate) fn table(out: &mut String, table: &Table) {
    write_table(out, table).expect("a String takes everything");
}

/// Columns of a table that leaves room for another beside it on a wide screen.
const NARROW_COLUMNS_MAX: usize = 5;

fn write_table(out: &mut String, table: &Table) -> std::fmt::Result {
    let size = if table.columns.len() <= NARROW_COLUMNS_MAX { " narrow" } else { "" };
    write!(out, "<section class=\"card{size}\"><h3>{}</h3>", escape(table.title))?;
    if !table.note.is_empty() {
        write!(out, "<p class=\"note\">{}</p>", thin(&escape(&table.note)))?;
    }
    out.push_str("<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>");
    let side = |side: Side| if side == Side::Left { " class=\"left\"" } else { "" };
    for column in &table.columns {
        write!(out, "<th scope=\"col\"{}>{}</th>", side(column.side), escape(column.name))?;
    }
    out.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        out.push_str("<tr>");
        for (index, (cell, column)) in row.iter().zip(&table.columns).enumerate() {
            let news = match cell.news {
                News::None => "",
                News::Good => " good",
                News::Bad => " bad",
            };
            let class = if column.side == Side::Left { "left" } else { "" };
            let (open, close) = if index == 0 { ("th scope=\"row\"", "th") } else { ("td", "td") };
            write!(out, "<{open} class=\"{class}{news}\">{}</{close}>", thin(&escape(&cell.text)))?;
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div></section>\n");
    Ok(())
}
