import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import type { Answer, Key } from "../api/routes.ts"
import { isTimeKnown, now } from "../app/clock.ts"
import { usePolling } from "../app/polling.ts"
import { localZone, setZone, zone } from "../app/preferences.ts"
import { lastOf, useRoute } from "../app/resource.ts"
import { home, place, setQuery } from "../app/router.ts"
import { useRowKeys } from "../app/rowKeys.ts"
import { EntryPanel } from "../components/search/EntryPanel.tsx"
import { LogExport } from "../components/search/LogExport.tsx"
import { LogFilters } from "../components/search/LogFilters.tsx"
import { LogHistogram } from "../components/search/LogHistogram.tsx"
import { LogTable } from "../components/search/LogTable.tsx"
import { Button, ButtonLink } from "../components/ui/Button.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { newerThan, Pager } from "../components/ui/Pager.tsx"
import { EmptyState, Loaded } from "../components/ui/States.tsx"
import { announce } from "../components/ui/Toast.tsx"
import { Toggle } from "../components/ui/Toggle.tsx"
import { historyQuery, isFiltered } from "../search/logView.ts"
import { playground } from "../search/searches.ts"

type History = Answer<"GET /v1/query/history">

const entriesOnPage = 50

const withoutCursor = ({ cursor: _, ...filters }: Readonly<Record<string, string>>) => filters

const path = `${home}/log`

const Empty = ({ hasOlder, isFiltered }: { readonly hasOlder: boolean; readonly isFiltered: boolean }) => {
  if (hasOlder) {
    return (
      <EmptyState title="No matches so far">
        Each page covers only part of a long log. Older entries may still match.
      </EmptyState>
    )
  }
  if (isFiltered) {
    return (
      <EmptyState title="No matching searches" action={<ButtonLink href={path} text="Show all searches" />}>
        No log entry matches all of these filters.
      </EmptyState>
    )
  }
  return (
    <EmptyState
      title="No searches yet"
      action={<ButtonLink kind="primary" href={playground} text="Open the playground" />}
    >
      Charged searches are listed here with their outcome, credits, and time.
    </EmptyState>
  )
}

interface EntriesProps {
  readonly history: History
  readonly keys: ReadonlyArray<Key>
  readonly isLoading: boolean
}

const Entries = ({ history, isLoading, keys }: EntriesProps) => {
  const { next_cursor: next, queries } = history
  const [selected, setSelected] = useState<string>()
  const entry = queries.find(({ id }) => id === selected)
  const cursor = place.value.query.get("cursor")
  const turn = (cursor: string) => () => setQuery({ cursor }, { replace: false })
  useRowKeys({
    ids: queries.map(({ id }) => id),
    selected: entry?.id,
    onSelect: setSelected,
    onOlder: next === null ? undefined : turn(next),
    onNewer: cursor === null ? undefined : turn(newerThan.get(cursor) ?? ""),
    isLoading
  })
  return (
    <div class={entry === undefined ? "with-panel" : "with-panel open"}>
      <section class="card" aria-label="Searches">
        {queries.length === 0 ? (
          <Empty hasOlder={next !== null} isFiltered={isFiltered(place.value.query)} />
        ) : (
          <LogTable
            caption="Searches, newest first"
            entries={queries}
            keys={keys}
            current={entry?.id}
            onRow={({ id }) => setSelected(id)}
          />
        )}
        <Pager label="Pages of the log" next={next} />
      </section>
      {entry && <EntryPanel entry={entry} keys={keys} onClose={() => setSelected(undefined)} />}
    </div>
  )
}

const live = { everyMs: 3_000, maxMs: 600_000 }

const useTop = (cursor: string | null): void => {
  const seen = useRef(cursor)
  useEffect(() => {
    if (seen.current === cursor) return
    seen.current = cursor
    document.getElementById("entries")?.scrollIntoView()
  }, [cursor])
}

export const LogPage = () => {
  const { query } = place.value
  const [reads, setReads] = useState(0)
  const readAt = useMemo(now, [isTimeKnown.value, reads])
  const [isLive, setLive] = useState(false)
  const parameters = historyQuery(query, readAt)
  const history = useRoute(
    "GET /v1/query/history",
    isTimeKnown.value || !query.has("range") ? { query: { ...parameters, limit: entriesOnPage } } : undefined
  )
  const keys = useRoute("GET /v1/api-keys", {})
  const state = history.state.value
  const known = lastOf(keys.state.value)?.api_keys ?? []
  const isFirst = !query.has("cursor")
  useTop(query.get("cursor"))
  usePolling(isLive && isFirst, history.refresh, {
    ...live,
    onEnd: () => {
      setLive(false)
      announce("Live updates stopped after 10 minutes.")
    }
  })
  const refresh = (): void => {
    setReads(reads + 1)
    history.reload()
    keys.reload()
    announce("Log refreshed.")
  }
  return (
    <>
      <PageHeader
        title="Log"
        lead={
          <>
            {`Charged searches and pages, newest first, in ${zone.value === "utc" ? "UTC" : localZone}.`}{" "}
            {localZone !== "UTC" && (
              <button type="button" class="textlink" onClick={() => setZone(zone.value === "utc" ? "local" : "utc")}>
                {zone.value === "utc" ? "Show local time" : "Show UTC"}
              </button>
            )}
          </>
        }
        actions={
          <>
            <Toggle isOn={isLive && isFirst} disabled={!isFirst} onChange={setLive}>
              Live
            </Toggle>
            <Button busy={state._tag === "loading"} onClick={refresh}>
              Refresh
            </Button>
            <LogExport keys={known} parameters={withoutCursor(parameters)} />
          </>
        }
      />
      <div class="stack log">
        <LogFilters keys={known} issues={state._tag === "failed" ? state.error.issues : {}} />
        <h2 class="hidden">Searches</h2>
        <LogHistogram />
        <div id="entries">
          <Loaded resource={history} height={480}>
            {(value) => <Entries history={value} keys={known} isLoading={state._tag === "loading"} />}
          </Loaded>
        </div>
      </div>
    </>
  )
}
