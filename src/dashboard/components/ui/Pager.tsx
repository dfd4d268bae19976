import { queryText } from "../../api/client.ts"
import { place } from "../../app/router.ts"
import { ButtonLink } from "./Button.tsx"

/** The cursor of the page before each page that was opened in this tab; empty for the first. */
export const newerThan = new Map<string, string>()

export interface PagerProps {
  readonly label: string
  readonly next: string | null
}

/** Links to the other pages of the log at this address. */
export const Pager = ({ label, next }: PagerProps) => {
  const { path, query } = place.value
  const cursor = query.get("cursor") ?? ""
  if (cursor === "" && next === null) return null
  const at = (cursor: string): string => path + queryText({ ...Object.fromEntries(query), cursor })
  // While a page loads, the one before it is still shown, with this page's cursor as its next.
  if (next !== null && next !== cursor) newerThan.set(next, cursor)
  const newer = newerThan.get(cursor)
  return (
    <nav class="pager" aria-label={label}>
      {cursor === "" ? (
        <span />
      ) : (
        <span class="actions">
          <ButtonLink href={at("")} text="Newest" />
          {newer !== undefined && newer !== "" && <ButtonLink href={at(newer)} text="Newer" />}
        </span>
      )}
      {next !== null && <ButtonLink href={at(next)} text="Older" />}
    </nav>
  )
}
