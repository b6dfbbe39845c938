// A state as a word with a dot, and a short label. The colour never stands alone.

import type { ReactNode } from "react";

export type Tone = "ok" | "warn" | "bad" | "busy" | "plain";

export function State({ tone = "plain", children }: { tone?: Tone; children: ReactNode }) {
  return <span className={`state ${tone}`}>{children}</span>;
}

export function Tag({ tone = "plain", children }: { tone?: Exclude<Tone, "busy"> | "accent"; children: ReactNode }) {
  return <span className={`tag ${tone}`}>{children}</span>;
}
