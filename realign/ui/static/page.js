// Draws the page's own components and listens to keys. Text of models and people reaches the page only as text nodes.
"use strict";
window.realign = (() => {
  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const fresh = (element) => {
    const root = element.querySelector(".r-root");
    root.replaceChildren();
    return root;
  };
  const svg = (tag, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };

  const heading = (value) => {
    const row = make("div", "r-head");
    row.append(make("h2", "", value.title || ""));
    if (value.note) row.append(make("span", "r-note", value.note));
    if (value.right) row.append(make("span", "r-right", value.right));
    return row;
  };

  // A card with a title, a note, a figure to the right and a text.
  const pane = (element, value) => {
    if (!value) return;
    const before = element.querySelector(".r-text");
    // A text that has just been written is read from its start.
    const read = before && !before.dataset.follow && before.textContent === value.text;
    const top = read ? before.scrollTop : 0;
    const atEnd = before && before.scrollHeight - before.scrollTop - before.clientHeight < 40;
    const root = fresh(element);
    root.append(heading(value));
    for (const turn of value.turns || []) {
      const row = make("div", "r-turn");
      if (turn.role) row.append(make("span", "r-role", turn.role));
      row.append(make("div", "r-words", turn.text));
      root.append(row);
    }
    if (value.text !== undefined) {
      const text = make("div", "r-text", value.text);
      text.tabIndex = 0;
      text.setAttribute("role", "region");
      text.setAttribute("aria-label", value.title || "text");
      if (value.follow) text.dataset.follow = "yes";
      if (value.mono) text.classList.add("r-mono");
      if (value.writing) text.append(make("span", "r-caret", ""));
      root.append(text);
      text.scrollTop = value.follow && (atEnd || !before) ? text.scrollHeight : top;
    }
    for (const item of value.rows || []) {
      const row = make("div", "r-row");
      row.append(make("span", "r-key", item[0]), make("span", "r-value", item[1]));
      if (item[2]) row.title = item[2];
      root.append(row);
    }
    if (value.warning) root.append(make("p", "r-warning", value.warning));
    if (value.empty) root.append(make("p", "r-empty", value.empty));
  };

  // White space that was added or taken away has to be seen; inside longer text it stays itself.
  const shown = (text) => (/^\s+$/u.test(text) ? text.replace(/ /g, "␣").replace(/\t/g, "⇥").replace(/\n/g, "⏎\n") : text);

  let pending = false;
  const settled = async () => {
    for (let waited = 0; pending && waited < 5000; waited += 20) await new Promise((done) => setTimeout(done, 20));
  };

  // Draft against revision; each hunk is a toggle. The whole choice is sent, so that no click can be lost.
  const diff = (element, value, trigger) => {
    pending = false;
    if (!value) return;
    // The focus stays on its hunk when a toggle is drawn again, and leaves with the item.
    const same = element.dataset.key === String(value.key);
    const focused = same && element.contains(document.activeElement) ? document.activeElement.dataset.index : undefined;
    element.dataset.key = String(value.key);
    const root = fresh(element);
    const head = heading(value);
    root.append(head);
    if (value.empty) root.append(make("p", "r-empty", value.empty));
    if (value.warning) root.append(make("p", "r-warning", value.warning));
    if (!value.pieces) return;
    const refused = new Set(value.refused);
    const total = value.pieces.filter((piece) => typeof piece !== "string").length;
    const body = make("div", "r-text r-diff");
    body.setAttribute("role", "group");
    body.setAttribute("aria-label", "Changes from draft to revision");
    const name = (piece, out) => {
      const what = { insert: `adds “${piece.new}”`, delete: `removes “${piece.old}”`, replace: `replaces “${piece.old}” by “${piece.new}”` };
      return `Edit ${piece.index + 1} of ${total} ${what[piece.op]}, ${out ? "refused" : "accepted"}`;
    };
    const mark = (node, piece) => {
      const out = refused.has(piece.index);
      node.classList.toggle("r-refused", out);
      node.setAttribute("aria-pressed", String(!out));
      node.setAttribute("aria-label", name(piece, out));
    };
    const send = () => {
      pending = true;
      trigger("decide", { key: value.key, refused: [...refused] });
    };
    for (const piece of value.pieces) {
      if (typeof piece === "string") {
        body.append(document.createTextNode(piece));
        continue;
      }
      const hunk = make("span", "r-hunk");
      hunk.dataset.index = piece.index;
      hunk.setAttribute("role", "button");
      hunk.tabIndex = 0;
      if (piece.old) hunk.append(make("del", "", shown(piece.old)));
      if (piece.new) hunk.append(make("ins", "", shown(piece.new)));
      hunk.append(make("sup", "", String(piece.index + 1)));
      mark(hunk, piece);
      const toggle = () => {
        if (refused.has(piece.index)) refused.delete(piece.index);
        else refused.add(piece.index);
        mark(hunk, piece);
        send();
      };
      hunk.addEventListener("click", () => {
        hunk.focus();
        toggle();
      });
      hunk.addEventListener("keydown", (event) => {
        if (event.key === " " || event.key === "Enter") {
          event.preventDefault();
          event.stopPropagation();
          toggle();
        }
      });
      body.append(hunk);
    }
    root.append(body);
    const first = body.querySelector(".r-hunk");
    if (!same && first) {
      // The first edit of an item is in sight, with a line or two before it.
      body.scrollTop = first.getBoundingClientRect().top - body.getBoundingClientRect().top - 60;
    }
    if (total > 1) {
      const all = make("div", "r-all");
      for (const [words, indices] of [["Accept all", []], ["Refuse all", value.pieces.filter((p) => typeof p !== "string").map((p) => p.index)]]) {
        const button = make("button", "r-link", words);
        button.type = "button";
        button.addEventListener("click", () => {
          refused.clear();
          for (const index of indices) refused.add(index);
          for (const node of body.querySelectorAll(".r-hunk")) {
            mark(node, value.pieces.find((piece) => piece.index === Number(node.dataset.index)));
          }
          send();
        });
        all.append(button);
      }
      head.append(all);
    }
    if (focused !== undefined) body.querySelector(`[data-index="${Number(focused)}"]`)?.focus();
  };

  // Progress of the queue: a bar and a few figures.
  const bar = (element, value) => {
    if (!value || !value.words) return;
    const root = fresh(element);
    const row = make("div", "r-bar");
    row.append(make("strong", "", value.title));
    const track = make("span", "r-track");
    track.setAttribute("role", "progressbar");
    track.setAttribute("aria-label", value.title);
    track.setAttribute("aria-valuemin", "0");
    track.setAttribute("aria-valuemax", String(value.total));
    track.setAttribute("aria-valuenow", String(value.done));
    const fill = make("span", "r-fill");
    fill.style.width = `${value.total ? (100 * value.done) / value.total : 0}%`;
    track.append(fill);
    row.append(track);
    for (const word of value.words) row.append(make("span", "r-note", word));
    root.append(row);
  };

  // The state of the models, in the page's head.
  const state = (element, value) => {
    if (!value || !value.state) return;
    const root = fresh(element);
    root.setAttribute("role", "status");
    root.append(make("span", `r-dot r-${value.state}`), make("span", "", value.message));
    root.title = value.title || value.message;
    if (value.words) root.append(make("span", "r-note", value.words));
  };

  // Scores with their intervals as bars with whiskers.
  const scores = (element, value) => {
    if (!value || !value.scores) return;
    const root = fresh(element);
    root.append(heading(value));
    if (!value.scores.length) {
      root.append(make("p", "r-empty", value.empty));
      return;
    }
    const table = make("table", "r-scores");
    const row = table.createTHead().insertRow();
    for (const [title, help] of value.columns) {
      const cell = make("th", "", title);
      cell.scope = "col";
      if (help) cell.title = help;
      row.append(cell);
    }
    const body = table.createTBody();
    for (const score of value.scores) {
      const line = body.insertRow();
      line.append(make("th", "r-model", score.model));
      line.insertCell().textContent = score.baseline;
      line.insertCell().textContent = score.judge;
      line.insertCell().textContent = score.rate.toFixed(1);
      const plot = svg("svg", { viewBox: "0 0 200 20", role: "img", "aria-label": `from ${score.lower.toFixed(1)} to ${score.upper.toFixed(1)} percent` });
      const x = (percent) => 4 + 1.92 * percent;
      plot.append(
        svg("line", { x1: x(50), x2: x(50), y1: 0, y2: 20, class: "r-half" }),
        svg("line", { x1: x(score.lower), x2: x(score.upper), y1: 10, y2: 10, class: "r-whisker" }),
        svg("circle", { cx: x(score.rate), cy: 10, r: 4, class: "r-point" }),
      );
      line.insertCell().append(plot);
      for (const text of [`${score.lower.toFixed(1)} – ${score.upper.toFixed(1)}`, score.n, score.unjudged]) line.insertCell().textContent = text;
      const cell = line.insertCell();
      cell.textContent = new Date(score.created).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
    }
    const frame = make("div", "r-frame");
    frame.tabIndex = 0;
    frame.append(table);
    root.append(frame);
  };

  // Curves over the steps of a run, with three lines to read them by.
  const curve = (element, value) => {
    const root = fresh(element);
    const frame = element.closest(".block") || element;
    frame.hidden = !value || !value.series;
    if (frame.hidden) return;
    root.append(heading(value));
    const points = value.series.flatMap((line) => line.points);
    const [xs, ys] = [points.map((point) => point[0]), points.map((point) => point[1])];
    const last = Math.max(...xs, 1);
    let [low, high] = [Math.min(...ys), Math.max(...ys)];
    const room = Math.max((high - low) * 0.1, Math.abs(high) * 0.02, 0.01);
    [low, high] = [low - room, high + room];
    const [left, top, width, height] = [48, 6, 340, 104];
    const x = (step) => left + (width * step) / last;
    const y = (figure) => top + height * (1 - (figure - low) / (high - low));
    const digits = Math.max(0, Math.min(4, 1 - Math.floor(Math.log10(high - low))));
    const told = value.series.map((line) => `${line.name} from ${line.points[0][1].toFixed(3)} to ${line.points.at(-1)[1].toFixed(3)}`);
    const plot = svg("svg", { viewBox: "0 0 396 132", role: "img", "aria-label": `${value.title}: ${told.join(", ")}`, class: "r-curve" });
    const label = (text, at) => {
      const node = svg("text", at);
      node.textContent = text;
      plot.append(node);
    };
    for (const figure of [low + room, (low + high) / 2, high - room]) {
      plot.append(svg("line", { x1: left, x2: left + width, y1: y(figure), y2: y(figure), class: "r-grid" }));
      label(figure.toFixed(digits), { x: left - 6, y: y(figure) + 4, "text-anchor": "end" });
    }
    label("0", { x: left, y: 128 });
    label(`step ${last}`, { x: left + width, y: 128, "text-anchor": "end" });
    for (const line of value.series) {
      const path = line.points.map((point) => `${x(point[0])},${y(point[1])}`).join(" ");
      plot.append(svg("polyline", { points: path, class: `r-line r-${line.colour}` }));
      for (const point of line.points.length < 30 ? line.points : line.points.slice(-1)) {
        plot.append(svg("circle", { cx: x(point[0]), cy: y(point[1]), r: 2.5, class: `r-mark r-${line.colour}` }));
      }
    }
    root.append(plot);
  };

  const visible = (node) => node && node.offsetParent !== null && !node.disabled;
  const typing = (node) => node.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName);
  const press = async (id) => {
    await settled();
    const button = document.getElementById(id);
    if (visible(button)) button.click();
  };
  const step = (by) => {
    const hunks = [...document.querySelectorAll(".r-hunk")].filter((node) => node.offsetParent !== null);
    if (!hunks.length) return;
    const at = hunks.indexOf(document.activeElement);
    hunks[at < 0 ? (by > 0 ? 0 : hunks.length - 1) : (at + by + hunks.length) % hunks.length].focus();
  };

  const listen = (keys) => {
    document.addEventListener("keydown", (event) => {
      if (event.repeat || event.isComposing || event.altKey || document.querySelector("dialog[open]")) return;
      if (typing(event.target)) {
        if (event.key === "Escape") event.target.blur();
        else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.closest("#final")) {
          event.preventDefault();
          event.target.blur();
          press("accept");
        }
        return;
      }
      if (event.ctrlKey || event.metaKey) return;
      const key = event.key.toLowerCase();
      if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
      else if (key === "e" && visible(document.querySelector("#final textarea"))) {
        event.preventDefault();
        document.querySelector("#final textarea").focus();
      } else if (key === "?") document.getElementById("keys")?.querySelector("button, .label-wrap")?.click();
      else if (keys[key] && visible(document.getElementById(keys[key]))) {
        event.preventDefault();
        press(keys[key]);
      }
    });
    // A ruling clicked right after a toggle waits for the final text that the toggle makes.
    document.addEventListener("click", (event) => {
      const button = event.target.closest?.(".r-ruling");
      if (!button || !pending) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      press(button.id);
    }, true);
  };

  return { pane, diff, bar, state, scores, curve, listen };
})();
