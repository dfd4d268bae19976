import { Predicate, Result } from "effect"
import { parseAddress } from "../net/address.ts"
import { cutCodePoints } from "../text.ts"
import { isAllowedRedirect } from "./OAuth.ts"

/** Registered by the app, or read from its own URL (draft-ietf-oauth-client-id-metadata-document, section 3). */
export interface ClientMetadata {
  /** Undefined if the app chose no readable name. */
  readonly name: string | undefined
  readonly redirectUris: ReadonlyArray<string>
}

export const clientLimits = { nameCharacters: 100, redirects: 10, redirectCharacters: 2_000 }

/** The URL is the app's ID and a key of a database index. */
const maxDocumentUrlCharacters = 500

/** The error codes are those of RFC 7591 section 3.2.2. */
export interface MetadataIssue {
  readonly error: "invalid_client_metadata" | "invalid_redirect_uri"
  readonly message: string
}

/** Removes control characters and bidirectional overrides, which could make one app look like another. */
const toReadableName = (name: string): string => {
  const line = name.replaceAll(/\p{C}+/gu, "").replaceAll(/\s+/gu, " ")
  return cutCodePoints(line.trim(), clientLimits.nameCharacters).trim()
}

const isRedirectList = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= clientLimits.redirects &&
  value.every((uri) => typeof uri === "string" && uri.length <= clientLimits.redirectCharacters)

const issue = (error: MetadataIssue["error"], message: string) => Result.fail({ error, message })

export const readClientMetadata = (body: unknown): Result.Result<ClientMetadata, MetadataIssue> => {
  if (!Predicate.isObject(body)) return issue("invalid_client_metadata", "the body must be a JSON object")
  const { client_name, redirect_uris } = body
  const { redirectCharacters, redirects } = clientLimits
  if (!isRedirectList(redirect_uris)) {
    const limit = `1 to ${redirects} addresses of at most ${redirectCharacters} characters`
    return issue("invalid_redirect_uri", `redirect_uris must be ${limit}`)
  }
  if (!redirect_uris.every(isAllowedRedirect)) {
    const allowed = "https, http to this machine, or of a scheme of the app's own"
    return issue("invalid_redirect_uri", `a redirect must be ${allowed}`)
  }
  const name = typeof client_name === "string" ? toReadableName(client_name) : ""
  return Result.succeed({ name: name === "" ? undefined : name, redirectUris: redirect_uris })
}

/** Undefined unless the URL is in normal form: with several spellings, one document could be several apps. */
export const documentUrl = (clientId: string): URL | undefined => {
  if (
    clientId.length > maxDocumentUrlCharacters ||
    !/^https:\/\/[^/?#]+\/[^?#\s\p{C}]*(?:\?[^#\s\p{C}]*)?$/u.test(clientId)
  )
    return undefined
  const url = parseAddress(clientId)
  if (url === null || url.username !== "" || url.password !== "" || url.href !== clientId) return undefined
  return url
}

export const verifiedHostOf = (clientId: string): string | undefined => documentUrl(clientId)?.host

/** Apps have no secret and authenticate with PKCE only, so an app must be able to do without other methods (R78). */
const canBePublic = ({
  token_endpoint_auth_method: method,
  ...document
}: Readonly<Record<string, unknown>>): boolean => {
  const { token_endpoint_auth_methods_supported: supported } = document
  return (
    method === undefined ||
    method === null ||
    method === "none" ||
    (Array.isArray(supported) && supported.includes("none"))
  )
}

/** Requires the document to name its own URL, so that nobody can publish another app's document. */
export const readClientDocument = (clientId: string, text: string): Result.Result<ClientMetadata, MetadataIssue> => {
  const parsed = Result.try({ try: (): unknown => JSON.parse(text), catch: () => "not JSON" })
  if (Result.isFailure(parsed) || !Predicate.isObject(parsed.success)) {
    return issue("invalid_client_metadata", "the document must be a JSON object")
  }
  const document: Readonly<Record<string, unknown>> = { ...parsed.success }
  if (document.client_id !== clientId) {
    return issue("invalid_client_metadata", "client_id must be the address of the document")
  }
  if (Object.hasOwn(document, "client_secret") || !canBePublic(document)) {
    return issue("invalid_client_metadata", "token_endpoint_auth_method must be none, or be one of several with none")
  }
  return readClientMetadata(document)
}
