// Edits a selector clause by clause, beside its JSON: each change of the clauses writes the JSON, and the reverse.
//
// A group joins clauses with `and` or `or`; `not` negates a clause or a group. A clause without fields here stays as JSON, so that
// no part of a selector is lost.

import { element } from "./console.js";

/** The comparisons of an attribute, in words. */
const COMPARISONS = [
  ["equals", "is"], ["not_equals", "is not"], ["contains", "contains"], ["greater_than", "is greater than"], ["at_least", "is at least"], ["less_than", "is less than"],
  ["at_most", "is at most"], ["before", "is before"], ["after", "is after"], ["within_s", "is within the last, s"], ["exists", "is there (true, false)"],
];

const DAY_S = 86_400;

/** Clauses: key, words, fields; how JSON is read into fields (null: it is not this one) and made of them. */
const CLAUSES = [
  text("tag", "Tag", "vip, or loyalty:gold", (json) => (typeof json.tag === "string" && (json.group === undefined || typeof json.group === "string") ? (json.group ? `${json.group}:${json.tag}` : json.tag) : null), ["tag", "group"]),
  text("platform", "Platform", "ios"), text("language", "Language", "de"), text("country", "Country", "DE"), text("time_zone", "Time zone", "Europe/Berlin"),
  text("app_version", "App version", "2.3.1"), text("named_user", "Named user", "ada"), text("device", "Device", "phone-7"), text("list", "On the list", "beta"),
  {
    key: "attribute", words: "Attribute",
    read(json) {
      const { attribute, ...rest } = json, [how, more] = Object.keys(rest);
      if (typeof attribute !== "string" || !how || more || !COMPARISONS.some(([known]) => known === how) || typeof rest[how] === "object") return null;
      return { name: attribute, how, value: String(rest[how]), kind: typeof rest[how] };
    },
    make: ({ name = "", how = "equals", value = "", kind }) => ({ attribute: name, [how]: valueOf(how, value, kind) }),
    fields: [["name", "Name of the attribute", "score"], ["how", "Comparison", COMPARISONS], ["value", "Value", "10"]],
  },
  span("last_seen", "Last seen within"), span("registered", "Registered within"),
  {
    key: "opted_in", words: "Wants pushes", fields: [["value", "Wants pushes", [["true", "yes"], ["false", "no"]]]],
    read: (json) => (typeof json.opted_in === "boolean" && Object.keys(json).length === 1 ? { value: String(json.opted_in) } : null),
    make: ({ value = "true" }) => ({ opted_in: value === "true" }),
  },
];

function text(key, words, example, read, allowed = [key]) {
  return {
    key, words, fields: [["value", words, example]],
    read(json) {
      if (!Object.keys(json).every((name) => allowed.includes(name))) return null;
      const value = read ? read(json) : json[key];
      return typeof value === "string" ? { value } : null;
    },
    make: ({ value = "" }) => ({ [key]: value }),
  };
}

function span(key, words) {
  return {
    key, words, fields: [["value", "Days", "7"]],
    read: (json) => (Object.keys(json).length === 1 && Number.isFinite(json[key]?.within_s) && Object.keys(json[key]).length === 1 ? { value: String(json[key].within_s / DAY_S) } : null),
    make: ({ value = "" }) => ({ [key]: { within_s: Math.round(Number(value || 0) * DAY_S) } }),
  };
}

/** A value of an attribute. A text stays one where it was one; what was typed is a number where it reads as one. */
function valueOf(how, value, kind) {
  if (how === "exists") return value !== "false";
  if (how === "within_s") return Number(value || 0);
  if (how === "before" || how === "after" || how === "contains" || kind === "string") return value;
  return value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
}

// ---- Between JSON and the tree

/** Groups within groups that are built; deeper ones stay JSON. */
const DEPTH_MAX = 4;

function treeOf(json, depth = 0) {
  if (json !== null && typeof json === "object" && !Array.isArray(json)) {
    const keys = Object.keys(json);
    if (keys.length === 1 && keys[0] === "not") {
      const inner = treeOf(json.not, depth);
      return inner.not ? { raw: json } : { ...inner, not: true };
    }
    for (const join of ["and", "or"]) {
      if (keys.length === 1 && keys[0] === join && Array.isArray(json[join]) && depth < DEPTH_MAX) return { join, items: json[join].map((item) => treeOf(item, depth + 1)) };
    }
    for (const { key, read } of CLAUSES) {
      const fields = key in json ? read(json) : null;
      if (fields) return { key, fields };
    }
  }
  return { raw: json };
}

function jsonOf(node) {
  const json = "raw" in node ? node.raw : node.join ? { [node.join]: node.items.map(jsonOf) } : CLAUSES.find(({ key }) => key === node.key).make(node.fields);
  return node.not ? { not: json } : json;
}

/** The selector of the root: all where it is empty, its only clause where there is one. */
function selectorOf(root) {
  if (root.items.length === 0) return "all";
  return root.items.length === 1 && root.join === "and" && !root.not ? jsonOf(root.items[0]) : jsonOf(root);
}

function rootOf(json) {
  if (json === "all") return { join: "and", items: [] };
  const tree = treeOf(json);
  return tree.join && !tree.not ? tree : { join: "and", items: [tree] };
}

// ---- What is seen

/** Builds into an element; `changed` gets the selector as JSON after each change. Returns what shows a selector. */
export function builder(into, changed) {
  let root = rootOf("all");

  const tell = () => changed(selectorOf(root));
  const lay = () => { into.replaceChildren(group(root, null)); tell(); };

  function button(words, does, className = "small") {
    const made = element("button", className, words);
    made.type = "button";
    made.addEventListener("click", does);
    return made;
  }

  function choice(label, options, value, does) {
    const made = element("select");
    made.setAttribute("aria-label", label);
    made.append(...options.map(([one, words]) => {
      const option = element("option", "", words);
      option.value = one;
      return option;
    }));
    made.value = value;
    made.addEventListener("change", () => does(made.value));
    return made;
  }

  function turned(node, what) {
    const made = button("not", () => { node.not = !node.not; made.setAttribute("aria-pressed", node.not); tell(); });
    made.setAttribute("aria-pressed", Boolean(node.not));
    made.setAttribute("aria-label", `Not this ${what}`);
    return made;
  }

  function dropped(siblings, node, what) {
    const made = button("✕", () => { siblings.splice(siblings.indexOf(node), 1); lay(); });
    made.setAttribute("aria-label", `Take this ${what} out`);
    return made;
  }

  function group(node, siblings) {
    const box = element("div", siblings ? "group inner" : "group"), head = element("div", "clause");
    head.append(choice("How the clauses are joined", [["and", "All of"], ["or", "One of"]], node.join, (join) => { node.join = join; tell(); }));
    if (siblings) head.append(turned(node, "group"), dropped(siblings, node, "group"));
    box.append(head, ...node.items.map((item) => (item.join ? group(item, node.items) : clause(item, node.items))));
    if (!node.items.length) box.append(element("p", "note", siblings ? "Nothing yet." : "Everybody: no clause yet."));
    const tools = element("div", "actions");
    tools.append(button("+ Clause", () => { node.items.push({ key: "tag", fields: {} }); lay(); last(node); }), button("+ Group", () => { node.items.push({ join: node.join === "and" ? "or" : "and", items: [] }); lay(); }));
    box.append(tools);
    return box;
  }

  /** Puts the focus into the clause that was added. */
  function last() {
    [...into.querySelectorAll("select.which")].at(-1)?.focus();
  }

  function clause(node, siblings) {
    const row = element("div", "clause");
    row.append(turned(node, "clause"));
    if ("raw" in node) {
      const raw = element("code", "raw", JSON.stringify(node.raw));
      raw.title = "Change it as JSON";
      row.append(raw);
    } else {
      const about = CLAUSES.find(({ key }) => key === node.key);
      const which = choice("What it asks for", CLAUSES.map(({ key, words }) => [key, words]), node.key, (key) => {
        Object.assign(node, { key, fields: {} });
        lay();
      });
      which.classList.add("which");
      row.append(which, ...about.fields.map(([name, label, example]) => field(node, name, label, example)));
    }
    row.append(dropped(siblings, node, "clause"));
    return row;
  }

  function field(node, name, label, example) {
    if (Array.isArray(example)) {
      node.fields[name] ??= example[0][0];
      return choice(label, example, node.fields[name], (value) => { node.fields[name] = value; tell(); });
    }
    const made = element("input");
    Object.assign(made, { value: node.fields[name] ?? "", placeholder: example, autocomplete: "off", spellcheck: false });
    made.setAttribute("aria-label", label);
    made.addEventListener("input", () => {
      node.fields[name] = made.value;
      // A text that is changed may become a number.
      delete node.fields.kind;
      tell();
    });
    return made;
  }

  return {
    /** Shows a selector, without telling of a change. */
    show(json) {
      root = rootOf(json);
      into.replaceChildren(group(root, null));
    },
  };
}
