// Creates elements from text. Text of the document is never parsed as HTML.

type Child = Node | string | undefined;

/** An element with these attributes; its children are nodes and texts. */
export function make(name: string, attributes: Record<string, string> = {}, ...children: Child[]): HTMLElement {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** Paragraphs of a text, separated by empty lines; `backticks` mark code. */
export function paragraphs(text: string): HTMLElement[] {
  return text.split("\n\n").map((paragraph) => make("p", {}, ...marked(paragraph)));
}

/** A text in which `backticks` mark code. */
export function marked(text: string): (Node | string)[] {
  return text.split("`").map((part, at) => (at % 2 === 1 ? make("code", {}, part) : part));
}

/** A block of code, with a copy button if the browser allows pages to copy. */
export function code(text: string, label: string): HTMLElement {
  const block = make("div", { class: "code" }, make("pre", { tabindex: "0", "aria-label": label }, make("code", {}, text)));
  if (navigator.clipboard === undefined) return block; // only available on https and localhost
  const button = make("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    const copied = await navigator.clipboard.writeText(text).then(() => true, () => false);
    button.textContent = copied ? "Copied" : "Not copied";
  });
  block.append(button);
  return block;
}
