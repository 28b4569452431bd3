// Pages of a list that the API gives by cursors, in both directions.
//
// The API names the next page only. The cursors of the pages before are kept here, for the way back.

import { at, show } from "./console.js";

/** `back`, `on`, `says`: ids of the buttons and of the line beside them; `refresh`: shows the page of the cursor. */
export function paging({ back = "back", on = "on", says = "page-says", refresh }) {
  let before = [], here = null, next = null;
  at(back).addEventListener("click", () => {
    here = before.pop() ?? null;
    refresh();
  });
  at(on).addEventListener("click", () => {
    before.push(here);
    here = next;
    refresh();
  });
  return {
    /** The cursor of the page to ask for; null for the first. */
    get cursor() { return here; },
    /** Begins at the first page again. */
    reset() { [before, here, next] = [[], null, null]; },
    /** A page came: the cursor of the next one, and the line beside the buttons. */
    came(cursor, text = "") {
      next = cursor ?? null;
      at(back).disabled = before.length === 0;
      at(on).disabled = next === null;
      show(says, `${text}${text ? " · " : ""}Page ${before.length + 1}`);
    },
  };
}
