// Keys, sheets and the links at the head of Curate.
"use strict";
Object.assign(window.realign, (() => {
  const { make, fresh, say, clock, settled, carrying, justDrawn } = window.realign;
  const STORED = "realign-keys";

  let actions = [];
  let fixed = [];
  let chosen = { off: false, map: {} };
  try {
    chosen = { ...chosen, ...JSON.parse(localStorage.getItem(STORED) || "{}") };
  } catch {
    localStorage.removeItem(STORED);
  }

  const keyOf = (action) => chosen.map[action.name] ?? action.key;
  const cap = (key) => ({ " ": say("Space"), arrowleft: "←", arrowright: "→", arrowup: "↑", arrowdown: "↓" })[key] ?? (key.length === 1 ? key.toUpperCase() : key);

  const store = () => {
    localStorage.setItem(STORED, JSON.stringify(chosen));
    showCaps();
  };
  // The key stands on every button that has one.
  const showCaps = () => {
    const sheet = document.getElementById("r-caps") || document.head.appendChild(Object.assign(make("style"), { id: "r-caps" }));
    const rules = actions.filter((action) => action.button && !chosen.off).map((action) => `#${action.button}::after { content:${JSON.stringify(cap(keyOf(action)))}; }`);
    sheet.textContent = rules.join("\n");
  };

  // The keys of actions that have no button of their own, as small caps beside what they do.
  const caps = (...names) => {
    const box = make("span", "r-caps");
    if (chosen.off) return box;
    for (const name of names) {
      const action = actions.find((one) => one.name === name);
      if (action) box.append(make("span", "", cap(keyOf(action))));
    }
    box.setAttribute("aria-hidden", "true");
    return box;
  };

  const visible = (node) => node && node.offsetParent !== null && !node.disabled;
  const press = async (id) => {
    await settled();
    const button = document.getElementById(id);
    if (visible(button)) button.click();
  };

  // --- sheets -------------------------------------------------------------------------------------------------------

  const sheet = (title, ...content) => {
    document.querySelector(".r-sheet")?.close();
    const box = make("dialog", "r-sheet");
    const heading = make("h2", "", say(title));
    heading.id = "r-sheet-title";
    const close = make("button", "r-link", say("Close"));
    close.type = "button";
    close.addEventListener("click", () => box.close());
    const head = make("div", "r-head");
    head.append(heading, close);
    close.classList.add("r-right");
    box.setAttribute("aria-labelledby", heading.id);
    box.append(head, ...content);
    box.addEventListener("click", (event) => event.target === box && box.close());
    box.addEventListener("close", () => box.remove());
    document.querySelector(".gradio-container").append(box);
    box.showModal();
    return box;
  };

  const openKeys = () => {
    const list = make("div", "r-keys");
    const draw = () => {
      list.replaceChildren();
      for (const action of actions) {
        const row = make("div", "r-row");
        const button = make("button", "r-cap", cap(keyOf(action)));
        button.type = "button";
        button.setAttribute("aria-label", say(["Change the key for: {what}", { what: action.what }]));
        button.addEventListener("click", () => {
          button.textContent = say("press a key");
          button.addEventListener("keydown", (event) => {
            event.preventDefault();
            event.stopPropagation();
            if (["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
            const told = take(action, event.key);
            draw();
            list.querySelectorAll("button")[actions.indexOf(action)].focus();
            changedKeys.textContent = told;
          });
        });
        row.append(make("span", "r-key", say(action.what)), button);
        list.append(row);
      }
      for (const [keys, what] of fixed) {
        const row = make("div", "r-row");
        row.append(make("span", "r-key", say(what)), make("span", "r-cap", keys));
        list.append(row);
      }
    };
    // A key does one thing: the action that had it takes the one that becomes free.
    const take = (action, pressed) => {
      const key = pressed.length === 1 ? pressed.toLowerCase() : pressed.toLowerCase();
      if (key === "escape" || key === "tab" || key === "enter" || /^[1-9]$/.test(key)) return say("This key cannot be changed.");
      const holder = actions.find((other) => other !== action && keyOf(other) === key);
      if (holder) chosen.map[holder.name] = keyOf(action);
      chosen.map[action.name] = key;
      store();
      return [action, holder].filter(Boolean).map((one) => say(["{what}: now {key}", { what: one.what, key: cap(keyOf(one)) }])).join(" · ");
    };
    const changedKeys = make("p", "r-note");
    changedKeys.setAttribute("role", "status");
    const on = make("label", "r-switch");
    const box = make("input");
    box.type = "checkbox";
    box.id = "keys-on";
    box.checked = !chosen.off;
    box.addEventListener("change", () => {
      chosen.off = !box.checked;
      store();
    });
    on.append(box, document.createTextNode(` ${say("Keys are on")}`));
    const reset = make("button", "r-link", say("Keys as they came"));
    reset.type = "button";
    reset.addEventListener("click", () => {
      chosen = { off: false, map: {} };
      box.checked = true;
      store();
      draw();
    });
    const foot = make("div", "r-head");
    foot.append(on, reset);
    draw();
    sheet("Keys", make("p", "r-note", say("Press a key's button and then another key to change it.")), changedKeys, list, foot);
  };

  const openGuidelines = () => {
    const text = make("div", "r-text r-rendered r-whole");
    text.tabIndex = 0;
    text.append(window.realign.tree(head.guidelines));
    sheet("Guidelines", text);
  };

  // A flag says why: a listed reason at one press, or a comment.
  let flagging = false;
  const openFlag = () => {
    const box = make("div", "r-chips");
    const comment = make("input", "r-comment");
    comment.placeholder = `${say("Comment")} …`;
    comment.setAttribute("aria-label", say("Comment"));
    const done = (name) => {
      if (!name && !comment.value.trim()) return comment.focus();
      opened.close();
      window.realign.flagWith(name, comment.value);
      flagging = true;
      document.getElementById("flag").click();
      flagging = false;
    };
    (window.realign.form().flag_reasons || []).forEach((name, at) => {
      const chip = make("button", "r-chip", `${at + 1} · ${say(name)}`);
      chip.type = "button";
      chip.addEventListener("click", () => done(name));
      box.append(chip);
    });
    const own = make("button", "r-button primary", say("Flag"));
    own.type = "button";
    own.addEventListener("click", () => done(""));
    const opened = sheet("Why is it flagged?", comment, make("p", "r-note", say("A number flags at once; write a comment first, if any.")), box, own);
    box.querySelector("button")?.focus();
    opened.addEventListener("keydown", (event) => {
      if (event.target === comment) {
        if (event.key === "Enter" && !event.isComposing) done("");
        return;
      }
      const chip = box.children[Number(event.key) - 1];
      if (chip && !event.repeat) {
        event.preventDefault();
        chip.click();
      }
    });
  };

  // --- asking for revisions -----------------------------------------------------------------------------------------

  let askFor = null;
  const ask = (element, value, send) => {
    fresh(element);
    askFor = value && value.templates ? { value, send } : null;
  };
  const openAsk = () => {
    if (!askFor) return;
    const { value, send } = askFor;
    const field = (label, input) => {
      const row = make("label", "r-ask");
      row.append(make("span", "r-note", say(label)), input);
      return row;
    };
    const input = (type, settings) => Object.assign(make("input"), { type, ...settings });
    const words = make("textarea");
    words.rows = 2;
    words.maxLength = value.longest;
    words.id = "ask-instruction";
    words.placeholder = say("shorter, keep the code");
    const n = input("number", { min: 1, max: value.most, value: 1, id: "ask-n" });
    const heat = input("number", { min: 0, max: 2, step: 0.1, value: 0.7, id: "ask-temperature" });
    const seed = input("number", { min: 0, placeholder: say("a new one"), id: "ask-seed" });
    const template = make("select");
    for (const [name, what] of value.templates) template.append(Object.assign(make("option", "", name), { value: name, title: what }));
    const go = make("button", "r-button primary", say("Write"));
    go.type = "button";
    go.id = "ask-go";
    const write = () => {
      opened.close();
      window.realign.keep();
      send("ask", {
        instruction: words.value,
        n: Number(n.value) || 1,
        temperature: Number(heat.value),
        template: template.value,
        seed: seed.value === "" ? null : Number(seed.value),
      });
    };
    go.addEventListener("click", write);
    words.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      write();
    });
    const row = make("div", "r-asks");
    row.append(field("How many", n), field("Temperature", heat), field("Seed", seed), field("Template", template));
    const opened = sheet("Ask for revisions", field("What should be different?", words), row, go);
    words.focus();
  };

  // --- what stands around -------------------------------------------------------------------------------------------

  let head = { guidelines: [], actions: [], fixed: [] };
  const links = (element, value, send) => {
    if (!value || !value.actions) return;
    head = value;
    ({ actions, fixed } = value);
    const root = fresh(element);
    root.classList.add("r-links");
    const link = (id, words, does, title) => {
      const button = make("button", "r-link", words);
      button.type = "button";
      button.id = id;
      if (title) button.title = title;
      button.addEventListener("click", does);
      root.append(button);
      return button;
    };
    link("view", say(value.rendered ? "Rendered" : "Raw"), () => send("view", { rendered: !value.rendered }), say("Raw or rendered text")).setAttribute("aria-pressed", String(Boolean(value.rendered)));
    link("history-open", say("History"), () => send("history", {}));
    link("guidelines-open", say("Guidelines"), openGuidelines);
    link("keys-open", say("Keys"), openKeys);
    showCaps();
  };

  const history = (element, value) => {
    fresh(element);
    if (!value || !value.at || value.at === element.dataset.at) return;
    element.dataset.at = value.at;
    const list = make("div", "r-versions");
    if (!value.rows.length) list.append(make("p", "r-empty", say("Nothing was written or decided here yet.")));
    for (const row of value.rows) {
      const part = make("details", "r-version");
      const line = make("summary");
      line.append(make("strong", "", say(row.what)), make("span", "r-note", row.note), make("span", "r-right r-note", new Date(row.when).toLocaleString()));
      const text = make("div", "r-text", row.text);
      text.dir = "auto";
      part.append(line, text);
      list.append(part);
    }
    sheet("History", list);
  };

  // The first visit: three sentences, each beside what it speaks of. A decision or Close ends it for good.
  const TOLD = "realign-told";
  const STEPS = [
    ["#draft, #revision", "Left is what the policy wrote, right is how the reviser would put it."],
    ["#changes, #final", "Each change is a switch: click it to refuse it. The final text follows, and you can write in it."],
    [".r-actions", "Accept what you would rather receive, or say that the draft is better. Everything is saved at once."],
  ];
  const tour = (element) => {
    const root = fresh(element);
    const frame = element.closest(".block") || element;
    const show = (at) => {
      for (const node of document.querySelectorAll(".r-told")) node.classList.remove("r-told");
      root.replaceChildren();
      frame.hidden = at >= STEPS.length || localStorage.getItem(TOLD) !== null;
      if (frame.hidden) return;
      const [place, words] = STEPS[at];
      for (const node of document.querySelectorAll(place)) node.classList.add("r-told");
      const next = make("button", "r-link", say(at + 1 < STEPS.length ? "Next" : "Begin"));
      const close = make("button", "r-link", say("Close"));
      const end = () => {
        localStorage.setItem(TOLD, "yes");
        show(STEPS.length);
      };
      next.type = close.type = "button";
      next.addEventListener("click", () => (at + 1 < STEPS.length ? show(at + 1) : end()));
      close.addEventListener("click", end);
      const line = make("p", "r-tour", `${at + 1} · ${say(words)} `);
      line.append(next, close);
      root.append(line);
      toldAll = end;
    };
    show(0);
  };
  let toldAll = () => {};

  let fading = 0;
  const tell = (words) => said(document.getElementById("said"), { text: words });
  const said = (element, value) => {
    const root = fresh(element);
    root.setAttribute("role", "status");
    root.setAttribute("aria-live", "polite");
    if (!value || !(value.text || value.failed)) return;
    clearTimeout(fading);
    if (value.failed) {
      const box = make("div", "r-failure");
      box.setAttribute("role", "alert");
      const close = make("button", "r-link", say("Close"));
      close.type = "button";
      close.addEventListener("click", () => root.replaceChildren());
      box.append(make("strong", "", say("This did not work")), make("p", "", value.failed), close);
      root.append(box);
      return;
    }
    if (value.saved) toldAll();
    const words = value.saved ? say(["{what} · saved {at}", { what: value.text, at: clock(value.saved) }]) : say(value.text);
    root.append(make("span", "r-said", words));
    fading = setTimeout(() => root.replaceChildren(), 4000);
  };

  // --- listening ----------------------------------------------------------------------------------------------------

  const typing = (node) => node.isContentEditable || /^(TEXTAREA|SELECT)$/.test(node.tagName) || (node.tagName === "INPUT" && !/^(radio|checkbox|button|range)$/.test(node.type));
  const step = (by) => {
    const hunks = [...document.querySelectorAll("#changes .r-hunk")].filter((node) => node.offsetParent !== null);
    if (!hunks.length) return;
    const at = hunks.indexOf(document.activeElement);
    const to = hunks[at < 0 ? (by > 0 ? resume(hunks) : hunks.length - 1) : (at + by + hunks.length) % hunks.length];
    to.focus();
    place = to.dataset.index;
  };
  // After a visit to the text, the next edit follows the one that was left.
  let place = null;
  const fromTheFirst = () => (place = null);
  const resume = (hunks) => {
    const at = hunks.findIndex((node) => node.dataset.index === place);
    return at < 0 ? 0 : (at + 1) % hunks.length;
  };

  const focusOn = (selector) => {
    const node = document.querySelector(selector);
    if (visible(node)) node.focus();
    return visible(node);
  };
  const own = {
    "next-edit": () => step(1),
    "previous-edit": () => step(-1),
    toggle: () => {
      const hunk = document.activeElement.closest?.(".r-hunk");
      if (hunk) hunk.click();
      else step(1); // shows which edit the next press is for
    },
    task: () => document.querySelector("#task input:not(:checked)")?.click(),
    "accept-all": () => window.realign.allEdits(false),
    "refuse-all": () => window.realign.allEdits(true),
    edit: () => {
      window.realign.closeAgainst();
      focusOn("#final textarea");
    },
    against: () => window.realign.askAgainst(),
    comment: () => focusOn("#work .r-comment"),
    rate: () => focusOn("#work .r-rating button"),
    "previous-revision": () => press("previous-revision"),
    "next-revision": () => press("next-revision"),
  };
  // A key that the focused control needs for itself is left to it.
  const needed = (target, key) => {
    if (target.closest(".r-hunk")) return false;
    if (key === " ") return target.closest("button, a, summary, input, [role=button], [role=tab], [role=radio]") !== null;
    return key.startsWith("arrow") && target.closest("[role=tablist], [role=radiogroup], input, .r-text") !== null;
  };

  const edits = (event) => {
    const key = event.key.toLowerCase();
    if (!(event.ctrlKey || event.metaKey) || !"zy".includes(key) || document.querySelector("#work .r-field") === null) return false;
    if (typing(event.target) && !event.target.closest("#final .r-field")) return false;
    event.preventDefault();
    if (key === "y" || event.shiftKey) window.realign.redoEdit();
    else window.realign.undoEdit();
    return true;
  };

  const listen = () => {
    document.addEventListener("keydown", (event) => {
      if (event.isComposing || event.keyCode === 229 || event.altKey || document.querySelector("dialog[open]")) return;
      const curating = visible(document.getElementById("accept"));
      if (curating && edits(event)) return;
      if (event.repeat && event.key !== "j" && event.key !== "k") return;
      if (event.key === "Escape") {
        document.querySelector(".r-failure")?.remove();
        if (typing(event.target)) event.target.blur();
        else window.realign.closeAgainst();
        return;
      }
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.closest("#final")) {
        event.preventDefault();
        event.target.blur();
        press("accept");
        return;
      }
      if (typing(event.target) || event.ctrlKey || event.metaKey || chosen.off || !curating) return;
      if (/^[1-9]$/.test(event.key)) {
        document.querySelectorAll("#work .r-chip")[Number(event.key) - 1]?.click();
        return;
      }
      const key = event.shiftKey && event.key.length === 1 ? event.key : event.key.toLowerCase();
      const action = actions.find((one) => keyOf(one) === key);
      if (!action || needed(event.target, key)) return;
      event.preventDefault();
      if (action.button) press(action.button);
      else own[action.name]?.();
    });
    // The arrows belong to the page again once a task is chosen.
    document.addEventListener("change", (event) => event.target.closest?.("#task") && event.target.blur());
    document.addEventListener("focusin", (event) => {
      const hunk = event.target.closest?.("#changes .r-hunk");
      if (hunk) place = hunk.dataset.index;
    });
    // A ruling waits for the final text that a toggle makes, asks for what it lacks, and never falls on an item that
    // has only just come up: that press was meant for the one before.
    document.addEventListener("click", (event) => {
      const button = event.target.closest?.(".r-ruling");
      if (!button) return;
      const hold = () => {
        event.preventDefault();
        event.stopImmediatePropagation();
      };
      if (justDrawn()) return hold();
      if (carrying()) {
        hold();
        press(button.id);
        return;
      }
      if (button.id === "flag" && !flagging && window.realign.mode() !== "wait") {
        hold();
        openFlag();
      }
    }, true);
  };

  return { links, caps, ask, openAsk, history, said, tell, tour, fromTheFirst, listen };
})());
