// In the place of data that is being loaded. Visible after 150 ms (`style/parts.css`).

import { text } from "../text/en.js";

export function Outline({ lines = 3 }: { lines?: number }) {
  return (
    <div className="outline" role="status">
      <span className="unseen">{text.loading}</span>
      {Array.from({ length: lines }, (_, line) => (
        <i key={line} aria-hidden />
      ))}
    </div>
  );
}
