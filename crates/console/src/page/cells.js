// Cells of tables that several pages share: words, figures, links that head a row.

import { cell, count, element } from "./console.js";

/** A cell of words, left out on phones where there are none. */
export const word = (text, label) => {
  const made = cell(text || "–", label, text ? "text" : "text nothing");
  if (text) made.title = text;
  return made;
};

/** A cell of figures, faint where it is nothing. */
export const figure = (n, label) => cell(count(n), label, n ? "" : "nothing");

/** A cell with a link in it, which heads its row. */
export function headLink(text, href) {
  const head = element("th"), link = element("a", "", text);
  head.scope = "row";
  head.title = text;
  link.href = href;
  head.append(link);
  return head;
}

/** A row below another one that says why it is as it is, over so many columns. */
export function reasonRow(sentence, columns) {
  const row = element("tr", "reason"), made = element("td", "", sentence);
  made.colSpan = columns;
  made.setAttribute("role", "status");
  row.append(made);
  return row;
}
