import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { NotFound } from "../../../src/domain/errors.ts"
import { requestsPerMinuteOfAddress } from "../../../src/http/middleware/addressLimit.ts"
import { clientAddress } from "../../../src/http/middleware/clientAddress.ts"
import { AuthRoutes } from "../../../src/services/accounts/AuthRoutes.ts"
import { TrustedProxies } from "../../../src/services/accounts/TrustedProxies.ts"
import { found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"
import { advance } from "../../support/Time.ts"

/** A sign-in that says what it was asked, and offers nothing at `/api/auth/unknown`. */
const layer = Layer.provideMerge(
  Layer.mock(AuthRoutes, {
    handle: (request, client) =>
      request.url.includes("/unknown")
        ? Effect.fail(new NotFound({ message: "nothing" }))
        : Effect.promise(async () => {
            const headers = new Headers({ "content-type": "application/json" })
            headers.append("set-cookie", "one=1; Path=/; HttpOnly; SameSite=Lax")
            headers.append("set-cookie", "two=2%3D; Max-Age=60; Path=/")
            headers.set("x-client", client ?? "")
            const { pathname, search } = new URL(request.url)
            const type = request.headers.get("content-type")
            const body = JSON.stringify({
              path: pathname + search,
              method: request.method,
              type,
              body: await request.text()
            })
            return new Response(body, { status: 202, headers })
          })
  }),
  services(providing(() => Effect.succeed(found(1))))
)

describe("/api/auth", () => {
  it.effect("passes requests and answers on as they are, with the request's id", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
      const answer = yield* api.send("POST", "/api/auth/sign-in/email?a=b", {
        headers: { "content-type": "application/json", "x-request-id": id },
        body: `{"email":"a@example.com"}`
      })
      assert.strictEqual(answer.status, 202)
      assert.strictEqual(answer.headers.get("x-request-id"), id)
      assert.isNull(answer.headers.get("x-ratelimit-limit"))
      assert.deepStrictEqual(answer.headers.getSetCookie(), [
        "one=1; Path=/; HttpOnly; SameSite=Lax",
        "two=2%3D; Max-Age=60; Path=/"
      ])
      assert.deepStrictEqual(answer.json, {
        path: "/api/auth/sign-in/email?a=b",
        method: "POST",
        type: "application/json",
        body: `{"email":"a@example.com"}`
      })
    }).pipe(Effect.provide(layer))
  )

  it.effect("R83: clients behind a trusted proxy are told apart, so that each has its own share", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const [forwarded, client] of [
        ["203.0.113.7", "203.0.113.7"],
        ["203.0.113.8, 203.0.113.9", "203.0.113.9"],
        ["2001:db8:0:7::1", "2001:db8:0:7::/64"]
      ] as const) {
        const answer = yield* api.get("/api/auth/oauth2/authorize", { "x-forwarded-for": forwarded })
        assert.strictEqual(answer.headers.get("x-client"), client)
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("a request without a body has none", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      assert.deepInclude((yield* api.send("POST", "/api/auth/sign-out")).json, { type: null, body: "" })
      assert.deepInclude((yield* api.get("/api/auth/get-session")).json, { type: null, body: "" })
    }).pipe(Effect.provide(layer))
  )

  it.effect("R3: a body over 64 KiB is 400, and the sign-in library does not get it", () =>
    Effect.gen(function* () {
      const answer = yield* (yield* TestApi.make).send("POST", "/api/auth/sign-in/email", {
        body: "x".repeat(64 * 1024 + 1)
      })
      assert.deepStrictEqual([answer.status, answer.json.error], [400, "invalid_request"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("R3: what is not offered is not found, in the envelope", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const [method, path] of [
        ["GET", "/api/auth/unknown"],
        ["POST", "/api/auth/unknown/more"],
        ["HEAD", "/api/auth/get-session"],
        ["PUT", "/api/auth/get-session"],
        ["OPTIONS", "/api/auth/get-session"],
        ["GET", "/api/authority"]
      ] as const) {
        const answer = yield* api.send(method, path)
        assert.strictEqual(answer.status, 404, path)
        assert.isNotNull(answer.headers.get("x-request-id"))
        if (method !== "HEAD") assert.strictEqual(answer.json.error, "not_found")
      }
    }).pipe(Effect.provide(layer))
  )
})

describe("R24: the client's address", () => {
  const addressOf = (hops: number, forwarded: string | undefined) => {
    const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded }
    const request = HttpServerRequest.fromWeb(new Request("http://quarry.test/", { headers }))
    return clientAddress.pipe(
      Effect.provideService(
        HttpServerRequest.HttpServerRequest,
        request.modify({ remoteAddress: Option.some("192.0.2.1") })
      ),
      Effect.provideService(TrustedProxies, hops)
    )
  }

  for (const [hops, forwarded, address] of [
    [0, undefined, "192.0.2.1"],
    [0, "203.0.113.9", "192.0.2.1"],
    [1, undefined, "192.0.2.1"],
    [1, "203.0.113.9", "203.0.113.9"],
    [1, "198.51.100.7, 203.0.113.9", "203.0.113.9"],
    [2, "198.51.100.7, 203.0.113.9", "198.51.100.7"],
    [2, "1.1.1.1,198.51.100.7 , 203.0.113.9", "198.51.100.7"],
    [3, "203.0.113.9", "203.0.113.9"]
  ] as const) {
    it.effect(`behind ${hops} proxies, with ${forwarded ?? "nothing"} forwarded, is ${address}`, () =>
      Effect.map(addressOf(hops, forwarded), (found) => assert.strictEqual(found, address))
    )
  }
})

/** A sign-in library that redirects every request to its own address. */
const redirecting = Layer.provideMerge(
  Layer.mock(AuthRoutes, {
    handle: (request) => Effect.sync(() => new Response(null, { status: 302, headers: { location: request.url } }))
  }),
  services(providing(() => Effect.succeed(found(1))))
)

describe("a redirect of the sign-in library", () => {
  it.effect("keeps its query up to 8 KiB, and loses it above, so that clients can read the headers", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const [length, isKept] of [
        [100, true],
        [9_000, false]
      ] as const) {
        const query = `?state=${"x".repeat(length)}`
        const answer = yield* api.get(`/api/auth/callback${query}`)
        assert.strictEqual(answer.status, 302)
        const location = new URL(answer.headers.get("location") ?? "")
        assert.strictEqual(location.pathname, "/api/auth/callback")
        assert.strictEqual(location.search, isKept ? query : "")
      }
    }).pipe(Effect.provide(redirecting))
  )
})

/** A sign-in that refuses with the status it is asked for. */
const refusing = Layer.provideMerge(
  Layer.mock(AuthRoutes, {
    handle: (request) =>
      Effect.sync(() => {
        const { searchParams } = new URL(request.url)
        const status = Number(searchParams.get("status"))
        const code = searchParams.get("code") ?? "NO"
        const headers = { "content-type": "application/json", "set-cookie": "one=; Max-Age=0", "x-retry-after": "7" }
        const issues = request.url.includes("issues")
          ? [{ field: "email", message: "must be an email address" }]
          : undefined
        return new Response(JSON.stringify({ code, message: "It is not to be.", issues }), { status, headers })
      })
  }),
  services(providing(() => Effect.succeed(found(1))))
)

describe("a refusal of the sign-in library", () => {
  for (const [status, code, answered] of [
    [400, "invalid_request", 400],
    [401, "unauthorized", 401],
    [403, "unauthorized", 401],
    [404, "not_found", 404],
    [415, "invalid_request", 400],
    [422, "invalid_request", 400],
    [429, "rate_limited", 429]
  ] as const) {
    it.effect(`R3: ${status} is ${code} ${answered} in the envelope, with its words and its cookies`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const answer = yield* api.send("POST", `/api/auth/sign-in/email?status=${status}`, { body: "{}" })
        assert.strictEqual(answer.status, answered)
        assert.strictEqual(answer.json.error, code)
        assert.include(answer.json.message, "It is not to be.")
        assert.strictEqual(answer.json.request_id, answer.headers.get("x-request-id"))
        assert.deepStrictEqual(answer.headers.getSetCookie(), ["one=; Max-Age=0"])
        assert.strictEqual(answer.headers.get("retry-after"), status === 429 ? "7" : null)
      }).pipe(Effect.provide(refusing))
    )
  }

  it.effect.each([
    ["R65: a sign-up that the operator does not admit", "403", "SIGN_UP_REFUSED", 403, "forbidden"],
    ["R66: a password where single sign-on is required", "403", "SINGLE_SIGN_ON_REQUIRED", 403, "forbidden"],
    ["R66: a provider that does not respond", "424", "IDENTITY_PROVIDER_UNREACHABLE", 502, "upstream_error"]
  ] as const)("%s has its own status", ([, from, code, status, error]) =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const answer = yield* api.send("POST", `/api/auth/sign-up/email?status=${from}&code=${code}`, { body: "{}" })
      assert.strictEqual(answer.status, status)
      assert.deepInclude(answer.json, { error, message: "It is not to be." })
      assert.strictEqual(answer.json.request_id, answer.headers.get("x-request-id"))
    }).pipe(Effect.provide(refusing))
  )

  it.effect("R6: what it says of a field is in the envelope's issues", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const answer = yield* api.send("POST", "/api/auth/sign-up/email?status=400&issues", { body: "{}" })
      assert.deepStrictEqual(answer.json.issues, [{ field: "email", message: "must be an email address" }])
      assert.include(answer.json.message, "email must be an email address")
    }).pipe(Effect.provide(refusing))
  )
})

describe("R27: sign-in is limited by client address", () => {
  /** A body that tells when it is read. */
  const signIn = (address: string, onRead: () => void) => ({
    headers: { "content-type": "application/json", "x-forwarded-for": address },
    duplex: "half" as const,
    body: new ReadableStream(
      {
        pull: (controller) => {
          onRead()
          controller.enqueue(Buffer.from("{}"))
          controller.close()
        }
      },
      { highWaterMark: 0 }
    )
  })

  it.effect("before a byte of a body is read, and others go on", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      let reads = 0
      const send = (address: string) =>
        api.send(
          "POST",
          "/api/auth/sign-in/email",
          signIn(address, () => reads++)
        )
      for (let count = 0; count < requestsPerMinuteOfAddress; count++) {
        assert.strictEqual((yield* send("2001:db8::1")).status, 202)
      }
      yield* advance("15 seconds")
      const refused = yield* send("2001:db8::2")
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(refused.json.error, "rate_limited")
      assert.strictEqual(reads, requestsPerMinuteOfAddress)
      assert.strictEqual(refused.headers.get("retry-after"), "45")
      assert.isNull(refused.headers.get("x-ratelimit-limit"))
      assert.strictEqual((yield* send("2001:db8:0:1::1")).status, 202)
      assert.strictEqual((yield* api.get("/api/auth/session", { "x-forwarded-for": "2001:db8::1" })).status, 202)
      yield* advance("45 seconds")
      assert.strictEqual((yield* send("2001:db8::1")).status, 202)
    }).pipe(Effect.provide(layer))
  )
})

/** The sign-in library's answers to a request from another origin, and to one too many. */
const refusalsOfLibrary = Layer.provideMerge(
  Layer.mock(AuthRoutes, {
    handle: (request) =>
      Effect.succeed(
        request.headers.get("origin") === "http://quarry.test"
          ? Response.json(
              { message: "Too many requests. Please try again later." },
              { status: 429, headers: { "x-retry-after": "10" } }
            )
          : Response.json({ message: "Invalid origin", code: "INVALID_ORIGIN" }, { status: 403 })
      )
  }),
  services(providing(() => Effect.succeed(found(1))))
)

describe("a refusal of /api/auth", () => {
  const signIn = (origin: string) =>
    Effect.flatMap(TestApi.make, (api) =>
      api.send("POST", "/api/auth/sign-in/email", {
        headers: { origin, "content-type": "application/json" },
        body: `{"email":"a@example.com"}`
      })
    )

  it.effect("names both addresses if the page was opened at another one than BASE_URL", () =>
    Effect.gen(function* () {
      const { json, status } = yield* signIn("http://127.0.0.1:3000")
      assert.strictEqual(status, 401)
      for (const text of ["http://127.0.0.1:3000", "http://quarry.test", "BASE_URL"]) assert.include(json.message, text)
    }).pipe(Effect.provide(refusalsOfLibrary))
  )

  it.effect("says when to try again", () =>
    Effect.gen(function* () {
      const { headers, json, status } = yield* signIn("http://quarry.test")
      assert.deepStrictEqual([status, headers.get("retry-after")], [429, "10"])
      assert.strictEqual(json.message, "Too many attempts. Try again in 10 seconds.")
    }).pipe(Effect.provide(refusalsOfLibrary))
  )
})
