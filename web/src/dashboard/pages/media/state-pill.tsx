// The state of a media beside its title, with an icon for each: the colour never stands alone.

import { Check, CircleAlert, CircleX, LoaderCircle, type LucideIcon } from "lucide-react";
import type { Media } from "../../api/media-types.js";
import { stateOf } from "../../parts/media-state.js";
import { Tag, type Tone } from "../../parts/state.js";

const looks: Record<Tone, { icon: LucideIcon; tone: "ok" | "warn" | "bad" | "accent" | "plain" }> = {
  ok: { icon: Check, tone: "ok" },
  warn: { icon: CircleAlert, tone: "warn" },
  bad: { icon: CircleX, tone: "bad" },
  busy: { icon: LoaderCircle, tone: "accent" },
  plain: { icon: CircleAlert, tone: "plain" },
};

export function StatePill({ media }: { media: Media }) {
  const { tone, word } = stateOf(media);
  const { icon: Icon, tone: tagTone } = looks[tone];
  return (
    <Tag tone={tagTone}>
      <Icon className={tone === "busy" ? "i turning" : "i"} aria-hidden />
      {word}
    </Tag>
  );
}
