// The state of the server.

import { queryOptions } from "@tanstack/react-query";
import { send } from "./client.js";
import type { ServerState } from "./types-organisation.js";

export const serverQuery = queryOptions({ queryKey: ["server"], queryFn: () => send<ServerState>("GET", "/server") });
