import { useEffect, useRef, useState } from "preact/hooks"
import { queryText } from "../api/client.ts"
import { navigate, place } from "../app/router.ts"
import { SearchAnswerCard } from "../components/search/SearchAnswer.tsx"
import { SearchCode } from "../components/search/SearchCode.tsx"
import { SearchForm } from "../components/search/SearchForm.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { type Draft, draftQuery, readDraft } from "../search/draft.ts"
import { answers, keyOf, playground, running, search } from "../search/searches.ts"

/** Browsers limit how often the URL may change, so it is updated after a pause in typing. */
const pauseMs = 400

const viewOf = (): { readonly view: string | undefined; readonly code: string | undefined } => {
  const { query } = place.peek()
  return { view: query.get("view") ?? undefined, code: query.get("code") ?? undefined }
}

/** A search with results keeps its history entry, so the user can go back to it. */
const write = (draft: Draft): void => {
  const present = keyOf(readDraft(place.peek().query))
  if (present === keyOf(draft)) return
  navigate(playground + queryText({ ...draftQuery(draft), ...viewOf() }), { replace: !answers.peek().has(present) })
}

/** Opening a URL runs no search, because searches cost credits. */
const useDraft = (): readonly [draft: Draft, change: (draft: Draft) => void, flush: () => void] => {
  const [draft, setDraft] = useState(() => readDraft(place.peek().query))
  const written = useRef(keyOf(draft))
  const timer = useRef(0)
  const { query } = place.value
  useEffect(() => {
    const given = readDraft(query)
    const key = keyOf(given)
    if (key === written.current) return
    clearTimeout(timer.current)
    written.current = key
    setDraft(given)
  }, [query])
  useEffect(() => () => clearTimeout(timer.current), [])
  const flush = (draft: Draft): void => {
    clearTimeout(timer.current)
    written.current = keyOf(draft)
    write(draft)
  }
  const change = (next: Draft): void => {
    setDraft(next)
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => flush(next), pauseMs)
  }
  return [draft, change, () => flush(draft)]
}

export const PlaygroundPage = () => {
  const [draft, change, flush] = useDraft()
  const [shown, setShown] = useState(() => keyOf(draft))
  const key = keyOf(draft)
  const isRunning = running.value !== undefined
  useEffect(() => {
    if (answers.peek().has(key)) setShown(key)
  }, [key])
  const run = (): void => {
    flush()
    setShown(key)
    void search(draft)
  }
  const finished = answers.value.get(shown)
  const issues = finished !== undefined && !finished.result.ok ? finished.result.error.issues : {}
  return (
    <>
      <PageHeader title="Playground" lead="Run searches with your session and see the full API response." />
      <div class="stack">
        <section class="card" aria-label="Search">
          <SearchForm draft={draft} issues={issues} onChange={change} onSearch={run} />
        </section>
        <div class="beside">
          <SearchAnswerCard finished={finished} isRunning={isRunning} retry={run} />
          <SearchCode draft={draft} />
        </div>
      </div>
    </>
  )
}
