// In the place of a page that has thrown: a defect, or a chunk that an update of the server has removed.

import { Component, type ReactNode } from "react";
import { Button } from "../parts/button.js";
import { text } from "../text/en.js";

interface Props {
  children: ReactNode;
  /** Whether nothing takes the place: the page is of use without this part. */
  isSilent?: boolean;
}

export class Boundary extends Component<Props, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    if (this.props.isSilent) return null;
    return (
      <section className="stack broken-page" role="alert">
        <h1>{text.error.page}</h1>
        <p>{text.error.pageHint}</p>
        <div>
          <Button kind="primary" onClick={() => location.reload()}>
            {text.error.reload}
          </Button>
        </div>
      </section>
    );
  }
}
