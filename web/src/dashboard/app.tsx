// Which page an address shows, and whether it needs a sign-in.

import { lazy, Suspense } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link, Redirect, Route, Switch, useLocation, useSearch } from "wouter";
import { sessionQuery } from "./api/queries.js";
import { Boundary } from "./frame/boundary.js";
import { Frame } from "./frame/frame.js";
import { Page } from "./frame/page.js";
import { LastWorkspace, WorkspaceOverview } from "./pages/home/start.js";
import { signInPath } from "./pages/sign-in/next.js";
import { SignInPage } from "./pages/sign-in/sign-in.js";
import { Outline } from "./parts/outline.js";
import { LoadProblem, requestError } from "./parts/problem.js";
import { text } from "./text/en.js";

const AccountPage = lazy(() => import("./pages/account/account.js"));
const LinkPage = lazy(() => import("./pages/link/link.js"));

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
  const error = requestError(session.error);
  if (session.data) {
    return (
      <Frame session={session.data}>
        <Boundary key={path}>
          <Suspense fallback={<Outline lines={6} />}>
            <Switch>
              <Route path="/" component={LastWorkspace} />
              <Route path="/w/:workspaceId" component={WorkspaceOverview} />
              <Route path="/account" component={AccountPage} />
              <Route component={NotFound} />
            </Switch>
          </Suspense>
        </Boundary>
      </Frame>
    );
  }
  if (session.data === null) return <Redirect to={signInPath(path, search)} replace />;
  if (error === null) return <Alone />;
  return (
    <main className="content">
      <h1 className="unseen">{text.product}</h1>
      <LoadProblem error={error} onRetry={() => void session.refetch()} />
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

function NotFound() {
  return (
    <Page title={text.notFound.title} lead={text.notFound.lead}>
      <Link className="button" href="/">
        {text.notFound.back}
      </Link>
    </Page>
  );
}
