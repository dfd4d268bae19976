import { signal } from "@preact/signals"
import { call, queryText, type Result } from "../api/client.ts"
import type { Answer } from "../api/routes.ts"
import { home } from "../app/router.ts"
import { me } from "../app/session.ts"
import { announce } from "../components/ui/Toast.tsx"
import { formatDuration, plural } from "../format.ts"
import { bulkBody, type Draft, draftQuery, isManyPages, pageQuery, pagesBody, searchQuery } from "./draft.ts"

/** Playground results are kept across page changes, so going back does not run and charge a search again. */

export type SearchAnswer = Answer<"GET /v1/query">
export type BatchAnswer = Answer<"POST /v1/bulk">
export type PageAnswer = Answer<"GET /v1/page">
export type PagesAnswer = Answer<"POST /v1/pages">

export type Finished = {
  readonly draft: Draft
} & (
  | { readonly _tag: "single"; readonly result: Result<SearchAnswer> }
  | { readonly _tag: "bulk"; readonly result: Result<BatchAnswer> }
  | { readonly _tag: "page"; readonly result: Result<PageAnswer> }
  | { readonly _tag: "pages"; readonly result: Result<PagesAnswer> }
)

interface Running {
  readonly key: string
  readonly controller: AbortController
}

export const playground = `${home}/playground`

const maxAnswers = 20

export const running = signal<Running | undefined>(undefined)

export const answers = signal<ReadonlyMap<string, Finished>>(new Map())

const creditsAfter = signal<number | undefined>(undefined)

export const creditsLeft = (): number | undefined => creditsAfter.value ?? me.value?.credits_available

export const keyOf = (draft: Draft): string => queryText(draftQuery(draft))

export const figureOf = (headers: Headers, name: string): number | undefined => {
  const value = headers.get(name)
  return value === null ? undefined : Number(value)
}

/** The quota header is from before the search, the balance header from after it. */
export const leftAfter = (headers: Headers): number | undefined => {
  const [used, remaining, balance] = ["x-credits-used", "x-quota-remaining", "x-credits-balance"].map((name) =>
    figureOf(headers, name)
  )
  if (used === undefined || remaining === undefined || balance === undefined) return undefined
  return Math.max(0, remaining - used) + balance
}

const run = async (draft: Draft, signal: AbortSignal): Promise<Finished> =>
  isManyPages(draft)
    ? { _tag: "pages", draft, result: await call("POST /v1/pages", { body: pagesBody(draft), signal }) }
    : draft.mode === "page"
      ? { _tag: "page", draft, result: await call("GET /v1/page", { query: pageQuery(draft), signal }) }
      : draft.mode === "single"
        ? { _tag: "single", draft, result: await call("GET /v1/query", { query: searchQuery(draft), signal }) }
        : { _tag: "bulk", draft, result: await call("POST /v1/bulk", { body: bulkBody(draft), signal }) }

const resultCount = (finished: Finished): string => {
  if (!finished.result.ok) return ""
  const time = formatDuration(finished.result.durationMs)
  if (finished._tag === "page") return `The page was read in ${time}.`
  return finished._tag === "single" && finished.result.ok
    ? `${plural(finished.result.value.results.organic.length, "result")} in ${time}.`
    : `The batch finished in ${time}.`
}

export const search = async (draft: Draft): Promise<void> => {
  if (running.value !== undefined) return
  const [key, controller] = [keyOf(draft), new AbortController()]
  running.value = { key, controller }
  const finished = await run(draft, controller.signal)
  const others = [...answers.value].filter(([other]) => other !== key)
  answers.value = new Map([...others, [key, finished] as const].slice(-maxAnswers))
  creditsAfter.value = leftAfter(finished.result.headers) ?? creditsAfter.value
  running.value = undefined
  if (finished.result.ok) announce(resultCount(finished))
}

/** Stops waiting for the response. A search that was already dispatched is still charged. */
export const cancel = (): void => running.value?.controller.abort()
