import { Duration, Effect, Stream } from "effect"
import { NotFound } from "../../../domain/errors.ts"
import { CommandFailed } from "../../../domain/OperatorError.ts"
import type { FieldsOf } from "../../../domain/operations/acts.ts"
import { baseOf } from "../../../domain/pages/pageAddress.ts"
import { namesOf } from "../../../domain/providers/providerNames.ts"
import { toJson } from "../../../domain/search/Capabilities.ts"
import type { SearchRequest } from "../../../domain/search/SearchRequest.ts"
import { DocumentIndex } from "../../index/DocumentIndex.ts"
import { Limits } from "../../providers/Limits.ts"
import { type ProviderCheck, ProviderStates } from "../../providers/ProviderStates.ts"
import { audited, recordFirst } from "../audited.ts"
import { Replicas } from "../Replicas.ts"

export const forgetReplica = Effect.fnUntraced(function* ({ id }: FieldsOf<"replica forget">) {
  const replicas = yield* Replicas
  const change = Effect.flatMap(replicas.forget(id), (result): Effect.Effect<void, CommandFailed | NotFound> => {
    if (result === "forgotten") return Effect.void
    return result === "unknown"
      ? Effect.fail(new NotFound({ message: `There is no replica ${id}.` }))
      : Effect.fail(
          new CommandFailed({
            message: `Replica ${id} is running or ended only seconds ago. Stop it, then try again.`
          })
        )
  })
  yield* audited(change, () => ({ command: "replica forget", subject: id }))
  return { id }
})

/** A search with results on every engine. */
export const checkedSearch: SearchRequest = {
  target: "alpha_search",
  query: "web search",
  geo: "us",
  locale: "en-us",
  page: 1,
  num: 10,
  safe: "off",
  source: undefined
}

/** Not recorded: it changes nothing. */
export const checkProviders = Effect.gen(function* () {
  const { providerTimeout } = yield* Limits
  const states = yield* ProviderStates
  return yield* states.check(checkedSearch, Duration.toMillis(providerTimeout))
})

export const checksJson = (checks: ReadonlyArray<ProviderCheck>) => ({
  ok: checks.every(({ refusal }) => refusal === undefined),
  providers: checks.map((check) => ({
    ...namesOf(check.state),
    ok: check.refusal === undefined,
    rows: check.rows ?? null,
    ms: check.durationMs,
    refusal: check.refusal === undefined ? null : { reason: check.refusal.reason, message: check.refusal.message },
    serves: check.state.capabilities === undefined ? null : toJson(check.state.capabilities)
  }))
})

/** The address below which the documents of a site are. A host alone has two, of which documents may use either. */
const basesOf = (site: string): ReadonlyArray<string> =>
  (site.includes("://") ? [site] : [`https://${site}`, `http://${site}`]).flatMap((text) => baseOf(text)?.href ?? [])

export const removeDocuments = Effect.fnUntraced(function* ({ site, target, url }: FieldsOf<"index remove">) {
  const index = yield* DocumentIndex
  const bases = site === undefined ? [] : basesOf(site)
  if ((url === undefined) === (bases.length === 0)) {
    return yield* new CommandFailed({
      message: "Name either the address of a document (url), or a site such as https://docs.example.org/ (site)."
    })
  }
  // A removal from the index is not one transaction.
  yield* recordFirst({ command: "index remove", subject: undefined, arguments: { url, site, target } })
  if (url !== undefined) return { removed: yield* index.remove([url], target) }
  // A load of nothing that replaces what is below an address removes all of it.
  const removed = yield* Effect.forEach(bases, (under) => index.load(Stream.empty, { target, replace: { under } }))
  return { removed: removed.reduce((sum, report) => sum + report.removed, 0) }
})
