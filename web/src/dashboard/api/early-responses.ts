// Responses to requests that `early.ts` has sent before this script was loaded. Each is used once.

/**
 * The response to this GET, if it was sent early. Rejects if there is no network, as `fetch` does.
 *
 * It was sent without the id of the person: it belongs to the session that the page starts with.
 */
export function takeEarlyResponse(path: string): Promise<Response> | undefined {
  const { earlyResponses } = window as { earlyResponses?: Map<string, Promise<Response>> };
  const response = earlyResponses?.get(path);
  earlyResponses?.delete(path);
  return response;
}
