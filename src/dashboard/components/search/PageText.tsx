import { home } from "../../app/router.ts"
import { formatNumber } from "../../format.ts"
import type { PageAnswer, PagesAnswer } from "../../search/searches.ts"
import { Badge } from "../ui/Badge.tsx"
import { CodeBlock } from "../ui/CodeBlock.tsx"

type Page = Pick<PageAnswer, "author" | "characters" | "content" | "final_url" | "published" | "title" | "truncated">

/** Shown as text, never as HTML: a page can contain anything. */
export const PageText = ({ page }: { readonly page: Page }) => (
  <div class="stack">
    <div class="results">
      <p class="domain">
        <bdi>{page.final_url}</bdi>
      </p>
      <h3 dir="auto">
        <a href={page.final_url} target="_blank" rel="noopener noreferrer">
          {page.title ?? page.final_url}
        </a>
      </h3>
      <p class="soft">
        {[page.author, page.published, `${formatNumber(page.characters)} characters`].filter(Boolean).join(" · ")}
        {page.truncated && ", of which the first are shown"}
      </p>
    </div>
    <CodeBlock title="Content" what="the content" text={page.content} />
  </div>
)

export const PageRows = ({ pages, urls }: { readonly pages: PagesAnswer; readonly urls: ReadonlyArray<string> }) => (
  <>
    <p class="soft">
      {pages.succeeded} of {pages.total} pages were read.{" "}
      <a href={`${home}/log?batch=${pages.batch_id}`}>View the batch in the log</a>
    </p>
    <ol class="rows">
      {pages.results.map((row, index) => (
        <li key={index}>
          <details>
            <summary>
              <span class="position">{index + 1}</span>
              <span class="clip" dir="auto">
                {urls[index]}
              </span>
              {row.status === "ok" ? <Badge kind="ok" text="read" /> : <Badge kind="bad" text="failed" />}
            </summary>
            {row.status === "ok" ? <PageText page={row} /> : <p class="notice">{row.message}</p>}
          </details>
        </li>
      ))}
    </ol>
  </>
)
