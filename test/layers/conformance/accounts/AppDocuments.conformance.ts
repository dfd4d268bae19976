import { assert, type Vitest } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { type ClientDocuments, ClientDocumentUnusable } from "../../../../src/services/accounts/ClientDocuments.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import type { StoreClock } from "../../../../src/services/StoreClock.ts"
import * as Apps from "../../../support/accounts/Apps.ts"
import { makeBrowser, makeReplica } from "../../../support/accounts/SignIn.ts"
import { makeEmail } from "../../../support/api/searches.ts"

type Services = Accounts | Ids | SqlClient.SqlClient | StoreClock

let apps = 0

/** A site that publishes one document, which a test can change, and the number of fetches. */
const makePublisher = () => {
  const address = `https://app${++apps}.example/client.json`
  const site = {
    address,
    fetches: 0,
    /** Who asked for the last fetch. */
    requester: "",
    name: "An App",
    redirectUris: [Apps.callback],
    isDown: false
  }
  const documents: ClientDocuments["Service"] = {
    fetch: (clientId, requester = "") =>
      Effect.suspend(() => {
        site.fetches++
        site.requester = requester
        const { name, redirectUris } = site
        return site.isDown || clientId !== address
          ? Effect.fail(new ClientDocumentUnusable({ reason: "unreachable" }))
          : Effect.succeed({ name, redirectUris, freshFor: Duration.minutes(5) })
      })
  }
  return Object.assign(site, { documents })
}

const aSite = Effect.gen(function* () {
  const publisher = makePublisher()
  const replica = yield* makeReplica({ baseUrl: "https://quarry.test", documents: publisher.documents })
  const browser = makeBrowser()
  yield* browser.signUp(replica, yield* makeEmail)
  const { account, personId } = yield* browser.whoAmI(replica)
  return { publisher, replica, browser, account, inAccount: { accountId: account.id, personId } }
})

const expire = (address: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`update auth_apps set document_expires_at = clock_timestamp() where client_id = ${address}`
  )

/** What apps with a metadata document are promised, over any database. */
export const appDocumentsConformance = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("an app is its document's address: it signs in without registering, at every replica", () =>
    Effect.gen(function* () {
      const { account, browser, inAccount, publisher, replica } = yield* aSite
      const { address } = publisher
      const other = yield* makeReplica({ baseUrl: "https://quarry.test", documents: publisher.documents })
      const { redeem } = yield* Apps.makeCode(replica, browser, address)
      const tokens = Apps.tokensOf(yield* redeem())
      const principal = yield* other.accessTokens.authenticate(Redacted.make(tokens.access))
      assert.strictEqual(principal.account.id, account.id)
      const [connected] = yield* other.connectedApps.list(inAccount)
      assert.deepInclude(connected, { name: "An App", verifiedHost: new URL(address).host })
      const id = connected?.id ?? assert.fail("no app")
      assert.match(id, /^[\w-]{43}$/, "it fits into a path")
      yield* Apps.makeCode(other, browser, address)
      assert.strictEqual(publisher.fetches, 1, "replicas share a fresh document")
      assert.strictEqual((yield* Apps.refresh(other, address, tokens.refresh)).status, 200)
      assert.strictEqual(publisher.fetches, 1, "tokens need no fetch")
      yield* other.connectedApps.end(inAccount, id)
      const ended = yield* Effect.result(replica.accessTokens.authenticate(Redacted.make(tokens.access)))
      assert.strictEqual(ended._tag, "Failure", "ended at once, on every replica")
    })
  )

  it.effect("R83: a document is fetched in the turn of the client that asks for it", () =>
    Effect.gen(function* () {
      const { publisher, replica } = yield* aSite
      const { challenge } = Apps.makeProof()
      const query = Apps.authorizationQuery(replica, publisher.address, challenge)
      yield* Apps.authorize(replica, makeBrowser("203.0.113.7"), query)
      assert.strictEqual(publisher.requester, "203.0.113.7")
    })
  )

  it.effect("a redirect that the document does not list is not followed", () =>
    Effect.gen(function* () {
      const { browser, publisher, replica } = yield* aSite
      const { challenge } = Apps.makeProof()
      for (const redirect_uri of [
        "https://evil.example/callback",
        `${Apps.callback}/`,
        `${Apps.callback}?x=1`,
        "http://localhost:33418/callback",
        undefined
      ]) {
        const query = Apps.authorizationQuery(replica, publisher.address, challenge, { redirect_uri })
        for (const visitor of [browser, makeBrowser()]) {
          const location = yield* Apps.authorize(replica, visitor, query)
          assert.match(location, /^https:\/\/quarry\.test\/oauth\/error\?error=invalid_redirect\b/, redirect_uri)
        }
      }
    })
  )

  it.effect("answers name the issuer (RFC 9207), and the port of a program on the device may vary (RFC 8252)", () =>
    Effect.gen(function* () {
      const { browser, publisher, replica } = yield* aSite
      publisher.redirectUris = ["http://localhost/callback"]
      const redirect_uri = "http://localhost:5173/callback"
      const { challenge } = Apps.makeProof()
      const query = Apps.authorizationQuery(replica, publisher.address, challenge, { redirect_uri })
      const answer = yield* Apps.allow(replica, browser, query)
      assert.isTrue(answer.href.startsWith(`${redirect_uri}?`), answer.href)
      assert.strictEqual(answer.searchParams.get("iss"), "https://quarry.test/api/auth")
    })
  )

  it.effect("a stale document is fetched again, and without it the app cannot go on", () =>
    Effect.gen(function* () {
      const { browser, publisher, replica } = yield* aSite
      const { address } = publisher
      const { challenge } = Apps.makeProof()
      const asked = Apps.authorize(replica, browser, Apps.authorizationQuery(replica, address, challenge))
      assert.match(yield* asked, /^\/oauth\/consent\?/)
      publisher.redirectUris = ["https://app.example/elsewhere"]
      assert.match(yield* asked, /^\/oauth\/consent\?/)
      yield* expire(address)
      assert.match(yield* asked, /error=invalid_redirect\b/)
      publisher.isDown = true
      yield* expire(address)
      assert.match(yield* asked, /^\/oauth\/error\?error=invalid_document$/)
      publisher.isDown = false
      publisher.redirectUris = [Apps.callback]
      assert.match(yield* asked, /^\/oauth\/consent\?/)
      assert.strictEqual(publisher.fetches, 4)
    })
  )

  it.effect("apps that nobody allowed are removed, however old their document's first fetch is", () =>
    Effect.gen(function* () {
      const { browser, publisher, replica } = yield* aSite
      const { address } = publisher
      const sql = yield* SqlClient.SqlClient
      const { challenge } = Apps.makeProof()
      const ask = Apps.authorize(replica, browser, Apps.authorizationQuery(replica, address, challenge))
      const makeOld = sql`
        update auth_apps set created_at = created_at - interval '91 days', used_at = used_at - interval '91 days',
          document_expires_at = clock_timestamp()
        where client_id = ${address}`
      yield* ask
      yield* makeOld
      yield* ask
      yield* Apps.register(replica)
      const kept = yield* sql`select 1 from auth_apps where client_id = ${address}`
      assert.lengthOf(kept, 1, "a person is deciding")
      yield* makeOld
      yield* Apps.register(replica)
      assert.lengthOf(yield* sql`select 1 from auth_apps where client_id = ${address}`, 0)
    })
  )

  it.effect("a token has the scopes that the app asked for", () =>
    Effect.gen(function* () {
      const { browser, publisher, replica } = yield* aSite
      const { challenge, verifier } = Apps.makeProof()
      const query = Apps.authorizationQuery(replica, publisher.address, challenge, { scope: "search openid" })
      const answer = yield* Apps.allow(replica, browser, query)
      const body = new URLSearchParams({
        grant_type: "authorization_code",
        code: answer.searchParams.get("code") ?? "",
        client_id: publisher.address,
        code_verifier: verifier,
        redirect_uri: Apps.callback
      })
      const redeemed = yield* Apps.post(replica, "/oauth2/token", body)
      assert.sameMembers(String(redeemed.json.scope).split(" "), ["search", "offline_access"])
      const { access } = Apps.tokensOf(redeemed)
      const { scopes } = yield* replica.accessTokens.authenticate(Redacted.make(access))
      assert.deepStrictEqual(scopes, ["search"])
    })
  )

  it.effect("a person's daily limit is the app's budget, until the limit or the app is gone", () =>
    Effect.gen(function* () {
      const { account, browser, inAccount, publisher, replica } = yield* aSite
      const { redeem } = yield* Apps.makeCode(replica, browser, publisher.address)
      const { access } = Apps.tokensOf(yield* redeem())
      const bounds = Effect.map(replica.accessTokens.authenticate(Redacted.make(access)), ({ bounds }) => bounds)
      assert.isUndefined(yield* bounds)
      const { end, limit, list } = replica.connectedApps
      yield* limit(account.id, publisher.address, 5)
      yield* limit(account.id, publisher.address, 7)
      const expected = {
        budgets: { own: `app:${account.id}:${publisher.address}` },
        targets: undefined,
        networks: undefined
      }
      assert.deepStrictEqual(yield* bounds, expected)
      assert.strictEqual((yield* list(inAccount))[0]?.dailyCredits, 7)
      yield* limit(account.id, publisher.address, undefined)
      assert.isUndefined(yield* bounds)
      yield* limit(account.id, publisher.address, 5)
      yield* end(inAccount, (yield* list(inAccount))[0]?.id ?? "")
      const sql = yield* SqlClient.SqlClient
      assert.lengthOf(yield* sql`select 1 from key_bounds where origin_id = ${expected.budgets.own}`, 0)
    })
  )
}
