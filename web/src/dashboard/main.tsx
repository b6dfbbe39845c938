// Starts the dashboard. The address and the session decide which page is shown (`app.tsx`).

import { QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { Router } from "wouter";
import { newQueryClient } from "./api/queries.js";
import { App } from "./app.js";
import { PlainHttpBar } from "./frame/connection.js";
import { aroundNav, setRoot } from "./frame/leave.js";
import { applyRememberedTheme } from "./frame/settings.js";
import { takeSecret } from "./pages/link/secret.js";
import { Toasts } from "./parts/toast.js";

takeSecret();
applyRememberedTheme();

const root = document.getElementById("app");
// Older browsers keep the sentence of dashboard.html.
if (root !== null && CSS.supports("color", "light-dark(#000, #fff)") && "popover" in HTMLElement.prototype) {
  const page = createRoot(root);
  setRoot(page);
  page.render(
    <QueryClientProvider client={newQueryClient()}>
      <Router base="/dashboard" aroundNav={aroundNav}>
        <PlainHttpBar />
        <App />
        <Toasts />
      </Router>
    </QueryClientProvider>,
  );
}

// The back-forward cache restores a page with its memory, also after a sign-out.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
