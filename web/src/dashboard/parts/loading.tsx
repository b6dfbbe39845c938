// In the place of data that is being loaded: an outline, why it takes longer, or why it failed.

import { useEffect, useState } from "react";
import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import { CircleAlert } from "lucide-react";
import { type RequestError, retryPolicy } from "../api/client.js";
import { sentenceOf, text } from "../text/en.js";
import { Button } from "./button.js";
import { Outline } from "./outline.js";
import { Details, LoadProblem, requestError } from "./problem.js";

interface Props {
  /** Of one answer or of pages. */
  query: { error: unknown; failureCount: number; failureReason: unknown; refetch: () => Promise<unknown> };
  queryKey: QueryKey;
  lines?: number;
}

export function Loading({ query, queryKey, lines = 6 }: Props) {
  const client = useQueryClient();
  const error = requestError(query.error);
  if (error !== null) return <LoadProblem error={error} onRetry={() => void query.refetch()} />;
  const reason = requestError(query.failureReason);
  if (reason === null) return <Outline lines={lines} />;
  // A pause between two attempts has no other end than this.
  const again = () => void client.cancelQueries({ queryKey, exact: true }).then(() => query.refetch());
  return <Retrying error={reason} failures={query.failureCount} onRetry={again} />;
}

interface RetryingProps {
  error: RequestError;
  /** Attempts that have failed. */
  failures: number;
  onRetry: () => void;
}

/** An error while further attempts follow by themselves. Only its sentence is announced, not each second. */
function Retrying({ error, failures, onRetry }: RetryingProps) {
  const left = useCountdown(retryPolicy.retryDelay(failures - 1, error), failures);
  return (
    <div className="note bad">
      <CircleAlert className="i" aria-hidden />
      <div className="stack tight">
        <p>
          <span role="alert">{sentenceOf(error)}</span> <span className="soft">{text.error.tryingAgainIn(left)}</span>
        </p>
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

/** Seconds that are left of this time, counted down again for each value of `of`. */
function useCountdown(total_ms: number, of: number): number {
  const [left, setLeft] = useState(() => Math.ceil(total_ms / 1000));
  useEffect(() => {
    const end = performance.now() + total_ms;
    const show = () => setLeft(Math.max(0, Math.ceil((end - performance.now()) / 1000)));
    show();
    const timer = setInterval(show, 250);
    return () => clearInterval(timer);
  }, [total_ms, of]);
  return left;
}
