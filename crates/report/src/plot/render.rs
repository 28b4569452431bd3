//! A plot as HTML and SVG.
//!
//! Coordinates of the SVG are 0 to 1000 across and 0 to 200 down, with a tenth as the smallest step.

use std::fmt::Write;

use super::axis::Axis;
use super::{Across, Line, Plot, Style, nines, time_ticks};
use crate::html::escape::{escape, json, thin};

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 200.0;

/// Ticks of a time axis on a wide screen; a small one shows every second of them.
const TIME_TICKS: usize = 8;

impl Plot<'_> {
    /// Appends the plot to a page.
    pub(crate) fn render(&self, page: &mut String) {
        self.write(page).expect("a String takes everything");
    }

    fn write(&self, page: &mut String) -> std::fmt::Result {
        let stacked = self.stacked();
        let drawn = match &stacked {
            Some(tops) => tops,
            None => &self.lines.iter().map(|line| line.values.clone()).collect::<Vec<_>>(),
        };
        let axis = Axis::new(drawn.iter().flatten().filter_map(|value| *value), self.scale, self.unit);
        let group = if self.across == Across::Time { "time" } else { "nines" };
        let title = escape(&self.title);
        write!(
            page,
            "<figure class=\"plot {}\" data-group=\"{group}\"><figcaption><h3>{title}</h3>",
            self.size
        )?;
        write!(page, "<p class=\"note\">{}</p><output></output></figcaption>", escape(&self.note))?;
        self.legend(page)?;
        page.push_str("<div class=\"frame\"><div class=\"ticks-y\" aria-hidden=\"true\">");
        for (value, text) in &axis.ticks {
            let place = axis.place(*value).unwrap_or(0.0) * 100.0;
            write!(page, "<span style=\"bottom:{place:.2}%\">{}</span>", thin(&escape(text)))?;
        }
        page.push_str("</div><div class=\"area\">");
        write!(
            page,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{title}\">"
        )?;
        for (index, band) in self.bands.iter().enumerate().filter(|(index, _)| index % 2 == 1) {
            let (from, to) = (self.across(band.from), self.across(band.to));
            write!(
                page,
                "<rect class=\"band\" data-band=\"{index}\" x=\"{from:.1}\" y=\"0\" width=\"{:.1}\" height=\"{HEIGHT}\"/>",
                (to - from).max(0.0)
            )?;
        }
        for (value, _) in &axis.ticks {
            let y = down(&axis, *value).unwrap_or(HEIGHT);
            write!(page, "<path class=\"grid\" d=\"M0 {y:.1}H{WIDTH}\"/>")?;
        }
        for (index, line) in self.lines.iter().enumerate() {
            let path = match (&stacked, self.style) {
                (Some(tops), Style::Stacked) => {
                    let under = index.checked_sub(1).map(|below| tops[below].as_slice());
                    self.area(&axis, &tops[index], under)
                }
                _ => self.path(&axis, &line.values),
            };
            let kind = if self.style == Style::Stacked { "fill" } else { "line" };
            write!(page, "<path class=\"{kind} {}\" data-line=\"{index}\" d=\"{path}\"/>", line.class)?;
        }
        page.push_str("</svg>");
        for band in self.bands {
            let (from, to) = (self.across(band.from) / 10.0, self.across(band.to) / 10.0);
            let (name, wide) = (escape(&band.name), (to - from).max(0.0));
            write!(
                page,
                "<span class=\"band-name\" data-from=\"{}\" data-to=\"{}\" style=\"left:{from:.2}%;width:{wide:.2}%\">{name}</span>",
                short(band.from),
                short(band.to)
            )?;
        }
        page.push_str("</div><div class=\"ticks-x\" aria-hidden=\"true\">");
        let ticks = match self.across {
            Across::Time => time_ticks(self.ends.0, self.ends.1, TIME_TICKS),
            Across::Nines => nines(self.ends.1),
        };
        for (index, (at, text)) in ticks.iter().enumerate() {
            let minor = if index % 2 == 1 && ticks.len() > 4 { " class=\"minor\"" } else { "" };
            let place = self.across(*at) / 10.0;
            write!(page, "<span{minor} style=\"left:{place:.2}%\">{}</span>", thin(&escape(text)))?;
        }
        page.push_str("</div></div><script type=\"application/json\">");
        self.data(page)?;
        page.push_str("</script></figure>\n");
        Ok(())
    }

    fn legend(&self, page: &mut String) -> std::fmt::Result {
        page.push_str("<div class=\"legend\">");
        for (index, line) in self.lines.iter().enumerate() {
            let kind = if self.style == Style::Stacked { "fill" } else { "line" };
            write!(
                page,
                "<button type=\"button\" data-line=\"{index}\" aria-pressed=\"true\"><svg class=\"swatch\" viewBox=\"0 0 22 8\" aria-hidden=\"true\"><path class=\"{kind} {}\" d=\"{}\"/></svg><span>{}</span><b></b></button>",
                line.class,
                if self.style == Style::Stacked { "M0 0H22V8H0Z" } else { "M1 4H21" },
                escape(&line.name)
            )?;
        }
        page.push_str("</div>");
        Ok(())
    }

    /// Where something stands across, 0 to 1000.
    fn across(&self, at: f64) -> f64 {
        let length = self.ends.1 - self.ends.0;
        if length > 0.0 { ((at - self.ends.0) / length * WIDTH).clamp(0.0, WIDTH) } else { 0.0 }
    }

    fn points<'s>(
        &'s self,
        axis: &'s Axis,
        values: &'s [Option<f64>],
    ) -> impl Iterator<Item = Option<(f64, f64)>> + 's {
        self.at.iter().zip(values).map(|(at, value)| Some((self.across(*at), down(axis, (*value)?)?)))
    }

    /// A line, broken where nothing was measured; a lone value is a dot.
    fn path(&self, axis: &Axis, values: &[Option<f64>]) -> String {
        let mut path = String::new();
        let mut run = 0;
        for point in self.points(axis, values).chain([None]) {
            let Some((x, y)) = point else {
                if run == 1 {
                    path.push_str("h0.1");
                }
                run = 0;
                continue;
            };
            let _ = write!(path, "{}{} {}", if run == 0 { 'M' } else { 'L' }, short(x), short(y));
            run += 1;
        }
        path
    }

    fn area(&self, axis: &Axis, top: &[Option<f64>], under: Option<&[Option<f64>]>) -> String {
        let floor = |at: usize| under.and_then(|values| values[at]).unwrap_or(0.0);
        let mut path = String::new();
        let x = |at: usize| self.across(self.at[at]);
        for (at, value) in top.iter().enumerate() {
            let y = down(axis, value.unwrap_or(0.0)).unwrap_or(HEIGHT);
            let _ = write!(path, "{}{} {}", if at == 0 { 'M' } else { 'L' }, short(x(at)), short(y));
        }
        for at in (0..top.len()).rev() {
            let y = down(axis, floor(at)).unwrap_or(HEIGHT);
            let _ = write!(path, "L{} {}", short(x(at)), short(y));
        }
        path.push('Z');
        path
    }

    /// For a stacked plot: each line's upper edge.
    fn stacked(&self) -> Option<Vec<Vec<Option<f64>>>> {
        if self.style != Style::Stacked {
            return None;
        }
        let mut sum = vec![0.0; self.at.len()];
        let tops = self.lines.iter().map(|Line { values, .. }| {
            let top = sum.iter_mut().zip(values).map(|(sum, value)| {
                *sum += value.unwrap_or(0.0);
                Some(*sum)
            });
            top.collect()
        });
        Some(tops.collect())
    }

    /// What the script reads.
    fn data(&self, page: &mut String) -> std::fmt::Result {
        let list = |values: &mut dyn Iterator<Item = Option<f64>>| {
            let texts: Vec<String> = values
                .map(|value| {
                    value.filter(|value| value.is_finite()).map_or_else(|| "null".to_owned(), significant)
                })
                .collect();
            texts.join(",")
        };
        let at = list(&mut self.at.iter().copied().map(Some));
        write!(
            page,
            "{{\"unit\":\"{}\",\"ends\":[{},{}],\"at\":[{at}],\"lines\":[",
            self.unit.word(),
            self.ends.0,
            self.ends.1
        )?;
        for (index, line) in self.lines.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let values = list(&mut line.values.iter().copied());
            write!(page, "{comma}{{\"name\":{},\"values\":[{values}]}}", json(&line.name))?;
        }
        page.push_str("]}");
        Ok(())
    }
}

fn down(axis: &Axis, value: f64) -> Option<f64> {
    axis.place(value).map(|place| (1.0 - place) * HEIGHT)
}

/// With a tenth as the smallest step.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Five digits that mean something.
fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let places = 4 - value.abs().log10().floor() as i32;
    if places <= 0 { format!("{value:.0}") } else { format!("{:.1$}", value, places.min(12) as usize) }
}

#[cfg(test)]
mod tests {
    use super::super::{Across, Band, Line, Plot, Scale, Style, Unit};

    fn plot(bands: &[Band], style: Style, values: Vec<Vec<Option<f64>>>) -> String {
        let lines =
            values.into_iter().map(|values| Line { name: "<b>".to_owned(), class: "c1", values }).collect();
        let plot = Plot {
            title: "Rates".to_owned(),
            note: String::new(),
            unit: Unit::Rate,
            scale: Scale::Linear,
            style,
            across: Across::Time,
            ends: (0.0, 4.0),
            at: vec![1.0, 2.0, 3.0, 4.0],
            lines,
            bands,
            size: "",
        };
        let mut page = String::new();
        plot.render(&mut page);
        page
    }

    #[test]
    fn a_line_breaks_where_nothing_was_measured() {
        let page = plot(&[], Style::Lines, vec![vec![Some(4.0), None, Some(2.0), Some(0.0)]]);
        assert!(page.contains("d=\"M250 0h0.1M750 100L1000 200\""), "{page}");
        assert!(page.contains("\"values\":[4.0000,null,2.0000,0]"), "{page}");
    }

    #[test]
    fn areas_stand_on_those_before_them() {
        let page =
            plot(&[], Style::Stacked, vec![vec![Some(1.0); 4], vec![Some(3.0), None, Some(3.0), Some(3.0)]]);
        assert!(
            page.contains("d=\"M250 0L500 150L750 0L1000 0L1000 150L750 150L500 150L250 150Z\""),
            "{page}"
        );
    }

    #[test]
    fn names_are_escaped_in_the_page_and_in_the_data() {
        let band = Band { name: "</script>".to_owned(), from: 0.0, to: 2.0 };
        let page = plot(&[band], Style::Lines, vec![vec![Some(1.0); 4]]);
        assert!(
            !page.contains("<b>") || page.matches("<b>").count() == page.matches("<b></b>").count(),
            "{page}"
        );
        assert_eq!(page.matches("</script>").count(), 1, "{page}");
    }
}
