// A server that is too busy for some requests of a page.

/**
 * Answers requests for `url` with a 503 while `isBusy(number)` says so, where 1 is the first request. The
 * answer names `retryAfter` seconds.
 */
export async function makeBusy(page, url, isBusy, { retryAfter }) {
  let number = 0;
  await page.route(url, (route) => {
    number += 1;
    if (!isBusy(number)) return route.fallback();
    return route.fulfill({
      status: 503,
      headers: { "retry-after": String(retryAfter), "x-request-id": "busy-1" },
      json: { success: false, error: { code: 503, message: "overloaded", description: "too many requests wait" } },
    });
  });
}
