"use strict";
// The transcript viewer. Text of models is hostile: it becomes text nodes and nothing else, here without exception.
(() => {
  const root = document.getElementById("viewer");
  const held = document.getElementById("tutoreval-evidence");
  if (!root || !held) return;
  const data = JSON.parse(held.textContent);
  const sessions = data.sessions;

  const LONGEST = 20_000; // characters of one text shown at first
  const LISTED = 200; // matching turns listed at first
  const ROUTE = "#/turns";
  const KEY = ["base", "condition", "replicate"]; // what identifies a session

  // ---- DOM and text

  function make(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return node;
  }

  // Controls, what reorders or hides text, and halves of surrogate pairs. Joiners stay: scripts and emoji need them.
  const INVISIBLE = new RegExp(
    "([\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e" +
      "\\u2060-\\u206f\\ufeff\\ufff9-\\uffff]|\\udb40[\\udc00-\\udc7f]" +
      "|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff])\\1*",
    "g",
  );

  /** Return text as nodes in which every invisible character is seen by its number. */
  function shown(text) {
    const nodes = [];
    let from = 0;
    for (const found of text.matchAll(INVISIBLE)) {
      if (found.index > from) nodes.push(text.slice(from, found.index));
      const times = found[0].length / found[1].length;
      const code = found[1].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      nodes.push(make("span", { class: "viewer-escape" }, `[U+${code}${times > 1 ? ` × ${times}` : ""}]`));
      from = found.index + found[0].length;
    }
    if (from < text.length) nodes.push(text.slice(from));
    return nodes;
  }

  // A fact beside the text: a name, a route, a reason. Long ones are cut; what was said is not among them.
  const brief = (text, most = 500) => 
    shown(text.length > most ? `${[...text.slice(0, most)].slice(0, -1).join("")}…` : text);
  const plain = (text) => brief(text).map((part) => (typeof part === "string" ? part : part.textContent)).join("");

  /** Return the marked pieces of a turn, those that touch as one mark with all their labels. */
  function marked(segments) {
    const nodes = [];
    for (let at = 0; at < segments.length; ) {
      if (!segments[at].marks) {
        nodes.push(...shown(segments[at++].text));
        continue;
      }
      const kind = segments[at].marks[0].kind;
      const labels = new Set();
      const pieces = [];
      for (; at < segments.length && segments[at].marks; at++) {
        const names = segments[at].marks.map((mark) => mark.label);
        names.forEach((name) => labels.add(name));
        pieces.push(make("span", { title: `${kind}: ${plain(names.join(", "))}` }, shown(segments[at].text)));
      }
      const names = plain([...labels].join(", "));
      const label = make("sup", { class: "viewer-label" }, kind === "leak" ? `leak: ${names}` : names);
      nodes.push(make("mark", { class: kind }, pieces, label));
    }
    return nodes;
  }

  /** Yield a text in portions, never cut inside a surrogate pair and where possible after a line. */
  function* portions(segments, most) {
    let portion = [];
    let left = most;
    for (const segment of segments) {
      let { text } = segment;
      while (text.length > left) {
        const line = text.lastIndexOf("\n", left - 1) + 1;
        const at = line > left / 2 ? line : left - /[\ud800-\udbff]/.test(text[left - 1]);
        if (at > 0) portion.push({ ...segment, text: text.slice(0, at) });
        yield portion;
        text = text.slice(at);
        portion = [];
        left = most;
      }
      portion.push({ ...segment, text });
      left -= text.length;
    }
    yield portion;
  }

  /** Fill a node with a text; a very long one opens in full when asked for, laid out as it comes into view. */
  function fill(node, segments) {
    const length = segments.reduce((sum, segment) => sum + segment.text.length, 0);
    if (!length) node.append(make("span", { class: "viewer-muted" }, "(empty)"));
    if (length <= LONGEST) {
      node.append(...marked(segments));
      return node;
    }
    const [first] = portions(segments, LONGEST);
    const open = make("button", { type: "button" }, `show all (${length.toLocaleString("en")} characters)`);
    open.addEventListener("click", () => {
      const all = [...portions(segments, LONGEST)];
      node.replaceChildren(...all.map((portion) => make("div", { class: "viewer-portion" }, marked(portion))));
      node.setAttribute("tabindex", "-1");
      node.focus({ preventScroll: true });
    });
    node.append(...marked(first), "… ", open);
    return node;
  }

  const pre = (text) => fill(make("pre", { dir: "auto" }), [{ text }]);
  const number = (value) => (value === null || value === undefined ? "–" : value.toFixed(2));
  const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

  // ---- which turns

  // Every tutor turn in order; the filters are about those in the window, which is what the measures are about.
  const tutorTurns = sessions.flatMap((session) =>
    (session.problems ?? []).flatMap((problem) =>
      problem.turns.filter((turn) => turn.speaker === "tutor").map((turn) => ({ session, problem, turn })),
    ),
  );
  const judges = [...new Set(tutorTurns.flatMap(({ turn }) => Object.keys(turn.ratings ?? {})))];

  function* ratingsOf(turn, judge) {
    for (const [name, rubrics] of Object.entries(turn.ratings ?? {})) {
      if (judge && name !== judge) continue;
      for (const [rubric, rating] of Object.entries(rubrics)) yield { judge: name, rubric, rating };
    }
  }

  /** Return how the judges differ under each rubric, largest gap first; `judge` must be one of the two. */
  function differences(turn, judge) {
    const scores = {};
    for (const { judge: name, rubric, rating } of ratingsOf(turn)) {
      if (rating.score !== null && rating.score !== undefined) (scores[rubric] ??= []).push([name, rating.score]);
    }
    const found = [];
    for (const [rubric, given] of Object.entries(scores)) {
      given.forEach(([one, low], at) => {
        for (const [other, high] of given.slice(at + 1)) {
          const gap = Math.abs(low - high);
          // Scores are means of whole numbers: thirds that differ by exactly one may fall short of it in a float.
          if (gap >= data.disagreement - 1e-9 && (!judge || judge === one || judge === other)) {
            found.push({ rubric, gap, said: `${rubric}: ${one} ${number(low)}, ${other} ${number(high)}` });
          }
        }
      });
    }
    return found.sort((a, b) => b.gap - a.gap);
  }

  const unusable = (rating) => (rating.repetitions ?? []).filter((one) => one.overall === null && !one.stale).length;
  const labelsOf = (turn) => {
    const marks = turn.segments.flatMap((one) => one.marks ?? []);
    return [...new Set(marks.map((mark) => mark.label))];
  };

  // name: what it is called, and why a turn matches ("" where it does not)
  const FILTERS = {
    leaky: ["leaky", (turn) => (turn.leaky ? `states ${labelsOf(turn).join(", ") || "the answer"}` : "")],
    disagreement: [
      `judges differ by ${data.disagreement} or more`,
      (turn, judge) => differences(turn, judge).map((one) => one.said).join("; "),
    ],
    unusable: [
      "unusable ratings",
      (turn, judge) =>
        [...ratingsOf(turn, judge)]
          .filter(({ rating }) => unusable(rating) || (!rating.gap && (rating.score ?? null) === null))
          .map(({ judge: name, rubric, rating }) => {
            const of = rating.repetitions?.length ?? 0;
            return of ? `${name} ${rubric}: ${unusable(rating)} of ${of} unusable` : `${name} ${rubric}: unusable`;
          })
          .join("; "),
    ],
    gaps: [
      "not rated",
      (turn, judge) => [...ratingsOf(turn, judge)].flatMap(({ rating }) => rating.gap ?? []).join("; "),
    ],
  };

  const SCOPES = {
    file: ["all sessions here", () => true],
    base: ["this base", (a, b) => a.base === b.base],
    cell: ["this base and condition", (a, b) => a.base === b.base && a.condition === b.condition],
    session: ["this session", (a, b) => a === b],
  };

  // ---- state

  const state = { session: null, problem: null, turn: null, filter: "", judge: "", scope: "file" };
  let matches = []; // {session, problem, turn, why} of the chosen filter

  function find(filter) {
    const inScope = SCOPES[state.scope][1];
    const domain = tutorTurns.filter(({ session, turn }) => turn.in_window && inScope(session, state.session));
    if (!filter) return domain;
    const why = FILTERS[filter][1];
    return domain.map((entry) => ({ ...entry, why: why(entry.turn, state.judge) })).filter((entry) => entry.why);
  }

  function href(entry) {
    const keys = new URLSearchParams();
    const { session } = entry;
    keys.set("base", session.base);
    keys.set("condition", session.condition);
    keys.set("replicate", session.replicate);
    if (entry.problem) keys.set("problem", entry.problem.id);
    if (entry.turn) keys.set("turn", entry.turn.turn);
    if (state.filter) keys.set("filter", state.filter);
    if (state.judge) keys.set("judge", state.judge);
    if (state.filter && state.scope !== "file") keys.set("in", state.scope);
    return `${ROUTE}?${keys}`;
  }

  // ---- tools

  const selects = {};
  for (const name of ["base", "condition", "replicate", "problem"]) {
    selects[name] = make("select", { id: `viewer-${name}`, onchange: () => choose(name) });
  }
  const judgeSelect = make(
    "select",
    { onchange: () => refilter({ judge: judgeSelect.value }) },
    ["", ...judges].map((judge) => make("option", { value: judge }, judge || "any judge")),
  );
  const scopeSelect = make(
    "select",
    { onchange: () => refilter({ scope: scopeSelect.value }) },
    Object.entries(SCOPES).map(([value, [label]]) => make("option", { value }, label)),
  );
  const filterInputs = {};
  const filterCounts = {};
  const filterLabels = [["", "no filter"], ...Object.entries(FILTERS).map(([name, [label]]) => [name, label])].map(
    ([name, label]) => {
      filterInputs[name] = make("input", {
        type: "radio", name: "viewer-filter", value: name, onchange: () => refilter({ filter: name }),
      });
      filterCounts[name] = make("span", { class: "viewer-muted", "data-count": name });
      return make("label", {}, filterInputs[name], ` ${label} `, filterCounts[name]);
    },
  );
  const labelled = ([name, select]) => make("div", {}, make("label", { for: select.id }, name), select);
  root.querySelector(".viewer-tools").append(
    make("div", { class: "viewer-selects" }, Object.entries(selects).map(labelled)),
    make("fieldset", { class: "viewer-filters" }, make("legend", {}, "Find tutor turns"), filterLabels,
      make("label", {}, "judge ", judgeSelect), make("label", {}, "in ", scopeSelect)),
    make("p", { class: "viewer-keys" }, "Keys, while the focus is here: ",
      [["j", "next"], ["k", "previous"]].map(([key, way]) => [make("kbd", {}, key), ` ${way} turn, `]),
      [["n", "next"], ["p", "previous"]].map(([key, way]) => [make("kbd", {}, key), ` ${way} problem, `]),
      make("kbd", {}, "→"), " next session, ", make("kbd", {}, "←"), " previous session."),
  );
  const status = root.querySelector(".viewer-status");
  const matchBox = root.querySelector(".viewer-matches");
  const stage = root.querySelector(".viewer-session");
  const where = make("span", {});
  const stepButton = (label, title, step) => make("button", { type: "button", title, onclick: step }, label);
  const steps = make("div", { class: "viewer-steps", role: "group", "aria-label": "Browse" },
    stepButton("‹ session", "previous session (←)", () => stepSession(-1)),
    stepButton("session ›", "next session (→)", () => stepSession(1)),
    stepButton("‹ turn", "previous turn (k)", () => stepTurn(-1)),
    stepButton("turn ›", "next turn (j)", () => stepTurn(1)),
    where,
  );
  root.append(steps);
  stage.setAttribute("tabindex", "-1");

  function options(select, values, chosen) {
    select.replaceChildren(...values.map((value) => make("option", { value }, String(value))));
    select.value = chosen;
    select.disabled = !values.length;
  }

  const unique = (values) => [...new Set(values)];

  function showSelects() {
    const { session } = state;
    const ofBase = sessions.filter((other) => other.base === session.base);
    const ofCell = ofBase.filter((other) => other.condition === session.condition);
    options(selects.base, unique(sessions.map((other) => other.base)), session.base);
    options(selects.condition, unique(ofBase.map((other) => other.condition)), session.condition);
    options(selects.replicate, ofCell.map((other) => other.replicate), session.replicate);
    const problems = (session.problems ?? []).map((problem) => problem.id);
    options(selects.problem, problems, state.problem?.id ?? problems[0] ?? "");
  }

  function showFilters() {
    for (const name of Object.keys(filterInputs)) {
      const n = find(name).length;
      filterCounts[name].textContent = `(${n.toLocaleString("en")})`;
      filterInputs[name].checked = name === state.filter;
    }
    judgeSelect.value = state.judge;
    scopeSelect.value = state.scope;
    matches = state.filter ? find(state.filter) : [];
    showMatches();
  }

  function showMatches(most = LISTED) {
    matchBox.replaceChildren();
    if (!state.filter) return;
    const label = FILTERS[state.filter][0];
    const judge = state.judge ? `, ${state.judge}` : "";
    const all = find("").length;
    const heading = make("h3", { tabindex: "-1" },
      `${matches.length.toLocaleString("en")} of ${count(all, "tutor turn")} in the window: ${label}${judge}`);
    const items = matches.slice(0, most).map((entry) => {
      const { session, problem, turn } = entry;
      const name = `${session.base} ${session.condition} r${session.replicate} ${problem.id} turn ${turn.turn}`;
      const here = turn === state.turn;
      const link = make("a", { href: href(entry), "aria-current": here && "true" }, name);
      return make("li", {}, link, ` ${plain(entry.why)}`);
    });
    if (matches.length > most) {
      const more = () => { showMatches(Infinity); matchBox.querySelectorAll("a")[most].focus(); };
      items.push(make("li", {}, make("button", { type: "button", onclick: more }, `list all ${matches.length}`)));
    }
    matchBox.append(heading);
    if (!items.length) return;
    const list = make("ul", { class: "viewer-match-list", tabindex: "0", "aria-label": label }, items);
    matchBox.append(list);
    const here = list.querySelector("[aria-current]");
    if (here) list.scrollTop = here.offsetTop - list.offsetTop - list.clientHeight / 2;
  }

  // ---- the session

  const fact = (name, value) => make("div", {}, make("dt", {}, name), make("dd", {}, value));

  function facts(session) {
    const { numbers = {}, scores = {}, routes = {} } = session;
    const rows = [];
    if (session.provenance) rows.push(fact("provenance", session.provenance));
    if (session.seed !== undefined) rows.push(fact("seed", String(session.seed)));
    for (const [name, value] of Object.entries(numbers)) {
      const words = name.replaceAll("_", " ").replace(/^n /, "in-window ");
      rows.push(fact(words, name.startsWith("n_") ? String(value) : number(value)));
    }
    for (const [judge, means] of Object.entries(scores)) {
      for (const [rubric, mean] of Object.entries(means)) rows.push(fact(`${rubric}, ${judge}`, number(mean)));
    }
    for (const [role, route] of Object.entries(routes)) {
      const { provider, model, sampling = {}, pin = [] } = route;
      const set = Object.entries(sampling).map(([key, value]) => `${key} ${value}`);
      const said = [`${provider}: ${model}`, ...set, ...pin.map((host) => `pinned to ${host}`)];
      rows.push(fact(role, brief(said.join(", "))));
    }
    if (session.producer) rows.push(fact("made by", brief(session.producer)));
    if (session.source) rows.push(fact("source", brief(session.source)));
    if (session.amendments) rows.push(fact("amendments", brief(session.amendments.join(", "))));
    return make("dl", { class: "viewer-facts" }, rows);
  }

  function ratingSummary(turn) {
    const rubrics = {};
    for (const { judge, rubric, rating } of ratingsOf(turn)) (rubrics[rubric] ??= []).push([judge, rating]);
    const gaps = Object.fromEntries(differences(turn).reverse().map((one) => [one.rubric, one.gap]));
    return Object.entries(rubrics).map(([rubric, given]) => {
      const parts = given.map(([judge, rating]) => {
        const bad = unusable(rating);
        const said = rating.gap ? make("strong", {}, "not rated") : number(rating.score);
        return make("span", {}, make("i", {}, `${judge} `), said, bad ? make("strong", {}, ` ${bad} unusable`) : null);
      });
      const apart = rubric in gaps && make("strong", {}, `differ by ${number(gaps[rubric])}`);
      return make("span", {}, make("b", {}, rubric), parts, apart);
    });
  }

  function judged({ judge, rubric, rating }) {
    const score = rating.gap
      ? brief(rating.gap)
      : `score ${number(rating.score)}, variance ${number(rating.spread)}`;
    const repetitions = (rating.repetitions ?? []).map((one) => {
      const read = one.overall === null ? "unusable" : `overall ${one.overall}`;
      const said = one.stale ? "on another dialogue, not counted" : read;
      const tries = (one.discarded ?? []).flatMap((raw) => [pre(raw), "discarded; at the second try: "]);
      return make("li", {}, `repetition ${one.number}: `, tries, said, pre(one.raw));
    });
    const none = () => make("p", { class: "viewer-muted" }, "no repetitions on record");
    return make("div", { class: "viewer-judged" },
      make("p", {}, make("b", {}, `${judge}, ${rubric}`), ": ", score),
      repetitions.length ? make("ol", {}, repetitions) : none());
  }

  /** Return a block that is filled when it is first opened. */
  function foldable(name, summary, body) {
    const node = make("details", { class: name }, make("summary", {}, summary));
    node.addEventListener("toggle", () => node.open && node.append(...body()), { once: true });
    return node;
  }

  const hiddenCall = (call) => {
    const who = [call.role, call.node].filter(Boolean).join(", ");
    return [make("p", { class: "viewer-muted" }, brief(who)), pre(call.text)];
  };

  function badges(problem, turn) {
    if (turn.speaker === "student") {
      const attempt = turn.segments.some((one) => one.marks);
      return [
        turn.elicited && "asked to commit",
        attempt && make("span", { class: "viewer-badge attempt" }, "attempts a step"),
        problem.tutored && !turn.in_window && "beyond the window",
      ].filter(Boolean);
    }
    const next = turn.next_turn_independence;
    const said = next === true ? "attempts a step" : next === false ? "attempts nothing" : "none in reach";
    const found = turn.segments.some((one) => one.marks);
    return [
      turn.route && `route ${turn.route}`,
      turn.node && `node ${turn.node}`,
      turn.leaky && make("span", { class: "viewer-badge leak" }, "leaky"),
      turn.in_window && `next student turn: ${said}`,
      !turn.in_window && "beyond the window, in no measure",
      !turn.in_window && found && "states the answer",
    ].filter(Boolean).map((item) => (typeof item === "string" ? make("span", {}, brief(item)) : item));
  }

  function turnNode(session, problem, turn) {
    const tutor = turn.speaker === "tutor";
    const beyond = problem.tutored && !turn.in_window;
    const name = tutor ? `Tutor, turn ${turn.turn}` : "Student";
    const node = make("article", {
      class: `viewer-turn ${turn.speaker}${beyond ? " beyond" : ""}`, tabindex: "-1",
      "aria-label": `${name}, ${problem.id}`, "data-turn": tutor ? turn.turn : null,
    });
    const text = make("div", { class: "viewer-said", dir: "auto" });
    if (session.no_text) text.append(make("span", { class: "viewer-muted" }, "(no text in this corpus)"));
    else fill(text, turn.segments);
    const numbered = tutor && make("span", {}, `turn ${turn.turn}`);
    const speaker = make("b", {}, tutor ? "Tutor" : "Student");
    node.append(make("header", {}, speaker, numbered, badges(problem, turn)), text);
    if (turn.unmarked) {
      const further = count(turn.unmarked, "further match", "further matches");
      node.append(make("p", { class: "viewer-muted" }, `${further} not marked`));
    }
    if (turn.hidden) {
      const title = `hidden from the student: ${turn.hidden.map((call) => call.role).join(", ")}`;
      node.append(foldable("viewer-hidden", plain(title), () => turn.hidden.flatMap(hiddenCall)));
    }
    if (turn.ratings) {
      node.append(foldable("viewer-ratings", ratingSummary(turn), () => [...ratingsOf(turn)].map(judged)));
    }
    turnNodes.set(turn, node);
    return node;
  }

  function outcome(problem) {
    if (problem.tutored) return null;
    const said =
      problem.committed === undefined
        ? "nothing was committed to, which counts as wrong"
        : `answered ${problem.committed}, ${problem.correct ? "correct" : "wrong"}`;
    return make("p", { class: "viewer-muted" }, said);
  }

  function problemNode(session, problem) {
    const kind = `${problem.phase}, ${problem.tutored ? "tutored" : "probe"}; the answer is ${problem.answer}`;
    const statement = make("div", { class: "viewer-statement", dir: "auto" });
    const node = make("section", { class: "viewer-problem", tabindex: "-1", "data-problem": problem.id },
      make("h4", {}, `${problem.id} `, make("span", { class: "viewer-muted" }, kind)),
      fill(statement, [{ text: problem.statement }]));
    for (const turn of problem.turns) {
      node.append(turnNode(session, problem, turn));
      if (turn.commits) {
        const judgement = problem.correct ? "correct" : "wrong";
        const said = `window ends here: the student committed to ${problem.committed} (${judgement})`;
        node.append(make("p", { class: "viewer-window-end" }, make("span", {}, said)));
      }
    }
    if (problem.tutored && !session.no_text && problem.committed === undefined) {
      const said = "the student committed to nothing: every turn is in the window";
      node.append(make("p", { class: "viewer-muted" }, said));
    }
    node.append(outcome(problem) ?? "");
    problemNodes.set(problem, node);
    return node;
  }

  const turnNodes = new Map();
  const problemNodes = new Map();
  let rendered = null;

  function showSession() {
    const { session } = state;
    if (rendered === session) return;
    rendered = session;
    turnNodes.clear();
    problemNodes.clear();
    const name = `${session.base}, ${session.condition}, replicate ${session.replicate}`;
    const header = make("header", {}, make("h3", {}, name));
    const notice = (...text) => header.append(make("p", { class: "viewer-notice" }, ...text));
    if (session.broken) notice("This session cannot be read: ", brief(session.broken, 2000));
    else header.append(facts(session));
    if (session.no_text) notice(brief(session.no_text));
    stage.replaceChildren(header, ...(session.problems ?? []).map((problem) => problemNode(session, problem)));
  }

  function showWhere() {
    const { session, problem, turn } = state;
    const at = matches.findIndex((entry) => entry.turn === turn);
    const parts = [`${session.base} ${session.condition} r${session.replicate}`];
    if (problem) parts.push(problem.id);
    if (turn) parts.push(`turn ${turn.turn}`);
    where.textContent = parts.join(" · ") + (at >= 0 ? `, match ${at + 1} of ${matches.length}` : "");
  }

  /** Show a place. `focus` names what takes the focus: a turn or problem, the list of matches, or nothing. */
  function show(place, { focus = "place", note = "", record = true } = {}) {
    Object.assign(state, place);
    showSession();
    showSelects();
    showFilters();
    showWhere();
    for (const node of stage.querySelectorAll(".current")) node.classList.remove("current");
    const node = turnNodes.get(state.turn) ?? problemNodes.get(state.problem) ?? stage;
    if (state.turn) node.classList.add("current");
    if (focus === "matches") focusOn(matchBox.querySelector("h3") ?? stage);
    else if (focus === "place") focusOn(node);
    status.textContent = note;
    if (record) history.replaceState(null, "", href(state));
  }

  function focusOn(node) {
    node.focus({ preventScroll: true });
    // At once: the page may scroll smoothly, and the turn can be far away.
    node.scrollIntoView({ behavior: "instant", block: node.offsetHeight > innerHeight / 2 ? "start" : "center" });
  }

  // ---- browsing

  function choose(name) {
    if (name === "problem") {
      const problem = state.session.problems.find((one) => one.id === selects.problem.value);
      show({ problem, turn: null }, { focus: "" });
      problemNodes.get(problem).scrollIntoView({ behavior: "instant" });
      return;
    }
    // What was not chosen stays as it is where there is such a session.
    const wanted = Object.fromEntries(KEY.map((key) => [key, String(state.session[key])]));
    wanted[name] = selects[name].value;
    const must = KEY.slice(0, KEY.indexOf(name) + 1);
    const fits = (session, keys) => keys.every((key) => String(session[key]) === wanted[key]);
    const found = [KEY, unique([...must, "condition"]), must]
      .map((keys) => sessions.find((session) => fits(session, keys)))
      .find(Boolean);
    show({ session: found, problem: null, turn: null }, { focus: "" });
  }

  function refilter(change) {
    Object.assign(state, change);
    showFilters();
    showWhere();
    status.textContent = state.filter ? `${count(matches.length, "turn")} found` : "";
    history.replaceState(null, "", href(state));
  }

  function atEnd(by, what) {
    status.textContent = `That was the ${by > 0 ? "last" : "first"} ${what}.`;
  }

  function stepSession(by) {
    const session = sessions[sessions.indexOf(state.session) + by];
    if (session) show({ session, problem: null, turn: null });
    else atEnd(by, "session");
  }

  function stepProblem(by) {
    const problems = state.session.problems ?? [];
    const at = state.problem ? problems.indexOf(state.problem) : by > 0 ? -1 : problems.length;
    if (problems[at + by]) {
      show({ problem: problems[at + by], turn: null });
      return;
    }
    const session = sessions[sessions.indexOf(state.session) + by];
    if (session) show({ session, problem: (session.problems ?? []).at(by > 0 ? 0 : -1) ?? null, turn: null });
    else atEnd(by, "problem");
  }

  /** Go to the next turn of the filter, or of all; from a place that is no such turn, to the next one after it. */
  function stepTurn(by) {
    const list = state.filter ? matches : tutorTurns;
    const here = place(state);
    const next =
      by > 0
        ? list.find((entry) => before(here, place(entry)))
        : list.findLast((entry) => before(place(entry), here));
    if (next) show({ session: next.session, problem: next.problem, turn: next.turn });
    else atEnd(by, "turn");
  }

  const place = ({ session, problem, turn }) => [
    sessions.indexOf(session),
    problem ? session.problems.indexOf(problem) : -1,
    turn ? problem.turns.indexOf(turn) : -1,
  ];
  const before = (a, b) => {
    const at = a.findIndex((value, index) => value !== b[index]);
    return at >= 0 && a[at] < b[at];
  };

  const KEYS = {
    j: () => stepTurn(1), k: () => stepTurn(-1), n: () => stepProblem(1), p: () => stepProblem(-1),
    ArrowRight: () => stepSession(1), ArrowLeft: () => stepSession(-1),
  };
  root.addEventListener("keydown", (event) => {
    const step = KEYS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("select, input, textarea")) return; // they have a use for keys themselves
    event.preventDefault();
    step();
  });

  // ---- deep links

  /** Go where the address says, and return whether it says anything. Every key may be left out. */
  function follow() {
    const [path, query = ""] = location.hash.split("?");
    if (path !== ROUTE) return false;
    const keys = new URLSearchParams(query);
    const lost = [];
    const given = KEY.filter((key) => keys.has(key));
    const fits = (session) => given.every((key) => String(session[key]) === keys.get(key));
    let session = given.length && !fits(state.session) ? sessions.find(fits) : state.session;
    if (!session) {
      lost.push(given.map((key) => `${key}=${keys.get(key)}`).join(" "));
      session = state.session;
    }
    const goal = { session, problem: null, turn: null, filter: "", judge: "", scope: "file" };
    const named = (key, known) => {
      const value = keys.get(key) ?? "";
      if (value && !known.includes(value)) lost.push(`${key}=${value}`);
      return known.includes(value) ? value : "";
    };
    goal.filter = named("filter", Object.keys(FILTERS));
    goal.judge = named("judge", judges);
    // A link that names a cell and no turn is about that cell.
    const scopes = { base: "base", condition: "cell", replicate: "session" };
    const narrowest = keys.has("turn") ? "file" : (scopes[given.at(-1)] ?? "file");
    goal.scope = named("in", Object.keys(SCOPES)) || narrowest;
    if (!lost.length && keys.has("problem")) {
      goal.problem = (session.problems ?? []).find((problem) => problem.id === keys.get("problem")) ?? null;
      if (!goal.problem) lost.push(`problem=${keys.get("problem")}`);
    }
    if (!lost.length && keys.has("turn")) {
      const turns = (goal.problem ? [goal.problem] : session.problems ?? []).flatMap((problem) =>
        problem.turns.filter((turn) => String(turn.turn) === keys.get("turn")).map((turn) => ({ problem, turn })));
      if (turns.length) Object.assign(goal, turns[0]);
      else lost.push(`turn=${keys.get("turn")}`);
    }
    const note = lost.length ? `Not among these transcripts: ${plain(lost.join(", "))}` : "";
    show(goal, { focus: goal.filter && !goal.turn && !goal.problem ? "matches" : "place", note, record: false });
    return true;
  }

  if (sessions.length) {
    state.session = tutorTurns[0]?.session ?? sessions[0]; // the untutored ones, which come first, show little
    if (!follow()) show({}, { focus: "", record: false });
    addEventListener("hashchange", follow);
  } else {
    status.textContent = "There are no sessions to show.";
    steps.hidden = true;
  }
  root.dataset.ready = String(Math.round(performance.now()));
})();
