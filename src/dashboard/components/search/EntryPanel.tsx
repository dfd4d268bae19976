import { queryText } from "../../api/client.ts"
import type { Key, LoggedSearch } from "../../api/routes.ts"
import { home } from "../../app/router.ts"
import { draftOf, draftQuery } from "../../search/draft.ts"
import { playground } from "../../search/searches.ts"
import { Button, ButtonLink } from "../ui/Button.tsx"
import { Icon } from "../ui/Icon.tsx"
import { EntryDetails } from "./EntryDetails.tsx"

export interface EntryPanelProps {
  readonly entry: LoggedSearch
  readonly keys: ReadonlyArray<Key>
  readonly onClose: () => void
}

export const EntryPanel = ({ entry, keys, onClose }: EntryPanelProps) => (
  <aside class="card panel" aria-label="Selected search">
    <header>
      <h2 dir="auto">{entry.query || "(erased)"}</h2>
      <Button kind="quiet" small label="Close" onClick={onClose}>
        <Icon name="close" />
      </Button>
    </header>
    <EntryDetails entry={entry} keys={keys} />
    <div class="actions">
      <ButtonLink href={`${home}/log/${entry.id}`} text="Open" />
      <ButtonLink href={playground + queryText(draftQuery(draftOf(entry)))} text="Run again" />
    </div>
  </aside>
)
