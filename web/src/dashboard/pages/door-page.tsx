// The frame of pages before the sign-in: one card in the middle.

import { type ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { doorQuery } from "../api/queries.js";
import type { Door } from "../api/types.js";
import { OtherOrigin } from "../frame/connection.js";
import { Mark } from "../frame/mark.js";
import { useIsPage, useTitle } from "../frame/page.js";
import { Outline } from "../parts/outline.js";
import { LoadProblem, requestError } from "../parts/problem.js";
import { text } from "../text/en.js";

interface Props {
  title: string;
  lead?: (door: Door) => string | undefined;
  /** The secret of a link, kept in the link to another origin. */
  fragment?: string;
  children: (door: Door) => ReactNode;
  below?: ReactNode;
}

/** Nothing can be typed until the server has said what its public address is. */
export function DoorPage({ title, lead, fragment = "", children, below }: Props) {
  const door = useQuery(doorQuery);
  const error = requestError(door.error);
  const words = door.data && lead?.(door.data);
  useTitle(title);
  useIsPage();
  return (
    <div className="door">
      <main>
        <p className="brand">
          <Mark />
          {text.product}
        </p>
        {door.data && <OtherOrigin publicUrl={door.data.publicUrl} fragment={fragment} />}
        <section className="card" aria-labelledby="title">
          <header className="words">
            <h1 id="title">{title}</h1>
            {words !== undefined && <p className="sub">{words}</p>}
          </header>
          {door.data ? (
            children(door.data)
          ) : error === null ? (
            <Outline />
          ) : (
            <LoadProblem error={error} onRetry={() => void door.refetch()} />
          )}
        </section>
        {door.data && below}
      </main>
      <footer>
        <a href="/docs">{text.signIn.apiReference}</a>
      </footer>
    </div>
  );
}
