// Sets one entry of the metadata of the selected media, or removes it.

import { useState } from "react";
import { Button } from "../../../parts/button.js";
import { Choice } from "../../../parts/choice.js";
import { Dialog } from "../../../parts/dialog.js";
import { Field } from "../../../parts/field.js";
import { Form } from "../../../parts/form.js";
import { bulkText } from "../../../text/bulk.js";
import { text } from "../../../text/en.js";
import type { AskProps } from "./bulk.js";
import { setMetadata } from "./operations.js";

const words = bulkText.metadata;
/** Characters of a key or a value. */
const LENGTH_MAX = 255;

export function MetadataDialog({ workspace, media, onStart, onCancel }: AskProps) {
  const [mode, setMode] = useState<"set" | "remove">("set");
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const start = () => onStart((chosen) => setMetadata(workspace.id, key, mode === "set" ? value : null, chosen), media);
  const keys = [...new Set(media.flatMap(({ metadata }) => Object.keys(metadata)))].sort();
  return (
    <Dialog title={bulkText.titles.metadata} onClose={onCancel}>
      <Form error={null} isBusy={false} onSubmit={start}>
        <Choice label={words.label} isLabelHidden names={words.modes} value={mode} onChange={setMode} />
        <Field label={words.key} list="metadata-keys" required autoComplete="off" maxLength={LENGTH_MAX} data-autofocus value={key} onChange={(event) => setKey(event.target.value)} />
        <datalist id="metadata-keys">
          {keys.map((key) => (
            <option key={key} value={key} />
          ))}
        </datalist>
        {mode === "set" && <Field label={words.value} maxLength={LENGTH_MAX} value={value} onChange={(event) => setValue(event.target.value)} />}
        <p className="hint">{words.hint}</p>
        <div className="row end">
          <Button onClick={onCancel}>{text.cancel}</Button>
          <Button kind="primary" type="submit">
            {bulkText.change(media.length)}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
