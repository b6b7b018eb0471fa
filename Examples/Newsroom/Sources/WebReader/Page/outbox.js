// What the user has written and the API does not have: how much, why, and what to do about it.

import { clock, element, renew } from "./elements.js";

export class Outbox {
  constructor({ post, announce, signIn }) {
    Object.assign(this, { post, announce, signIn });
    this.changes = [];
    this.isKnown = false;
    /// Changes that end since the user says so.
    this.dropped = new Set();
    this.dialog = document.getElementById("changes");
    this.list = this.dialog.querySelector(".changes");
  }

  forget() {
    this.changes = [];
    this.isKnown = false;
    if (this.dialog.open) this.dialog.close();
  }

  update(changes) {
    const before = new Map(this.changes.map((change) => [change.id, change]));
    const now = new Set(changes.map((change) => change.id));
    // A change that is stuck stays so until it ends, also while it is tried again: no button vanishes, and no focus is lost.
    this.changes = changes.map((change) => {
      const last = before.get(change.id);
      return last?.isStuck && change.phase !== "refused" ? { ...change, isStuck: true, reason: change.reason ?? last.reason } : change;
    });
    if (this.isKnown) {
      for (const change of this.changes) {
        if (change.phase === "refused" && before.get(change.id)?.phase !== "refused") this.announce(`Refused. ${change.reason}`);
        else if (change.isStuck && !before.get(change.id)?.isStuck) this.announce(`Saved. ${change.reason}`);
      }
      const sent = [...before.values()].filter((change) => !now.has(change.id) && !this.dropped.has(change.id));
      if (sent.some((change) => change.kind === "comment")) this.announce("Comment published");
    }
    this.isKnown = true;
    this.show();
  }

  /// What waits to put an article on the reading list, or to take it off; not what is on its way for the first time.
  waitingFor(article) {
    return this.changes.find((change) => change.article === article && ["save", "unsave"].includes(change.kind)
      && isWaiting(change) && this.isStuck);
  }

  get isStuck() { return this.changes.some((change) => change.isStuck); }

  /// A word about it at the top of the page; nothing while all goes well.
  badge() {
    const waiting = this.changes.filter(isWaiting).length;
    const refused = this.changes.filter((change) => change.phase === "refused").length;
    if (this.changes.some((change) => change.needsSignIn)) {
      return element("button", { type: "button", class: "badge unsent", "data-focus": "unsent", onclick: this.signIn },
        `Sign in again to send ${many(waiting)}`);
    }
    const texts = [refused > 0 ? `${many(refused)} refused` : null, this.isStuck && waiting > 0 ? `${many(waiting)} waiting` : null];
    if (texts.every((text) => text == null)) return null;
    return element("button", {
      type: "button", class: "badge unsent", "aria-haspopup": "dialog", "data-focus": "unsent", onclick: () => this.dialog.showModal(),
    }, texts.filter((text) => text != null).join(", "));
  }

  show() {
    renew(this.list, this.changes.length === 0 ? [element("li", {}, "Everything has been sent.")]
      : this.changes.map((change) => element("li", { class: change.phase },
        element("p", {}, title(change)),
        element("p", { class: change.phase === "refused" ? "reason" : "pending" },
          change.phase === "refused" ? null : clock(), change.phase === "sending" ? "Sending" : change.reason),
        element("div", { class: "buttons" }, ...this.buttons(change)))));
  }

  /// What may be done with a change; nothing while it is on its way for the first time.
  buttons(change, ...others) {
    const button = (text, act, focus) => element("button", {
      type: "button", class: "quiet", "aria-label": `${text}: ${title(change)}`, "data-focus": `${focus}-${change.id}`, onclick: act,
    }, text);
    // What may have arrived can only be followed by its opposite.
    if (isWaiting(change)) return change.isUnsent ? [button("Take back", () => this.discard(change), "discard")] : [];
    if (change.phase === "sending") return [];
    return [
      change.canRetry ? button("Try again", () => this.act("retry", change), "retry") : null,
      ...others, button("Discard", () => this.discard(change), "discard"),
    ];
  }

  discard(change) {
    this.dropped.add(change.id);
    return this.act("discard", change);
  }

  async act(command, change) {
    const reason = await this.post(command, { id: change.id });
    if (reason) this.announce(reason);
  }
}

const isWaiting = (change) => change.phase === "waiting" || (change.phase === "sending" && change.isStuck);
const many = (count) => (count === 1 ? "1 change" : `${count} changes`);

function title(change) {
  switch (change.kind) {
    case "comment": return `Comment “${change.text}”`;
    case "deletion": return "Delete a comment";
    case "save": return `Keep “${change.text}”`;
    case "unsave": return "Take a story off the reading list";
    default: return "A change of an other version";
  }
}
