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

  // Words in the reader's language. A phrase is [words, figures]; "a|b" tells one from many.
  let translations = {};
  const language = () => {
    for (const tag of navigator.languages || [navigator.language]) {
      const found = [tag, tag.split("-")[0]].find((name) => translations[name]);
      if (found) return found;
      if (tag.startsWith("en")) return "en";
    }
    return "en";
  };
  const say = (phrase) => {
    const [words, figures] = Array.isArray(phrase) ? phrase : [phrase, {}];
    const forms = String(translations[language()]?.[words] ?? words).split("|");
    const form = forms.length > 1 && Number(figures.n) !== 1 ? forms[1] : forms[0];
    return form.replace(/\{(\w+)\}/g, (whole, name) => {
      const figure = figures[name];
      if (figure === undefined) return whole;
      return typeof figure === "string" ? (translations[language()]?.[figure] ?? figure) : figure.toLocaleString();
    });
  };
  const clock = (moment) => new Date(moment).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

  const heading = (value) => {
    const row = make("div", "r-head");
    if (value.title) row.append(make("h2", "", say(value.title)));
    if (value.note) row.append(make("span", "r-note", say(value.note)));
    if (value.right) row.append(make("span", "r-right", say(value.right)));
    return row;
  };

  // Text that goes on below its frame fades out there, so that nobody takes it for the end.
  const fade = (node, told = () => {}) => {
    const look = () => {
      const below = node.scrollHeight - node.scrollTop - node.clientHeight > 6;
      node.classList.toggle("r-below", below);
      told(below);
    };
    node.addEventListener("scroll", look, { passive: true });
    node.addEventListener("input", look);
    new ResizeObserver(look).observe(node);
    requestAnimationFrame(look);
  };

  // The sides scroll together: as far as one is read, the other is shown.
  let leading = null;
  const together = (text) => {
    text.addEventListener("pointerenter", () => (leading = text));
    text.addEventListener("focus", () => (leading = text));
    text.addEventListener("scroll", () => {
      if (leading !== text) return;
      for (const other of document.querySelectorAll("#draft .r-text, #revision .r-text")) {
        const [room, there] = [text.scrollHeight - text.clientHeight, other.scrollHeight - other.clientHeight];
        if (other !== text && room > 0) other.scrollTop = (text.scrollTop / room) * there;
      }
    }, { passive: true });
  };

  // A card with a title, a note, a figure to the right and a text.
  const pane = (element, value, send) => {
    if (!value) return;
    const before = element.querySelector(".r-text");
    // A text that has just been written is read from its start.
    const read = before && !before.dataset.follow && before.dataset.raw === value.text;
    const top = read ? before.scrollTop : 0;
    const atEnd = before && before.scrollHeight - before.scrollTop - before.clientHeight < 40;
    if (before && value.follow && before.dataset.follow && before.firstChild?.nodeType === Node.TEXT_NODE) {
      // While a text streams, only its end is new: the frame stays, so that nothing jumps.
      before.firstChild.data = value.text;
      element.querySelector(".r-right").textContent = say(value.right);
      if (atEnd) before.scrollTop = before.scrollHeight;
      return;
    }
    const root = fresh(element);
    const head = heading(value);
    root.append(head);
    if (value.pager) head.insertBefore(pager(value.pager, send), head.querySelector(".r-right"));
    if (value.asked) root.append(make("p", "r-asked", `“${value.asked}”`));
    for (const turn of value.turns || []) {
      const row = make("div", "r-turn");
      if (turn.role) row.append(make("span", "r-role", say(turn.role)));
      const words = make("div", "r-words", turn.tree ? undefined : turn.text);
      words.dir = "auto";
      if (turn.tree) words.append(window.realign.tree(turn.tree));
      words.classList.toggle("r-rendered", Boolean(turn.tree));
      words.tabIndex = 0;
      words.setAttribute("role", "region");
      words.setAttribute("aria-label", say(turn.role || value.title || "Text"));
      row.append(words);
      root.append(row);
    }
    if (value.text !== undefined) {
      const text = make("div", "r-text", value.tree ? undefined : value.text);
      if (value.tree) {
        text.classList.add("r-rendered");
        text.append(window.realign.tree(value.tree));
      }
      text.dataset.raw = value.text;
      text.dir = "auto";
      text.tabIndex = 0;
      text.setAttribute("role", "region");
      text.setAttribute("aria-label", say(value.title || "Text"));
      if (value.follow) text.dataset.follow = "yes";
      if (value.mono) text.classList.add("r-mono");
      if (value.writing) text.append(make("span", "r-caret", ""));
      root.append(text);
      text.scrollTop = value.follow && (atEnd || !before) ? text.scrollHeight : top;
      if (element.closest("#draft, #revision")) {
        together(text);
        fade(text);
      }
    }
    if (value.info) root.append(make("p", "r-info", say(value.info)));
    for (const item of value.rows || []) {
      const row = make("div", "r-row");
      row.append(make("span", "r-key", say(item[0])), make("span", "r-value", item[1]));
      if (item[2]) row.title = item[2];
      root.append(row);
    }
    for (const warning of value.warnings || []) root.append(make("p", "r-warning", say(warning)));
    if (value.warning) root.append(make("p", "r-warning", say(value.warning)));
    if (value.empty) root.append(make("p", "r-empty", say(value.empty)));
  };

  // Which of several revisions is in front, and the way to the others.
  const pager = (value, send) => {
    const box = make("span", "r-pager");
    const n = value.ids.length;
    const to = (by) => send("flip", { revision: value.ids[(value.at + by + n) % n], work: window.realign.handed() });
    for (const [name, by, mark] of [["previous-revision", -1, "‹"], ["next-revision", 1, "›"]]) {
      const button = make("button", "r-link", mark);
      button.type = "button";
      button.id = name;
      button.setAttribute("aria-label", say(by < 0 ? "Previous revision of this draft" : "Next revision of this draft"));
      button.addEventListener("click", () => to(by));
      box.append(button);
    }
    box.insertBefore(make("span", "", say(["{at} of {n}", { at: value.at + 1, n }])), box.lastChild);
    return box;
  };

  // Progress of the queue: a bar and a few figures.
  const bar = (element, value) => {
    if (!value || !value.words) return;
    const root = fresh(element);
    const row = make("div", "r-bar");
    row.append(make("strong", "", say(value.title)));
    const track = make("span", "r-track");
    track.setAttribute("role", "progressbar");
    track.setAttribute("aria-label", say(value.title));
    track.setAttribute("aria-valuemin", "0");
    track.setAttribute("aria-valuemax", String(value.total));
    track.setAttribute("aria-valuenow", String(value.done));
    const fill = make("span", "r-fill");
    fill.style.width = `${value.total ? (100 * value.done) / value.total : 0}%`;
    track.append(fill);
    row.append(track);
    for (const word of value.words) row.append(make("span", "r-note", say(word)));
    root.append(row);
  };

  // The state of the models, in the page's head.
  const state = (element, value) => {
    if (!value || !value.state) return;
    const root = fresh(element);
    root.setAttribute("role", "status");
    root.append(make("span", `r-dot r-${value.state}`), make("span", "", say(value.message)));
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

  // Decisions day by day: a bar for each, its dark part accepted.
  const days = (element, value) => {
    const root = fresh(element);
    const frame = element.closest(".block") || element;
    frame.hidden = !value || !value.days?.length;
    if (frame.hidden) return;
    root.append(heading(value));
    const most = Math.max(...value.days.map((day) => day.n));
    const plot = make("div", "r-days");
    plot.setAttribute("role", "img");
    const told = (day) => say(["{day}: {n} decided, {accepted} accepted", { day: new Date(day.day).toLocaleDateString(), n: day.n, accepted: day.accepted }]);
    plot.setAttribute("aria-label", value.days.map(told).join("; "));
    for (const day of value.days) {
      const bar = make("div", "r-day");
      bar.title = told(day);
      for (const [kind, n] of [["r-yes", day.accepted], ["r-no", day.n - day.accepted]]) {
        const part = make("span", kind);
        part.style.height = `${(100 * n) / most}%`;
        bar.append(part);
      }
      plot.append(bar);
    }
    const axis = make("div", "r-axis");
    const dates = value.days.map((day) => new Date(day.day).toLocaleDateString([], { month: "short", day: "numeric" }));
    axis.append(make("span", "", dates[0]), make("span", "", say(["up to {n} a day", { n: most }])), make("span", "", dates.at(-1)));
    root.append(plot, axis);
    for (const item of value.rows) {
      const row = make("div", "r-row");
      row.append(make("span", "r-key", say(item[0])), make("span", "r-value", item[1]));
      root.append(row);
    }
  };

  const speak = (tables) => (translations = tables);

  return { make, fresh, say, clock, speak, fade, pane, bar, state, scores, curve, days };
})();
