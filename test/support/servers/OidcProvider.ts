import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Redacted } from "effect"
import Provider, { type Context } from "oidc-provider"

export interface ProviderPerson {
  email: string
  email_verified: boolean
}

export const oidcClient = {
  clientId: "quarry",
  clientSecret: Redacted.make("a secret of the client/+ at the provider")
}

const loadExistingGrant = async ({ oidc: { client, provider, session } }: Context) => {
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
  grant.addOIDCScope("openid email")
  await grant.save()
  return grant
}

const configurationOf = (people: ReadonlyMap<string, ProviderPerson>, redirectUri: string) => ({
  clients: [
    {
      client_id: oidcClient.clientId,
      client_secret: Redacted.value(oidcClient.clientSecret),
      redirect_uris: [redirectUri]
    }
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"] },
  cookies: { keys: ["a key of the provider"] },
  features: { devInteractions: { enabled: false } },
  findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: async () => ({ sub, ...people.get(sub) }) }),
  interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
  loadExistingGrant,
  pkce: { required: () => true }
})

/**
 * An independent OpenID provider on this machine, after `serve` for the server at an address. People are known by their
 * subject, and sign in without a password, the first one in a browser. `visit` follows an authorization request there as
 * a browser does, and returns the address of the response.
 */
export const make = Effect.gen(function* () {
  const people = new Map<string, ProviderPerson>()
  const server = createServer()
  yield* Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve())))
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    })
  )
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const serve = (baseUrl: string): void => {
    const provider = new Provider(issuer, configurationOf(people, `${baseUrl}/api/auth/callback/oidc`))
    const handle = provider.callback()
    server.on("request", async (request, response) => {
      if (request.url?.startsWith("/interaction/") !== true) return handle(request, response)
      const { params } = await provider.interactionDetails(request, response)
      const accountId = String(params.login_hint ?? [...people.keys()][0])
      await provider.interactionFinished(request, response, { login: { accountId } })
    })
  }

  const visit = (authorization: string, subject: string) =>
    Effect.promise(async () => {
      const cookies = new Map<string, string>()
      let next = new URL(authorization)
      next.searchParams.set("login_hint", subject)
      while (next.origin === issuer) {
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ")
        const response = await fetch(next, { redirect: "manual", headers: { cookie } })
        for (const line of response.headers.getSetCookie()) {
          const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? []
          cookies.set(name, value)
        }
        const location = response.headers.get("location")
        if (location === null) throw new Error(`${next} responded with ${response.status} ${await response.text()}`)
        next = new URL(location, next)
      }
      return next
    })

  return { issuer, people, serve, visit }
})
