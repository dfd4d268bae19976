import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { toolScopes } from "../../../src/domain/accounts/OAuth.ts"
import type { SignUpMode } from "../../../src/domain/accounts/signUp.ts"
import { unauthorized } from "../../../src/domain/errors.ts"
import { requestsPerMinuteOfAddress } from "../../../src/http/middleware/addressLimit.ts"
import {
  AuthorizationRequestExpired,
  AuthorizationRequests,
  UnknownApp
} from "../../../src/services/accounts/AuthorizationRequests.ts"
import { AuthRoutes } from "../../../src/services/accounts/AuthRoutes.ts"
import { ConnectedApps } from "../../../src/services/accounts/ConnectedApps.ts"
import { Sessions } from "../../../src/services/accounts/Sessions.ts"
import {
  InvalidCredentials,
  InvalidField,
  type Redirect,
  SignIn,
  SignInFailed,
  SignUpDenied,
  TooManyAttempts
} from "../../../src/services/accounts/SignIn.ts"
import { Deployment } from "../../../src/services/operations/Deployment.ts"
import { found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

const account = {
  id: "acc_1",
  email: "ada+<x>@example.com",
  plan: "trial",
  quota: 100,
  concurrency: 1,
  cycleStart: undefined,
  createdAt: 0,
  suspendedAt: undefined
} as const

const evil = `<script>alert("1")</script>'&`

const toConsent: Redirect = { location: "/oauth/consent?sig=right", cookies: [Redacted.make("a=b; Path=/")] }

const redirectTo = (location: string): Effect.Effect<Redirect> => Effect.succeed({ location, cookies: [] })

const signInWithOnePerson = Layer.mock(SignIn, {
  providers: [{ id: "github", name: "GitHub", formTarget: "https://github.com" }],
  hasPasswords: true,
  deliversEmails: true,
  signUpMode: "open",
  withCode: () => Effect.fail(new SignInFailed({ message: "No test here waits for a code." })),
  withPassword: (_, { password }) =>
    Redacted.value(password) === "right" ? Effect.succeed(toConsent) : Effect.fail(new InvalidCredentials()),
  signUp: (_, { email }) => {
    if (email === "taken@example.com") {
      return Effect.fail(new InvalidField({ field: "email", message: "already has an account" }))
    }
    return Effect.succeed(email === "mail@example.com" ? undefined : toConsent)
  },
  atProvider: (_, provider) => redirectTo(`https://github.com/login/oauth/authorize?x=${provider}`),
  requestPasswordReset: (_, { email }) =>
    email === "busy@example.com" ? Effect.fail(new TooManyAttempts({ retryAfterSeconds: 42 })) : Effect.void,
  addressOfLink: (token) =>
    Effect.succeed(["right", evil].includes(Redacted.value(token)) ? "ada@example.com" : undefined),
  resetPassword: (_, { password, returnPath, token }) => {
    if (Redacted.value(token) !== "right") return Effect.fail(new InvalidField({ field: "token", message: "is over" }))
    return Redacted.value(password).length < 8
      ? Effect.fail(new InvalidField({ field: "password", message: "must have at least 8 characters" }))
      : Effect.succeed({ location: returnPath, cookies: [Redacted.make("quarry.session_token=new")] })
  }
})

const oneAuthorizationRequest = Layer.mock(AuthorizationRequests, {
  describe: (_, request) => {
    const query = new URLSearchParams(request)
    if (query.get("sig") !== "right") return Effect.fail(new AuthorizationRequestExpired())
    return query.get("client_id") === "gone"
      ? Effect.fail(new UnknownApp())
      : Effect.succeed({
          appName: evil,
          appId: query.get("client_id") ?? "",
          scopes: toolScopes.filter((scope) => (query.get("scope") ?? "search read").includes(scope)),
          redirectUri: query.get("redirect_uri") ?? ""
        })
  },
  decide: ({ cookies }, _, decision) =>
    cookies !== undefined && Redacted.value(cookies).includes("right")
      ? redirectTo(`http://127.0.0.1:9/callback?decision=${decision}`)
      : Effect.fail(unauthorized)
})

const layerAt = (origin: string, signIn = signInWithOnePerson) =>
  Layer.mergeAll(
    signIn,
    oneAuthorizationRequest,
    Layer.mock(AuthRoutes, {
      handle: () =>
        Effect.sync(() => Response.json({ error: "invalid_grant", error_description: "no" }, { status: 400 }))
    }),
    Layer.mock(Sessions, {
      cookieName: "quarry.session_token",
      authenticate: (cookie) =>
        Redacted.value(cookie) === "right"
          ? Effect.succeed({
              _tag: "session" as const,
              account,
              sessionId: "ses_1",
              personId: "usr_1",
              memberId: "mem_1",
              role: "owner" as const,
              isFresh: true,
              needsSecondFactor: false
            })
          : Effect.fail(unauthorized)
    }),
    Layer.succeed(Deployment, { origin, demoOrigin: undefined, corsOrigins: [] })
  ).pipe(Layer.provideMerge(services(providing(() => Effect.succeed(found(1))))))

const layer = layerAt("https://quarry.test")

/** A deployment where the operator admits sign-ups so, and not this one. */
const signUpAs = (signUpMode: SignUpMode) =>
  layerAt(
    "https://quarry.test",
    Layer.mock(SignIn, {
      providers: [],
      hasPasswords: true,
      deliversEmails: true,
      signUpMode,
      signUp: (_, { email }) =>
        Effect.fail(
          email === "busy@example.com"
            ? new TooManyAttempts({ retryAfterSeconds: 7200 })
            : new SignUpDenied({ message: "There is no invitation. Ask the operator for an account." })
        )
    })
  )

const signed = new URLSearchParams({
  client_id: "app",
  redirect_uri: "http://127.0.0.1:9/callback",
  state: evil,
  sig: "right"
}).toString()

const cookie = "quarry.session_token=right"
const own = { origin: "https://quarry.test", "content-type": "application/x-www-form-urlencoded" }

const form = (fields: Record<string, string>, headers: Record<string, string> = {}) => ({
  headers: { ...own, ...headers },
  body: String(new URLSearchParams(fields))
})

describe("the pages where people let apps in", () => {
  it.effect("can be framed, scripted and styled by nobody, are kept by nobody, and carry the request id (R2)", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const pages = [
        yield* api.get(`/oauth/sign-in?${signed}`),
        yield* api.get(`/oauth/consent?${signed}`, { cookie }),
        yield* api.get("/oauth/sign-in?sig=wrong"),
        yield* api.get("/oauth/error?error=access_denied"),
        yield* api.get("/oauth/confirm?token=right"),
        yield* api.send("POST", "/oauth/consent", form({ request: signed }, { origin: "https://elsewhere.test" }))
      ]
      for (const { headers, text } of pages) {
        const policy = headers.get("content-security-policy") ?? ""
        for (const part of ["default-src 'none'", "style-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"]) {
          assert.include(policy, part)
        }
        // Only pages that sign in have a script, which is a file of this deployment.
        assert.strictEqual(/script-src ([^;]*)/.exec(policy)?.[1], text.includes("<script") ? "'self'" : undefined)
        assert.strictEqual(headers.get("x-frame-options"), "DENY")
        assert.strictEqual(headers.get("cache-control"), "no-store")
        assert.strictEqual(headers.get("referrer-policy"), "same-origin")
        assert.isNotNull(headers.get("x-request-id"))
        assert.notMatch(text, /<script(?! src="\/oauth\/sign-in\.js" defer [^<>]*><\/script>)|style=|\son\w+=/)
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("what an app and its request say is text", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const path of ["sign-in", "consent"]) {
        const { text } = yield* api.get(`/oauth/${path}?${signed}`, { cookie })
        assert.notInclude(text, "<script>")
        assert.include(text, "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39;&amp;")
      }
      const { text } = yield* api.get(`/oauth/consent?${signed}`, { cookie })
      assert.include(text, "ada+&lt;x&gt;@example.com")
      assert.include(text, "127.0.0.1:9")
    }).pipe(Effect.provide(layer))
  )

  it.effect("a form leads to this deployment, to its providers, and to the app that asks", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const targets = Effect.fnUntraced(function* (path: string, redirect: string) {
        const query = `redirect_uri=${encodeURIComponent(redirect)}&sig=right`
        const { headers } = yield* api.get(`/oauth/${path}?${query}`, { cookie })
        return /form-action ([^;]*)/.exec(headers.get("content-security-policy") ?? "")?.[1]
      })
      assert.strictEqual(yield* targets("sign-in", "http://127.0.0.1:9/x"), "'self' https://github.com")
      assert.strictEqual(yield* targets("consent", "http://127.0.0.1:9/x"), "'self' http://127.0.0.1:9")
      assert.strictEqual(yield* targets("consent", "http://[::1]:9/x"), "'self' http:")
      assert.strictEqual(yield* targets("consent", "com.example.app:/x"), "'self' com.example.app:")
      assert.strictEqual(yield* targets("consent", "https://app.example;script-src/x"), "'self' https:")
    }).pipe(Effect.provide(layer))
  )

  it.effect("a form that another site sends does nothing", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const fields = { request: signed, decision: "allow", email: "a@example.com", password: "right" }
      for (const path of ["/oauth/consent", "/oauth/sign-in", "/oauth/sign-up", "/oauth/forgot-password"]) {
        for (const headers of [{ origin: "https://elsewhere.test" }, { origin: "null" }]) {
          const refused = yield* api.send("POST", path, form(fields, { cookie, ...headers }))
          assert.strictEqual(refused.status, 400)
          assert.isNull(refused.headers.get("location"))
        }
        const { origin: _, ...nameless } = own
        const init = { headers: { ...nameless, cookie }, body: String(new URLSearchParams(fields)) }
        assert.strictEqual((yield* api.send("POST", path, init)).status, 400)
        const named = { headers: { ...nameless, cookie, "sec-fetch-site": "same-origin" }, body: init.body }
        const expected = path === "/oauth/forgot-password" ? 200 : 303
        assert.strictEqual((yield* api.send("POST", path, named)).status, expected)
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("signing in leads on, and says what is wrong", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const send = (fields: Record<string, string>) =>
        api.send("POST", "/oauth/sign-in", form({ request: signed, ...fields }))
      const accepted = yield* send({ email: "ada@example.com", password: "right" })
      assert.deepStrictEqual([accepted.status, accepted.headers.get("location")], [303, "/oauth/consent?sig=right"])
      assert.deepStrictEqual(accepted.headers.getSetCookie(), ["a=b; Path=/"])
      const refused = yield* send({ email: `"ada"@example.com`, password: "wrong" })
      assert.strictEqual(refused.status, 401)
      assert.include(refused.text, "The email address or password is incorrect.")
      assert.include(refused.text, "&quot;ada&quot;@example.com")
      assert.notInclude(refused.text, "wrong")
      const away = yield* send({ provider: "github" })
      assert.match(away.headers.get("location") ?? "", /^https:\/\/github\.com\//)
      const unknown = yield* send({ provider: "google" })
      assert.deepStrictEqual([unknown.status, unknown.headers.get("location")], [400, null])
      const long = yield* send({ request: `${signed}&x=${"x".repeat(1600)}`, provider: "github" })
      assert.strictEqual(long.status, 400)
      assert.include(long.text, "Sign in to the dashboard first")
    }).pipe(Effect.provide(layer))
  )

  it.effect("a newcomer signs up on the way, and learns if an email must be confirmed first", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      assert.include((yield* api.get(`/oauth/sign-in?${signed}`)).text, 'href="/oauth/sign-up?client_id=app&amp;')
      assert.include((yield* api.get(`/oauth/sign-up?${signed}`)).text, 'action="/oauth/sign-up"')
      const send = (email: string) =>
        api.send("POST", "/oauth/sign-up", form({ request: signed, email, password: "right" }))
      const accepted = yield* send("new@example.com")
      assert.deepStrictEqual([accepted.status, accepted.headers.get("location")], [303, "/oauth/consent?sig=right"])
      const mailed = yield* send("mail@example.com")
      assert.strictEqual(mailed.status, 200)
      assert.include(mailed.text, "Check your email")
      const refused = yield* send("taken@example.com")
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, "The address already has an account.")
    }).pipe(Effect.provide(layer))
  )

  it.effect("a newcomer chooses a password at the emailed link, and until then it is random", () =>
    Effect.gen(function* () {
      const passwords: Array<string> = []
      const signUpWith = (deliversEmails: boolean) =>
        Layer.mock(SignIn, {
          providers: [],
          hasPasswords: true,
          deliversEmails,
          signUpMode: "open",
          signUp: (_, { password }) => {
            passwords.push(Redacted.value(password))
            return Effect.succeed(undefined)
          }
        })
      const fields = { request: signed, email: "new@example.com" }
      const mailing = yield* TestApi.make.pipe(Effect.provide(layerAt("https://quarry.test", signUpWith(true))))
      assert.notInclude((yield* mailing.get(`/oauth/sign-up?${signed}`)).text, 'type="password"')
      yield* mailing.send("POST", "/oauth/sign-up", form(fields))
      yield* mailing.send("POST", "/oauth/sign-up", form(fields))
      assert.match(passwords[0] ?? "", /^[0-9a-f]{48}$/)
      assert.notStrictEqual(passwords[0], passwords[1])
      const silent = yield* TestApi.make.pipe(Effect.provide(layerAt("https://quarry.test", signUpWith(false))))
      assert.include((yield* silent.get(`/oauth/sign-up?${signed}`)).text, 'type="password"')
      yield* silent.send("POST", "/oauth/sign-up", form(fields))
      assert.strictEqual(passwords[2], "")
    })
  )

  it.effect("R65: the pages say who may sign up, and what was refused", () =>
    Effect.gen(function* () {
      const closed = yield* TestApi.make.pipe(Effect.provide(signUpAs("closed")))
      assert.notInclude((yield* closed.get(`/oauth/sign-in?${signed}`)).text, "/oauth/sign-up")
      const page = yield* closed.get(`/oauth/sign-up?${signed}`)
      assert.include(page.text, "Sign-up is closed")
      assert.notInclude(page.text, "<form")
      const invite = yield* TestApi.make.pipe(Effect.provide(signUpAs("invite")))
      assert.include((yield* invite.get(`/oauth/sign-up?${signed}`)).text, "Sign-up is by invitation")
      const send = (email: string) =>
        invite.send("POST", "/oauth/sign-up", form({ request: signed, email, password: "right" }))
      const denied = yield* send("nobody@example.com")
      assert.strictEqual(denied.status, 403)
      assert.include(denied.text, "Ask the operator for an account.")
      const limited = yield* send("busy@example.com")
      assert.deepStrictEqual([limited.status, limited.headers.get("retry-after")], [429, "7200"])
      assert.include(limited.text, "Try again in 2 hours.")
      const failed = yield* invite.get("/oauth/error?error=SIGN_UP_REFUSED")
      assert.strictEqual(failed.status, 403)
      assert.include(failed.text, "cannot sign up here")
      assert.strictEqual((yield* invite.get("/oauth/error?error=SIGN_UP_LIMITED")).status, 429)
    })
  )

  it.effect("who forgot the password asks for a link, and learns nothing about the address", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const path = "/oauth/forgot-password"
      assert.include((yield* api.get(`/oauth/sign-in?${signed}`)).text, `href="${path}?client_id=app&amp;`)
      assert.include((yield* api.get(`${path}?${signed}`)).text, `action="${path}"`)
      assert.include((yield* api.get(`${path}?sig=wrong`)).text, "This request has expired")
      const send = (email: string) => api.send("POST", path, form({ request: signed, email }))
      const answers = [yield* send("ada@example.com"), yield* send("nobody@example.com")]
      for (const { status, text } of answers) {
        assert.deepStrictEqual([status, text.includes("Check your email")], [200, true])
        assert.strictEqual(text.replaceAll("nobody@", "ada@"), answers[0]?.text)
      }
      const busy = yield* send("busy@example.com")
      assert.deepStrictEqual([busy.status, busy.headers.get("retry-after")], [429, "42"])
      assert.include(busy.text, "busy@example.com")
    }).pipe(Effect.provide(layer))
  )

  it.effect("without a mail server the page names who has the link", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const fields = { request: signed, email: "ada@example.com" }
      const { text } = yield* api.send("POST", "/oauth/forgot-password", form(fields))
      assert.include(text, "Ask the operator for the link")
    }).pipe(
      Effect.provide(
        layerAt(
          "https://quarry.test",
          Layer.mock(SignIn, {
            providers: [],
            hasPasswords: true,
            deliversEmails: false,
            signUpMode: "open",
            requestPasswordReset: () => Effect.void
          })
        )
      )
    )
  )

  it.effect("R66: with OIDC_ONLY the pages show only the provider's button", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const name of ["sign-in", "sign-up"]) {
        const { headers, text } = yield* api.get(`/oauth/${name}?${signed}`)
        assert.include(text, 'name="provider" value="oidc">Continue with Example &lt;SSO&gt;</button>')
        assert.notInclude(text, "assword&quot;")
        assert.notInclude(text, 'type="email"')
        assert.include(headers.get("content-security-policy"), "form-action 'self' https:;")
      }
      const forgotten = yield* api.get(`/oauth/forgot-password?${signed}`)
      assert.match(forgotten.headers.get("location") ?? "", /^\/oauth\/sign-in\?/)
      for (const [code, text] of [
        ["SINGLE_SIGN_ON_REQUIRED", "sign in at the identity provider"],
        ["email_not_verified", "not verified"],
        ["unable_to_link_account", "already in use"]
      ] as const) {
        const failed = yield* api.get(`/oauth/error?error=${code}`)
        assert.strictEqual(failed.status, 403)
        assert.include(failed.text, text)
      }
    }).pipe(
      Effect.provide(
        layerAt(
          "https://quarry.test",
          Layer.mock(SignIn, {
            providers: [{ id: "oidc", name: "Example <SSO>", formTarget: "https:" }],
            hasPasswords: false,
            deliversEmails: true,
            signUpMode: "open"
          })
        )
      )
    )
  )

  it.effect("the link in an email shows a form and does nothing: mail gateways open links", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const next = `/oauth/sign-in?${signed}`
      const page = yield* api.get(
        `/oauth/confirm?token=${encodeURIComponent(evil)}&callbackURL=${encodeURIComponent(next)}`
      )
      assert.strictEqual(page.status, 200)
      assert.include(page.text, 'action="/oauth/confirm"')
      assert.include(page.text, "&lt;script&gt;alert(&quot;1&quot;)")
      assert.include(page.text, next.replaceAll("&", "&amp;"))
      assert.isEmpty(page.headers.getSetCookie())
      assert.include(page.text, "ada@example.com")
    }).pipe(Effect.provide(layer))
  )

  it.effect("a link that was used or has expired says so when it is opened, and leads to a new one", () =>
    Effect.gen(function* () {
      const page = yield* (yield* TestApi.make).get("/oauth/confirm?token=used")
      assert.strictEqual(page.status, 400)
      assert.include(page.text, "This link has expired")
      assert.notInclude(page.text, 'type="password"')
      assert.include(page.text, 'class="button" href="/dashboard/forgot-password"')
    }).pipe(Effect.provide(layer))
  )

  it.effect("a confirmation sets the password, says what is wrong with it, and leads on to a path of ours", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const send = (fields: Record<string, string>, headers = {}) =>
        api.send("POST", "/oauth/confirm", form({ token: "right", password: "another horse", ...fields }, headers))
      const next = `/oauth/sign-in?${signed}`
      const done = yield* send({ next })
      assert.deepStrictEqual([done.status, done.headers.get("location")], [303, next])
      assert.deepStrictEqual(done.headers.getSetCookie(), ["quarry.session_token=new"])
      for (const elsewhere of ["", "https://evil.example/", "//evil.example", "/\\evil.example"]) {
        assert.strictEqual((yield* send({ next: elsewhere })).headers.get("location"), "/dashboard")
      }
      assert.strictEqual((yield* send({ next: "/.//evil.example" })).headers.get("location"), "/evil.example")
      const short = yield* send({ password: "short", next })
      assert.strictEqual(short.status, 400)
      assert.include(short.text, "The password must have at least 8 characters.")
      assert.include(short.text, 'value="right"')
      const over = yield* send({ token: "wrong" })
      assert.deepStrictEqual([over.status, over.text.includes("This link has expired")], [400, true])
      const otherSite = yield* send({}, { origin: "https://elsewhere.test" })
      assert.deepStrictEqual([otherSite.status, otherSite.headers.get("location")], [400, null])
    }).pipe(Effect.provide(layer))
  )

  it.effect("addresses are confirmed over plain http too, where no app is let in", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      assert.strictEqual((yield* api.get("/oauth/confirm?token=right")).status, 200)
    }).pipe(Effect.provide(layerAt("http://quarry.test")))
  )

  it.effect("a decision goes to the app; without a session it is asked for first", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const [decision, decided] of [
        ["allow", "allow"],
        ["deny", "deny"],
        ["", "deny"]
      ] as const) {
        const answer = yield* api.send("POST", "/oauth/consent", form({ request: signed, decision }, { cookie }))
        assert.strictEqual(answer.headers.get("location"), `http://127.0.0.1:9/callback?decision=${decided}`)
      }
      const nobody = yield* api.send("POST", "/oauth/consent", form({ request: signed, decision: "allow" }))
      assert.match(nobody.headers.get("location") ?? "", /^\/oauth\/sign-in\?/)
      const bent = form({ request: `${signed}&x=\r\nset-cookie: a=b\u{1f600}`, decision: "allow" })
      assert.match(
        (yield* api.send("POST", "/oauth/consent", bent)).headers.get("location") ?? "",
        /&x=%0D%0Aset-cookie/
      )
      const page = yield* api.get(`/oauth/consent?${signed}`)
      assert.deepStrictEqual([page.status, page.headers.get("location")], [303, `/oauth/sign-in?${signed}`])
    }).pipe(Effect.provide(layer))
  )

  it.effect("consent names the host that publishes the app, and says where that proves nothing", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const page = Effect.fnUntraced(function* (client_id: string, redirect_uri: string, scope: string) {
        const query = new URLSearchParams({ client_id, redirect_uri, scope, sig: "right" })
        return (yield* api.get(`/oauth/consent?${query}`, { cookie })).text
      })
      const document = "https://app.example/oauth/client.json"
      const web = yield* page(document, "https://app.example/callback", "search")
      assert.include(web, "Verified: <strong>app.example</strong> publishes this app.")
      assert.notInclude(web, "Any program on this device")
      assert.include(web, "Search the web for you")
      assert.notInclude(web, "Read web pages for you")
      const local = yield* page(document, "http://127.0.0.1:9/callback", "search read")
      assert.include(local, "Any program on this device could use its name")
      assert.include(local, "Read web pages for you")
      const own = yield* page(document, "cursor://callback/", "search read")
      assert.include(own, "Any program on this device could use its name")
      const registered = yield* page("abc", "https://app.example/callback", "search read")
      assert.include(registered, "The app chose this name itself.")
      assert.notInclude(registered, "Verified")
    }).pipe(Effect.provide(layer))
  )

  it.effect("a daily limit is a number of credits, stored before the app is let in", () => {
    const limits: Array<ReadonlyArray<unknown>> = []
    const apps = Layer.mock(ConnectedApps, { limit: (...limit) => Effect.sync(() => void limits.push(limit)) })
    return Effect.gen(function* () {
      const api = yield* TestApi.make
      const send = (fields: Record<string, string>, headers: Record<string, string> = { cookie }) =>
        api.send("POST", "/oauth/consent", form({ request: signed, decision: "allow", ...fields }, headers))
      for (const daily_credits of ["0", "-1", "1.5", "ten", "1e3", "1000000001", "0x10"]) {
        const refused = yield* send({ daily_credits })
        assert.deepStrictEqual([refused.status, refused.headers.get("location")], [400, null], daily_credits)
        assert.include(refused.text, "The daily limit must be a whole number")
        assert.include(refused.text, `value="${daily_credits}"`)
      }
      assert.strictEqual((yield* send({ daily_credits: "5" }, {})).status, 303)
      assert.strictEqual((yield* send({ request: "client_id=app&sig=wrong", daily_credits: "5" })).status, 400)
      assert.strictEqual((yield* send({ decision: "deny", daily_credits: "ten" })).status, 303)
      assert.deepStrictEqual(limits, [])
      assert.strictEqual((yield* send({ daily_credits: " 25 " })).status, 303)
      assert.strictEqual((yield* send({ daily_credits: "" })).status, 303)
      assert.deepStrictEqual(limits, [
        ["acc_1", "app", 25],
        ["acc_1", "app", undefined]
      ])
    }).pipe(Effect.provide(Layer.provideMerge(apps, layer)))
  })

  it.effect("a request that is forged or over, and an app that is gone, get a page that says so", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const query of ["", "sig=wrong", `${signed.replace("sig=right", "sig=wrong")}`]) {
        for (const path of ["sign-in", "consent"]) {
          const answer = yield* api.get(`/oauth/${path}?${query}`, { cookie })
          assert.strictEqual(answer.status, 400)
          assert.include(answer.text, "This request has expired")
        }
      }
      assert.include((yield* api.get("/oauth/sign-in?client_id=gone&sig=right")).text, "does not know this app")
      const failure = yield* api.get(`/oauth/error?error=__proto__&error_description=${encodeURIComponent(evil)}`)
      assert.include(failure.text, "Something went wrong")
      assert.notInclude(failure.text, "alert")
    }).pipe(Effect.provide(layer))
  )
})

/** A deployment that notes where its sign-in leads, at an address where apps cannot be connected. */
const noting = (paths: Array<unknown>, signUpMode: SignUpMode = "open") =>
  layerAt(
    "http://quarry.test",
    Layer.mock(SignIn, {
      providers: [{ id: "github", name: "GitHub", formTarget: "https://github.com" }],
      hasPasswords: true,
      deliversEmails: true,
      signUpMode,
      withPassword: (_, { authorizationRequest, password, returnPath }) => {
        if (Redacted.value(password) !== "right") return Effect.fail(new InvalidCredentials())
        paths.push(["password", authorizationRequest, returnPath])
        return redirectTo(returnPath)
      },
      signUp: (_, { authorizationRequest, returnPath }) =>
        Effect.sync(() => void paths.push(["sign-up", authorizationRequest, returnPath])),
      atProvider: (_, provider, { failurePath, returnPath }) => {
        paths.push([provider, failurePath, returnPath])
        return redirectTo("https://github.com/login")
      },
      requestPasswordReset: (_, { returnPath }) => Effect.sync(() => void paths.push(["reset", returnPath]))
    })
  )

const plain = (fields: Record<string, string>) => form(fields, { origin: "http://quarry.test" })

describe("the same pages, before the dashboard", () => {
  it.effect("are there without apps, with or without a slash, and are kept by nobody", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const [path, heading] of [
        ["sign-in", "Sign in"],
        ["sign-up", "Create an account"],
        ["forgot-password", "Forgot your password?"]
      ] as const) {
        for (const slash of ["", "/"]) {
          const { headers, status, text } = yield* api.get(`/dashboard/${path}${slash}?next=%2Fdashboard%2Flog`)
          assert.strictEqual(status, 200)
          assert.include(text, `<h1>${heading}</h1>`)
          assert.include(text, `action="/dashboard/${path}"`)
          assert.include(
            text,
            "/dashboard/sign-in?next=%2Fdashboard%2Flog".replace("sign-in", path === "sign-in" ? "sign-up" : "sign-in")
          )
          assert.strictEqual(headers.get("cache-control"), "no-store")
          const policy = headers.get("content-security-policy") ?? ""
          for (const part of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"]) {
            assert.include(policy, part)
          }
        }
      }
    }).pipe(Effect.provide(noting([])))
  )

  it.effect("lead on to the page of the dashboard that the person wanted, and to no other address", () => {
    const paths: Array<unknown> = []
    return Effect.gen(function* () {
      const api = yield* TestApi.make
      const send = (path: string, fields: Record<string, string>) =>
        api.send("POST", `/dashboard/${path}`, plain({ email: "ada@example.com", ...fields }))
      const request = "next=%2Fdashboard%2Flog%3Ftarget%3Dpage"
      const wanted = "/dashboard/log?target=page"
      const signedIn = yield* send("sign-in", { request, password: "right" })
      assert.deepStrictEqual([signedIn.status, signedIn.headers.get("location")], [303, wanted])
      yield* send("sign-in", { request, provider: "github" })
      yield* send("sign-in", { request: `next=/dashboard/log?${"x".repeat(1600)}`, provider: "github" })
      yield* send("sign-up", { request })
      yield* send("forgot-password", { request })
      const failure = "/dashboard/sign-in?failed=github"
      assert.deepStrictEqual(paths, [
        ["password", undefined, wanted],
        ["github", failure, wanted],
        ["github", failure, "/dashboard"],
        ["sign-up", undefined, wanted],
        ["reset", wanted]
      ])
      for (const next of [
        "",
        "//evil.example/dashboard",
        "https://evil.example/dashboard",
        "/dashboards",
        "/oauth/consent?a=b",
        "/dashboard/../docs",
        "javascript:alert(1)"
      ]) {
        const query = String(new URLSearchParams({ next }))
        const answer = yield* send("sign-in", { request: query, password: "right" })
        assert.strictEqual(answer.headers.get("location"), "/dashboard", next)
        assert.include((yield* api.get(`/dashboard/sign-in?${query}`)).text, 'name="request" value=""', next)
      }
    }).pipe(Effect.provide(noting(paths)))
  })

  it.effect("say what is wrong and keep the address, and refuse forms of other sites", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const fields = { request: "next=/dashboard/log", email: "ada@example.com", password: "tr0ub4dor" }
      const refused = yield* api.send("POST", "/dashboard/sign-in", plain(fields))
      assert.strictEqual(refused.status, 401)
      for (const part of [
        "is incorrect",
        'value="ada@example.com"',
        'value="next=%2Fdashboard%2Flog"',
        'autofocus aria-describedby="notice"'
      ]) {
        assert.include(refused.text, part)
      }
      assert.notInclude(refused.text, "tr0ub4dor")
      const foreign = yield* api.send("POST", "/dashboard/sign-in", form({ ...fields, password: "right" }))
      assert.deepStrictEqual([foreign.status, foreign.headers.get("location")], [400, null])
      assert.include(foreign.text, "its own pages at http://quarry.test")
    }).pipe(Effect.provide(noting([])))
  )

  it.effect("send another link by one button, and say so", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const path of ["sign-up", "forgot-password"]) {
        const send = (fields: Record<string, string>) =>
          api.send("POST", `/dashboard/${path}`, plain({ request: "", email: "ada@example.com", ...fields }))
        const first = yield* send({})
        assert.include(first.text, "Check your email")
        assert.include(first.text, '<input type="hidden" name="email" value="ada@example.com">')
        assert.notInclude(first.text, "We sent another link")
        assert.include((yield* send({ again: "true" })).text, "We sent another link")
      }
    }).pipe(Effect.provide(noting([])))
  )

  it.effect("say why a provider opened no session, in words of ours alone", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const notice = Effect.fnUntraced(function* (query: Record<string, string>) {
        const { text } = yield* api.get(`/dashboard/sign-in?${new URLSearchParams(query)}`)
        return /role="alert" id="notice">([^<]*)/.exec(text)?.[1]
      })
      assert.include(yield* notice({ failed: "github", error: "SIGN_UP_REFUSED" }), "cannot sign up here")
      for (const error of ["access_denied", "__proto__", evil, ""]) {
        const words = "Signing in with GitHub failed. Try again or use a password."
        assert.strictEqual(yield* notice({ failed: "github", error }), words)
      }
      assert.isUndefined(yield* notice({ failed: "google", error: "SIGN_UP_REFUSED" }))
    }).pipe(Effect.provide(noting([])))
  )

  it.effect("R65: a closed sign-up leads back to the sign-in", () =>
    Effect.gen(function* () {
      const { text } = yield* (yield* TestApi.make).get("/dashboard/sign-up?next=/dashboard/log")
      assert.include(text, "Sign-up is closed")
      assert.include(text, 'href="/dashboard/sign-in?next=%2Fdashboard%2Flog"')
      assert.notInclude(text, "<form")
    }).pipe(Effect.provide(noting([], "closed")))
  )
})

describe("what apps ask", () => {
  it.effect("finds the metadata at the addresses that clients try, from any page", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const path of ["oauth-protected-resource", "oauth-protected-resource/mcp"]) {
        const answer = yield* api.get(`/.well-known/${path}`)
        assert.strictEqual(answer.json.resource, "https://quarry.test/mcp")
        assert.strictEqual(answer.headers.get("access-control-allow-origin"), "*")
      }
      for (const path of [
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/api/auth",
        "/api/auth/.well-known/oauth-authorization-server"
      ]) {
        assert.strictEqual((yield* api.get(path)).json.issuer, "https://quarry.test/api/auth")
      }
      assert.strictEqual((yield* api.get("/.well-known/oauth-protected-resource/other")).json.error, "not_found")
      const chosen = "/mcp?tools=search,fetch"
      const { json } = yield* api.get(`/.well-known/oauth-protected-resource${chosen}`)
      assert.strictEqual(json.resource, `https://quarry.test${chosen}`)
      const init = { headers: { "content-type": "application/json" }, body: "{}" }
      const challenge = (yield* api.send("POST", chosen, init)).headers.get("www-authenticate") ?? ""
      assert.include(challenge, `"https://quarry.test/.well-known/oauth-protected-resource${chosen}"`)
    }).pipe(Effect.provide(layer))
  )

  it.effect("is refused in OAuth's own words, which apps read (RFC 6749)", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const init = { headers: { "content-type": "application/json" }, body: "{}" }
      const refused = yield* api.send("POST", "/api/auth/oauth2/token", init)
      assert.deepStrictEqual([refused.status, refused.json], [400, { error: "invalid_grant", error_description: "no" }])
      assert.isNotNull(refused.headers.get("x-request-id"))
    }).pipe(Effect.provide(layer))
  )

  it.effect("of apps, a platform's many people send more from one address than others, and a 429 explains itself", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const init = {
        headers: { "content-type": "application/x-www-form-urlencoded", "x-forwarded-for": "192.0.2.77" },
        body: "grant_type=refresh_token"
      }
      for (let count = 0; count <= requestsPerMinuteOfAddress; count++) {
        assert.strictEqual((yield* api.send("POST", "/api/auth/oauth2/token", init)).status, 400)
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("a 429 for an app has OAuth's error_description, the API's envelope and Retry-After", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const init = { headers: { "content-type": "application/json" }, body: "{}" }
      const refused = yield* api.send("POST", "/api/auth/oauth2/register", init)
      const { error, error_description, message } = refused.json
      assert.deepStrictEqual([refused.status, error, refused.headers.get("retry-after")], [429, "rate_limited", "17"])
      assert.deepStrictEqual([message, error_description], ["Too many.", "Too many."])
    }).pipe(
      Effect.provideServiceEffect(
        AuthRoutes,
        Effect.succeed({
          handle: () =>
            Effect.sync(() =>
              Response.json({ message: "Too many." }, { status: 429, headers: { "x-retry-after": "17" } })
            )
        })
      ),
      Effect.provide(layer)
    )
  )

  it.effect("R34: over plain http there is none of it, and no way is shown", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const path of ["/.well-known/oauth-protected-resource/mcp", `/oauth/sign-in?${signed}`, "/oauth/error"]) {
        const answer = yield* api.get(path)
        assert.deepStrictEqual([answer.status, answer.json.error], [404, "not_found"])
      }
      const refused = yield* api.send("POST", "/mcp", { headers: { "content-type": "application/json" }, body: "{}" })
      assert.strictEqual(refused.status, 401)
      assert.strictEqual(refused.headers.get("www-authenticate"), 'Bearer realm="quarry"')
    }).pipe(Effect.provide(layerAt("http://quarry.test")))
  )

  it.effect("a 401 at the MCP endpoint says where to sign in, and only there", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const where =
        'resource_metadata="https://quarry.test/.well-known/oauth-protected-resource/mcp", scope="search read"'
      const init = (headers: Record<string, string>) => ({
        headers: { "content-type": "application/json", ...headers },
        body: "{}"
      })
      const bare = yield* api.send("POST", "/mcp", init({}))
      assert.deepStrictEqual([bare.status, bare.headers.get("www-authenticate")], [401, `Bearer ${where}`])
      assert.strictEqual(bare.json.error, "unauthorized")
      for (const authorization of ["Bearer x", "Bearer sk_live_x", "Basic x"]) {
        const refused = yield* api.send("POST", "/mcp", init({ authorization }))
        assert.strictEqual(refused.headers.get("www-authenticate"), `Bearer error="invalid_token", ${where}`)
      }
      assert.strictEqual((yield* api.get("/v1/me")).headers.get("www-authenticate"), 'Bearer realm="quarry"')
    }).pipe(Effect.provide(layer))
  )
})

describe("R27: forms are limited by client address", () => {
  for (const path of [
    "/oauth/sign-in",
    "/oauth/sign-up",
    "/oauth/consent",
    "/oauth/forgot-password",
    "/dashboard/sign-in",
    "/dashboard/sign-up",
    "/dashboard/forgot-password"
  ]) {
    it.effect(path, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const headers = { ...own, "x-forwarded-for": "192.0.2.1" }
        for (let count = 0; count < requestsPerMinuteOfAddress; count++) {
          assert.notStrictEqual((yield* api.send("POST", path, { headers, body: "a=b" })).status, 429)
        }
        const refused = yield* api.send("POST", path, { headers, body: "a=b" })
        assert.strictEqual(refused.status, 429)
        assert.match(refused.headers.get("content-type") ?? "", /^text\/html/)
        assert.strictEqual(refused.headers.get("retry-after"), "60")
      }).pipe(Effect.provide(layer))
    )
  }
})
