// Which page an address shows, and whether it needs a sign-in.

import { type ComponentType, lazy, Suspense } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link, Redirect, Route, Switch, useLocation, useSearch } from "wouter";
import { sessionQuery } from "./api/queries.js";
import type { Action } from "./api/types.js";
import { Boundary } from "./frame/boundary.js";
import { Frame } from "./frame/frame.js";
import { Page } from "./frame/page.js";
import { pageOf } from "./frame/page-path.js";
import { InWorkspace, LastWorkspace, ToLibrary, type WorkspacePage } from "./pages/start/start.js";
import { signInPath } from "./pages/sign-in/next.js";
import { SignInPage } from "./pages/sign-in/sign-in.js";
import { Loading } from "./parts/loading.js";
import { Outline } from "./parts/outline.js";
import { text } from "./text/en.js";

const AccountPage = lazy(() => import("./pages/account/account.js"));
const AdministratorsOnly = lazy(() => import("./pages/administrators-only/administrators-only.js"));
const LinkPage = lazy(() => import("./pages/link/link.js"));

/** Pages of the organisation, each with the action that it needs. */
const organisationPages: { path: string; action: Action; page: ComponentType }[] = [
  { path: "/access-tokens", action: "accessTokens.manage", page: lazy(() => import("./pages/access-tokens/access-tokens.js")) },
  { path: "/people", action: "people.see", page: lazy(() => import("./pages/people/people.js")) },
  { path: "/workspaces", action: "workspaces.manage", page: lazy(() => import("./pages/workspaces/workspaces.js")) },
  { path: "/audit", action: "audit.see", page: lazy(() => import("./pages/audit/audit.js")) },
  { path: "/server", action: "server.see", page: lazy(() => import("./pages/server/server.js")) },
  { path: "/settings", action: "organisation.manage", page: lazy(() => import("./pages/settings/settings.js")) },
];

/** Pages of a workspace. */
const workspacePages: { path: string; page: WorkspacePage }[] = [
  { path: "/library", page: lazy(() => import("./pages/library/library.js")) },
  { path: "/media/:mediaId/:tab?", page: lazy(() => import("./pages/media/media.js")) },
  { path: "/uploads", page: lazy(() => import("./pages/uploads/uploads.js")) },
];

export function App() {
  return (
    <Boundary>
      <Suspense fallback={<Alone />}>
        <Switch>
          <Route path="/sign-in" component={SignInPage} />
          <Route path="/setup" component={LinkPage} />
          <Route path="/join" component={LinkPage} />
          <Route path="/reset" component={LinkPage} />
          <Route component={SignedIn} />
        </Switch>
      </Suspense>
    </Boundary>
  );
}

/** Pages behind the sign-in. */
function SignedIn() {
  const [path] = useLocation();
  const search = useSearch();
  const session = useQuery(sessionQuery);
  if (session.data) {
    return (
      <Frame session={session.data}>
        <Boundary key={pageOf(path)}>
          <Suspense fallback={<PageOutline />}>
            <Switch>
              <Route path="/" component={LastWorkspace} />
              <Route path="/w/:workspaceId" component={ToLibrary} />
              {workspacePages.map(({ path, page }) => (
                <Route key={path} path={`/w/:workspaceId${path}`}>
                  <InWorkspace page={page} />
                </Route>
              ))}
              <Route path="/account" component={AccountPage} />
              {organisationPages.map(({ path, action, page }) => (
                <Route
                  key={path}
                  path={`/organisation${path}`}
                  component={session.data?.actions.includes(action) ? page : AdministratorsOnly}
                />
              ))}
              <Route component={NotFound} />
            </Switch>
          </Suspense>
        </Boundary>
      </Frame>
    );
  }
  if (session.data === null) return <Redirect to={signInPath(path, search)} replace />;
  return (
    <main className="content">
      <h1 className="unseen">{text.product}</h1>
      <Loading query={session} queryKey={sessionQuery.queryKey} />
    </main>
  );
}

/** While it is not known which page is shown. */
function Alone() {
  return (
    <main className="content">
      <h1 className="unseen">{text.product}</h1>
      <Outline lines={6} />
    </main>
  );
}

/** While the script of a page is loaded. */
function PageOutline() {
  return (
    <>
      <h1 className="unseen">{text.product}</h1>
      <Outline lines={6} />
    </>
  );
}

function NotFound() {
  return (
    <Page title={text.notFound.title} lead={text.notFound.lead}>
      <Link className="button" href="/">
        {text.notFound.back}
      </Link>
    </Page>
  );
}
