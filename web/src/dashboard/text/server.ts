// Text of the page of the server.

const checks: Record<string, string> = { database: "Database", storage: "Storage", confinement: "Confinement of ffmpeg" };
const databases = { sqlite: "SQLite", postgres: "PostgreSQL" };
const storages = { folder: "Folder", s3: "S3" };

export const serverText = {
  lead: "State and versions of the server that answered this request.",
  askAgain: "Check again",
  asked: "Checked",
  upToDate: "The server has answered",

  checks: "Checks",
  allOk: "All checks pass.",
  checksHint: "The same as at /readyz.",
  check: (name: string) => checks[name] ?? name,
  ok: "OK",
  failed: "Problem",
  whatToDo: "What to do:",

  facts: "Server",
  version: "Version",
  started: "Started",
  roles: "Roles",
  engine: "Engine",
  unknown: "Not known",

  data: "Data",
  database: "Database",
  databaseOf: (kind: keyof typeof databases, schema: number) => `${databases[kind] ?? kind}, schema ${schema}`,
  storage: "Storage",
  storageOf: (kind: keyof typeof storages) => storages[kind] ?? kind,
  disk: "Disk",
  used: (used: string, total: string) => `${used} of ${total} used`,
  free: (free: string) => `${free} free`,
  noDisk: "The free space is not known.",
};
