import { Effect, Schema } from "effect"
import { Refusal } from "../../domain/Refusal.ts"
import type { SearchRequest } from "../../domain/SearchRequest.ts"
import { DocumentIndex } from "../../services/DocumentIndex.ts"
import { define } from "./ProviderType.ts"

/** The limit of one statement. On Postgres its end cancels the statement; the embedded database finishes it. */
const statementTimeoutMs = 5_000

const tooSlow = new Refusal({ reason: "timeout", message: `no answer of the store in ${statementTimeoutMs} ms` })

/** The built-in index as a provider. */
export const type = define({
  options: Schema.Record(Schema.String, Schema.Never.annotate({ message: "is not allowed here" })),
  engines: "none",
  make: (name) =>
    Effect.map(DocumentIndex, (index) => {
      const search = (request: SearchRequest) =>
        Effect.timeoutOrElse(index.search(request), {
          duration: statementTimeoutMs,
          orElse: () => Effect.fail(tooSlow)
        })
      return () => ({ name, search })
    })
})
