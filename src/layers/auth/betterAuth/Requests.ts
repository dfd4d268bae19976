import { Predicate, Record } from "effect"
import { authPath } from "../../../domain/accounts/OAuth.ts"
import { InvalidRequest, type Issue } from "../../../domain/errors.ts"
import { ownPath } from "../../../domain/requests/ownPath.ts"
import { hasTooManyParameters, maxParameters } from "../../../domain/requests/parameters.ts"

/** An `address` must be on this site, and only its path is passed on. */
type Kind = "string" | "boolean" | "address" | "query" | "credential"

interface Field {
  readonly kind: Kind
  readonly required: boolean
}

type Fields = Readonly<Record<string, Field>>

const required = { kind: "string", required: true } as const
const optional = { kind: "string", required: false } as const
const flag = { kind: "boolean", required: false } as const
const credential = { kind: "credential", required: true } as const
const address = { kind: "address", required: false } as const

const appRequest = { oauth_query: { kind: "query", required: false } } as const

/** The library responds 500 to a wrong field type, which would be logged as our failure. */
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
  "/two-factor/enable": {},
  "/two-factor/disable": {},
  "/two-factor/generate-backup-codes": {},
  "/two-factor/verify-totp": { code: required, ...appRequest },
  "/two-factor/verify-backup-code": { code: required, ...appRequest },
  "/passkey/verify-registration": { response: credential, name: optional },
  "/passkey/verify-authentication": { response: credential, ...appRequest },
  "/passkey/delete-passkey": { id: required },
  "/oauth2/public-client-prelogin": { client_id: required, ...appRequest },
  "/oauth2/consent": { accept: { kind: "boolean", required: true }, ...appRequest }
}

export const emailIn = async (path: string, request: Request): Promise<string | undefined> => {
  if (bodies[path]?.email === undefined) return undefined
  const body: unknown = await request.clone().json()
  return Predicate.hasProperty(body, "email") && typeof body.email === "string" ? body.email : undefined
}

const queries: Readonly<Record<string, Fields>> = {
  "/get-session": {},
  "/passkey/generate-register-options": {},
  "/passkey/generate-authenticate-options": {},
  "/passkey/list-user-passkeys": {},
  "/error": { error: optional, error_description: optional }
}

const maxCharacters = 20_000

const tooLong = { message: `must have at most ${maxCharacters} characters` }
const tooManyParameters = { message: `must have at most ${maxParameters} parameters` }

type Value = string | boolean | Credential

/** Only the outer form, because the library checks the rest. */
interface Credential {
  readonly id: string
  readonly response: object
}

const isCredential = (value: unknown): value is Credential =>
  Predicate.hasProperty(value, "id") &&
  typeof value.id === "string" &&
  Predicate.hasProperty(value, "response") &&
  Predicate.isObject(value.response)

type Reading = { readonly values: { [field: string]: Value } } | { readonly issues: ReadonlyArray<Issue> }

const readFields = (fields: Fields, source: Readonly<Record<string, unknown>>, baseUrl: string): Reading => {
  const values: { [field: string]: Value } = {}
  const issues: Array<Issue> = []
  for (const [field, { kind, required }] of Object.entries(fields)) {
    const value = Object.hasOwn(source, field) ? source[field] : undefined
    if (value === undefined) {
      if (required) issues.push({ field, message: "is required" })
      continue
    }
    if (kind === "credential") {
      if (isCredential(value)) values[field] = value
      else issues.push({ field, message: "must be the response of a passkey" })
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
  if (value.length > maxCharacters) return tooLong
  if (kind === "string") return value
  if (kind === "query") return hasTooManyParameters(value) ? tooManyParameters : value
  return readAddress(value, baseUrl)
}

const readAddress = (value: string, baseUrl: string): string | { readonly message: string } => {
  // The library treats an empty address as absent.
  if (value === "") return value
  const path = ownPath(value, baseUrl)
  if (path === undefined) return { message: "must be an address of this site" }
  // Percent-encoding makes a character up to nine times as long, and the library puts the path into a cookie.
  return path.length > maxCharacters ? tooLong : path
}

/** The handler converts the issues to the API's format (R6). */
const issuesResponse = (all: ReadonlyArray<Issue>, headers?: Headers): Response => {
  const { issues, message } = InvalidRequest.fromIssues(all)
  const jsonHeaders = new Headers(headers)
  jsonHeaders.delete("content-length")
  jsonHeaders.set("content-type", "application/json")
  return new Response(JSON.stringify({ message, issues }), { status: 400, headers: jsonHeaders })
}

const readJson = async (request: Request): Promise<unknown> => {
  const type = request.headers.get("content-type") ?? ""
  return /^application\/json(?:;|$)/i.test(type) ? request.json().catch(() => undefined) : undefined
}

export const readRequest = async (request: Request, baseUrl: string): Promise<Request | Response> => {
  const url = new URL(request.url)
  const path = url.pathname.slice(authPath.length)
  const fields = (request.method === "GET" ? queries : bodies)[path]
  if (fields === undefined) return request
  return request.method === "GET" ? readQuery(request, url, fields, baseUrl) : readBody(request, url, fields, baseUrl)
}

const readQuery = (request: Request, url: URL, fields: Fields, baseUrl: string): Request | Response => {
  const source = Object.fromEntries(
    Object.keys(fields).map((name) => {
      const values = url.searchParams.getAll(name)
      return [name, values.length > 1 ? values : values[0]]
    })
  )
  const query = readFields(fields, source, baseUrl)
  if ("issues" in query) return issuesResponse(query.issues)
  const search = new URLSearchParams(Record.map(query.values, String))
  return new Request(`${url.origin}${url.pathname}?${search}`, request)
}

const readBody = async (request: Request, url: URL, fields: Fields, baseUrl: string): Promise<Request | Response> => {
  const source = Object.keys(fields).length === 0 ? {} : await readJson(request)
  if (!Predicate.isObject(source)) return issuesResponse([{ field: "", message: "the body must be a JSON object" }])
  // `isObject` does not check the fields. `readFields` checks each of them.
  const body = readFields(fields, source as Record<string, unknown>, baseUrl)
  if ("issues" in body) return issuesResponse(body.issues)
  const headers = new Headers(request.headers)
  headers.delete("content-length")
  headers.set("content-type", "application/json")
  const { method } = request
  return new Request(`${url.origin}${url.pathname}`, { method, headers, body: JSON.stringify(body.values) })
}

/** By the library's error code. An undefined field means the route's password. */
const codes: Readonly<Record<string, readonly [field: string | undefined, message: string]>> = {
  INVALID_EMAIL: ["email", "must be an email address"],
  EMAIL_TOO_LONG: ["email", "is too long"],
  EMAIL_MISMATCH: ["email", "is not the address that is signed in"],
  EMAIL_ALREADY_VERIFIED: ["email", "is confirmed already"],
  USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: ["email", "already has an account"],
  // Another sign-up has just taken the address. Any other database error fails the request.
  FAILED_TO_CREATE_USER: ["email", "already has an account"],
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

/** A validation error of the library, such as `[body.email] Invalid email address`. */
const validationPattern = /^\[(?:body|query)\.([A-Za-z_]+)[^\]]*\] (.+)$/

const issueOf = (path: string, body: unknown): Issue | undefined => {
  const code = Predicate.hasProperty(body, "code") ? String(body.code) : ""
  if (code === "VALIDATION_ERROR" && Predicate.hasProperty(body, "message")) {
    const [, field, message = ""] = validationPattern.exec(String(body.message)) ?? []
    if (field === "email") return { field, message: "must be an email address" }
    if (field !== undefined) return { field, message }
  }
  const [field, message] = (Object.hasOwn(codes, code) ? codes[code] : undefined) ?? []
  if (message === undefined) return undefined
  return { field: field ?? (/^\/sign-(?:in|up)\//.test(path) ? "password" : "newPassword"), message }
}

export const addIssues = async (path: string, response: Response): Promise<Response> => {
  if (![400, 403, 422].includes(response.status)) return response
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  const issue = issueOf(path, body)
  return issue === undefined ? response : issuesResponse([issue], response.headers)
}
