// The checks of the server, each with its problem and what to do.

import type { ServerCheck } from "../../api/types-organisation.js";
import { Card } from "../../parts/card.js";
import { State } from "../../parts/state.js";
import { sentence } from "../../text/en.js";
import { serverText } from "../../text/server.js";

export function Checks({ checks }: { checks: ServerCheck[] }) {
  const isAllOk = checks.every(({ isOk }) => isOk);
  return (
    <Card title={serverText.checks} lead={isAllOk ? serverText.allOk : serverText.checksHint}>
      <ul className="list">
        {checks.map(({ name, isOk, problem, advice }) => (
          <li key={name}>
            <div className="words">
              <p className="strong">{serverText.check(name)}</p>
              {problem !== null && <p className="small">{sentence(problem)}</p>}
              {advice !== null && (
                <p className="small soft">
                  {serverText.whatToDo} {sentence(advice)}
                </p>
              )}
            </div>
            <span className="end">
              <State tone={isOk ? "ok" : "bad"}>{isOk ? serverText.ok : serverText.failed}</State>
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
