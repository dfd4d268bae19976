import { Cause, Effect, Result } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { keyChallenge } from "../../domain/accounts/OAuth.ts"
import type { Principal } from "../../domain/accounts/Principal.ts"
import { presentedKey } from "../../domain/compat/CompatKey.ts"
import { InvalidRequest, internalError } from "../../domain/errors.ts"
import type { RawFields } from "../../domain/requests/fields.ts"
import { defaultNum, maxQueryCodePoints, type SearchRequest, toSearch } from "../../domain/search/SearchRequest.ts"
import { targetRules, targets } from "../../domain/search/Target.ts"
import { codePointLength, cutAtWord } from "../../domain/text.ts"
import { Credentials, type RequestCredentials } from "../../services/accounts/Credentials.ts"
import { RateLimiter } from "../../services/credits/RateLimiter.ts"
import { Search } from "../../services/search/Search.ts"
import { addLogFields, CurrentRequest, type RequestState, setHeaders } from "../CurrentRequest.ts"
import { isObject } from "../docs/jsonSchema.ts"
import { noteError } from "../errors.ts"
import { searchFacts } from "../handlers/search.ts"
import { logSettlement, withQuotaOnFailure } from "../handlers/settlements.ts"
import type { Sender } from "../listener/Intake.ts"
import { limitByAddress } from "../middleware/addressLimit.ts"
import { client } from "../middleware/clientAddress.ts"
import { logFault } from "../middleware/Edge.ts"
import { admit } from "../middleware/RateLimiting.ts"
import { checkParameterCount } from "../requests/query.ts"
import { quotaHeaders } from "../responses/headers.ts"
import { Compat } from "./Compat.ts"
import type { CompatError } from "./errors.ts"
import { present } from "./fields.ts"
import { makeKeylessPrincipal } from "./keyless.ts"
import type { CompatRequest, Shape } from "./Shape.ts"

/*
 * Applies the same checks as `/v1/query`, in the same order (R1), as one function: the credential may be in the body,
 * and errors may have another format.
 */

type Request = HttpServerRequest.HttpServerRequest

const notObject = InvalidRequest.whole("the body must be a JSON object")

const toFields = ({ fields }: Shape, input: unknown): Result.Result<RawFields, InvalidRequest> =>
  isObject(input) && !Array.isArray(input) ? Result.succeed(present(input, fields)) : Result.fail(notObject)

const readFields = (shape: Shape, request: Request, sender: Sender) =>
  Effect.flatMap(shape.read(request, sender), (input) => Effect.fromResult(toFields(shape, input)))

/** The key in a body. Any value other than a string is an invalid key. */
const keyIn = (fields: Result.Result<RawFields, unknown>): string | undefined => {
  if (Result.isFailure(fields) || fields.success.api_key === undefined) return undefined
  return typeof fields.success.api_key === "string" ? fields.success.api_key : ""
}

const toSearchRequest = (shape: Shape, asked: CompatRequest, state: RequestState) => {
  const { geo, locale, num = defaultNum, page, safe = "off", target = targets[0] } = asked
  const rules = targetRules[target]
  const query = cutAtWord(asked.query, maxQueryCodePoints)
  if (query !== asked.query) addLogFields(state, { query_cut_from: codePointLength(asked.query) })
  return toSearch({
    query,
    target,
    num: Math.min(Math.max(num, 1), rules.maxNum),
    safe: rules.safe ? safe : "off",
    source: `compat:${shape.name}`,
    ...(geo === undefined ? {} : { geo }),
    ...(locale === undefined ? {} : { locale }),
    ...(page === undefined ? {} : { page }),
    ...asked.options
  })
}

const credentialsOf = (request: Request, key: string): RequestCredentials => ({
  authorization: `Bearer ${key}`,
  marketplaceSecret: undefined,
  marketplaceUser: undefined,
  sessionCookies: [],
  demoOrigin: undefined,
  network: undefined,
  address: Effect.provideService(client, HttpServerRequest.HttpServerRequest, request)
})

/** Builds the handler for requests in another service's format. */
export const makeServe = Effect.gen(function* () {
  const credentials = yield* Credentials
  const limiter = yield* RateLimiter
  const search = yield* Search
  const { engines } = yield* Compat
  const keyless = yield* makeKeylessPrincipal

  /** Reads the body before authentication, because it may contain the key. */
  const readEarly = (shape: Shape, request: Request) =>
    Effect.andThen(limitByAddress(limiter), Effect.result(readFields(shape, request, "anonymous")))

  const authenticate = (request: Request, key: string | undefined, state: RequestState) =>
    Effect.tapError(
      key === undefined ? keyless(request) : credentials.authenticate(credentialsOf(request, key), ["key"]),
      () => Effect.sync(() => setHeaders(state, { "www-authenticate": keyChallenge(key !== undefined) }))
    )

  const run = Effect.fnUntraced(function* (principal: Principal, asked: SearchRequest, state: RequestState) {
    addLogFields(state, { target: asked.target })
    const running = search.run(principal, asked, (settlement) => {
      state.work = logSettlement(state, settlement, searchFacts)
    })
    const settlement = yield* withQuotaOnFailure(state, running)
    addLogFields(state, searchFacts(settlement))
    setHeaders(state, quotaHeaders(settlement.receipt))
    const { id, query, ranking } = yield* Effect.fromResult(settlement.body)
    const durationMs = settlement.entry?.durationMs ?? 0
    return { id, requestId: state.id, query, results: ranking.results, durationMs }
  })

  return Effect.fnUntraced(function* (
    shape: Shape,
    request: Request
  ): Effect.fn.Return<HttpServerResponse.HttpServerResponse, CompatError, Request> {
    const state = yield* CurrentRequest
    const header = presentedKey({
      authorization: request.headers.authorization,
      apiKey: request.headers["x-api-key"],
      subscriptionToken: request.headers["x-subscription-token"]
    })
    const early = header === undefined && shape.takesKeyInBody ? yield* readEarly(shape, request) : undefined
    const key = header ?? (early === undefined ? undefined : keyIn(early))
    const principal = yield* authenticate(request, key, state)
    addLogFields(state, {
      principal: principal._tag,
      ...(principal._tag === "demo" ? {} : { account_id: principal.account.id })
    })
    yield* admit(limiter, principal)
    yield* checkParameterCount
    const fields = yield* early === undefined ? readFields(shape, request, "authenticated") : Effect.fromResult(early)
    const asked = yield* Effect.fromResult(shape.decode(fields, engines))
    const found = yield* run(principal, yield* Effect.fromResult(toSearchRequest(shape, asked, state)), state)
    return HttpServerResponse.jsonUnsafe(asked.answer(found))
  }, Effect.tapError(noteError))
})

/** Encodes every error in the service's own format, including defects. */
export const answerErrors = <R>(
  served: Effect.Effect<HttpServerResponse.HttpServerResponse, CompatError, R>,
  toError: (error: CompatError) => { readonly status: number; readonly body: unknown }
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> => {
  const respond = (error: CompatError) => {
    const { body, status } = toError(error)
    return HttpServerResponse.jsonUnsafe(body, { status })
  }
  return served.pipe(
    Effect.catch((error) => Effect.succeed(respond(error))),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.andThen(logFault(cause), Effect.as(noteError(internalError), respond(internalError)))
    )
  )
}
