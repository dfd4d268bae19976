import { Predicate, Record } from "effect"
import { InvalidRequest, type Issue } from "../../domain/errors.ts"
import { authPath } from "../../domain/OAuth.ts"
import { ownPath } from "../../domain/ownPath.ts"

/** What a field holds. An address is one of this deployment, and the library gets its path. */
type Kind = "string" | "boolean" | "address"

interface Field {
  readonly kind: Kind
  readonly required: boolean
}

type Fields = Readonly<Record<string, Field>>

const required = { kind: "string", required: true } as const
const optional = { kind: "string", required: false } as const
const flag = { kind: "boolean", required: false } as const
const address = { kind: "address", required: false } as const

/** The request of an app that a page carries on, as it was signed. */
const appRequest = { oauth_query: optional }

/** What the library reads of people's requests. Nothing else reaches it: it would take other types for faults of its own. */
const bodies: Readonly<Record<string, Fields>> = {
  "/sign-up/email": {
    email: required,
    password: required,
    name: required,
    callbackURL: address,
    rememberMe: flag,
    ...appRequest
  },
  "/sign-in/email": { email: required, password: required, callbackURL: address, rememberMe: flag, ...appRequest },
  "/sign-in/social": {
    provider: required,
    callbackURL: address,
    errorCallbackURL: address,
    newUserCallbackURL: address,
    disableRedirect: flag,
    ...appRequest
  },
  "/sign-out": {},
  "/revoke-sessions": {},
  "/change-password": { currentPassword: required, newPassword: required },
  "/request-password-reset": { email: required, redirectTo: address },
  "/reset-password": { token: required, newPassword: required },
  "/send-verification-email": { email: required, callbackURL: address },
  "/oauth2/public-client-prelogin": { client_id: required, ...appRequest },
  "/oauth2/consent": { accept: { kind: "boolean", required: true }, ...appRequest }
}

const queries: Readonly<Record<string, Fields>> = {
  "/get-session": {},
  "/verify-email": { token: required, callbackURL: address },
  "/error": { error: optional, error_description: optional }
}

/** Of any string of a body or a query; an app's signed request is the longest. */
const maxCharacters = 20_000

type Read = { readonly values: { [field: string]: string | boolean } } | { readonly issues: ReadonlyArray<Issue> }

const read = (fields: Fields, sent: Readonly<Record<string, unknown>>, baseUrl: string): Read => {
  const values: { [field: string]: string | boolean } = {}
  const issues: Array<Issue> = []
  for (const [field, { kind, required }] of Object.entries(fields)) {
    const value = Object.hasOwn(sent, field) ? sent[field] : undefined
    if (value === undefined) {
      if (required) issues.push({ field, message: "is required" })
      continue
    }
    const result = readField(kind, value, baseUrl)
    if (Predicate.isObject(result)) issues.push({ field, message: result.message })
    else values[field] = result
  }
  return issues.length > 0 ? { issues } : { values }
}

const readField = (kind: Kind, value: unknown, baseUrl: string): string | boolean | { readonly message: string } => {
  if (kind === "boolean") return typeof value === "boolean" ? value : { message: "must be true or false" }
  if (typeof value !== "string") return { message: "must be a string" }
  if (value.length > maxCharacters) return { message: `must have at most ${maxCharacters} characters` }
  if (kind === "string") return value
  // An empty address is none to the library.
  return value === "" ? "" : (ownPath(value, baseUrl) ?? { message: "must be an address of this site" })
}

/** The API's words for a refusal, from which the handler makes the envelope. */
const refusalOf = (issues: ReadonlyArray<Issue>, headers?: Headers): Response => {
  const { message } = InvalidRequest.fromIssues(issues)
  const answered = new Headers(headers)
  answered.delete("content-length")
  answered.set("content-type", "application/json")
  return new Response(JSON.stringify({ message, issues }), { status: 400, headers: answered })
}

const jsonOf = async (request: Request): Promise<unknown> => {
  const type = request.headers.get("content-type") ?? ""
  return /^application\/json(?:;|$)/i.test(type) ? request.json().catch(() => undefined) : undefined
}

/** A person's request as the library gets it, or the refusal of one that it would not understand. */
export const readRequest = async (request: Request, baseUrl: string): Promise<Request | Response> => {
  const url = new URL(request.url)
  const path = url.pathname.slice(authPath.length)
  const fields = (request.method === "GET" ? queries : bodies)[path]
  if (fields === undefined) return request
  if (request.method === "GET") {
    const sent = Object.fromEntries(
      Object.keys(fields).map((name) => {
        const values = url.searchParams.getAll(name)
        return [name, values.length > 1 ? values : values[0]]
      })
    )
    const query = read(fields, sent, baseUrl)
    if ("issues" in query) return refusalOf(query.issues)
    const search = new URLSearchParams(Record.map(query.values, String))
    return new Request(`${url.origin}${url.pathname}?${search}`, request)
  }
  // What has no fields is asked for without a body as well.
  const sent = Object.keys(fields).length === 0 ? {} : await jsonOf(request)
  if (!Predicate.isObject(sent)) return refusalOf([{ field: "", message: "the body must be a JSON object" }])
  // An object of JSON, by its fields.
  const body = read(fields, sent as Record<string, unknown>, baseUrl)
  if ("issues" in body) return refusalOf(body.issues)
  const headers = new Headers(request.headers)
  headers.delete("content-length")
  headers.set("content-type", "application/json")
  const { method } = request
  return new Request(`${url.origin}${url.pathname}`, { method, headers, body: JSON.stringify(body.values) })
}

type Refusal = readonly [field: string | undefined, message: string]

/** The library's codes, by the field that each is about. A field that is undefined is the route's new password. */
const refusals: Readonly<Record<string, Refusal>> = {
  INVALID_EMAIL: ["email", "must be an email address"],
  EMAIL_TOO_LONG: ["email", "is too long"],
  EMAIL_MISMATCH: ["email", "is not the address that is signed in"],
  EMAIL_ALREADY_VERIFIED: ["email", "is confirmed already"],
  USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: ["email", "has signed up already"],
  // Another sign-up was faster. Any other failure of the database fails the request.
  FAILED_TO_CREATE_USER: ["email", "has signed up already"],
  PASSWORD_TOO_SHORT: [undefined, "must have at least 8 characters"],
  PASSWORD_TOO_LONG: [undefined, "must have at most 128 characters"],
  PASSWORD_TOO_COMMON: [undefined, "is one of the most common passwords; choose another"],
  INVALID_PASSWORD: ["currentPassword", "is not the password"],
  INVALID_TOKEN: ["token", "is unknown or over"],
  USER_NOT_FOUND: ["token", "is unknown or over"],
  INVALID_CALLBACK_URL: ["callbackURL", "must be an address of this site"],
  INVALID_REDIRECT_URL: ["redirectTo", "must be an address of this site"],
  INVALID_ERROR_CALLBACK_URL: ["errorCallbackURL", "must be an address of this site"],
  INVALID_NEW_USER_CALLBACK_URL: ["newUserCallbackURL", "must be an address of this site"]
}

/** The library's refusal of a person's request with the field that it is about. */
export const withField = async (path: string, response: Response): Promise<Response> => {
  if (![400, 403, 422].includes(response.status)) return response
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  const code = Predicate.hasProperty(body, "code") ? String(body.code) : ""
  // A schema of the library's own says which field, in front of what is wrong with it.
  const [, named, wrong = ""] =
    code === "VALIDATION_ERROR" && Predicate.hasProperty(body, "message")
      ? (/^\[(?:body|query)\.([A-Za-z_]+)[^\]]*\] (.+)$/.exec(String(body.message)) ?? [])
      : []
  if (named === "email") return refusalOf([{ field: named, message: "must be an email address" }], response.headers)
  if (named !== undefined) return refusalOf([{ field: named, message: wrong }], response.headers)
  const refusal = Object.hasOwn(refusals, code) ? refusals[code] : undefined
  if (refusal === undefined) return response
  const password = /^\/sign-(?:in|up)\//.test(path) ? "password" : "newPassword"
  return refusalOf([{ field: refusal[0] ?? password, message: refusal[1] }], response.headers)
}
