// The queue of the signed-in person, for components.

import { useSyncExternalStore } from "react";
import { useSession } from "../api/queries.js";
import { Queue } from "../upload/queue.js";
import type { Snapshot } from "../upload/snapshot.js";

let queue: Queue | null = null;

/** The queue lives as long as the document: another person gets a new one. */
export function useQueue(): Queue {
  const { person } = useSession();
  queue ??= new Queue(person.id);
  return queue;
}

export function useSnapshot(): Snapshot {
  const { subscribe, snapshot } = useQueue();
  return useSyncExternalStore(subscribe, snapshot);
}
