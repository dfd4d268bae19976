import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { parse, queryStringForm } from "../../domain/SearchRequest.ts"
import { Search } from "../../services/Search.ts"
import { Api } from "../Api.ts"
import { quotaHeaders, refusalHeaders, setHeaders } from "../headers.ts"
import { CurrentPrincipal } from "../Middleware.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "search",
  Effect.fn(function* (handlers) {
    const search = yield* Search

    return handlers.handle(
      "query",
      Effect.fnUntraced(function* ({ query }) {
        const request = yield* Effect.fromResult(parse(query, queryStringForm))
        const { answer, receipt } = yield* search
          .run(yield* CurrentPrincipal, request)
          .pipe(Effect.tapError((error) => setHeaders(refusalHeaders(error))))
        yield* setHeaders(quotaHeaders(receipt))
        return yield* Effect.fromResult(answer)
      })
    )
  })
)
