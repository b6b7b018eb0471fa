// One page of the news reader. What it shows is told by the reader's feed (an EventSource); what it wants is posted to the reader.

import { clock, element, renew, shape, time } from "./elements.js";
import { Comments } from "./comments.js";
import { FrontPage } from "./frontpage.js";
import { Outbox } from "./outbox.js";

const main = document.getElementById("main");
const badges = document.getElementById("badges");
const progress = document.getElementById("progress");

const known = { user: null, kept: new Map(), selection: null, dials: null, isOffline: null };
/// By which the reader knows this window.
const windowName = Math.random().toString(36).slice(2);
let feed = null;
/// What the feed told last, and which value of it is on the page.
let state = null;
let shown = null;

const hues = { Science: 205, Cities: 28, Technology: 262, Culture: 338, Climate: 150, Business: 48, Sport: 8 };

/// A picture of its own for each article: a sun and three ranges of hills.
function art(article) {
  const number = (salt) => Math.abs(Math.sin(article.id * 12.9898 + salt * 78.233) * 43758.5453) % 1;
  const picture = shape("svg", { viewBox: "0 0 160 100", preserveAspectRatio: "xMidYMid slice", class: "art", "aria-hidden": "true" });
  picture.style.setProperty("--hue", hues[article.section] ?? 0);
  picture.append(shape("rect", { width: 160, height: 100, class: "sky" }));
  picture.append(shape("circle", { cx: 25 + number(1) * 110, cy: 22 + number(2) * 30, r: 9 + number(3) * 12, class: "sun" }));
  for (let range = 1; range <= 3; range += 1) {
    const base = 40 + range * 14;
    const wave = [0, 40, 80, 120, 160].map((x, index) => `${x} ${base + (number(range * 10 + index) - 0.5) * 26}`);
    const path = `M${wave[0]} Q${wave[1]} ${wave[2]} T${wave[4]} V100 H0 Z`;
    picture.append(shape("path", { d: path, class: `range-${range}` }));
  }
  return picture;
}

function keepButton(article) {
  const { id, title, standfirst, section, published, minutes, author, corrected } = article;
  const summary = { id, title, standfirst, section, published, minutes, author, corrected };
  return element("button", {
    type: "button", class: "keep", "aria-label": `Keep “${title}”`, "aria-pressed": String(known.kept.has(id)),
    "data-keep": id, "data-focus": `keep-${id}`, onclick: () => keep(summary),
  }, element("span", { "aria-hidden": "true" }, "☆"), clock());
}

function meta(article) {
  return element("p", { class: "meta" },
    element("a", { href: `/authors/${article.author.id}`, "data-focus": `author-${article.id}` }, article.author.name), " ",
    element("span", {}, time(article.published), ` · ${article.minutes} min`),
    article.corrected ? element("span", { class: "corrected" }, "Corrected ", time(article.corrected)) : null);
}

function card(article, isLead = false) {
  return element("article", { class: isLead ? "card lead" : "card", "data-article": article.id },
    art(article),
    element("div", {},
      element("p", { class: "section" }, article.section),
      element("h2", {}, element("a", { href: `/articles/${article.id}`, "data-focus": `article-${article.id}` }, article.title)),
      element("p", { class: "standfirst" }, article.standfirst),
      element("div", { class: "foot" }, meta(article), keepButton(article)),
      element("p", { class: "pending", "data-pending-of": article.id, hidden: true })));
}

function pages(page, address) {
  if (page.pages < 2) return null;
  const link = (number, text, rel) => number >= 1 && number <= page.pages
    ? element("a", { href: address(number), rel, "data-focus": rel }, text) : null;
  return element("nav", { class: "pages", "aria-label": "Pages" },
    link(page.page - 1, "← Newer", "prev"), element("span", {}, `Page ${page.page} of ${page.pages}`),
    link(page.page + 1, "Older →", "next"));
}

const heading = (text) => element("h1", { tabindex: "-1" }, text);

// MARK: - Screens: what each makes of its value

const screens = {
  list: {
    title: () => "Front page",
    show: (page) => {
      frontPage.show(page);
      return [frontPage.root];
    },
    tell: (page) => `${page.articles.length} articles`,
  },
  article: {
    title: (article) => article.title,
    show: (article) => [
      element("article", { class: "story" },
        element("p", { class: "section" }, article.section), heading(article.title),
        element("p", { class: "standfirst" }, article.standfirst),
        article.note ? element("p", { class: "note" }, element("strong", {}, "Correction: "), article.note) : null,
        element("div", { class: "foot" }, meta(article), keepButton(article)), art(article),
        ...article.paragraphs.map((paragraph) => element("p", {}, paragraph))),
      comments.section,
    ],
    tell: (article) => article.title,
  },
  author: {
    title: (author) => author.name,
    show: (author) => [
      element("section", { class: "author" },
        element("p", { class: "portrait", "aria-hidden": "true" }, author.name.split(" ").map((name) => name[0]).join("")),
        element("div", {}, heading(author.name), element("p", { class: "section" }, author.role), element("p", {}, author.biography))),
      element("h2", { class: "rule" }, "Stories"),
      element("div", { class: "cards" }, ...author.articles.map((article) => card(article))),
    ],
    tell: (author) => author.name,
  },
  search: {
    title: () => "Search",
    show: (page) => {
      const text = page.query;
      return [
        heading(text === "" ? "Search" : `“${text}”`),
        element("p", { class: "count" }, text === "" ? "Type what you look for." : found(page)),
        element("div", { class: "cards" }, ...page.articles.map((article) => card(article))),
        pages(page, (number) => `/search?${new URLSearchParams({ q: text, page: number })}`),
      ];
    },
    tell: (page) => found(page),
  },
  "reading-list": {
    title: () => "Reading list",
    show: (articles) => [
      heading("Reading list"),
      articles.length === 0 ? element("p", { class: "count" }, "Nothing yet. Keep a story with its star.") : null,
      element("div", { class: "cards" }, ...articles.map((article) => card(article))),
    ],
    tell: (articles) => `${articles.length} kept`,
  },
};

const found = (page) => (page.total === 1 ? "1 story" : `${page.total} stories`);

function screenName() {
  const name = location.pathname.split("/")[1];
  return { "": "list", articles: "article", authors: "author" }[name] ?? name;
}

// MARK: - From state to page

function show() {
  progress.hidden = state?.fetchStatus !== "fetching";
  if (state?.progress != null) progress.value = state.progress;
  else progress.removeAttribute("value");
  const isLoading = state?.isPlaceholder || (state?.phase === "loading" && state.fetchStatus === "fetching");
  main.setAttribute("aria-busy", String(state == null || isLoading));
  // What is shown is the answer to the text before.
  main.classList.toggle("previous", state?.isPlaceholder === true);
  showBadges();
  if (state == null || state.phase === "loading") showOnce("skeleton", skeleton);
  else if (state.phase === "failed") showOnce(`failed ${state.error}`, failure);
  else showOnce(`value ${state.revision}`, () => screens[state.screen].show(state.value));
}

/// Makes the content anew only where it is another, and keeps the focus where it was.
function showOnce(revision, make) {
  if (shown === revision) return;
  const isFirst = shown === null || shown === "skeleton";
  shown = revision;
  const focus = document.activeElement?.dataset?.focus;
  const made = make().filter((child) => child != null);
  // The front page renews itself.
  if (made.length !== 1 || main.firstChild !== made[0]) {
    main.replaceChildren(...made);
    if (focus) main.querySelector(`[data-focus="${focus}"]`)?.focus();
  }
  showSelection();
  showKept();
  if (state?.phase === "loaded") document.title = `${screens[state.screen].title(state.value)} – The Reactor`;
  if (isFirst && state?.phase === "loaded") {
    announce(screens[state.screen].tell(state.value));
    if (document.activeElement === main) main.querySelector("h1")?.focus();
  }
}

function skeleton() {
  const isStory = screenName() === "article";
  const block = (name) => element("div", { class: `bone ${name}` });
  return [element("div", { class: isStory ? "skeleton story" : "skeleton cards", "aria-hidden": "true" },
    ...(isStory ? ["short", "title", "line", "picture", "line", "line", "line"] : Array(7).fill("card")).map(block))];
}

function failure() {
  const needsUser = known.user == null && screenName() === "reading-list";
  return [element("section", { class: "failed" }, heading(needsUser ? "Your reading list" : "No news, for once"),
    element("p", {}, state.error),
    needsUser ? element("button", { type: "button", class: "strong", onclick: openAccount }, "Sign in")
      : element("button", { type: "button", class: "strong", "data-focus": "retry", onclick: refresh }, "Try again"))];
}

let badge = "";

function showBadges() {
  const at = state?.fetchedAt ? new Date(state.fetchedAt).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false }) : null;
  const made = [];
  if (feed?.readyState !== EventSource.OPEN && feed?.hasFailed) made.push(element("span", { class: "badge offline" }, "The reader has stopped"));
  else if (state?.isOffline) made.push(element("span", { class: "badge offline" }, at ? `Offline – the news as of ${at}` : "Offline"));
  else if (state?.error && state.phase === "loaded") made.push(element("span", { class: "badge offline" }, state.error));
  // While changes arrive, a stale value is the latest, or its successor is on its way.
  if (state?.isStale && !document.documentElement.hasAttribute("data-live")) made.push(element("span", { class: "badge stale" }, "Stale"));
  // What the outbox has to say it says itself.
  renew(badges, [...made, outbox.badge()]);
  const text = made.map((one) => one.textContent).filter((one) => one !== "Stale").join(". ");
  if (text !== badge && (text || badge)) announce(text || "Up to date again");
  badge = text;
}

/// Told once, when it has changed.
function announce(text) {
  const place = document.getElementById("announcement");
  if (place.textContent !== text) place.textContent = text;
}

function showKept() {
  for (const button of document.querySelectorAll("[data-keep]")) {
    const isKept = known.kept.has(Number(button.dataset.keep));
    button.setAttribute("aria-pressed", String(isKept));
    button.firstChild.textContent = isKept ? "★" : "☆";
    const waiting = outbox.waitingFor(Number(button.dataset.keep));
    button.toggleAttribute("data-pending", waiting != null);
    if (waiting) button.setAttribute("aria-description", waiting.reason);
    else button.removeAttribute("aria-description");
  }
  for (const line of document.querySelectorAll("[data-pending-of]")) {
    const waiting = outbox.waitingFor(Number(line.dataset.pendingOf));
    line.hidden = !waiting;
    line.replaceChildren(...(waiting ? [clock(), waiting.reason] : []));
  }
  const count = document.getElementById("kept");
  count.hidden = known.kept.size === 0;
  count.textContent = known.kept.size;
}

function showSelection() {
  for (const article of document.querySelectorAll("[data-article]")) {
    const link = article.querySelector("h2 a");
    if (Number(article.dataset.article) === known.selection) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function showUser() {
  const button = document.getElementById("account");
  button.textContent = known.user ? "Sign out" : "Sign in";
  if (known.user) {
    button.setAttribute("aria-label", `Sign out ${known.user.name}`);
    button.removeAttribute("aria-haspopup");
  } else {
    button.removeAttribute("aria-label");
    button.setAttribute("aria-haspopup", "dialog");
  }
}

// MARK: - The feed

function listen() {
  feed?.close();
  const source = new EventSource(`/events?${new URLSearchParams({ screen: location.pathname + location.search, window: windowName })}`);
  feed = source;
  const on = (name, act) => source.addEventListener(name, (event) => {
    if (feed === source) act(JSON.parse(event.data));
  });
  on("state", (news) => { state = news; show(); });
  on("session", (user) => { known.user = user; showUser(); comments.show(); });
  on("comments", (news) => { comments.state = news; comments.show(); });
  on("outbox", (changes) => { outbox.update(changes); showKept(); showBadges(); comments.show(); });
  on("readingList", (articles) => {
    known.kept = new Map(articles.map((article) => [article.id, article]));
    showKept();
  });
  on("selection", (article) => { known.selection = article; showSelection(); });
  on("dials", (dials) => { known.dials = dials; showSwitches(); });
  on("offline", (isOffline) => {
    switches.elements.offline.checked = isOffline;
    // The connection is back.
    if (known.isOffline && !isOffline) refresh();
    known.isOffline = isOffline;
  });
  on("live", (isLive) => {
    document.documentElement.toggleAttribute("data-live", isLive);
    showBadges();
  });
  on("power", (isLow) => { switches.elements.power.checked = isLow; });
  on("over", () => begin());
  source.addEventListener("open", () => { source.hasFailed = false; showBadges(); });
  source.addEventListener("error", () => {
    source.hasFailed = true;
    if (source.readyState === EventSource.CLOSED) {
      state = { phase: "failed", screen: "none", error: "There is nothing here.", fetchStatus: "idle" };
      show();
    } else {
      showBadges();
    }
  });
}

/// Forgets what is on the page, and looks at what its address says.
function begin() {
  known.user = null;
  known.kept = new Map();
  known.selection = null;
  state = null;
  shown = null;
  document.title = "The Reactor";
  announce("");
  outbox.forget();
  frontPage.forget();
  comments.begin(screenName() === "article" ? Number(location.pathname.split("/")[2]) : null);
  showUser();
  show();
  showLocation();
  const text = screenName() === "search" ? new URLSearchParams(location.search).get("q") ?? "" : "";
  if (document.activeElement !== search.elements.q) search.elements.q.value = text;
  listen();
  if (screenName() === "article") post("open", { article: Number(location.pathname.split("/")[2]) });
}

function showLocation() {
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === location.pathname + location.search) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function go(address, { replaces = false, keepsFocus = false } = {}) {
  if (replaces) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  if (!keepsFocus) {
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  begin();
}

addEventListener("popstate", () => { main.focus({ preventScroll: true }); begin(); });

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='/']");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});

// MARK: - Commands

/// `null`: it went well; else why not.
async function post(command, body) {
  try {
    const answer = await fetch(`/commands/${command}`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
    if (answer.ok) return null;
    return (await answer.json().catch(() => null))?.error?.message ?? "That did not work.";
  } catch {
    return "The reader has stopped.";
  }
}

const outbox = new Outbox({ post, announce, signIn: () => signIn.showModal() });
const comments = new Comments({ post, announce, outbox, user: () => known.user, signIn: () => signIn.showModal() });

const frontPage = new FrontPage({ card, announce, turn: (direction) => post(direction, { window: windowName }) });

const refresh = () => post("refresh", { screen: location.pathname + location.search, window: windowName });
document.getElementById("refresh").addEventListener("click", refresh);

async function keep(article) {
  if (known.user == null) return openAccount();
  const reason = await post("keep", { article, isKept: !known.kept.has(article.id) });
  if (reason) announce(`Not kept. ${reason}`);
}

const search = document.getElementById("search");
let typing = null;

/// The results of the text before stay until there are others.
function look() {
  const text = search.elements.q.value.trim();
  const address = `/search?${new URLSearchParams({ q: text })}`;
  if (screenName() !== "search") return go(address, { keepsFocus: true });
  history.replaceState(null, "", address);
  showLocation();
  post("look", { window: windowName, text });
}

search.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(look, 250); });
search.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(typing); look(); main.focus(); });

const signIn = document.getElementById("sign-in");
const signInForm = signIn.querySelector("form");

async function openAccount() {
  if (known.user == null) return signIn.showModal();
  const count = await post("sign-out", {});
  if (count == null) return;
  signOut.querySelector(".hint").textContent = Number(count) === 1
    ? "One change has not been sent. It would be lost." : `${count} changes have not been sent. They would be lost.`;
  signOut.showModal();
}

const signOut = document.getElementById("sign-out");
signOut.querySelector("form").addEventListener("submit", () => post("sign-out", { discardsUnsent: true }));

document.getElementById("account").addEventListener("click", openAccount);
signIn.addEventListener("close", () => { signInForm.reset(); signIn.querySelector(".failure").textContent = ""; });
signInForm.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { name, password } = Object.fromEntries(new FormData(signInForm));
  const reason = await post("sign-in", { name, password });
  if (reason) signIn.querySelector(".failure").textContent = reason;
  else {
    signIn.close();
    // Where the session was over, the page is the same.
    if (known.user) refresh();
  }
});

const dialog = document.getElementById("switches");
const switches = dialog.querySelector("form");

function showSwitches() {
  switches.elements.outage.checked = known.dials.outage;
  switches.elements.latency.value = known.dials.latency;
  switches.elements.milliseconds.value = `${known.dials.latency} ms`;
}

document.getElementById("settings").addEventListener("click", () => dialog.showModal());
for (const button of document.querySelectorAll("dialog .close")) button.addEventListener("click", () => button.closest("dialog").close());
switches.addEventListener("input", () => {
  switches.elements.milliseconds.value = `${switches.elements.latency.value} ms`;
});
switches.addEventListener("change", (event) => {
  const { name, checked, value } = event.target;
  if (name === "power") post("power", { isLow: checked });
  else if (name === "offline") post("offline", { isOffline: checked });
  else post("dials", name === "outage" ? { outage: checked } : { latency: Number(value) });
});

// MARK: - Pull to refresh

const pull = document.getElementById("pull");
let from = null;
const distance = (event) => Math.min(120, Math.max(0, event.changedTouches[0].clientY - from) / 2);
addEventListener("touchstart", (event) => { from = scrollY === 0 ? event.touches[0].clientY : null; }, { passive: true });
addEventListener("touchmove", (event) => {
  if (from === null) return;
  pull.style.setProperty("--pull", `${distance(event)}px`);
  pull.classList.toggle("ready", distance(event) > 60);
}, { passive: true });
function letGo() {
  from = null;
  pull.style.removeProperty("--pull");
  pull.classList.remove("ready");
}
addEventListener("touchend", (event) => {
  if (from !== null && distance(event) > 60) refresh();
  letGo();
}, { passive: true });
addEventListener("touchcancel", letGo, { passive: true });

begin();
