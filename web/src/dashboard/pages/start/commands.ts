// Commands and requests to copy. They are the same in every language.

export function uploadCommand(workspace: string): string {
  return `kinora upload talk.mp4 --workspace ${quoted(workspace)} --wait`;
}

export function tokenCommand(workspace: string): string {
  return `kinora token create --workspace ${quoted(workspace)} --permission read-write`;
}

export function workspaceCommand(): string {
  return "kinora workspace create Development";
}

const EXAMPLE = { inputs: [{ type: "video", url: "https://example.com/talk.mp4" }], accessPolicy: "public" };

/** Creates a media by curl; `baseUrl` ends with `/v1`. */
export function createCurl(baseUrl: string, body: object = EXAMPLE): string {
  return [
    `curl -u 'TOKEN_ID:SECRET' ${baseUrl}/on-demand \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join("\n");
}

/** One word of a POSIX shell. */
function quoted(word: string): string {
  return /^[\w.-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
