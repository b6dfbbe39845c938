// Warnings about the connection: plain HTTP, and an address that is not the server's public one.

import { TriangleAlert } from "lucide-react";
import { text } from "../text/en.js";

/** Above each page that came over plain HTTP from another machine. */
export function PlainHttpBar() {
  if (location.protocol !== "http:" || isLoopback(location.hostname)) return null;
  return (
    <section className="connection" aria-label={text.bar.plainHttpName}>
      <TriangleAlert className="i" aria-hidden />
      <p>{text.bar.plainHttp}</p>
    </section>
  );
}

/** Above a form with a password, if the page came from another origin than `publicUrl`. */
export function OtherOrigin({ publicUrl, fragment = "" }: { publicUrl: string; fragment?: string }) {
  const { origin } = new URL(publicUrl);
  if (origin === location.origin) return null;
  return (
    <div className="note" role="alert">
      <TriangleAlert className="i" aria-hidden />
      <p>
        {text.bar.otherOrigin(origin)} <a href={origin + location.pathname + location.search + fragment}>{text.bar.otherOriginLink}</a>
      </p>
    </div>
  );
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
}
