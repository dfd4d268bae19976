import { Effect, Stream } from "effect"
import { NotFound } from "../../../domain/errors.ts"
import { CommandFailed } from "../../../domain/OperatorError.ts"
import type { FieldsOf } from "../../../domain/operations/acts.ts"
import { baseOf } from "../../../domain/pages/pageAddress.ts"
import { targets } from "../../../domain/search/Target.ts"
import { DocumentIndex } from "../../index/DocumentIndex.ts"
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
  // The index keeps documents of all targets apart from those of one.
  const { byTarget } = yield* index.stats
  const present = targets.filter((it) => byTarget[it] !== undefined)
  const scopes = target === undefined ? [undefined, ...present] : [target]
  const removed = yield* Effect.forEach(scopes, (target) => {
    if (url !== undefined) return index.remove([url], target)
    // A load of nothing that replaces what is below an address removes all of it.
    const loads = Effect.forEach(bases, (under) => index.load(Stream.empty, { target, replace: { under } }))
    return Effect.map(loads, (reports) => reports.reduce((sum, report) => sum + report.removed, 0))
  })
  return { removed: removed.reduce((sum, count) => sum + count, 0) }
})
