import { assert, type Vitest } from "@effect/vitest"
import { Effect, Metric, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { SignUpPolicy } from "../../../../src/domain/accounts/signUp.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import type { StoreClock } from "../../../../src/services/StoreClock.ts"
import {
  type Answered,
  comeBackFromGitHub,
  dumpOf,
  liftShortLimits,
  makeBrowser,
  makeReplica,
  password,
  providerClient,
  type Replica
} from "../../../support/accounts/SignIn.ts"
import { makeEmail } from "../../../support/api/searches.ts"
import type { Backdoor } from "../../../support/stores/Backdoor.ts"

type Services = Accounts | Backdoor | Ids | Ledger | SqlClient.SqlClient | StoreClock

type Browser = ReturnType<typeof makeBrowser>

const statusesOf = (answers: ReadonlyArray<Answered>): ReadonlyArray<number> => answers.map(({ status }) => status)

const times = <A, E, R>(count: number, run: (n: number) => Effect.Effect<A, E, R>) =>
  Effect.forEach(Array.from({ length: count }), (_, n) => run(n))

/** A person who has signed up at a replica, with the email of that read. */
const aPerson = Effect.fnUntraced(function* (replica: Replica, browser: Browser = makeBrowser()) {
  const email = yield* makeEmail
  assert.strictEqual((yield* browser.signUp(replica, email)).status, 200)
  yield* replica.nextLink
  return { email, browser }
})

/** Guesses from a browser, without the library's limit of three in ten seconds. */
const guess = (replica: Replica, browser: Browser, email: string, n: number) =>
  Effect.andThen(liftShortLimits, browser.signIn(replica, email, `guess number ${n}`))

const enter = (replica: Replica, browser: Browser, email: string, word = password) =>
  Effect.andThen(liftShortLimits, browser.signIn(replica, email, word))

const at = (client: string): Browser => makeBrowser(client)

const signUpAt = (replica: Replica, client: string, email: string) =>
  Effect.andThen(liftShortLimits, at(client).signUp(replica, email))

/** Every browser is at an address of its own in this network, and in a network of its own for each test. */
let networks = 0
const aNetwork = () => {
  const number = ++networks
  return { ipv4: (n: number) => `100.64.${number}.${n}`, ipv6: (n: number) => `2001:db8:${number}:${n}::/64` }
}

/** Lets the limits of a day and of an hour begin anew. */
const nextDay = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`update auth_attempts set began_at = began_at - interval '1 day'`
)

const policy = (mode: SignUpPolicy["mode"], ...domains: ReadonlyArray<string>): SignUpPolicy => ({ mode, domains })

const knownBrowser = "quarry.known_browser"

const counted = (name: string, ...labels: ReadonlyArray<string>) =>
  Effect.map(Metric.snapshot, (metrics) => {
    const metric = metrics.find(
      ({ attributes, id }) => id === name && labels.every((label) => Object.values(attributes ?? {}).includes(label))
    )
    return metric !== undefined && "count" in metric.state ? Number(metric.state.count) : 0
  })

/** Waits for work in the background, which emails are. */
const expectCount = Effect.fnUntraced(function* (expected: number, name: string, ...labels: ReadonlyArray<string>) {
  const turn = Effect.andThen(
    Effect.promise(() => new Promise(setImmediate)),
    counted(name, ...labels)
  )
  const count = yield* Effect.repeat(turn, { until: (count) => count >= expected, times: 10_000 })
  assert.strictEqual(count, expected)
})

const isolated = Effect.provideServiceEffect(
  Metric.MetricRegistry,
  Effect.sync(() => new Map())
)

/** What sign-up and sign-in promise against abuse, over any database. */
export const signInAbuseConformance = (it: Vitest.MethodsNonLive<Services>): void => {
  signUpPolicies(it)
  signUpLimits(it)
  lockout(it)
  knownBrowsers(it)
  emails(it)
  sessions(it)
}

const signUpPolicies = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("R65: a closed sign-up refuses known and unknown addresses with the same words, and leaves nothing", () =>
    Effect.gen(function* () {
      const open = yield* makeReplica({ delivers: true })
      const known = yield* makeEmail
      yield* makeBrowser().signUp(open, known)
      const { token } = yield* open.nextLink
      yield* makeBrowser().post(open, "/reset-password", { token, newPassword: password })
      yield* makeBrowser().signIn(open, known)
      const closed = yield* makeReplica({ delivers: true, signUp: policy("closed") })
      const unknown = yield* makeEmail
      const answers = [
        yield* makeBrowser().signUp(closed, known),
        yield* makeBrowser().signUp(closed, unknown),
        yield* makeBrowser().post(closed, "/sign-up/email", { email: unknown, password: "short", name: "n" })
      ]
      assert.deepStrictEqual(statusesOf(answers), [403, 403, 403])
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
      assert.include(answers[0]?.json.message, "closed")
      for (const { headers } of answers) assert.deepStrictEqual(headers.getSetCookie(), [])
      assert.notInclude(yield* dumpOf, unknown)
      assert.strictEqual(yield* closed.waiting, 0)
      assert.strictEqual((yield* makeBrowser().signIn(closed, known)).status, 200)
      assert.strictEqual(yield* counted("quarry.sign_ups.refused", "closed"), 3)
    }).pipe(isolated)
  )

  it.effect("R65: an invitation is an account that the operator made and nobody has joined", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const member = yield* aPerson(yield* makeReplica())
      const replica = yield* makeReplica({ signUp: policy("invite") })
      const invited = yield* makeEmail
      const account = yield* accounts.create({ email: invited, plan: "growth" })
      const removed = yield* makeEmail
      yield* accounts.remove((yield* accounts.create({ email: removed, plan: "growth" })).id)
      const refusals = [
        yield* makeBrowser().signUp(replica, yield* makeEmail),
        yield* makeBrowser().signUp(replica, member.email),
        yield* makeBrowser().signUp(replica, removed)
      ]
      assert.deepStrictEqual(statusesOf(refusals), [403, 403, 403])
      assert.strictEqual(new Set(refusals.map(({ text }) => text)).size, 1)
      const browser = makeBrowser()
      assert.strictEqual((yield* browser.signUp(replica, invited.toUpperCase())).status, 200)
      const { token } = yield* replica.nextLink
      yield* browser.post(replica, "/reset-password", { token, newPassword: password })
      assert.strictEqual((yield* browser.signIn(replica, invited)).status, 200)
      assert.deepStrictEqual((yield* browser.whoAmI(replica)).account, account)
      assert.strictEqual((yield* makeBrowser().signUp(replica, invited)).text, refusals[0]?.text)
      assert.strictEqual((yield* member.browser.whoAmI(replica)).account.email, member.email)
    })
  )

  it.effect("R65: domains narrow an open sign-up, to themselves and not to others that contain them", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ signUp: policy("open", "corp.example", "example.org") })
      const name = (yield* makeEmail).split("@", 1).join("")
      for (const [email, status] of [
        [`${name}@corp.example`, 200],
        [`${name}@CORP.example`, 400],
        [`${name}+1@Example.ORG`, 200],
        [`${name}@sub.corp.example`, 403],
        [`${name}@notcorp.example`, 403],
        [`corp.example@${name}.example`, 403]
      ] as const) {
        assert.strictEqual((yield* makeBrowser().signUp(replica, email)).status, status, email)
      }
    })
  )

  it.effect("R65: who signs up at a provider is admitted alike, and who has signed up goes on signing in", () =>
    Effect.gen(function* () {
      const signUpAtGitHub = Effect.fnUntraced(function* (signUp: SignUpPolicy, email: string) {
        const replica = yield* makeReplica({ github: providerClient, signUp })
        const browser = makeBrowser()
        const { headers } = yield* comeBackFromGitHub(replica, browser, { email, verified: true })
        const isSignedIn = (yield* Effect.option(browser.whoAmI(replica)))._tag === "Some"
        return { isSignedIn, error: /error=(\w+)/.exec(headers.get("location") ?? "")?.[1] }
      })
      const denied = { isSignedIn: false, error: "SIGN_UP_REFUSED" }
      const welcome = { isSignedIn: true, error: undefined }
      const email = yield* makeEmail
      assert.deepStrictEqual(yield* signUpAtGitHub(policy("closed"), email), denied)
      assert.deepStrictEqual(yield* signUpAtGitHub(policy("invite"), email), denied)
      assert.deepStrictEqual(yield* signUpAtGitHub(policy("open", "corp.example"), email), denied)
      assert.notInclude(yield* dumpOf, email)
      assert.deepStrictEqual(yield* signUpAtGitHub(policy("open", "example.com"), email), welcome)
      assert.deepStrictEqual(yield* signUpAtGitHub(policy("closed"), email), welcome)
      const invited = yield* makeEmail
      yield* (yield* Accounts).create({ email: invited, plan: "growth" })
      assert.deepStrictEqual(yield* signUpAtGitHub(policy("invite"), invited), welcome)
    })
  )

  it.effect("R65: a sign-up that was not finished when sign-up closed gets no account", () =>
    Effect.gen(function* () {
      const open = yield* makeReplica({ delivers: true })
      const email = yield* makeEmail
      const browser = makeBrowser()
      yield* browser.signUp(open, email)
      const { token } = yield* open.nextLink
      yield* browser.post(open, "/reset-password", { token, newPassword: password })
      const closed = yield* makeReplica({ delivers: true, signUp: policy("closed") })
      const denied = yield* browser.signIn(closed, email)
      assert.deepStrictEqual([denied.status, denied.json.code], [403, "SIGN_UP_REFUSED"])
      assert.strictEqual((yield* Effect.flip((yield* Accounts).byEmail(email)))._tag, "not_found")
      assert.strictEqual((yield* browser.signIn(open, email)).status, 200)
    })
  )
}

const signUpLimits = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("R65: twenty sign-ups a day come from one IPv4 address, over all replicas and restarts", () =>
    Effect.gen(function* () {
      const replicas = [yield* makeReplica(), yield* makeReplica()] as const
      const client = aNetwork().ipv4(1)
      const first = yield* times(15, (n) =>
        Effect.flatMap(makeEmail, (email) => signUpAt(replicas[n % 2 === 0 ? 0 : 1], client, email))
      )
      assert.deepStrictEqual(new Set(statusesOf(first)), new Set([200]))
      yield* liftShortLimits
      // The library's own limit is three at once: what it refuses is not counted.
      const emails = yield* times(8, () => makeEmail)
      const restarted = yield* makeReplica()
      for (const email of emails.slice(0, 4)) {
        assert.strictEqual((yield* signUpAt(restarted, client, email)).status, 200)
      }
      const [twentieth, ...others] = yield* times(4, (n) => signUpAt(replicas[0], client, emails[4 + n] ?? ""))
      assert.deepStrictEqual([twentieth?.status, ...statusesOf(others)], [200, 429, 429, 429])
      for (const { headers, json } of others) {
        const seconds = Number(headers.get("x-retry-after"))
        assert.isTrue(seconds > 86_000 && seconds <= 86_400, String(seconds))
        assert.include(json.message, "24 hours")
      }
      assert.notInclude(yield* dumpOf, emails[7] ?? "")
      assert.strictEqual((yield* signUpAt(replicas[0], aNetwork().ipv4(1), yield* makeEmail)).status, 200)
      yield* nextDay
      assert.strictEqual((yield* signUpAt(replicas[0], client, yield* makeEmail)).status, 200)
      assert.strictEqual(yield* counted("quarry.sign_ups.refused", "client"), 3)
    }).pipe(isolated)
  )

  it.effect("R65: of many sign-ups at once from one IPv6 /48, in any subnet, twenty are made", () =>
    Effect.gen(function* () {
      const replicas = [yield* makeReplica(), yield* makeReplica()] as const
      const { ipv6 } = aNetwork()
      const answers = yield* Effect.all(
        Array.from({ length: 30 }, (_, n) =>
          Effect.flatMap(makeEmail, (email) => at(ipv6(n)).signUp(replicas[n % 2 === 0 ? 0 : 1], email))
        ),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(statusesOf(answers).toSorted(), [...Array(20).fill(200), ...Array(10).fill(429)])
      assert.strictEqual((yield* at(aNetwork().ipv6(1)).signUp(replicas[0], yield* makeEmail)).status, 200)
    })
  )

  it.effect("R65: a known address counts as a sign-up too, where nobody may learn that it is known", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ delivers: true })
      const known = yield* makeEmail
      yield* makeBrowser().signUp(replica, known)
      const client = aNetwork().ipv4(1)
      const answers = yield* times(21, () => signUpAt(replica, client, known))
      assert.deepStrictEqual(statusesOf(answers), [...Array(20).fill(200), 429])
      const unknown = yield* signUpAt(replica, client, yield* makeEmail)
      assert.strictEqual(unknown.text, answers[20]?.text)
    })
  )

  it.effect("R65: fields that are wrong count nothing, and neither does this machine", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const client = aNetwork().ipv4(1)
      const email = yield* makeEmail
      yield* times(25, (n) => {
        const wrong = [
          { email, password: "short" },
          { email, password: "12345678" },
          { email: "nobody", password }
        ][n % 3]
        return Effect.andThen(liftShortLimits, at(client).post(replica, "/sign-up/email", { ...wrong, name: "n" }))
      })
      assert.strictEqual((yield* signUpAt(replica, client, email)).status, 200)
      for (const loopback of ["127.0.0.1", "::/64"]) {
        const answers = yield* times(22, () =>
          Effect.flatMap(makeEmail, (address) => signUpAt(replica, loopback, address))
        )
        assert.deepStrictEqual(new Set(statusesOf(answers)), new Set([200]))
      }
    })
  )

  it.effect("R65: sign-ups at a provider count with the others", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ github: providerClient })
      const client = aNetwork().ipv4(1)
      yield* times(20, () => Effect.flatMap(makeEmail, (email) => signUpAt(replica, client, email)))
      const person = { email: yield* makeEmail, verified: true }
      yield* liftShortLimits
      const { headers } = yield* comeBackFromGitHub(replica, at(client), person)
      assert.include(headers.get("location"), "error=SIGN_UP_LIMITED")
      const form = {
        email: person.email,
        password: Redacted.make(password),
        authorizationRequest: undefined,
        returnPath: "/"
      }
      const limited = yield* Effect.flip(replica.signIn.signUp(at(client).toBrowser(), form))
      assert.include(limited, {
        _tag: "TooManyAttempts",
        reason: "Too many sign-ups came from your network today. Try again in 24 hours."
      })
      assert.notInclude(yield* dumpOf, person.email)
      const browser = makeBrowser()
      yield* comeBackFromGitHub(replica, browser, person)
      yield* liftShortLimits
      yield* comeBackFromGitHub(replica, Object.assign(browser, { client }), person)
      assert.strictEqual((yield* browser.whoAmI(replica)).account.email, person.email)
    })
  )

  it.effect("R32: of sign-ups with the aliases of one mailbox at once, one gets the trial grant", () =>
    Effect.gen(function* () {
      const replicas = [yield* makeReplica(), yield* makeReplica()] as const
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const email = yield* makeEmail
      const aliases = Array.from({ length: 8 }, (_, n) => email.replace("@", `+${n}@`))
      const answers = yield* Effect.all(
        aliases.map((alias, n) => makeBrowser().signUp(replicas[n % 2 === 0 ? 0 : 1], alias)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(new Set(statusesOf(answers)), new Set([200]))
      const quotas = yield* Effect.forEach(aliases, (alias) =>
        Effect.flatMap(accounts.byEmail(alias), (account) => ledger.allowance(account))
      )
      assert.deepStrictEqual(quotas.map(({ quota }) => quota).toSorted(), [0, 0, 0, 0, 0, 0, 0, 100])
    })
  )
}

const lockout = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("R66: ten wrong passwords of a client for an account, known or not, make that client wait", () =>
    Effect.gen(function* () {
      const replicas = [yield* makeReplica(), yield* makeReplica()] as const
      const [one, two] = replicas
      const { email } = yield* aPerson(one)
      const unknown = yield* makeEmail
      const client = aNetwork().ipv4(1)
      for (const address of [email, unknown]) {
        const answers = yield* times(12, (n) =>
          guess(replicas[n % 2 === 0 ? 0 : 1], at(client), n % 2 === 0 ? address : address.toUpperCase(), n)
        )
        assert.deepStrictEqual(statusesOf(answers), [...Array(10).fill(401), 429, 429])
      }
      const [known, none] = [yield* enter(two, at(client), email), yield* enter(two, at(client), unknown)]
      assert.deepStrictEqual([known.status, known.text], [429, none.text])
      for (const { headers } of [known, none]) {
        const seconds = Number(headers.get("x-retry-after"))
        assert.isTrue(seconds > 600 && seconds <= 900, String(seconds))
      }
      assert.isAtLeast(yield* counted("quarry.sign_ins.refused", "account"), 6)
      // Another account from there, and this account from elsewhere, are nobody's business.
      assert.strictEqual((yield* enter(one, at(client), (yield* aPerson(one)).email)).status, 200)
      assert.strictEqual((yield* enter(one, makeBrowser(), email)).status, 200)
      yield* (yield* SqlClient.SqlClient)`update auth_attempts set began_at = began_at - interval '15 minutes'`
      assert.strictEqual((yield* enter(one, at(client), email)).status, 200)
      // A right password begins the count anew.
      for (let n = 0; n < 9; n++) assert.strictEqual((yield* guess(one, at(client), email, n)).status, 401)
      assert.strictEqual((yield* enter(one, at(client), email)).status, 200)
      for (let n = 0; n < 10; n++) assert.strictEqual((yield* guess(one, at(client), email, n)).status, 401)
      assert.strictEqual((yield* enter(one, at(client), email)).status, 429)
      assert.notInclude(yield* dumpOf, unknown)
    }).pipe(isolated)
  )

  it.effect("R66: 200 strangers do not lock a person out, and neither does one at the person's own address", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const home = aNetwork().ipv4(1)
      const { browser, email } = yield* aPerson(replica, at(home))
      const strangers = yield* times(200, (n) => makeBrowser().signIn(replica, email, `guess number ${n}`))
      assert.deepStrictEqual(new Set(statusesOf(strangers)), new Set([401]))
      assert.strictEqual((yield* enter(replica, makeBrowser(), email)).status, 200)
      yield* times(12, (n) => guess(replica, at(home), email, n))
      assert.strictEqual((yield* enter(replica, at(home), email)).status, 429)
      yield* browser.post(replica, "/sign-out")
      // Three a second would be too many for anybody else there.
      for (let n = 0; n < 5; n++) {
        assert.strictEqual((yield* browser.signIn(replica, email, `typing error ${n}`)).status, 401)
      }
      assert.strictEqual((yield* browser.signIn(replica, email)).status, 200)
    })
  )

  it.effect("R66: of many guesses of a client at once at one account, ten are compared", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const home = makeBrowser()
      const { email } = yield* aPerson(replica, home)
      // A browser that the account knows has no short limit.
      const answers = yield* Effect.all(
        Array.from({ length: 20 }, (_, n) => home.signIn(replica, email, `guess number ${n}`)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(statusesOf(answers).toSorted(), [...Array(10).fill(401), ...Array(10).fill(429)])
      assert.strictEqual((yield* home.signIn(replica, email)).status, 429)
      assert.strictEqual((yield* enter(replica, makeBrowser(), email)).status, 200)
    })
  )

  it.effect(
    "R66: passwords that are tried on many accounts make their network wait, and nobody whom an account knows",
    () =>
      Effect.gen(function* () {
        const replica = yield* makeReplica()
        const { ipv6 } = aNetwork()
        const neighbor = yield* aPerson(replica, at(ipv6(0)))
        const answers = yield* times(101, (n) => makeBrowser(ipv6(n)).signIn(replica, `somebody${n}@example.com`))
        assert.deepStrictEqual(statusesOf(answers), [...Array(100).fill(401), 429])
        assert.strictEqual(yield* counted("quarry.sign_ins.refused", "client"), 1)
        assert.strictEqual((yield* enter(replica, at(ipv6(1)), neighbor.email)).status, 429)
        assert.strictEqual((yield* enter(replica, neighbor.browser, neighbor.email)).status, 200)
        assert.strictEqual((yield* enter(replica, makeBrowser(), neighbor.email)).status, 200)
      }).pipe(isolated)
  )

  it.effect("R66: right passwords do not count against their network", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { ipv4 } = aNetwork()
      const { email } = yield* aPerson(replica)
      yield* times(110, () => enter(replica, at(ipv4(1)), email))
      assert.strictEqual((yield* guess(replica, at(ipv4(1)), yield* makeEmail, 1)).status, 401)
    })
  )

  it.effect("R66: the holder of a session may guess its person's password ten times", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { browser } = yield* aPerson(replica)
      const change = (currentPassword: string) =>
        Effect.andThen(
          liftShortLimits,
          browser.post(replica, "/change-password", { currentPassword, newPassword: "another horse" })
        )
      const answers = yield* times(11, (n) => change(`guess number ${n}`))
      assert.deepStrictEqual(statusesOf(answers), [...Array(10).fill(400), 429])
      assert.strictEqual((yield* change(password)).status, 429)
      // Neither does another spelling of the cookie help, nor a second cookie beside it.
      const { cookies } = browser
      const name = replica.sessions.cookieName
      const cookie = cookies.get(name) ?? ""
      for (const spelling of [decodeURIComponent(cookie), cookie.replace(".", "%2E"), `junk; ${name}=${cookie}`]) {
        cookies.set(name, spelling)
        assert.notStrictEqual((yield* change(password)).status, 200, spelling)
      }
      cookies.set(name, cookie)
      yield* (yield* SqlClient.SqlClient)`update auth_attempts set began_at = began_at - interval '15 minutes'`
      assert.strictEqual((yield* change(password)).status, 200)
    })
  )

  it.effect("R66: a person gets one email a day about many wrong passwords, and nobody else gets one", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ delivers: true })
      const email = yield* makeEmail
      const browser = makeBrowser()
      yield* browser.signUp(replica, email)
      const guesses = (address: string, count: number) =>
        times(count, (n) => makeBrowser().signIn(replica, address, `guess number ${n}`))
      // Somebody else may have signed up with the address.
      yield* guesses(email, 12)
      const reset = { token: yield* replica.nextToken, newPassword: password }
      yield* browser.post(replica, "/reset-password", reset)
      yield* browser.signIn(replica, email)
      yield* nextDay
      yield* guesses(email, 9)
      /** The next email is the last: nothing else was sent before. */
      const expectNothingElse = Effect.gen(function* () {
        yield* makeBrowser().post(replica, "/request-password-reset", { email })
        assert.notStrictEqual((yield* replica.nextLink).token, "")
      })
      yield* expectNothingElse
      assert.deepStrictEqual(statusesOf(yield* guesses(email, 1)), [401])
      assert.include((yield* replica.nextLink).link, "/dashboard/account")
      yield* guesses(email, 15)
      yield* guesses(`nobody-${email}`, 12)
      yield* expectNothingElse
      yield* nextDay
      yield* guesses(email, 10)
      assert.include((yield* replica.nextLink).link, "/dashboard/account")
    })
  )
}

const knownBrowsers = (it: Vitest.MethodsNonLive<Services>): void => {
  /** True where a browser is not counted by its address, which is locked for the account. */
  const isKnown = Effect.fnUntraced(function* (replica: Replica, browser: Browser, email: string, word = password) {
    const { status } = yield* enter(replica, browser, email, word)
    assert.include([200, 429], status)
    return status === 200
  })

  const lock = (replica: Replica, client: string, email: string) =>
    times(10, (n) => guess(replica, at(client), email, n))

  it.effect("R66: the cookie of a known browser is out of reach of scripts and says nothing of its person", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ baseUrl: "https://quarry.test" })
      const browser = makeBrowser()
      const email = yield* makeEmail
      const signUp = yield* browser.signUp(replica, email)
      const cookie = signUp.headers.getSetCookie().find((line) => line.includes("known_browser")) ?? ""
      assert.match(
        cookie,
        /^__Secure-quarry\.known_browser=[0-9A-Za-z]{22}\.[\w-]{43}; Max-Age=31536000; Path=\/; HttpOnly; Secure; SameSite=Lax$/
      )
      assert.notInclude(yield* dumpOf, /=([^.]+)/.exec(cookie)?.[1] ?? "no id")
      assert.notInclude(cookie, signUp.json.user.id)
      yield* browser.post(replica, "/sign-out")
      assert.isTrue(browser.cookies.has(`__Secure-${knownBrowser}`))
    })
  )

  it.effect(
    "R66: a browser is known to the people who have signed in there, however, until their password changes",
    () =>
      Effect.gen(function* () {
        const replica = yield* makeReplica({ github: providerClient })
        const client = aNetwork().ipv4(1)
        const shared = at(client)
        const [first, second] = [yield* aPerson(replica, shared), yield* aPerson(replica, shared)]
        const atGitHub = at(client)
        yield* comeBackFromGitHub(replica, atGitHub, { email: yield* makeEmail, verified: true })
        for (const { email } of [first, second]) {
          yield* lock(replica, client, email)
          assert.isTrue(yield* isKnown(replica, shared, email), email)
          assert.isFalse(yield* isKnown(replica, atGitHub, email), email)
          assert.isFalse(yield* isKnown(replica, at(client), email), email)
        }
        // The browser that changes the password stays known; the browser of the other session does not.
        const elsewhere = makeBrowser()
        yield* enter(replica, elsewhere, first.email)
        yield* enter(replica, shared, first.email)
        const change = { currentPassword: password, newPassword: "another horse" }
        yield* liftShortLimits
        assert.strictEqual((yield* shared.post(replica, "/change-password", change)).status, 200)
        yield* lock(replica, elsewhere.client, first.email)
        assert.isFalse(yield* isKnown(replica, elsewhere, first.email, "another horse"))
        assert.isTrue(yield* isKnown(replica, shared, first.email, "another horse"))
        yield* liftShortLimits
        yield* shared.post(replica, "/request-password-reset", { email: first.email })
        const reset = { token: yield* replica.nextToken, newPassword: "a third horse" }
        assert.strictEqual((yield* makeBrowser().post(replica, "/reset-password", reset)).status, 200)
        assert.isFalse(yield* isKnown(replica, shared, first.email, "a third horse"))
        assert.isTrue(yield* isKnown(replica, shared, second.email))
      })
  )

  it.effect("R66: a cookie that is forged, cut or of another deployment makes no browser known", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const stranger = yield* makeReplica({ secret: "another secret of at least thirty-two characters" })
      const client = aNetwork().ipv4(1)
      const { browser, email } = yield* aPerson(replica, at(client))
      const cookie = browser.cookies.get(knownBrowser) ?? ""
      const [id = "", signature = ""] = cookie.split(".")
      const flip = (text: string) => (text.startsWith("A") ? "B" : "A") + text.slice(1)
      yield* lock(replica, client, email)
      for (const value of [
        "",
        id,
        `${id}.`,
        `${flip(id)}.${signature}`,
        `${id}.${flip(signature)}`,
        `${id}.${signature.slice(1)}`,
        `${id}.${signature}.`,
        `${id}.${signature}.${"x".repeat(43)}.`,
        `${id}${`.${signature}`.repeat(6)}`,
        `${cookie}; ${knownBrowser}=${cookie}`
      ]) {
        const forger = at(client)
        forger.cookies.set(knownBrowser, value)
        assert.isFalse(yield* isKnown(replica, forger, email), value)
      }
      const elsewhere = at(client)
      elsewhere.cookies.set(knownBrowser, cookie)
      yield* lock(stranger, client, email)
      assert.isFalse(yield* isKnown(stranger, elsewhere, email))
      assert.isTrue(yield* isKnown(replica, browser, email))
    })
  )

  it.effect("R66: a browser remembers its last five people", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const browser = makeBrowser()
      for (let n = 0; n < 7; n++) {
        yield* aPerson(replica, browser)
        yield* liftShortLimits
      }
      const cookie = browser.cookies.get(knownBrowser) ?? ""
      assert.strictEqual(cookie.split(".").length, 6)
      assert.isBelow(cookie.length, 250)
    })
  )
}

const emails = (it: Vitest.MethodsNonLive<Services>): void => {
  const requestReset = (replica: Replica, browser: Browser, email: string) =>
    Effect.andThen(liftShortLimits, browser.post(replica, "/request-password-reset", { email }))

  it.effect(
    "R66: a client may cause three emails an hour to an account, a mailbox gets five, and no response tells",
    () =>
      Effect.gen(function* () {
        const replica = yield* makeReplica({ delivers: true })
        const email = yield* makeEmail
        yield* makeBrowser().signUp(replica, email)
        yield* replica.nextLink
        const stranger = makeBrowser()
        const texts = (yield* times(5, () => requestReset(replica, stranger, email.toUpperCase()))).map(
          ({ text }) => text
        )
        yield* times(3, () => replica.nextLink)
        yield* expectCount(2, "quarry.emails.suppressed", "reset", "client")
        assert.strictEqual(yield* replica.waiting, 0)
        for (let n = 0; n < 4; n++) {
          texts.push((yield* requestReset(replica, makeBrowser(), email)).text)
          // With those of the sign-up and the stranger, the fifth. It is sent behind the response.
          if (n === 0) yield* replica.nextLink
          yield* makeBrowser().signUp(replica, email)
          yield* makeBrowser().signIn(replica, email)
        }
        texts.push((yield* requestReset(replica, makeBrowser(), yield* makeEmail)).text)
        assert.strictEqual(new Set(texts).size, 1)
        yield* expectCount(3, "quarry.emails.suppressed", "reset", "mailbox")
        yield* expectCount(8, "quarry.emails.suppressed", "confirmation", "mailbox")
        assert.strictEqual(yield* replica.waiting, 0)
        yield* (yield* SqlClient.SqlClient)`update auth_attempts set began_at = began_at - interval '1 hour'`
        yield* requestReset(replica, stranger, email)
        yield* replica.nextLink
      }).pipe(isolated)
  )

  it.effect("R66: strangers cannot use up the emails of a person whose browser the account knows", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica()
      const { browser, email } = yield* aPerson(replica)
      yield* times(8, () => requestReset(replica, makeBrowser(), email))
      yield* times(4, () => replica.nextLink)
      assert.strictEqual((yield* requestReset(replica, browser, email)).status, 200)
      const { token } = yield* replica.nextLink
      yield* times(4, () => requestReset(replica, browser, email))
      yield* times(2, () => replica.nextLink)
      yield* expectCount(2, "quarry.emails.suppressed", "reset", "client")
      yield* expectCount(4, "quarry.emails.suppressed", "reset", "mailbox")
      assert.strictEqual(yield* replica.waiting, 0)
      const reset = { token, newPassword: "another horse" }
      assert.strictEqual((yield* browser.post(replica, "/reset-password", reset)).status, 200)
    }).pipe(isolated)
  )
}

const sessions = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("a person has at most twenty live sessions, however they sign in: the oldest ends", () =>
    Effect.gen(function* () {
      const replica = yield* makeReplica({ github: providerClient })
      const other = yield* aPerson(replica)
      const first = makeBrowser()
      const email = yield* makeEmail
      yield* comeBackFromGitHub(replica, first, { email, verified: true })
      const { personId } = yield* first.whoAmI(replica)
      yield* first.post(replica, "/request-password-reset", { email })
      const { token } = yield* replica.nextLink
      yield* first.post(replica, "/reset-password", { token, newPassword: password })
      const browsers = yield* times(20, () => Effect.tap(Effect.sync(makeBrowser), (it) => it.signIn(replica, email)))
      const [oldest = assert.fail(), second = assert.fail()] = browsers
      yield* oldest.whoAmI(replica)
      yield* comeBackFromGitHub(replica, makeBrowser(), { email, verified: true })
      assert.strictEqual((yield* Effect.flip(oldest.whoAmI(replica)))._tag, "unauthorized")
      yield* second.whoAmI(replica)
      assert.lengthOf(yield* replica.sessions.list(personId), 20)
      yield* other.browser.whoAmI(replica)
    })
  )

  it.effect(
    "of forty sign-ins at once over two replicas, twenty sessions are left, and expired ones do not count",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const replicas = [yield* makeReplica(), yield* makeReplica()] as const
        const { browser, email } = yield* aPerson(replicas[0])
        const { personId } = yield* browser.whoAmI(replicas[0])
        const answers = yield* Effect.all(
          Array.from({ length: 40 }, (_, n) => makeBrowser().signIn(replicas[n % 2 === 0 ? 0 : 1], email)),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(new Set(statusesOf(answers)), new Set([200]))
        const count = Effect.map(replicas[0].sessions.list(personId), ({ length }) => length)
        assert.strictEqual(yield* count, 20)
        yield* sql`
        update auth_sessions set expires_at = clock_timestamp() where id in (
          select id from auth_sessions where user_id = (select id from auth_users where email = ${email}) limit 5
        )`
        yield* makeBrowser().signIn(replicas[0], email)
        assert.strictEqual(yield* count, 16)
      })
  )
}
