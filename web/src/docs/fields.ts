// The fields of a body and their types, in words.

import { make, marked } from "./dom.js";
import { type Document, type Reference, type Schema, resolve } from "./document.js";

/** Deeper fields appear in the examples only. */
const DEPTH_MAX = 6;

/** A list of the fields of an object, required ones first. */
export function fields(document: Document, schema: Schema | Reference, depth = 0): HTMLElement | undefined {
  const object = inner(document, schema);
  const properties = Object.entries(object.properties ?? {});
  if (properties.length === 0 || depth > DEPTH_MAX) return undefined;
  const isRequired = (name: string) => object.required?.includes(name) ?? false;
  properties.sort(([a], [b]) => Number(isRequired(b)) - Number(isRequired(a)));
  const list = make("dl", { class: "fields" });
  for (const [name, given] of properties) {
    const property = inner(document, given);
    const needed = isRequired(name) && depth >= 0 ? make("b", {}, "required") : undefined;
    list.append(
      make("dt", {}, make("code", {}, name), " ", make("span", { class: "soft" }, what(document, given)), " ", needed),
      make("dd", {}, ...marked(property.description ?? ""), fields(document, listed(document, property), depth + 1)),
    );
  }
  return list;
}

/** The type of a value in words: `string, at most 255 characters`. */
export function what(document: Document, given: Schema | Reference): string {
  const schema = inner(document, given);
  const words = [kinds(schema).join(" or ")];
  const { format, minimum, maximum, minLength, maxLength, minItems, maxItems, maxProperties } = schema;
  if (schema.const !== undefined) words.push(`always ${show(schema.const)}`);
  if (schema.enum) words.push(`one of ${schema.enum.filter((word) => word !== null).map(show).join(", ")}`);
  if (format) words.push(format);
  if (minimum !== undefined && maximum !== undefined) words.push(`${minimum} to ${maximum}`);
  else if (minimum !== undefined) words.push(`at least ${minimum}`);
  if (minLength !== undefined && minLength > 0) words.push("not empty");
  if (maxLength !== undefined) words.push(`at most ${maxLength} characters`);
  if (minItems !== undefined && minItems === maxItems) words.push(`exactly ${minItems}`);
  else if (maxItems !== undefined) words.push(maxItems === 0 ? "empty" : `at most ${maxItems} items`);
  if (maxProperties !== undefined) words.push(maxProperties === 0 ? "empty" : `at most ${maxProperties} entries`);
  if (schema.items) words.push(`of ${what(document, schema.items)}`);
  if (schema.default !== undefined) words.push(`default ${show(schema.default)}`);
  return words.filter((word) => word !== "").join(", ");
}

/** Its types without `null`; the top of the page explains once that `null` equals a missing field. */
function kinds({ type }: Schema): string[] {
  const all = type === undefined ? [] : [type].flat();
  return all.length > 1 ? all.filter((kind) => kind !== "null") : all;
}

/** The schema itself: the target of a reference, or the part that is not null. */
function inner(document: Document, given: Schema | Reference): Schema {
  const schema = resolve(document, given);
  const some = schema.anyOf?.map((one) => resolve<Schema>(document, one)).find(({ type }) => type !== "null");
  return some === undefined ? schema : { ...some, ...(schema.description && { description: schema.description }) };
}

/** The items of a list; returns any other schema unchanged. */
function listed(document: Document, schema: Schema): Schema {
  return schema.items ? inner(document, schema.items) : schema;
}

function show(value: unknown): string {
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}
