import { Effect, Layer, Redacted } from "effect"
import { keepsOwner, type Role } from "../domain/accounts/Role.ts"
import { InvalidRequest, LastOwner } from "../domain/errors.ts"
import { Accounts } from "../services/accounts/Accounts.ts"
import { Emails } from "../services/accounts/Emails.ts"
import { Invitations } from "../services/accounts/Invitations.ts"
import { type Member, Members, noSuchAccount, noSuchMember } from "../services/accounts/Members.ts"
import { Ids } from "../services/Ids.ts"

/** The member that has the account's own address. Sessions of `SignedIn` are theirs. */
export const memberIdOf = (accountId: string): string => accountId.replace(/^acc_/, "mem_")

const lastOwner = new LastOwner({ message: "The account must keep an owner." })

/** One person for each account, who is its owner, and invitations that nobody accepts. */
const members = Layer.effect(
  Members,
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const ids = yield* Ids
    const invited = new Map<string, Map<string, Member>>()

    const of = (accountId: string) => {
      const map = invited.get(accountId) ?? new Map<string, Member>()
      invited.set(accountId, map)
      return map
    }

    const list = Effect.fnUntraced(function* (accountId: string) {
      const account = yield* Effect.orDie(accounts.byId(accountId))
      const owner: Member = { id: memberIdOf(accountId), email: account.email, role: "owner", status: "active" }
      return [owner, ...of(accountId).values()]
    })

    const find = Effect.fnUntraced(function* (accountId: string, id: string, after: Role | undefined) {
      const member = (yield* list(accountId)).find((it) => it.id === id) ?? (yield* noSuchMember)
      return member.status === "invited" || keepsOwner(member.role, after, 0) ? member : yield* lastOwner
    })

    const withLink = (member: Member) => ({ member, link: Redacted.make("http://quarry.test/oauth/join?token=test") })

    return Members.of({
      list,
      invite: Effect.fnUntraced(function* ({ id: accountId }, email, role) {
        if ((yield* list(accountId)).some((it) => it.email === email)) {
          return yield* InvalidRequest.fromIssues([{ field: "email", message: "is a member already" }])
        }
        const member: Member = { id: yield* ids.make("mem_"), email, role, status: "invited" }
        of(accountId).set(member.id, member)
        return withLink(member)
      }),
      renew: ({ id }, memberId) => {
        const member = of(id).get(memberId)
        return member === undefined ? Effect.fail(noSuchMember) : Effect.succeed(withLink(member))
      },
      setRole: Effect.fnUntraced(function* (accountId, id, role) {
        const member = { ...(yield* find(accountId, id, role)), role }
        if (member.status === "invited") of(accountId).set(id, member)
        return member
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
