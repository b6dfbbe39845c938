// What the tabs of a person tell each other about their uploads.

/** How far an upload is in the tab that sends it. */
export interface Progress {
  /** Bytes sent. */
  bytes: number;
  /** `null` while unknown. */
  perSecond: number | null;
}

export type Message =
  /** These uploads were changed, added or removed: read them again. */
  | { type: "changed"; ids: string[] }
  /** Files of uploads: each tab keeps them, so that any can send. */
  | { type: "files"; files: [id: string, file: File][] }
  /** A new tab asks for the files. */
  | { type: "files wanted" }
  | { type: "progress"; progress: [id: string, progress: Progress][] }
  /** The number of uploads that run at once was changed. */
  | { type: "settings" }
  /** The person signs out. */
  | { type: "forget" };

export interface Tabs {
  tell(message: Message): void;
  close(): void;
}

export function openTabs(personId: string, onMessage: (message: Message) => void): Tabs {
  const channel = new BroadcastChannel(`kinora.uploads.${personId}`);
  channel.onmessage = ({ data }) => onMessage(data as Message);
  return { tell: (message) => channel.postMessage(message), close: () => channel.close() };
}
