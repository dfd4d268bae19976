import { Effect, Redacted } from "effect"
import { Accounts } from "../../src/services/accounts/Accounts.ts"
import { KeyStore } from "../../src/services/keys/KeyStore.ts"
import { SignedIn } from "../../src/testing/SessionsMemory.ts"
import type { CallerKind, ModelAccount } from "../Account.ts"
import type { Auditor } from "../Auditor.ts"
import { type Figures, newFigures } from "../Model.ts"
import { demoOrigin, marketplaceSecret, origin } from "../Replica.ts"
import { quiet, uuidOf } from "../store/Store.ts"
import type { World } from "../World.ts"
import type { Chance } from "../world/Chance.ts"
import type { BoundedKey } from "./BoundedKey.ts"
import { type Call, type Ended, send } from "./Client.ts"

export type Kind = "custom" | "trial" | "buyer" | "marketplace" | "demo"

/** Terms agreed with an operator. Other accounts have the terms of their plan. */
const termsOf = (kind: Kind, chance: Chance): Pick<Figures, "plan" | "quota" | "concurrency" | "anchor"> => {
  switch (kind) {
    case "custom": {
      // The cycle renews on any day of a month, at the busiest time of day.
      const anchor = Date.UTC(2026, chance.pick([9, 11]), chance.between(1, 31), 12, chance.between(0, 29), 30)
      return { plan: "custom", quota: chance.between(3, 30), concurrency: chance.between(1, 3), anchor }
    }
    case "marketplace":
      return { plan: "growth", quota: undefined, concurrency: 5, anchor: undefined }
    default:
      return { plan: "trial", quota: 100, concurrency: 1, anchor: undefined }
  }
}

/** A budget that is never exhausted, but counted and compared. */
const boundsOf = (kind: Kind) =>
  kind === "custom" ? { bounds: { budget: { credits: 1_000_000, period: "life" as const } } } : {}

/** A user of Quarry: an account with its credentials, and what is known of both. */
export class Person {
  readonly name: string
  readonly kind: Kind
  readonly chance: Chance
  readonly world: World
  readonly auditor: Auditor
  account: ModelAccount
  secret = ""
  cookie = ""
  /** The latest key with bounds. */
  bounded: BoundedKey | undefined

  constructor(world: World, auditor: Auditor, name: string, kind: Kind) {
    this.world = world
    this.auditor = auditor
    this.name = name
    this.kind = kind
    this.chance = world.chance(name)
    this.account = this.register(0)
  }

  get hasAccount(): boolean {
    return this.kind === "custom" || this.kind === "trial" || this.kind === "buyer"
  }

  /** Creates the account. `used` is the used part of the mailbox's trial (R32). */
  register(used: number): ModelAccount {
    const { auditor, kind, name, world } = this
    const terms = termsOf(kind, this.chance)
    const figures = newFigures(terms, world.agenda.now, used)
    if (!this.hasAccount) {
      this.account = auditor.add(name, name, figures)
      return this.account
    }
    const { anchor, concurrency, plan, quota } = terms
    const choice =
      plan === "custom" ? { plan, concurrency, quota: quota ?? 0, cycleStart: anchor } : { plan: "trial" as const }
    const made = world.store.now(
      Effect.flatMap(Accounts, (accounts) => accounts.create({ ...choice, email: `${name}@people.test` }))
    )
    if (made._tag === "Failure") throw new Error(`${name} has no account`, { cause: made.cause })
    this.account = auditor.add(made.value.id, name, figures)
    this.account.isBuyer = kind === "buyer"
    this.newKey()
    this.signIn()
    return this.account
  }

  /** Gets a key from the operator. */
  newKey(): void {
    const { account, auditor, world } = this
    const made = world.store.now(
      Effect.flatMap(KeyStore, (keys) =>
        keys.create(account.id, { label: "a key", mode: "live", ...boundsOf(this.kind) })
      )
    )
    if (made._tag === "Failure") return
    this.secret = Redacted.value(made.value.secret)
    auditor.keys.set(this.secret, { accountId: account.id, revokedAt: undefined })
  }

  signIn(): void {
    const { account, world } = this
    const made = world.store.now(
      Effect.gen(function* () {
        return yield* (yield* SignedIn).cookie(yield* (yield* Accounts).byId(account.id))
      })
    )
    if (made._tag === "Success") this.cookie = made.value
  }

  private credentialOf(kind: CallerKind, call: Call): Readonly<Record<string, string>> {
    switch (kind) {
      case "key": {
        const { address = this.address, key = this.secret } = call
        return { authorization: `Bearer ${key}`, "x-forwarded-for": address }
      }
      case "session":
        return { cookie: this.cookie, origin }
      case "marketplace":
        return { "x-marketplace-proxy-secret": marketplaceSecret, "x-marketplace-user": this.name }
      case "demo":
        return { "x-demo-origin": demoOrigin, "x-forwarded-for": this.address }
    }
  }

  get address(): string {
    const number = Number(this.name.split("-").at(-1))
    return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`
  }

  get usualKind(): CallerKind {
    return this.kind === "marketplace" || this.kind === "demo" ? this.kind : "key"
  }

  /** Sends a request. Undefined if it reached no replica, or if the credential is no longer valid. */
  call(call: Call): Effect.Effect<Ended | undefined> {
    return Effect.gen({ self: this }, function* () {
      const { auditor, chance, name, world } = this
      const kind = call.as ?? this.usualKind
      const id = uuidOf(chance)
      const request = auditor.begin(this.account, kind, id, call.credits ?? 0)
      const { secret } = this
      const outcome = yield* send(
        {
          method: call.method,
          path: call.path,
          headers: { ...this.credentialOf(kind, call), ...call.headers, "x-request-id": id },
          ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) })
        },
        {
          agenda: world.agenda,
          link: world.internet,
          replica: world.pickReplica,
          leavesAfterMs: call.leavesAfterMs
        }
      )
      const end = outcome._tag === "answered" ? String(outcome.reply.status) : outcome._tag
      world.trace.add(name, `${call.method} ${call.path.split("?")[0]} ${id}: ${end}`)
      if (outcome._tag === "unsent") {
        auditor.unsent(request)
        return undefined
      }
      if (outcome._tag === "answered") {
        const { headers, status } = outcome.reply
        auditor.hold("R2 X-Request-Id", headers["x-request-id"] === id, () => `${id}: ${headers["x-request-id"]}`)
        const isOwn = call.key === undefined
        const isWithin = call.address === undefined && (this.bounded?.expiresAt ?? 0) > world.agenda.now + 10_000
        if (kind === "key" && (isOwn || isWithin)) auditor.judgeKey(request, call.key ?? secret, status)
        if (status === 401 && !isOwn) {
          auditor.answered(request, outcome.reply, 0)
        } else if (status === 401) {
          auditor.answered(request, outcome.reply, 0)
          yield* quiet(world.store)
          this.renewCredentials()
          return undefined
        }
      }
      return { request, outcome }
    })
  }

  /** After a 401, gets new credentials. */
  private renewCredentials(): void {
    if (!this.hasAccount) return
    const stored = this.world.store.memory.accounts.get(this.account.id)
    if (stored === undefined) this.register(this.auditor.trialUsed(this.account, `${this.name}@people.test`))
    else if (stored.account.suspendedAt === undefined) {
      this.newKey()
      this.signIn()
    }
  }
}
