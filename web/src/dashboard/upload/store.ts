// The queue of a person in IndexedDB. Several tabs change it, so a change reads and writes in one
// transaction.

import type { Item } from "./item.js";

const DATABASE = "kinora-uploads";
const ITEMS = "items";
const BY_PERSON = "person";

export interface Store {
  /** All uploads of the person. */
  all(): Promise<Item[]>;
  get(id: string): Promise<Item | undefined>;
  add(items: Item[]): Promise<void>;
  /** Replaces the item by the result of `change`, and returns it. `undefined` if it is gone. */
  update(id: string, change: (item: Item) => Item): Promise<Item | undefined>;
  remove(ids: string[]): Promise<void>;
}

/** Opens the queue of a person. Without IndexedDB (some private windows) it lives as long as the page. */
export async function openStore(personId: string): Promise<Store> {
  try {
    return databaseStore(await open(), personId);
  } catch {
    return memoryStore();
  }
}

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(ITEMS, { keyPath: "id" }).createIndex(BY_PERSON, "personId");
    };
    request.onsuccess = () => {
      // The sign-out deletes the database, from any tab.
      request.result.onversionchange = () => request.result.close();
      resolve(request.result);
    };
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("blocked"));
  });
}

function databaseStore(database: IDBDatabase, personId: string): Store {
  const transaction = <T>(mode: IDBTransactionMode, use: (items: IDBObjectStore, keep: (value: T) => void) => void): Promise<T> =>
    new Promise((resolve, reject) => {
      let result: T;
      const transaction = database.transaction(ITEMS, mode);
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(transaction.error);
      use(transaction.objectStore(ITEMS), (value) => (result = value));
    });
  return {
    all: () =>
      transaction<Item[]>("readonly", (items, keep) => {
        const request = items.index(BY_PERSON).getAll(personId);
        request.onsuccess = () => keep(request.result as Item[]);
      }),
    get: (id) =>
      transaction<Item | undefined>("readonly", (items, keep) => {
        const request = items.get(id);
        request.onsuccess = () => keep(request.result as Item | undefined);
      }),
    add: (added) => transaction<void>("readwrite", (items) => added.forEach((item) => items.put(item))),
    update: (id, change) =>
      transaction<Item | undefined>("readwrite", (items, keep) => {
        const request = items.get(id);
        request.onsuccess = () => {
          const before = request.result as Item | undefined;
          const after = before && change(before);
          keep(after);
          if (after !== undefined && after !== before) items.put(after);
        };
      }),
    remove: (ids) => transaction<void>("readwrite", (items) => ids.forEach((id) => items.delete(id))),
  };
}

function memoryStore(): Store {
  const items = new Map<string, Item>();
  return {
    all: async () => [...items.values()],
    get: async (id) => items.get(id),
    add: async (added) => added.forEach((item) => items.set(item.id, item)),
    update: async (id, change) => {
      const before = items.get(id);
      if (before !== undefined) items.set(id, change(before));
      return items.get(id);
    },
    remove: async (ids) => ids.forEach((id) => items.delete(id)),
  };
}
