// Pairs of metadata for new media.

import { Plus, X } from "lucide-react";
import { Button, IconButton } from "../parts/button.js";
import { Field } from "../parts/field.js";
import { uploadsText } from "../text/uploads.js";

export interface Pair {
  key: string;
  value: string;
}

/** Limits of the API. */
const PAIRS_MAX = 10;
const TEXT_MAX = 255;
const words = uploadsText.sheet;

/** The pairs that have a key; a later one wins. */
export function recordOf(pairs: Pair[]): Record<string, string> {
  return Object.fromEntries(pairs.filter(({ key }) => key.trim() !== "").map(({ key, value }) => [key.trim(), value]));
}

export function MetadataFields({ pairs, onChange }: { pairs: Pair[]; onChange: (pairs: Pair[]) => void }) {
  const set = (index: number, change: Partial<Pair>) => onChange(pairs.map((pair, at) => (at === index ? { ...pair, ...change } : pair)));
  return (
    <fieldset className="choice metadata">
      <legend>{words.metadata}</legend>
      {pairs.map(({ key, value }, index) => (
        <div key={index} className="pair-fields">
          <Field label={words.key(index + 1)} isLabelHidden placeholder="key" maxLength={TEXT_MAX} autoComplete="off" value={key} onChange={(event) => set(index, { key: event.target.value })} />
          <Field label={words.value(index + 1)} isLabelHidden placeholder="value" maxLength={TEXT_MAX} autoComplete="off" value={value} onChange={(event) => set(index, { value: event.target.value })} />
          <IconButton label={words.removePair(index + 1)} onClick={() => onChange(pairs.filter((_, at) => at !== index))}>
            <X className="i" aria-hidden />
          </IconButton>
        </div>
      ))}
      {pairs.length < PAIRS_MAX && (
        <Button size="small" onClick={() => onChange([...pairs, { key: "", value: "" }])}>
          <Plus className="i" aria-hidden />
          {words.addPair}
        </Button>
      )}
      <p className="hint">{words.metadataHint}</p>
    </fieldset>
  );
}
