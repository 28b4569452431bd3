// Asks back before something is done, above all before what cannot be undone.
//
// One dialog for all pages, in the frame. The worst things ask for the name of the thing to be typed.

import { at, element, show } from "./console.js";

/**
 * Asks back. The answer is true, or `{ choice }` where there are choices; false where it is no.
 *
 * `choices`: [[value, words]], of which one is chosen; `type`: the text that has to be typed before yes is possible.
 */
export function confirmed({ title, text, yes, danger = false, choices = null, choice = "Which", type = null }) {
  show("confirm-title", title);
  show("confirm-text", text);
  show("confirm-yes", yes);
  at("confirm-yes").className = danger ? "danger" : "";
  at("confirm-choice").hidden = choices === null;
  show("confirm-choice-label", choice);
  at("confirm-state").replaceChildren(...(choices ?? []).map(([value, name]) => {
    const option = element("option", "", name);
    option.value = value;
    return option;
  }));
  at("confirm-type").hidden = type === null;
  show("confirm-typed", type ?? "");
  at("confirm-name").value = "";
  const allowed = () => { at("confirm-yes").disabled = type !== null && at("confirm-name").value !== type; };
  at("confirm-name").oninput = allowed;
  allowed();
  at("confirm").showModal();
  // Enter must not do by accident what cannot be undone.
  if (danger && type === null) at("confirm-form").querySelector("[value=no]").focus();
  // Not the dialog's `close`, which comes later, when it may be open again for another question.
  return new Promise((resolve) => {
    at("confirm-form").onsubmit = (event) => {
      // Enter in the field presses the first button, which is no: it means yes where yes is possible.
      const typed = event.submitter !== at("confirm-yes") && document.activeElement === at("confirm-name");
      const yes = event.submitter === at("confirm-yes") || (typed && !at("confirm-yes").disabled);
      resolve(yes && (choices ? { choice: at("confirm-state").value } : true));
    };
    at("confirm").oncancel = () => resolve(false);
  });
}
