// Buttons.

import type { ComponentProps } from "react";

interface Props extends ComponentProps<"button"> {
  /** One primary button on a page. A dangerous one is never primary and stands outside of forms. */
  kind?: "primary" | "plain" | "danger" | "default";
  size?: "wide" | "small" | "normal";
  /** A request of this button is under way: it stays focusable and ignores clicks. */
  isBusy?: boolean;
}

export function Button({ kind = "default", size = "normal", isBusy = false, className = "", onClick, ...rest }: Props) {
  const classes = ["button", kind, size, className].filter((name) => name !== "" && name !== "default" && name !== "normal");
  return (
    <button
      type="button"
      {...rest}
      className={classes.join(" ")}
      aria-busy={isBusy || undefined}
      aria-disabled={isBusy || undefined}
      onClick={(event) => {
        if (isBusy) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
}

/** A button with an icon alone. `label` is its name and tooltip. */
export function IconButton({ label, className = "", ...rest }: ComponentProps<"button"> & { label: string }) {
  return <button type="button" {...rest} className={`iconb ${className}`.trim()} aria-label={label} title={label} />;
}
