// The API page. Its content comes from the OpenAPI document of this server.

import { article, badge } from "./operation.js";
import { type Document, type Operation, operationsOf } from "./document.js";
import { make, paragraphs } from "./dom.js";

const main = element("operations");
const notice = element("notice");

try {
  const answer = await fetch("/openapi.json");
  if (!answer.ok) throw new Error(`the server responded with status ${answer.status}`);
  show((await answer.json()) as Document);
} catch (error) {
  notice.textContent = `The API document cannot be loaded: ${error instanceof Error ? error.message : error}. Reload the page.`;
}

function show(document: Document): void {
  element("version").textContent = document.info.version;
  const parts: HTMLElement[] = [start(document)];
  const entries: { item: HTMLElement; group: HTMLElement; text: string }[] = [];
  for (const { name, description } of document.tags) {
    const operations = operationsOf(document, name);
    const list = make("ul");
    const group = make("section", { "aria-label": name }, make("h2", {}, name), list);
    for (const operation of operations) {
      const item = entry(operation);
      list.append(item);
      const { path, method, about } = operation;
      entries.push({ item, group, text: `${method} ${path} ${about.summary} ${about.operationId} ${name}`.toLowerCase() });
    }
    element("index").append(group);
    parts.push(
      make("section", { class: "group" }, make("h2", {}, name), ...paragraphs(description), ...operations.map((operation) => article(document, operation))),
    );
  }
  main.replaceChildren(...parts);
  find(entries);
  // The browser looked for the target of the fragment before it existed.
  if (location.hash !== "") window.document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

function start(document: Document): HTMLElement {
  return make(
    "section",
    { class: "group" },
    make("h2", {}, "Get started"),
    make("p", {}, "Create an access token on the server. Send its id and secret with every request, by HTTP Basic:"),
    make("pre", { tabindex: "0", "aria-label": "How to create an access token" }, make("code", {}, "kinora token create --workspace Development --permission read-write")),
    ...paragraphs(document.info.description),
  );
}

function entry({ method, path, about }: Operation): HTMLElement {
  const title = make("span", { class: "title" }, about.summary);
  return make("li", {}, make("a", { href: `#${about.operationId}`, title: path }, badge(method), " ", title));
}

/** Filters the index: shows the entries that contain every typed word. */
function find(entries: { item: HTMLElement; group: HTMLElement; text: string }[]): void {
  const input = element("find") as HTMLInputElement;
  const found = element("found");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const groups = new Set(entries.map(({ group }) => group));
    for (const group of groups) group.hidden = true;
    let count = 0;
    for (const { item, group, text } of entries) {
      item.hidden = !words.every((word) => text.includes(word));
      if (item.hidden) continue;
      group.hidden = false;
      count += 1;
    }
    found.textContent = words.length === 0 ? "" : count === 1 ? "1 operation" : `${count} operations`;
  });
}

function element(id: string): HTMLElement {
  const found = window.document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}
