// The settings of the signed-in person, and the look of the document.

import { createContext, useContext } from "react";
import type { Settings, Theme } from "../api/types.js";
import { recall, remember } from "./memory.js";

const DEFAULTS: Required<Settings> = { theme: "system", times: "local", library: "grid", keys: true };

export const SettingsContext = createContext(DEFAULTS);

export function useSettings(): Required<Settings> {
  return useContext(SettingsContext);
}

/** All settings: those of the person, else the defaults. */
export function settingsOf(settings: Settings): Required<Settings> {
  return { ...DEFAULTS, ...settings };
}

/** Shows this look, and remembers it for the next load: the page is drawn before the session is known. */
export function applyTheme(theme: Theme): void {
  show(theme);
  remember("theme", theme);
}

export function applyRememberedTheme(): void {
  const theme = recall("theme");
  show(theme === "light" || theme === "dark" ? theme : "system");
}

function show(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}
