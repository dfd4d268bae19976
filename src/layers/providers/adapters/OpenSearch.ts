import { Effect } from "effect"
import type { Capabilities } from "../../../domain/search/Capabilities.ts"
import type { Provider } from "../../../services/providers/Provider.ts"
import * as Gate from "../Gate.ts"
import { readAnswer } from "../opensearch/answer.ts"
import { credentialHeaders, indexUrl, Options } from "../opensearch/options.ts"
import { searchBody } from "../opensearch/query.ts"
import * as Paged from "../Paged.ts"
import { define } from "../ProviderType.ts"
import * as Upstream from "../Upstream.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

/** Engines refuse pages that end beyond 10,000 rows (`index.max_result_window`). */
const capabilities: Capabilities = {
  paging: { kind: "sized", maxPageSize: 100, maxPages: 100 },
  safe: ["off", "moderate", "strict"],
  countries: "none",
  languages: "any"
}

const dialect: Upstream.Dialect = {
  statuses: {
    404: { reason: "malformed", why: "the index does not exist; create it with index load --provider" }
  }
}

/** An index in OpenSearch or Elasticsearch, which `index load --provider` fills. */
export const type = define({
  options: Options,
  engines: "none",
  make: (name, options) =>
    Effect.gen(function* () {
      const gate = yield* Gate.make(name, options)
      const ask = yield* Upstream.make({ gate, dialect })
      const url = `${indexUrl(options)}/_search`
      const headers = credentialHeaders(options)
      const { scoring = "combined_fields" } = options
      return (): Provider => ({
        name,
        capabilities,
        limits: gate,
        search: (request, turn) =>
          Paged.make(name, capabilities, gate, (call, turn) =>
            Effect.flatMap(
              ask(UpstreamRequest.post(url, searchBody(call, request.target, scoring), headers), turn),
              readAnswer
            )
          ).search(request, turn)
      })
    })
})
