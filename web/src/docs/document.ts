// The parts of an OpenAPI 3.1 document that the page shows, and functions that look them up.

export interface Document {
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, About>>;
}

export interface About {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  deprecated?: boolean;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, Response | Reference>;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description?: string;
  schema: Schema;
  example?: string;
}

export interface Content {
  schema: Schema | Reference;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface Response {
  description: string;
  content?: Record<string, Content>;
}

export interface Reference {
  $ref: string;
}

export interface Schema {
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema | Reference>;
  required?: string[];
  items?: Schema | Reference;
  anyOf?: (Schema | Reference)[];
  additionalProperties?: Schema | boolean;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
}

/** One operation with its method and path. */
export interface Operation {
  method: string;
  path: string;
  about: About;
}

const JSON_TYPE = "application/json";

/** Resolves a reference; returns any other value unchanged. */
export function resolve<T extends object>(document: Document, value: T | Reference): T {
  if (!("$ref" in value)) return value;
  const steps = value.$ref.split("/").slice(1);
  return steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document) as T;
}

/** The operations of a group, in the order of their paths. */
export function operationsOf(document: Document, tag: string): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, about]) => about.tags.includes(tag))
      .map(([method, about]) => ({ method: method.toUpperCase(), path, about })),
  );
}

/** The JSON of a request or response body. */
export function jsonOf(content: Record<string, Content> | undefined): Content | undefined {
  return content?.[JSON_TYPE];
}

/** Its named examples; a single example has no name. */
export function examplesOf(content: Content | undefined): [string, unknown][] {
  if (content?.examples) return Object.entries(content.examples).map(([name, { value }]) => [name, value]);
  return content && "example" in content ? [["", content.example]] : [];
}
