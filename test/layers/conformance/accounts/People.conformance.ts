import { assert, type Vitest } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as PeopleBetterAuth from "../../../../src/layers/auth/PeopleBetterAuth.ts"
import * as OperatorsSql from "../../../../src/layers/sql/accounts/OperatorsSql.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { Operators } from "../../../../src/services/accounts/Operators.ts"
import { People } from "../../../../src/services/accounts/People.ts"
import type { Ledger } from "../../../../src/services/credits/Ledger.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import { singleKeyring } from "../../../../src/services/operations/Keyrings.ts"
import type { StoreClock } from "../../../../src/services/StoreClock.ts"
import { dumpOf, makeBrowser, makeReplica, password, type Replica } from "../../../support/accounts/SignIn.ts"
import { makeAccount, makeEmail } from "../../../support/api/searches.ts"
import type { Backdoor } from "../../../support/stores/Backdoor.ts"

type Services = Accounts | Backdoor | Ids | Ledger | SqlClient.SqlClient | StoreClock

/** The operator's side of the replicas that `makeReplica` makes. */
const makePeople = Effect.map(
  Layer.build(
    PeopleBetterAuth.layer({
      baseUrl: "http://quarry.test",
      secrets: singleKeyring(Redacted.make("a secret of at least thirty-two characters for tests"))
    })
  ),
  (context) => Context.get(context, People)
)

const isSignedIn = (browser: ReturnType<typeof makeBrowser>, replica: Replica) =>
  Effect.map(Effect.exit(browser.whoAmI(replica)), Exit.isSuccess)

/** A person who has signed up at a replica. */
const aPerson = Effect.fnUntraced(function* (replica: Replica) {
  const email = yield* makeEmail
  const browser = makeBrowser()
  yield* browser.signUp(replica, email)
  const { account } = yield* browser.whoAmI(replica)
  return { email, browser, account }
})

const tokenIn = (link: Redacted.Redacted): string => new URL(Redacted.value(link)).searchParams.get("token") ?? ""

/** What an operator may do to the people behind accounts, over any database. */
export const peopleConformance = (it: Vitest.MethodsNonLive<Services>): void => {
  it.effect("R87: a person becomes an operator, changes the role, and is one until removed or deleted", () =>
    Effect.gen(function* () {
      const operators = Context.get(yield* Layer.build(OperatorsSql.layer), Operators)
      const replica = yield* makeReplica()
      const { browser, email } = yield* aPerson(replica)
      const { personId } = yield* browser.whoAmI(replica)
      assert.isUndefined(yield* operators.find(personId))
      assert.strictEqual((yield* Effect.flip(operators.remove(email)))._tag, "not_found")
      assert.strictEqual((yield* Effect.flip(operators.add("nobody@example.com", "operator", "ann")))._tag, "not_found")
      const added = yield* operators.add(email.toUpperCase(), "operator", "ann")
      assert.deepInclude(added, { personId, email, role: "operator", by: "ann" })
      assert.deepInclude(yield* operators.add(email, "observer", "bob"), { role: "observer", by: "ann" })
      assert.deepStrictEqual(yield* operators.find(personId), { email, role: "observer", hasSecondFactor: false })
      assert.deepInclude(yield* operators.list, { ...added, role: "observer" })
      yield* operators.remove(email)
      assert.isUndefined(yield* operators.find(personId))
      yield* operators.add(email, "observer", "ann")
      yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`delete from auth_users where id = ${personId}`)
      assert.notInclude(
        (yield* operators.list).map((operator) => operator.email),
        email
      )
    })
  )

  it.effect("only an unconfirmed person gets a new link to confirm the address, and the link works", () =>
    Effect.gen(function* () {
      const people = yield* makePeople
      const replica = yield* makeReplica()
      const { email } = yield* aPerson(replica)
      const sql = yield* SqlClient.SqlClient
      const confirmation = yield* people.makeConfirmation(email)
      const token = tokenIn(confirmation?.link ?? assert.fail("no link"))
      assert.strictEqual(yield* replica.signIn.addressOfLink(Redacted.make(token)), email)
      yield* sql`update auth_users set email_verified = true where email = ${email}`
      assert.isUndefined(yield* people.makeConfirmation(email))
      assert.isUndefined(yield* people.makeConfirmation("nobody@example.com"))
      assert.deepStrictEqual(yield* people.invitationsOf(email), [])
    })
  )

  it.effect("every session of a person ends, on every replica at once, and nobody else's", () =>
    Effect.gen(function* () {
      const people = yield* makePeople
      const [one, two] = [yield* makeReplica(), yield* makeReplica()]
      const { account, browser, email } = yield* aPerson(one)
      const second = makeBrowser()
      yield* second.signIn(two, email)
      const other = yield* aPerson(one)
      assert.strictEqual(yield* people.endSessions(account.id), 2)
      assert.deepStrictEqual(
        [yield* isSignedIn(browser, two), yield* isSignedIn(second, one), yield* isSignedIn(other.browser, one)],
        [false, false, true]
      )
      assert.strictEqual(yield* people.endSessions(account.id), 0)
      assert.strictEqual((yield* makeBrowser().signIn(one, email)).status, 200)
    })
  )

  it.effect("a link lets the person of an account choose a password, once", () =>
    Effect.gen(function* () {
      const people = yield* makePeople
      const replica = yield* makeReplica()
      const { account, browser, email } = yield* aPerson(replica)
      const { expiresAt, link } = yield* people.makeSignInLink(account)
      assert.match(Redacted.value(link), /^http:\/\/quarry\.test\/oauth\/confirm\?token=[0-9a-f]{32}$/)
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql`
        select abs(extract(epoch from ${new Date(expiresAt)} - clock_timestamp()) - 3600) < 60 as in_an_hour`
      assert.deepStrictEqual(row, { in_an_hour: true })
      assert.notInclude(yield* dumpOf, tokenIn(link))
      const reset = { token: tokenIn(link), newPassword: "another horse" }
      assert.strictEqual((yield* makeBrowser().post(replica, "/reset-password", reset)).status, 200)
      assert.isFalse(yield* isSignedIn(browser, replica))
      assert.strictEqual((yield* makeBrowser().post(replica, "/reset-password", reset)).status, 400)
      assert.strictEqual((yield* makeBrowser().signIn(replica, email)).status, 401)
      assert.strictEqual((yield* browser.signIn(replica, email, "another horse")).status, 200)
      assert.strictEqual((yield* browser.whoAmI(replica)).account.id, account.id)
    })
  )

  it.effect.each([false, true])(
    "a link opens an account that nobody signed up for (emails delivered: %s)",
    (delivers) =>
      Effect.gen(function* () {
        const people = yield* makePeople
        const replica = yield* makeReplica({ delivers })
        const account = yield* makeAccount({ plan: "growth" })
        yield* people.makeSignInLink(account)
        const { link } = yield* people.makeSignInLink(account)
        const browser = makeBrowser()
        const reset = { token: tokenIn(link), newPassword: password }
        assert.strictEqual((yield* browser.post(replica, "/reset-password", reset)).status, 200)
        assert.strictEqual((yield* browser.signIn(replica, account.email)).status, 200)
        assert.deepStrictEqual((yield* browser.whoAmI(replica)).account, account)
      })
  )

  it.effect("an account without an address has no link", () =>
    Effect.gen(function* () {
      const people = yield* makePeople
      const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.create({ email: "", plan: "growth" }))
      assert.strictEqual((yield* Effect.flip(people.makeSignInLink(account)))._tag, "PersonError")
    })
  )

  it.effect("a person signs in with the new address, and the links of the old one are over", () =>
    Effect.gen(function* () {
      const people = yield* makePeople
      const replica = yield* makeReplica()
      const { account, browser, email } = yield* aPerson(replica)
      const { link } = yield* people.makeSignInLink(account)
      const changed = yield* makeEmail
      yield* Effect.flatMap(Accounts, (accounts) => accounts.setEmail(account.id, changed))
      yield* people.setEmail(account, ` ${changed.toUpperCase()}`)
      assert.isTrue(yield* isSignedIn(browser, replica))
      const reset = { token: tokenIn(link), newPassword: "another horse" }
      assert.strictEqual((yield* makeBrowser().post(replica, "/reset-password", reset)).status, 400)
      assert.strictEqual((yield* makeBrowser().signIn(replica, email)).status, 401)
      const again = makeBrowser()
      assert.strictEqual((yield* again.signIn(replica, changed)).status, 200)
      assert.deepInclude((yield* again.whoAmI(replica)).account, { id: account.id, email: changed })
      yield* people.setEmail(account, changed)
      yield* people.setEmail({ id: "acc_none", email: changed }, yield* makeEmail)
    })
  )

  it.effect("where emails are delivered, a new address is confirmed at the next sign-in", () =>
    Effect.gen(function* () {
      const people = yield* makePeople
      const { account } = yield* aPerson(yield* makeReplica())
      const replica = yield* makeReplica({ delivers: true })
      const changed = yield* makeEmail
      yield* people.setEmail(account, changed)
      assert.strictEqual((yield* makeBrowser().signIn(replica, changed)).status, 403)
      const { token } = yield* replica.nextLink
      yield* makeBrowser().post(replica, "/reset-password", { token, newPassword: password })
      assert.strictEqual((yield* makeBrowser().signIn(replica, changed)).status, 200)
    })
  )

  it.effect("an address of another person is refused; a sign-up that nobody confirmed gives way", () =>
    Effect.gen(function* () {
      const people = yield* makePeople
      const replica = yield* makeReplica()
      const { account, browser, email } = yield* aPerson(replica)
      const other = yield* aPerson(replica)
      const error = yield* Effect.flip(people.setEmail(account, other.email))
      assert.deepStrictEqual([error._tag, error.message.includes(other.email)], ["PersonError", true])
      assert.strictEqual((yield* makeBrowser().signIn(replica, email)).status, 200)
      const careful = yield* makeReplica({ delivers: true })
      const squatted = yield* makeEmail
      yield* makeBrowser().signUp(careful, squatted)
      yield* people.setEmail(account, squatted)
      assert.isTrue(yield* isSignedIn(browser, replica))
      assert.strictEqual((yield* makeBrowser().signIn(replica, squatted)).status, 200)
    })
  )

  it.effect("R49: a session shows at once that its account is suspended, and a new sign-in does not help", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const replica = yield* makeReplica()
      const { account, browser, email } = yield* aPerson(replica)
      const suspended = yield* accounts.suspend(account.id)
      assert.deepStrictEqual((yield* browser.whoAmI(replica)).account, suspended)
      const again = makeBrowser()
      yield* again.signIn(replica, email)
      assert.deepStrictEqual((yield* again.whoAmI(replica)).account, suspended)
      assert.strictEqual((yield* makeBrowser().signUp(replica, email)).status, 400)
      yield* accounts.resume(account.id)
      assert.deepStrictEqual((yield* browser.whoAmI(replica)).account, account)
    })
  )
}
