// The annotator's side: edits to keep or refuse, the final text, reasons, ratings, a comment. All of it lives here while
// the person works; the server gets the whole of it with every press, and keeps it as it grows.
"use strict";
Object.assign(window.realign, (() => {
  const { make, fresh, say, clock, fade } = window.realign;
  const KEPT = "realign-work";
  const SETTLE_MS = 500;
  const IDLE_MS = 60_000;
  const SILENCE_MS = 12_000;
  const FOLD = 1600;

  let now = blank();
  let send = () => {};
  let root = null;

  function blank() {
    return { key: "", mode: "wait", pieces: [], refused: new Set(), text: "", reasons: new Set(), comment: "", ratings: {}, past: [], future: [], drawn: 0 };
  }

  const hunks = () => now.pieces.filter((piece) => typeof piece !== "string");
  const merged = (refused) => now.pieces.map((piece) => (typeof piece === "string" ? piece : refused.has(piece.index) ? piece.old : piece.new)).join("");
  const sorted = (set) => [...set].sort((a, b) => a - b);

  // What the server gets: everything the person has done with what is in front.
  const handed = () => ({
    key: now.key,
    refused: sorted(now.refused),
    final_text: now.text,
    reasons: [...now.reasons],
    comment: now.comment,
    ratings: now.ratings,
    active_ms: Math.round(active),
  });
  const handIn = (given) => given.map((value) => (value && typeof value === "object" && "mode" in value && "key" in value ? handed() : value));

  // Time counts while the page is in sight and a hand was on it within the last minute.
  let active = 0;
  let touched = performance.now();
  let ticked = touched;
  setInterval(() => {
    const at = performance.now();
    if (document.visibilityState === "visible" && at - touched < IDLE_MS) active += at - ticked;
    ticked = at;
  }, 250);
  for (const event of ["pointermove", "pointerdown", "keydown", "wheel", "touchstart"]) {
    document.addEventListener(event, () => (touched = performance.now()), { passive: true, capture: true });
  }

  // --- kept as it grows ---------------------------------------------------------------------------------------------

  let timer = 0;
  let unsaved = false;
  let serial = 0;
  let answered = 0;
  const changed = () => {
    unsaved = true;
    if (now.mode === "wait") return;
    note("saving …");
    try {
      localStorage.setItem(KEPT, JSON.stringify(handed()));
    } catch {
      // A text larger than the browser's own store is kept by the server alone.
    }
    clearTimeout(timer);
    timer = setTimeout(keep, SETTLE_MS);
  };
  const keep = () => {
    clearTimeout(timer);
    if (now.mode !== "wait" && unsaved) {
      send("keep", { serial: (serial += 1), work: handed() });
      const [sent, key] = [serial, now.key];
      // A server that does not answer is asked again until it does.
      setTimeout(() => {
        if (answered >= sent || sent !== serial || key !== now.key) return;
        note("not saved yet: the server does not answer", true);
        unsaved = true;
        keep();
      }, SILENCE_MS);
    }
    unsaved = false;
  };
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && keep());

  const note = (words, failed = false) => {
    const place = root?.querySelector(".r-kept");
    if (!place) return;
    place.textContent = say(words);
    place.classList.toggle("r-failed-note", failed);
  };

  // What was typed in the last half second before a reload is with the browser only.
  const newest = (value) => {
    let found = null;
    try {
      found = JSON.parse(localStorage.getItem(KEPT) || "null");
    } catch {
      localStorage.removeItem(KEPT);
    }
    return found && found.key === value.key && typeof found.final_text === "string" ? { ...value, ...found, text: found.final_text } : value;
  };

  // Answers of the server to what was sent from here.
  const answer = (element, value) => {
    if (value?.kind === "kept") answered = Math.max(answered, value.serial);
    if (!value || value.key !== now.key) return;
    if (value.kind === "kept" && !unsaved && value.serial === serial) {
      if (value.failed) note(["not saved: {why}", { why: value.failed }], true);
      else if (value.saved) note(["saved {at}", { at: clock(value.saved) }]);
      else note("decided elsewhere: not saved", true);
    }
    if (value.kind === "carried") carried(value);
    if (value.kind === "against") showAgainst(value);
  };

  // --- edits --------------------------------------------------------------------------------------------------------

  const remember = () => {
    const last = now.past.at(-1);
    const state = { refused: new Set(now.refused), text: now.text };
    if (!last || last.text !== state.text || sorted(last.refused).join() !== sorted(state.refused).join()) now.past.push(state);
    if (now.past.length > 300) now.past.shift();
    now.future = [];
  };
  const back = (from, to) => {
    const state = from.pop();
    if (!state) return;
    to.push({ refused: new Set(now.refused), text: now.text });
    now.refused = new Set(state.refused);
    setText(state.text);
    mark();
    changed();
  };
  const undoEdit = () => back(now.past, now.future);
  const redoEdit = () => back(now.future, now.past);

  let pending = null;
  const carrying = () => pending !== null;
  const settled = async () => {
    for (let waited = 0; pending && waited < 5000; waited += 20) await new Promise((done) => setTimeout(done, 20));
  };

  // The final text follows at once; what was written by hand is carried over by the server, and typing goes on meanwhile.
  const refuse = (refused) => {
    const before = now.refused;
    const byHand = now.text !== merged(before);
    remember();
    now.refused = refused;
    mark();
    if (byHand) {
      pending = pending || sorted(before);
      send("carry", { before: pending, work: handed() });
    } else {
      setText(merged(refused));
      changed();
    }
  };
  const carried = (value) => {
    // An answer to an earlier press; the one to the last is still to come.
    if (!pending || value.refused.join() !== sorted(now.refused).join()) return;
    if (value.from !== now.text) {
      send("carry", { before: pending, work: handed() });
      return;
    }
    if (value.text === null) {
      now.refused = new Set(pending);
      now.past.pop();
      mark();
      window.realign.tell("You rewrote this place by hand, so the edit stays as it is.");
    } else {
      setText(value.text);
      changed();
    }
    pending = null;
  };

  const setText = (text) => {
    now.text = text;
    const field = root?.querySelector("#final textarea");
    if (!field || field.value === text) return;
    const [start, top] = [field.selectionStart, field.scrollTop];
    field.value = text;
    field.setSelectionRange(start, start);
    field.scrollTop = top;
    fit(field);
  };

  const mark = () => {
    const all = hunks();
    for (const node of root?.querySelectorAll("#changes .r-hunk") || []) {
      const piece = all[Number(node.dataset.index)];
      const out = now.refused.has(piece.index);
      node.classList.toggle("r-refused", out);
      node.setAttribute("aria-pressed", String(!out));
      node.setAttribute("aria-label", named(piece, all.length, out));
    }
    const count = root?.querySelector("#changes .r-note");
    if (!count || !all.length) return;
    const kept = all.filter((piece) => !now.refused.has(piece.index));
    const sum = (name) => kept.reduce((total, piece) => total + piece[name], 0);
    count.textContent = [
      say(["{n} edit|{n} edits", { n: all.length }]),
      say(["{kept} kept", { kept: kept.length }]),
      say(["−{minus} +{plus} words", { minus: sum("minus"), plus: sum("plus") }]),
    ].join(" · ");
  };

  const named = (piece, total, out) => {
    const what = { insert: "adds “{new}”", delete: "removes “{old}”", replace: "replaces “{old}” by “{new}”" }[piece.op];
    const told = say([what, { old: shown(piece.old), new: shown(piece.new) }]);
    return say(["Edit {at} of {total} {what}, {state}", { at: piece.index + 1, total, what: told, state: out ? "refused" : "accepted" }]);
  };

  // White space that was added or taken away has to be seen; inside longer text it stays itself.
  const shown = (text) => (/^\s+$/u.test(text) ? text.replace(/ /g, "␣").replace(/\u00a0/g, "⍽").replace(/\t/g, "⇥").replace(/\r/g, "␍").replace(/\n/g, "⏎\n") : text);

  // Unchanged text of many lines is folded to its ends, with a count of what is folded.
  const unchanged = (text) => {
    const part = document.createDocumentFragment();
    if (text.length <= FOLD) {
      part.append(text);
      return part;
    }
    const [head, tail] = [text.slice(0, FOLD / 4).replace(/[\ud800-\udbff]$/, ""), text.slice(-FOLD / 4).replace(/^[\udc00-\udfff]/, "")];
    const middle = text.slice(head.length, text.length - tail.length);
    const open = make("button", "r-fold", say(["… {n} unchanged characters …", { n: middle.length }]));
    open.type = "button";
    open.addEventListener("click", () => open.replaceWith(middle));
    part.append(head, open, tail);
    return part;
  };

  const hunkNode = (piece) => {
    const hunk = make("span", "r-hunk");
    hunk.dataset.index = piece.index;
    if (piece.old) hunk.append(make("del", "", shown(piece.old)));
    if (piece.new) hunk.append(make("ins", "", shown(piece.new)));
    return hunk;
  };

  const toggleNode = (piece) => {
    const hunk = hunkNode(piece);
    hunk.setAttribute("role", "button");
    hunk.tabIndex = 0;
    hunk.append(make("sup", "", String(piece.index + 1)));
    const toggle = () => {
      const refused = new Set(now.refused);
      if (!refused.delete(piece.index)) refused.add(piece.index);
      refuse(refused);
    };
    hunk.addEventListener("click", () => {
      hunk.focus();
      toggle();
    });
    hunk.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      event.stopPropagation();
      if (!event.repeat) toggle();
    });
    return hunk;
  };

  const allEdits = (out) => hunks().length && refuse(new Set(out ? hunks().map((piece) => piece.index) : []));

  const card = (id, title, note = "") => {
    const box = make("section", "r-card");
    box.id = id;
    const head = make("div", "r-head");
    head.append(make("h2", "", say(title)), make("span", "r-note", say(note)));
    box.setAttribute("aria-label", say(title));
    box.append(head);
    return [box, head];
  };

  const changesCard = (value) => {
    const [box, head] = card("changes", "Changes");
    if (value.empty) box.append(make("p", "r-empty", say(value.empty)));
    if (value.warning) box.append(make("p", "r-warning", say(value.warning)));
    if (!value.pieces) return box;
    const body = make("div", "r-text r-diff");
    body.setAttribute("role", "group");
    body.setAttribute("aria-label", say("Changes from draft to revision"));
    body.dir = "auto";
    for (const piece of value.pieces) body.append(typeof piece === "string" ? unchanged(piece) : toggleNode(piece));
    const rest = make("span", "r-rest");
    box.append(body, rest);
    fade(body, (below) => {
      const bottom = body.getBoundingClientRect().bottom;
      const n = [...body.querySelectorAll(".r-hunk")].filter((node) => node.getBoundingClientRect().top > bottom - 12).length;
      rest.hidden = !below || !n;
      rest.textContent = say(["{n} more edit below|{n} more edits below", { n }]);
    });
    if (hunks().length) {
      const all = make("div", "r-all");
      all.append(window.realign.caps("next-edit", "previous-edit", "toggle"));
      for (const [words, out, key] of hunks().length > 1 ? [["Accept all", false, "accept-all"], ["Refuse all", true, "refuse-all"]] : []) {
        const button = make("button", "r-link", say(words));
        button.type = "button";
        button.addEventListener("click", () => allEdits(out));
        all.append(button, window.realign.caps(key));
      }
      head.append(all);
    }
    return box;
  };

  // --- final text ---------------------------------------------------------------------------------------------------

  const fit = (field) => {
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight + 2}px`;
  };

  let lastTyped = 0;
  const finalCard = (value) => {
    const [box, head] = card("final", "Final text");
    const against = make("button", "r-link", say("against the draft"));
    against.type = "button";
    against.id = "against";
    against.addEventListener("click", askAgainst);
    const kept = make("span", "r-right r-kept", value.decided ? say(value.decided) : "");
    kept.setAttribute("role", "status");
    head.append(window.realign.caps("edit"), against, window.realign.caps("against"), kept);
    const field = make("textarea", "r-field");
    field.value = now.text;
    field.dir = "auto";
    field.spellcheck = false;
    field.setAttribute("aria-label", say("Final text"));
    field.addEventListener("beforeinput", () => {
      // One step back undoes a burst of typing, not a letter.
      if (performance.now() - lastTyped > 700) remember();
      lastTyped = performance.now();
    });
    field.addEventListener("input", () => {
      now.text = field.value;
      fit(field);
      changed();
    });
    const diff = make("div", "r-text r-diff r-against");
    diff.hidden = true;
    diff.dir = "auto";
    box.append(field, diff, beside());
    requestAnimationFrame(() => fit(field));
    fade(field);
    return box;
  };

  const askAgainst = () => {
    const diff = root?.querySelector(".r-against");
    if (!diff) return;
    if (diff.hidden) send("against", handed());
    else closeAgainst();
  };
  const closeAgainst = () => {
    const diff = root?.querySelector(".r-against");
    if (!diff || diff.hidden) return;
    diff.hidden = true;
    root.querySelector("#final textarea").hidden = false;
    root.querySelector("#against").textContent = say("against the draft");
  };
  const showAgainst = (value) => {
    const diff = root?.querySelector(".r-against");
    if (!diff || value.from !== now.text) return;
    diff.replaceChildren(...value.pieces.map((piece) => (typeof piece === "string" ? unchanged(piece) : hunkNode(piece))));
    diff.hidden = false;
    diff.tabIndex = 0;
    root.querySelector("#final textarea").hidden = true;
    root.querySelector("#against").textContent = say("back to the text");
    diff.focus();
  };

  // --- beside the ruling --------------------------------------------------------------------------------------------

  const star = (name) => ((now.form.required || []).includes(name) ? " *" : "");

  const beside = () => {
    const box = make("div", "r-beside");
    const chips = make("div", "r-chips");
    chips.setAttribute("role", "group");
    chips.setAttribute("aria-label", say("Reasons") + star("reasons"));
    const names = [...new Set([...(now.form.reasons || []), ...now.reasons])];
    names.forEach((name, at) => {
      const chip = make("button", "r-chip", say(name));
      chip.type = "button";
      chip.dataset.reason = name;
      chip.setAttribute("aria-pressed", String(now.reasons.has(name)));
      if (at < 9) chip.title = say(["key {n}", { n: at + 1 }]);
      chip.addEventListener("click", () => reason(chip));
      chips.append(chip);
    });
    const more = make("input", "r-more");
    more.placeholder = `+ ${say("reason")}${star("reasons")}`;
    more.maxLength = 60;
    more.setAttribute("aria-label", say("Another reason"));
    more.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing || !more.value.trim()) return;
      event.preventDefault();
      now.reasons.add(more.value.trim());
      changed();
      const fresh = beside();
      box.replaceWith(fresh);
      fresh.querySelector(".r-more").focus();
    });
    chips.append(more);
    box.append(chips);
    for (const scale of now.form.ratings || []) box.append(rating(scale));
    const comment = make("input", "r-comment");
    comment.placeholder = `${say("Comment")}${star("comment")} …`;
    comment.value = now.comment;
    comment.dir = "auto";
    comment.setAttribute("aria-label", say("Comment"));
    comment.addEventListener("input", () => {
      now.comment = comment.value;
      changed();
    });
    box.append(comment);
    return box;
  };

  const reason = (chip) => {
    const name = chip.dataset.reason;
    if (!now.reasons.delete(name)) now.reasons.add(name);
    chip.setAttribute("aria-pressed", String(now.reasons.has(name)));
    changed();
  };

  const rating = (scale) => {
    const row = make("div", "r-rating");
    row.setAttribute("role", "radiogroup");
    row.setAttribute("aria-label", say(scale.name));
    const label = make("span", "r-note", say(scale.name) + star(scale.name));
    label.title = say(scale.what);
    row.append(label);
    const set = (n) => {
      if (now.ratings[scale.name] === n) delete now.ratings[scale.name];
      else now.ratings = { ...now.ratings, [scale.name]: n };
      for (const node of row.querySelectorAll("[role=radio]")) node.setAttribute("aria-checked", String(now.ratings[scale.name] === Number(node.textContent)));
      changed();
    };
    for (let n = 1; n <= 5; n += 1) {
      const button = make("button", "r-star", String(n));
      button.type = "button";
      button.setAttribute("role", "radio");
      button.setAttribute("aria-checked", String(now.ratings[scale.name] === n));
      button.setAttribute("aria-label", say(["{what}: {n} of 5", { what: scale.name, n }]));
      button.addEventListener("click", () => set(n));
      row.append(button);
    }
    row.addEventListener("keydown", (event) => {
      const n = Number(event.key);
      if (!(n >= 1 && n <= 5) || event.repeat) return;
      event.preventDefault();
      event.stopPropagation();
      now.ratings[scale.name] = undefined;
      set(n);
      const following = [...root.querySelectorAll(".r-rating")];
      const after = following[following.indexOf(row) + 1];
      // After the last one the digits are reasons again.
      if (after) after.querySelector("button").focus();
      else document.activeElement.blur();
    });
    return row;
  };

  // --- drawing ------------------------------------------------------------------------------------------------------

  const work = (element, value, trigger) => {
    if (!value || !value.mode) return;
    send = trigger;
    // The same item drawn again, as when only the buttons changed: what the person has done stays.
    if (value.mode === "edit" && now.mode === "edit" && value.key === now.key && root?.isConnected) return;
    const another = value.key.split(":")[0] !== now.key.split(":")[0];
    if (another) {
      active = 0;
      window.realign.fromTheFirst();
    }
    if (!another) keep(); // another revision of the same draft comes to the front: what was typed last goes first
    clearTimeout(timer);
    pending = null;
    unsaved = false;
    const begun = value.mode === "wait" ? value : newest(value);
    now = {
      ...blank(),
      key: value.key,
      mode: value.mode,
      pieces: value.pieces || [],
      refused: new Set(begun.refused),
      text: begun.text || "",
      reasons: new Set(begun.reasons),
      comment: begun.comment || "",
      ratings: { ...begun.ratings },
      form: value.form || {},
      drawn: another ? performance.now() : 0,
    };
    root = fresh(element);
    root.classList.add("r-work");
    if (value.mode === "edit") {
      root.append(changesCard(value), finalCard(value));
      mark();
      const body = root.querySelector(".r-diff");
      const first = body?.querySelector(".r-hunk");
      // The first edit of an item is in sight, with a line or two before it.
      if (first) body.scrollTop = first.getBoundingClientRect().top - body.getBoundingClientRect().top - 60;
    } else if (value.mode === "choose") {
      const [box] = card("beside", "Your view", "");
      box.append(beside());
      root.append(box);
    } else if (!value.by_side) {
      const [changes] = card("changes", "Changes");
      const [final] = card("final", "Final text");
      for (const box of [changes, final]) box.append(make("div", "r-text", ""));
      root.append(changes, final);
    }
    if (value.lacks) setTimeout(() => send("write", {}), 0);
    document.body.classList.toggle("r-wait", value.mode === "wait");
    if (value.mode !== "wait") document.querySelector(".r-failure")?.remove();
    if (begun !== value) changed();
  };

  // A press that comes this soon after an item was drawn was meant for the item before it.
  const justDrawn = () => performance.now() - now.drawn < 350;

  return {
    work, answer, handIn, handed, keep, undoEdit, redoEdit, allEdits, askAgainst, closeAgainst, settled, carrying, justDrawn,
    form: () => now.form || {},
    flagWith: (name, comment) => {
      now.reasons = new Set([...now.reasons, ...(name ? [name] : [])]);
      now.comment = comment;
    },
    mode: () => now.mode,
  };
})());
