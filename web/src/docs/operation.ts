// One operation: its description, its request and its responses.

import { code, make, marked, paragraphs } from "./dom.js";
import { type Document, type Operation, type Response, examplesOf, jsonOf, resolve } from "./document.js";
import { fields, what } from "./fields.js";

/** The article of an operation; its `operationId` is the anchor. */
export function article(document: Document, operation: Operation): HTMLElement {
  const { method, path, about } = operation;
  const content = jsonOf(about.requestBody?.content);
  return make(
    "article",
    { id: about.operationId, "aria-labelledby": `${about.operationId}-title` },
    make("h3", { id: `${about.operationId}-title` }, make("a", { href: `#${about.operationId}` }, about.summary)),
    make("p", { class: "path" }, badge(method), " ", make("code", {}, path)),
    about.deprecated ? make("p", { class: "warning" }, "Deprecated.") : undefined,
    ...paragraphs(about.description ?? ""),
    section("Example", ...requests(document, operation)),
    parameters(document, operation),
    content && section("Body", fields(document, content.schema)),
    section("Responses", ...answers(document, operation)),
  );
}

/** The method as a coloured badge. */
export function badge(method: string): HTMLElement {
  return make("span", { class: `method ${method.toLowerCase()}` }, method);
}

function section(title: string, ...content: (HTMLElement | undefined)[]): HTMLElement {
  return make("section", {}, make("h4", {}, title), ...content);
}

function parameters(document: Document, { about }: Operation): HTMLElement | undefined {
  if (!about.parameters?.length) return undefined;
  const list = make("dl", { class: "fields" });
  for (const { name, in: place, required, description, schema } of about.parameters) {
    const where = { path: "in the path", query: "in the query", header: "header" }[place];
    list.append(
      make("dt", {}, make("code", {}, name), " ", make("span", { class: "soft" }, `${where}, ${what(document, schema)}`), " ", required ? make("b", {}, "required") : undefined),
      make("dd", {}, ...marked(description ?? "")),
    );
  }
  return section("Parameters", list);
}

function requests(document: Document, operation: Operation): HTMLElement[] {
  const bodies = examplesOf(jsonOf(operation.about.requestBody?.content));
  if (bodies.length === 0) return [code(curl(document, operation, undefined), "Request")];
  return bodies.map(([name, body]) => code(curl(document, operation, body), `Request: ${name}`));
}

/** A curl command for a shell. */
function curl(document: Document, { method, path, about }: Operation, body: unknown): string {
  const parameter = (name: string) => about.parameters?.find((one) => one.in === "path" && one.name === name);
  const filled = path.replace(/\{(\w+)\}/g, (whole, name: string) => parameter(name)?.example ?? whole);
  const query = (about.parameters ?? []).filter((one) => one.in === "query" && one.required);
  const mark = query.length > 0 ? `?${query.map(({ name }) => `${name}=…`).join("&")}` : "";
  const lines = [`curl -u ID:SECRET${method === "GET" ? "" : ` -X ${method}`} ${quoted(`${document.servers[0]?.url ?? ""}${filled}${mark}`)}`];
  if (body !== undefined) {
    lines.push("  -H 'Content-Type: application/json'", `  -d ${quoted(JSON.stringify(body, null, 2))}`);
  }
  return lines.join(" \\\n");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function answers(document: Document, { about }: Operation): HTMLElement[] {
  return Object.entries(about.responses).map(([status, given]) => {
    const response = resolve<Response>(document, given);
    const content = jsonOf(response.content);
    const isSuccess = status.startsWith("2");
    const examples = examplesOf(content).map(([name, value]) =>
      code(JSON.stringify(value, null, 2), name === "" ? `Response ${status}` : `Response ${status}: ${name}`),
    );
    const described = isSuccess && content ? fields(document, content.schema) : undefined;
    return make(
      "details",
      isSuccess ? { class: "good", open: "" } : {},
      make("summary", {}, make("b", {}, status), " ", ...marked(response.description)),
      ...examples,
      described && make("details", {}, make("summary", {}, "Fields"), described),
    );
  });
}
