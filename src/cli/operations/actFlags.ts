import { Argument, type Command, Flag } from "effect/cli"
import { roles } from "../../domain/accounts/Role.ts"
import { maxConcurrency, plans } from "../../domain/credits/Plan.ts"
import { type ActName, between, Credits, IdempotencyKey, limits } from "../../domain/operations/acts.ts"
import { parseMoment } from "../../domain/requests/fields.ts"
import { targets } from "../../domain/search/Target.ts"
import { accountId, email, optional, optionalText, reason, toggle, yes } from "../flags.ts"

export const planFlags = {
  quota: optional(
    Flag.Int("quota").pipe(
      Flag.withDescription("Searches per period (default: the plan's quota)"),
      Flag.withSchema(between(0, limits.credits))
    )
  ),
  concurrency: optional(
    Flag.Int("concurrency").pipe(
      Flag.withDescription("Searches that one batch runs at once (default: the plan's concurrency)"),
      Flag.withSchema(between(1, maxConcurrency))
    )
  ),
  cycle_start: optional(
    Flag.String("cycle-start").pipe(
      Flag.withDescription("Start of the billing cycle in ISO 8601 (default: calendar months, or the current cycle)"),
      Flag.filter(
        (text) => parseMoment(text) !== undefined,
        () => "an ISO 8601 date or time such as 2026-01-31 or 2026-01-31T08:00:00Z"
      )
    )
  )
}

export const planFlag = Flag.Literals("plan", plans).pipe(Flag.withDescription("The account's plan"))

export const keyId = Flag.String("id").pipe(Flag.withDescription("Key id: key_…"))

export const roleFlag = Flag.Literals("role", roles).pipe(Flag.withDescription("What the member may do"))

const id = { id: accountId("id") }
const account = { account: accountId("account") }
const provider = {
  provider: Flag.String("provider").pipe(Flag.withDescription("The provider's name in the provider file")),
  engine: optionalText("engine", "Only this engine of the provider (default: all)")
}
const queue = {
  ...account,
  endpoint: optionalText("endpoint", "Only this webhook of the account: whk_…")
}

export const adjustFlags = {
  credits: Flag.Int("credits").pipe(
    Flag.withDescription("Credits to add, or a negative number to remove"),
    Flag.withSchema(Credits)
  ),
  to: Flag.Literals("to", ["balance", "quota"]).pipe(
    Flag.withDescription("Adjust the pack balance or the quota of the current period"),
    Flag.withDefault("balance")
  ),
  reason: reason("ledger")
}

/** The flags of the commands that the operator's console has buttons for, by the name of the act's field. */
export const actFlags = {
  "account suspend": { ...id, reason: reason("audit log") },
  "account resume": { ...id, reason: optional(reason("audit log")) },
  "account adjust": { ...id, ...adjustFlags },
  "account grant": {
    ...id,
    credits: Flag.Int("credits").pipe(
      Flag.withDescription("Pack credits to add"),
      Flag.withSchema(between(1, limits.credits))
    ),
    reason: reason("ledger"),
    idempotency_key: optional(
      Flag.String("idempotency-key").pipe(
        Flag.withDescription("A unique name for this grant, such as an order number. Repeating it adds nothing"),
        Flag.withSchema(IdempotencyKey)
      )
    )
  },
  "account set-plan": { ...id, plan: planFlag, ...planFlags },
  "account set-email": { ...id, email },
  "account delete": { ...id, yes },
  "sessions end": account,
  "person reset-factors": { email, reason: reason("audit log") },
  "person resend-email": { email },
  "key revoke": { id: keyId },
  "member role": { ...account, email, role: roleFlag },
  "member remove": { ...account, email },
  "webhooks pause": queue,
  "webhooks resume": queue,
  "webhooks drop": queue,
  "replica forget": {
    id: Argument.String("id").pipe(Argument.withDescription("Replica id from `status`: rep_…"))
  },
  "providers check": {},
  "providers pause": { ...provider, reason: reason("audit log") },
  "providers resume": provider,
  "ledger verify": { full: toggle("full", "Read every entry, including closed months") },
  "index remove": {
    url: optionalText("url", "The address of one document"),
    site: optionalText(
      "site",
      "A host, or an address below which all documents are removed: https://docs.example.org/v1/"
    ),
    target: optional(
      Flag.Literals("target", targets).pipe(
        Flag.withDescription("Only documents for this target (default: every document)")
      )
    )
  }
} satisfies Readonly<Record<ActName, Command.Command.Config>>
