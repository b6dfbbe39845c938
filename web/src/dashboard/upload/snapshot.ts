// The queue as the page shows it.

import type { Item } from "./item.js";
import type { Progress } from "./tabs.js";

/** What the page shows of the queue. */
export interface Snapshot {
  /** In the order of the queue. */
  items: Item[];
  progress: ReadonlyMap<string, Progress>;
  /** Ids of the uploads whose file is here. */
  withFile: ReadonlySet<string>;
  /** Whether this tab sends. */
  isSender: boolean;
  atOnce: number;
}
