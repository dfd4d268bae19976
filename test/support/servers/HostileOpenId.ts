import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Deferred, Effect } from "effect"
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose"

export interface Behavior {
  /** Replace fields of the discovery document. */
  readonly metadata?: object
  /** Replace claims of the ID token. An undefined claim is left out. */
  readonly claims?: object
  readonly sign?: (claims: JWTPayload, key: CryptoKey) => Promise<string> | string
  readonly respondWithKeys?: (response: ServerResponse, keys: string) => void
  readonly userinfo?: object
}

const signWell = (claims: JWTPayload, key: CryptoKey) =>
  new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "one" }).sign(key)

/** A provider on this machine that behaves as well or as badly as a test wants. */
export const make = Effect.fnUntraced(function* (clientId: string) {
  const { privateKey, publicKey } = yield* Effect.promise(() => generateKeyPair("ES256"))
  const keys = { keys: [{ ...(yield* Effect.promise(() => exportJWK(publicKey))), kid: "one", alg: "ES256" }] }
  const keysAsked = yield* Deferred.make<void>()
  const behavior: { current: Behavior } = { current: {} }

  const tokensFor = async (code: string) => {
    const now = Math.floor(Date.now() / 1000)
    const { nonce, person } = JSON.parse(Buffer.from(code, "base64url").toString())
    const claims = { iss: issuer, aud: clientId, iat: now, exp: now + 60, nonce, ...person, ...behavior.current.claims }
    const { sign = signWell } = behavior.current
    const payload: JWTPayload = JSON.parse(JSON.stringify(claims))
    return { token_type: "Bearer", access_token: "an access token", id_token: await sign(payload, privateKey) }
  }

  const server = createServer(async (request, response) => {
    const json = (value: unknown) => response.setHeader("content-type", "application/json").end(JSON.stringify(value))
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    const { metadata, respondWithKeys, userinfo } = behavior.current
    switch (request.url) {
      case "/.well-known/openid-configuration":
        return json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
          userinfo_endpoint: `${issuer}/userinfo`,
          token_endpoint_auth_methods_supported: ["client_secret_post"],
          ...metadata
        })
      case "/token":
        return json(await tokensFor(new URLSearchParams(Buffer.concat(chunks).toString()).get("code") ?? ""))
      case "/jwks":
        Deferred.doneUnsafe(keysAsked, Effect.void)
        return respondWithKeys === undefined ? json(keys) : respondWithKeys(response, JSON.stringify(keys))
      default:
        return json(userinfo)
    }
  })
  yield* Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve())))
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    })
  )
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  /** The code that this provider gives a person for a request. */
  const codeFor = (nonce: string | null, person: object) =>
    Buffer.from(JSON.stringify({ nonce, person })).toString("base64url")

  return { issuer, behavior, keysAsked: Deferred.await(keysAsked), codeFor }
})
