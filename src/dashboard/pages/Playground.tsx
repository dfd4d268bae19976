import { useEffect, useRef, useState } from "preact/hooks"
import { queryText } from "../api/client.ts"
import { PageHeader } from "../components/PageHeader.tsx"
import { SearchAnswerCard } from "../components/SearchAnswer.tsx"
import { SearchCode } from "../components/SearchCode.tsx"
import { SearchForm } from "../components/SearchForm.tsx"
import { type Draft, draftQuery, readDraft } from "../draft.ts"
import { navigate, place } from "../router.ts"
import { answers, keyOf, playground, running, search } from "../searches.ts"

/** Searches by hand. The address holds the whole search, and opening it runs nothing: searches cost credits. */

/** The address follows the typing with a pause, because browsers limit how often it may change. */
const pauseMs = 400

const viewOf = (): { readonly view: string | undefined; readonly code: string | undefined } => {
  const { query } = place.peek()
  return { view: query.get("view") ?? undefined, code: query.get("code") ?? undefined }
}

/** Writes a draft into the address. A place with an answer of its own stays in the history to go back to. */
const write = (draft: Draft): void => {
  const present = keyOf(readDraft(place.peek().query))
  if (present === keyOf(draft)) return
  navigate(playground + queryText({ ...draftQuery(draft), ...viewOf() }), { replace: !answers.peek().has(present) })
}

/** The draft of the form, which follows the address when somebody goes back or forward, and is written into it. */
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
  // The answer stays while its search is changed, and gives way to the one of a place that somebody goes back to.
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
      <PageHeader title="Playground" lead="Search with your session, see everything that the API answers." />
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
