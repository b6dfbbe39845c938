// Errors: of a form, and in the place of data that cannot be loaded.

import { useEffect, useState } from "react";
import { CircleAlert } from "lucide-react";
import { RequestError } from "../api/client.js";
import { sentence, sentenceOf, text } from "../text/en.js";
import { Button } from "./button.js";
import { Copy } from "./copy.js";

/**
 * The error of a request that the person has to know. Another error is a defect and goes to the nearest
 * boundary.
 */
export function requestError(error: unknown): RequestError | null {
  if (error === null || error === undefined) return null;
  if (!(error instanceof RequestError)) throw error;
  return error.isCancelled ? null : error;
}

/**
 * An error of a form, announced at once. `instead` replaces its sentence. Nothing is shown while each named
 * field is on the page (`shown`) and has its own message.
 */
export function FormProblem({ error, instead, shown = [] }: { error: RequestError | null; instead?: string | undefined; shown?: string[] }) {
  const others = error?.fields.filter(({ field }) => !shown.includes(field)) ?? [];
  const isSaidElsewhere = error !== null && error.fields.length > 0 && others.length === 0;
  return (
    <div role="alert">
      {error !== null && !isSaidElsewhere && (
        <div className="note bad">
          <CircleAlert className="i" aria-hidden />
          <div>
            <p>{instead ?? (others.length > 0 ? others.map(({ field, message }) => sentence(`${field} ${message}`)).join(" ") : sentenceOf(error))}</p>
            {error.status >= 500 && <Details error={error} />}
          </div>
        </div>
      )}
    </div>
  );
}

/** In the place of data that cannot be loaded. */
export function LoadProblem({ error, onRetry }: { error: RequestError; onRetry: () => void }) {
  return (
    <div className="note bad" role="alert">
      <CircleAlert className="i" aria-hidden />
      <div className="stack tight">
        <p>{sentenceOf(error)}</p>
        <Details error={error} />
        <div>
          <Button size="small" onClick={onRetry}>
            {text.tryAgain}
          </Button>
        </div>
      </div>
    </div>
  );
}

/** What an operator needs to find the request in the log. */
export function Details({ error }: { error: RequestError }) {
  if (error.status === 0 && error.requestId === null) return null;
  return (
    <div className="row xs soft">
      {error.status !== 0 && <span className="nowrap">{text.error.code(error.status)}</span>}
      {error.requestId !== null && (
        <>
          <span className="mono clip">{text.error.requestId(error.requestId)}</span>
          <Copy value={error.requestId} what={text.error.requestIdName} />
        </>
      )}
    </div>
  );
}

/** Seconds until the next attempt is allowed, counted down from the error's `Retry-After`. 0 means now. */
export function useWait(error: RequestError | null): number {
  const [wait, setWait] = useState<{ of: RequestError | null; seconds: number }>({ of: null, seconds: 0 });
  const total = error?.retryAfterS ?? 0;
  useEffect(() => {
    if (total === 0) return undefined;
    const end = performance.now() + total * 1000;
    const timer = setInterval(() => {
      const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
      setWait({ of: error, seconds: left });
      if (left === 0) clearInterval(timer);
    }, 250);
    return () => clearInterval(timer);
  }, [error, total]);
  return wait.of === error ? wait.seconds : total;
}
