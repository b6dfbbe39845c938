// Look, times and keyboard shortcuts.

import { useChangeSettings } from "../../api/queries.js";
import type { Settings } from "../../api/types.js";
import { useSettings } from "../../frame/settings.js";
import { Card } from "../../parts/card.js";
import { Choice } from "../../parts/choice.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { zoneName } from "../../parts/time.js";
import { text } from "../../text/en.js";

export function Display() {
  const { theme, times, keys } = useSettings();
  const change = useChangeSettings();
  const set = (setting: Settings) => change.mutate(setting);
  return (
    <Card title={text.account.display}>
      <div className="stack">
        <Choice label={text.look.label} hint={text.look.hint} names={text.look.names} value={theme} onChange={(theme) => set({ theme })} />
        <Choice
          label={text.times.label}
          hint={text.times.hint(zoneName())}
          names={text.times.names}
          value={times}
          onChange={(times) => set({ times })}
        />
        <Choice
          label={text.keys.label}
          hint={text.keys.hint}
          names={{ on: text.keys.on, off: text.keys.off }}
          value={keys ? "on" : "off"}
          onChange={(value) => set({ keys: value === "on" })}
        />
        <FormProblem error={requestError(change.error)} />
      </div>
    </Card>
  );
}
