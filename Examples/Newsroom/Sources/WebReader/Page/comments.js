// The comments below an article: what the API has, what waits to be sent, and what was refused.

import { clock, element, renew, time } from "./elements.js";

const longest = 500;

/// One section that stays while the article around it is made anew, so that nobody loses what they type.
export class Comments {
  constructor({ post, announce, outbox, user, signIn }) {
    Object.assign(this, { post, announce, outbox, user, signIn });
    this.state = null;
    this.article = null;
    this.shown = null;
    this.count = element("span", { class: "number" });
    this.title = element("h2", { id: "comments-title", class: "rule", tabindex: "-1" }, "Comments ", this.count);
    this.note = element("p", { class: "note" });
    this.list = element("ol");
    this.invitation = element("p", { class: "invitation" },
      element("button", { type: "button", class: "strong", onclick: signIn }, "Sign in to comment"));
    this.form = this.makeForm();
    this.section = element("section", { class: "comments", "aria-labelledby": "comments-title" },
      this.title, this.note, this.list, this.invitation, this.form);
  }

  makeForm() {
    this.hint = element("p", { id: "comment-hint", class: "hint" });
    this.text = element("textarea", {
      id: "comment-text", name: "text", rows: 3, required: true, "aria-describedby": "comment-hint", "data-focus": "comment-text",
      oninput: () => this.showHint(),
    });
    return element("form", { class: "write", onsubmit: (event) => { event.preventDefault(); this.send(); } },
      element("label", { for: "comment-text" }, "Add a comment"), this.text,
      element("div", { class: "buttons" }, this.hint, element("button", { type: "submit", class: "strong", "data-focus": "comment-send" }, "Post")));
  }

  begin(article) {
    if (article !== this.article) this.text.value = "";
    Object.assign(this, { article, state: null, shown: null });
    this.list.replaceChildren();
    this.showHint();
    this.show();
  }

  show() {
    const isGuest = this.user() == null;
    this.form.hidden = isGuest;
    this.invitation.hidden = !isGuest;
    const comments = this.state?.value ?? [];
    const changes = this.outbox.changes.filter((change) => change.article === this.article);
    const refused = changes.filter((change) => change.kind === "comment" && change.phase === "refused");
    const shown = JSON.stringify([this.article, this.user(), comments, changes]);
    this.showNote(comments.length + refused.length);
    if (shown === this.shown) return;
    this.shown = shown;
    const hasKeptFocus = renew(this.list, [
      ...comments.map((comment) => this.comment(comment, changes.find((change) => change.comment === comment.id))),
      ...refused.map((change) => this.refused(change)),
    ]);
    if (!hasKeptFocus) this.title.focus({ preventScroll: true });
  }

  showNote(count) {
    this.count.textContent = count || "";
    const { state } = this;
    if (state?.phase === "loaded") this.note.textContent = count === 0 ? "None yet. Be the first." : "";
    else if (state?.phase === "failed") this.note.textContent = `They cannot be shown. ${state.error}`;
    else this.note.textContent = state?.fetchStatus === "paused" ? "They are shown when there is a connection." : "Loading…";
  }

  showHint() {
    const count = [...this.text.value.trim()].length;
    this.hint.textContent = count === 0 ? `Up to ${longest} characters` : `${count} of ${longest} characters`;
    this.hint.classList.toggle("over", count > longest);
  }

  /// - change: what the user has written about it and the API does not have.
  comment(comment, change) {
    const isWaiting = change?.kind === "comment" && change.phase !== "refused";
    const key = comment.reference ?? comment.id;
    const isOwn = comment.author.id === this.user()?.id;
    return element("li", { class: isWaiting ? "comment waiting" : "comment", "data-comment": comment.id },
      element("p", { class: "meta" }, element("strong", {}, comment.author.name), element("span", {}, time(comment.written))),
      element("p", { class: "text" }, comment.text),
      isWaiting ? element("p", { class: "pending" }, clock(), change.phase === "sending" ? "Sending" : change.reason) : null,
      change?.kind === "deletion" && change.phase === "refused" ? this.decision(change, `Not deleted. ${change.reason}`) : null,
      isOwn ? element("button", {
        type: "button", class: "quiet delete", "aria-label": `Delete your comment “${short(comment.text)}”`, "data-focus": `delete-${key}`,
        onclick: () => this.delete(comment),
      }, "Delete") : null);
  }

  refused(change) {
    return element("li", { class: "comment refused", "data-change": change.id },
      element("p", { class: "meta" }, element("strong", {}, this.user()?.name ?? ""), element("span", {}, "not published")),
      element("p", { class: "text" }, change.text),
      this.decision(change, change.field ? `Your ${change.field}: ${change.reason}` : change.reason, element("button", {
        type: "button", class: "quiet", "aria-label": `Edit the comment “${short(change.text)}”`, "data-focus": `edit-${change.id}`,
        onclick: () => this.edit(change),
      }, "Edit")));
  }

  decision(change, reason, ...others) {
    return element("div", { class: "decision" }, element("p", { class: "reason" }, reason),
      element("div", { class: "buttons" }, ...this.outbox.buttons(change, ...others)));
  }

  async send() {
    const text = this.text.value;
    const reason = await this.post("comment", { article: this.article, text });
    if (reason) return this.announce(`Not saved. ${reason}`);
    if (this.text.value === text) this.text.value = "";
    this.showHint();
  }

  async edit(change) {
    if (this.text.value.trim() === "") this.text.value = change.text;
    else this.text.value += `\n${change.text}`;
    this.showHint();
    this.text.focus();
    await this.outbox.discard(change);
  }

  async delete(comment) {
    const reason = await this.post("delete-comment", { article: this.article, comment: comment.id, reference: comment.reference });
    this.announce(reason ? `Not deleted. ${reason}` : "Comment deleted");
  }
}

const short = (text) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
