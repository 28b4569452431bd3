// Asks back before a change, above all before one that cannot be undone.
//
// All pages share one dialog, which is in the frame. The worst changes require the name of the thing to be typed.

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
  // Enter would press the first button of the form, which is no.
  at("confirm-name").onkeydown = (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    at("confirm-yes").click();
  };
  allowed();
  at("confirm").showModal();
  // Enter alone must not confirm a change that cannot be undone.
  if (danger && type === null) at("confirm-form").querySelector("[value=no]").focus();
  // Not the dialog's `close`, which comes later, when it may be open again for another question.
  return new Promise((resolve) => {
    at("confirm-form").onsubmit = (event) => {
      const yes = event.submitter === at("confirm-yes");
      resolve(yes && (choices ? { choice: at("confirm-state").value } : true));
    };
    at("confirm").oncancel = () => resolve(false);
  });
}
