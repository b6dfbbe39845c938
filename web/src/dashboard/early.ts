// Sends the first requests of a page while its scripts are loading: over a slow line they would wait
// for a second. `api/early-responses.ts` takes the responses. It imports nothing, so that one file is
// enough, and it is no module: modules run after it.

const { pathname, search } = location;
const page = pathname.replace(/^\/dashboard/, "");
const responses = new Map<string, Promise<Response>>();

/** Pages that need no session. They read nothing before the person does something. */
const LINK_PAGES = ["/setup", "/join", "/reset"];

function read(path: string): Promise<Response> {
  const response = fetch(`/dashboard/api${path}`, { credentials: "same-origin", headers: { accept: "application/json" } });
  response.catch(() => undefined); // the page sends it again, and shows what is wrong
  responses.set(path, response);
  return response;
}

if (!LINK_PAGES.includes(page)) {
  const session = read("/session");
  if (page === "/sign-in") void read("/door");
  const workspace = /^\/w\/([0-9a-f-]{36})\/library$/.exec(page)?.[1];
  if (workspace !== undefined && search === "") {
    // Without a session the list would be one more error in the console.
    const readList = ({ ok }: Response) => ok && void read(`/workspaces/${workspace}/on-demand?limit=48`);
    session.then(readList, () => undefined);
  }
}

(window as { earlyResponses?: typeof responses }).earlyResponses = responses;
