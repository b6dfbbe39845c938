// Requests and addresses to copy. They are the same in every language.

/** A request of the API by curl. */
export function curl(url: string, method = "GET", body?: unknown): string {
  const options = method === "GET" || (method === "POST" && body !== undefined) ? "" : `-X ${method} `;
  const lines = [`curl -u 'TOKEN_ID:SECRET' ${options}${quoted(url)}`];
  if (body !== undefined) lines.push("  -H 'Content-Type: application/json'", `  -d ${quoted(JSON.stringify(body))}`);
  return lines.join(" \\\n");
}

/** What a playback ID opens; `query` has the token of a private one. */
export function addressesOf(publicUrl: string, playbackId: string, isPrivate: boolean) {
  const query = isPrivate ? "?token=TOKEN" : "";
  const page = `${publicUrl}/embed/${playbackId}${query}`;
  return {
    hls: `${publicUrl}/${playbackId}.m3u8${query}`,
    page,
    thumbnail: `${publicUrl}/${playbackId}/thumbnail.jpg${query}`,
    oembed: `${publicUrl}/oembed?url=${encodeURIComponent(page)}`,
    file: (name: string) => `${publicUrl}/${playbackId}/${name}${query}`,
  };
}

/** One word of a POSIX shell. */
function quoted(word: string): string {
  return /^[\w.,:/@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
