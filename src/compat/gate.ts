import { Effect, Predicate, Result } from "effect"
import { HttpServerRequest } from "effect/http"
import type { CredentialHeaders } from "../domain/accounts/Credential.ts"
import { keyChallenge } from "../domain/accounts/OAuth.ts"
import { unacceptedCredential } from "../domain/accounts/unacceptedCredential.ts"
import { presentedKey } from "../domain/compat/CompatKey.ts"
import { InvalidRequest } from "../domain/errors.ts"
import type { RequestState } from "../domain/requests/CurrentRequest.ts"
import { CurrentRequest } from "../domain/requests/CurrentRequest.ts"
import type { RawFields } from "../domain/requests/fields.ts"
import { limitByAddress } from "../http/middleware/addressLimit.ts"
import { client } from "../http/middleware/clientAddress.ts"
import { admit } from "../http/middleware/gates.ts"
import { addLogFields, setHeaders } from "../http/requestState.ts"
import type { Sender } from "../http/requests/Intake.ts"
import { checkParameterCount } from "../http/requests/query.ts"
import { Credentials, type RequestCredentials } from "../services/accounts/Credentials.ts"
import { TrustedProxies } from "../services/accounts/TrustedProxies.ts"
import { RateLimiter } from "../services/credits/RateLimiter.ts"
import { present } from "./fields.ts"
import { makeKeylessPrincipal } from "./keyless.ts"
import type { RequestForm } from "./SearchForm.ts"

/* The checks of `/v1/query` in the same order (R1), with credentials in the body and errors in other formats. */

type Request = HttpServerRequest.HttpServerRequest

const notObject = InvalidRequest.whole("the body must be a JSON object")

const toFields = ({ fields }: RequestForm, input: unknown): Result.Result<RawFields, InvalidRequest> =>
  Predicate.isReadonlyObject(input) ? Result.succeed(present(input, fields)) : Result.fail(notObject)

/** Limits of `X-Quarry-Ignored`, because callers choose the names. */
const maxIgnoredNames = 20
const ignoredName = /^[A-Za-z0-9_.[\]-]{1,64}$/

const ignoredHeader = ({ fields }: RequestForm, input: unknown): Readonly<Record<string, string>> => {
  if (!Predicate.isReadonlyObject(input)) return {}
  const all = Object.keys(input).slice(0, maxIgnoredNames * 10)
  const names = all.filter((name) => !fields.includes(name) && input[name] !== null && input[name] !== "")
  const listed = names.filter((name) => ignoredName.test(name)).slice(0, maxIgnoredNames)
  return listed.length === 0 ? {} : { "x-quarry-ignored": listed.join(", ") }
}

const readFields = (form: RequestForm, request: Request, sender: Sender) =>
  Effect.flatMap(form.read(request, sender), (input) =>
    Effect.flatMap(CurrentRequest, (state) => {
      // Jina's parameters are headers, and every client sends others too.
      if (form.name !== "jina") setHeaders(state, ignoredHeader(form, input))
      return Effect.fromResult(toFields(form, input))
    })
  )

/** The two messages of R71 that can occur, because all headers with keys are read here. */
const nothing: CredentialHeaders = {
  authorization: undefined,
  marketplaceSecret: undefined,
  marketplaceUser: undefined,
  sessionCookies: [],
  demoOrigin: undefined
}
const noKey = unacceptedCredential(nothing, ["key"], undefined)
const keyNotAccepted = unacceptedCredential({ ...nothing, authorization: "Bearer key" }, ["key"], undefined)

/** The key in a body. Any value other than a string is an invalid key. */
const keyIn = (fields: Result.Result<RawFields, unknown>): string | undefined => {
  if (Result.isFailure(fields) || fields.success.api_key === undefined) return undefined
  return typeof fields.success.api_key === "string" ? fields.success.api_key : ""
}

const credentialsOf = (request: Request, key: string, proxies: number): RequestCredentials => ({
  authorization: `Bearer ${key}`,
  marketplaceSecret: undefined,
  marketplaceUser: undefined,
  sessionCookies: [],
  demoOrigin: undefined,
  network: undefined,
  address: client.pipe(
    Effect.provideService(HttpServerRequest.HttpServerRequest, request),
    Effect.provideService(TrustedProxies, proxies)
  )
})

export const makeGate = Effect.gen(function* () {
  const credentials = yield* Credentials
  const limiter = yield* RateLimiter
  const keyless = yield* makeKeylessPrincipal
  const proxies = yield* TrustedProxies

  /** Reads the body before authentication, because it may contain the key. */
  const readEarly = (form: RequestForm, request: Request) =>
    Effect.andThen(
      Effect.provideService(limitByAddress(limiter), TrustedProxies, proxies),
      Effect.result(readFields(form, request, "anonymous"))
    )

  const authenticate = (request: Request, key: string | undefined, state: RequestState) =>
    Effect.catch(
      key === undefined ? keyless(request) : credentials.authenticate(credentialsOf(request, key, proxies), ["key"]),
      () => {
        setHeaders(state, { "www-authenticate": keyChallenge(key !== undefined) })
        return Effect.fail(key === undefined ? noKey : keyNotAccepted)
      }
    )

  return Effect.fnUntraced(function* (form: RequestForm, request: Request) {
    const state = yield* CurrentRequest
    const header = presentedKey({
      authorization: request.headers.authorization,
      apiKey: request.headers["x-api-key"],
      subscriptionToken: request.headers["x-subscription-token"]
    })
    const early = header === undefined && form.fields.includes("api_key") ? yield* readEarly(form, request) : undefined
    const key = header ?? (early === undefined ? undefined : keyIn(early))
    const principal = yield* authenticate(request, key, state)
    addLogFields(state, {
      principal: principal._tag,
      ...(principal._tag === "demo" ? {} : { account_id: principal.account.id })
    })
    yield* admit(limiter, principal)
    yield* checkParameterCount
    const fields = yield* early === undefined ? readFields(form, request, "authenticated") : Effect.fromResult(early)
    return { state, principal, fields }
  })
})
