import { Clock, Effect, Layer, Option, Redacted } from "effect"
import { keepsOwner, type Role } from "../domain/accounts/Role.ts"
import { boundsIdOfMember } from "../domain/credits/Budget.ts"
import { InvalidRequest, LastOwner } from "../domain/errors.ts"
import { changeBounds, unbounded } from "../domain/keys/KeyBounds.ts"
import { Accounts } from "../services/accounts/Accounts.ts"
import { Emails } from "../services/accounts/Emails.ts"
import { Invitations } from "../services/accounts/Invitations.ts"
import { type Member, Members, noSuchAccount, noSuchMember } from "../services/accounts/Members.ts"
import { Ids } from "../services/Ids.ts"
import { MemoryStore, spendingOf } from "./MemoryStore.ts"

/** The member that has the account's own address. Sessions of `SignedIn` are theirs. */
export const memberIdOf = (accountId: string): string => accountId.replace(/^acc_/, "mem_")

const lastOwner = new LastOwner({ message: "The account must keep an owner." })

type Invitee = Omit<Member, "bounds" | "spending">

/** An account's person has the account's ID. */
const boundsIdOf = (accountId: string, { id, status }: Pick<Member, "id" | "status">): string =>
  boundsIdOfMember(accountId, status === "invited" ? id : accountId)

/** One person for each account, who is its owner, and invitations that nobody accepts. */
const members = Layer.effect(
  Members,
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const ids = yield* Ids
    const invited = new Map<string, Map<string, Invitee>>()
    // Stores other than `MemoryStore` know no bounds of members.
    const store = Option.getOrUndefined(yield* Effect.serviceOption(MemoryStore))

    const of = (accountId: string) => {
      const map = invited.get(accountId) ?? new Map<string, Invitee>()
      invited.set(accountId, map)
      return map
    }

    const list = Effect.fnUntraced(function* (accountId: string) {
      const account = yield* Effect.orDie(accounts.byId(accountId))
      const owner = { id: memberIdOf(accountId), email: account.email, role: "owner", status: "active" } as const
      const now = yield* Clock.currentTimeMillis
      return [owner, ...of(accountId).values()].map((member): Member => {
        const id = boundsIdOf(accountId, member)
        const bounds = store?.bounds.get(id) ?? unbounded
        return { ...member, bounds, spending: store && spendingOf(store, id, bounds, now) }
      })
    })

    const find = Effect.fnUntraced(function* (accountId: string, id: string, after: Role | undefined) {
      const member = (yield* list(accountId)).find((member) => member.id === id) ?? (yield* noSuchMember)
      return member.status === "invited" || keepsOwner(member.role, after, 0) ? member : yield* lastOwner
    })

    const withLink = (member: Member) => ({ member, link: Redacted.make("http://quarry.test/oauth/join?token=test") })

    return Members.of({
      list,
      invite: Effect.fnUntraced(function* ({ id: accountId }, email, role) {
        if ((yield* list(accountId)).some((member) => member.email === email)) {
          return yield* InvalidRequest.fromIssues([{ field: "email", message: "is a member already" }])
        }
        const member: Invitee = { id: yield* ids.make("mem_"), email, role, status: "invited" }
        of(accountId).set(member.id, member)
        return withLink({ ...member, bounds: unbounded, spending: undefined })
      }),
      renew: ({ id }, memberId) =>
        Effect.flatMap(list(id), (all) => {
          const member = all.find((each) => each.id === memberId && each.status === "invited")
          return member === undefined ? Effect.fail(noSuchMember) : Effect.succeed(withLink(member))
        }),
      change: Effect.fnUntraced(function* (accountId, id, { role, ...change }) {
        const member = yield* find(accountId, id, role ?? "owner")
        const invitee = of(accountId).get(id)
        if (role !== undefined && invitee !== undefined) of(accountId).set(id, { ...invitee, role })
        store?.bounds.set(boundsIdOf(accountId, member), changeBounds(member.bounds, change))
        return yield* find(accountId, id, "owner")
      }),
      remove: Effect.fnUntraced(function* (accountId, id) {
        const member = yield* find(accountId, id, undefined)
        of(accountId).delete(id)
        return member
      }),
      accountsOf: () => Effect.succeed({ email: "", accounts: [] }),
      enter: () => Effect.fail(noSuchAccount),
      invitation: () => Effect.undefined,
      join: () => Effect.undefined
    })
  })
)

const emails = Layer.succeed(Emails, { delivers: false, send: () => Effect.void, deliver: () => Effect.void })

export const layer = Invitations.layer.pipe(Layer.provideMerge(members), Layer.provide(emails))
