// The front page. It goes on as far as one scrolls, in both directions, and what one reads stays where it is while something comes in
// above it.

import { element } from "./elements.js";

/// Puts nodes in order below a parent, and moves only those that stand elsewhere.
function arrange(parent, nodes) {
  for (const child of [...parent.children]) if (!nodes.includes(child)) child.remove();
  nodes.forEach((node, index) => {
    if (parent.children[index] !== node) parent.insertBefore(node, parent.children[index] ?? null);
  });
}

export class FrontPage {
  /// How far beyond the window's edge something is loaded.
  static reach = 800;

  constructor({ card, turn, announce }) {
    Object.assign(this, { card, turnTo: turn, announce });
    this.arrivals = element("button", { type: "button", class: "arrivals strong", hidden: true, onclick: () => scrollTo({ top: 0 }) });
    this.groups = element("div", { class: "groups" });
    this.end = element("p", { class: "end" });
    this.root = element("div", {}, element("h1", { tabindex: "-1", class: "unseen" }, "Front page"), this.arrivals, this.groups, this.end);
    addEventListener("scroll", () => requestAnimationFrame(() => this.look()), { passive: true });
    this.forget();
  }

  forget() {
    this.page = null;
    this.isTurning = false;
    this.arrived = 0;
    /// The groups above the others that are new.
    this.fresh = 0;
    this.cards = new Map();
    /// What came in together stands together: a new story above does not move the others sideways.
    this.made = [];
    this.lead = null;
    this.groups.replaceChildren();
    this.arrivals.hidden = true;
  }

  /// Shows the articles that are held.
  show(page) {
    const place = this.place();
    this.arrived += this.group(page.articles.map((article) => article.id), this.page && !this.page.hasNewer);
    this.page = page;
    if (this.lead === null && !page.hasNewer) this.lead = page.articles[0]?.id;
    this.render();
    this.showEnd();
    this.hold(place);
    this.showArrivals();
    requestAnimationFrame(() => this.look());
  }

  render() {
    const articles = new Map(this.page.articles.map((article) => [article.id, article]));
    for (const id of [...this.cards.keys()]) if (!articles.has(id)) this.cards.delete(id);
    for (const group of this.made) arrange(group.element, group.ids.map((id) => this.node(articles.get(id))));
    arrange(this.groups, this.made.map((group) => group.element));
  }

  /// Gives what came in above its place among the others: the reader is there now.
  settle() {
    const above = this.made.splice(0, Math.min(this.fresh, this.made.length - 1));
    const [group] = this.made;
    group.ids.unshift(...above.flatMap((one) => one.ids));
    this.cards.delete(this.lead);
    [this.lead] = group.ids;
    this.cards.delete(this.lead);
    this.arrived = 0;
    this.fresh = 0;
    this.render();
    this.showArrivals();
  }

  /// Takes over which articles there are, and returns how many have come in above all others.
  group(ids, isNewest) {
    const present = new Set(ids);
    const known = new Set(this.made.flatMap((group) => group.ids));
    for (const group of this.made) group.ids = group.ids.filter((id) => present.has(id));
    this.made = this.made.filter((group) => group.ids.length > 0);
    let arrived = 0;
    for (let start = 0; start < ids.length; start += 1) {
      if (known.has(ids[start])) continue;
      let end = start;
      while (end < ids.length && !known.has(ids[end])) end += 1;
      const run = ids.slice(start, end);
      const group = { ids: run, element: element("div", { class: "cards" }) };
      if (end === ids.length) this.made.push(group);
      else if (start === 0) {
        this.made.unshift(group);
        if (isNewest) {
          arrived = run.length;
          this.fresh += 1;
        }
      } else {
        const other = this.made.find((one) => one.ids.includes(ids[start - 1]));
        other.ids.splice(other.ids.indexOf(ids[start - 1]) + 1, 0, ...run);
      }
      start = end;
    }
    return arrived;
  }

  /// The card of an article; another one where the article is.
  node(article) {
    const text = JSON.stringify(article);
    const old = this.cards.get(article.id);
    if (old?.text === text) return old.node;
    const node = this.card(article, article.id === this.lead);
    this.cards.set(article.id, { text, node });
    const focus = old?.node.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
    old?.node.replaceWith(node);
    if (focus) node.querySelector(`[data-focus="${focus}"]`)?.focus();
    return node;
  }

  /// The first article that is seen, and where.
  place() {
    if (!this.root.isConnected) return null;
    for (const { node } of [...this.cards.values()].sort((a, b) => a.node.compareDocumentPosition(b.node) & 4 ? -1 : 1)) {
      const box = node.getBoundingClientRect();
      if (box.bottom > 0) return { id: node.dataset.article, top: box.top };
    }
    return null;
  }

  hold(place) {
    const node = place && this.root.querySelector(`[data-article="${place.id}"]`);
    if (!node) return;
    const difference = node.getBoundingClientRect().top - place.top;
    if (difference !== 0) scrollBy({ top: difference, behavior: "instant" });
  }

  showArrivals() {
    if (this.arrived > 0) {
      const text = this.arrived === 1 ? "1 new story" : `${this.arrived} new stories`;
      if (this.arrivals.textContent !== `${text} ↑`) this.announce(`${text} above`);
      this.arrivals.textContent = `${text} ↑`;
    }
    this.arrivals.style.top = `${document.querySelector("header").getBoundingClientRect().bottom + 10}px`;
    this.arrivals.hidden = this.arrived === 0;
  }

  showEnd() {
    const { hasOlder, olderError } = this.page;
    const again = element("button", { type: "button", "data-focus": "older", onclick: () => this.turn("older") }, "Try again");
    this.end.replaceChildren(...(olderError ? [`${olderError} `, again] : [hasOlder ? "Older stories…" : "That is all."]));
  }

  /// Loads what is near the edge of the window.
  look() {
    if (!this.page || !this.root.isConnected) return;
    if (scrollY < 8 && !this.page.hasNewer && this.arrived > 0) this.settle();
    const box = this.root.getBoundingClientRect();
    if (this.page.hasOlder && !this.page.olderError && box.bottom < innerHeight + FrontPage.reach) this.turn("older");
    else if (this.page.hasNewer && box.top > -FrontPage.reach) this.turn("newer");
  }

  async turn(direction) {
    if (this.isTurning) return;
    this.isTurning = true;
    const page = this.page;
    await this.turnTo(direction);
    this.isTurning = false;
    // Where the feed has told what came of it.
    if (this.page !== page) this.look();
  }
}
