// Which addresses belong to one page: its tabs are not pages of their own.

/** The path of the page; of a media it is the same for all tabs. */
export function pageOf(path: string): string {
  return /^\/w\/[^/]+\/media\/[^/]+/.exec(path)?.[0] ?? path;
}
