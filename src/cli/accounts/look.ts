import { Effect, Result, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Account } from "../../domain/accounts/Account.ts"
import { plans } from "../../domain/credits/Plan.ts"
import { defaultStretch, granularities, groupings, total, toUsageQuery } from "../../domain/log/Usage.ts"
import { type AccountQuery, Accounts } from "../../services/accounts/Accounts.ts"
import type { Activity } from "../../services/accounts/Activity.ts"
import type { Members } from "../../services/accounts/Members.ts"
import type { BillingBooks } from "../../services/billing/BillingBooks.ts"
import { QueryLog } from "../../services/charging/QueryLog.ts"
import { Ledger } from "../../services/credits/Ledger.ts"
import type { KeyStore } from "../../services/keys/KeyStore.ts"
import { accountJson, allowanceJson } from "../../services/operations/views/accountJson.ts"
import { StoreClock, storeTime } from "../../services/StoreClock.ts"
import type { EventBooks } from "../../services/webhooks/EventBooks.ts"
import { accountId, email, moment, nextLines, nextOf, optional, page, requireOne, toggle } from "../flags.ts"
import { CommandFailed, notePrinted, print, table, textOf, time } from "../Output.ts"
import { recordFirst } from "../operations/audited.ts"
import { accountLines } from "./output.ts"

export const show = Command.make(
  "show",
  { id: optional(accountId("id")), email: optional(email) },
  Effect.fn(function* (input) {
    const accounts = yield* Accounts
    const ledger = yield* Ledger
    const account = yield* input.id === undefined ? accounts.byEmail(input.email ?? "") : accounts.byId(input.id)
    const allowance = yield* ledger.peek(account)
    yield* print(
      { ...accountJson(account), allowance: allowanceJson(allowance), balance: allowance.balance },
      table([
        ...accountLines(account),
        ["Used", `${allowance.used}`],
        ["Resets", time(allowance.resetsAt) ?? "never"],
        ["Pack balance", `${allowance.balance}`]
      ])
    )
  })
).pipe(
  Command.withDescription("Show an account with its used and remaining credits"),
  Command.validate(({ email, id }) =>
    requireOne("Name the account with either --id or --email", id !== undefined, email !== undefined)
  )
)

const printPage = Effect.fnUntraced(function* (query: AccountQuery) {
  const accounts = yield* Effect.flatMap(Accounts, (service) => service.list(query))
  const next = nextOf(accounts, query.limit)
  yield* print({ accounts: accounts.map(accountJson), next }, [
    ...table([
      ["ACCOUNT", "PLAN", "CREATED", "SUSPENDED", "EMAIL"],
      ...accounts.map((account) => [
        account.id,
        account.plan,
        time(account.createdAt) ?? "",
        time(account.suspendedAt) ?? "-",
        account.email
      ])
    ]),
    ...nextLines(next)
  ])
})

export const list = Command.make(
  "list",
  {
    plan: Flag.Literals("plan", plans).pipe(Flag.withDescription("Only accounts on this plan"), optional),
    suspended: toggle("suspended", "Only suspended accounts"),
    ...page("account")
  },
  ({ suspended, ...query }) => printPage({ ...query, text: undefined, suspended: suspended || undefined })
).pipe(Command.withDescription("List accounts, newest first"))

export const search = Command.make(
  "search",
  {
    text: Argument.String("text").pipe(
      Argument.withDescription(
        "Part of an email address or marketplace subscriber name, or the start of an account id, of a key or of its name"
      )
    ),
    ...page("account")
  },
  (query) => printPage({ ...query, plan: undefined, suspended: undefined })
).pipe(Command.withDescription("Find accounts by email address, subscriber, key, or id, newest first"))

export const usage = Command.make(
  "usage",
  {
    id: accountId("id"),
    from: moment(
      "from",
      "Start of the time range, inclusive (default: start of the current period, or 30 days ago on the trial)"
    ),
    to: moment("to", "End of the time range, exclusive (default: end of the current hour)"),
    granularity: Flag.Literals("granularity", granularities).pipe(
      Flag.withDescription("Interval of one line, in UTC"),
      Flag.withDefault("day")
    ),
    groupBy: Flag.Literals("group-by", groupings).pipe(
      Flag.withDescription("Count separately by target or key"),
      optional
    )
  },
  Effect.fn(function* ({ from, granularity, groupBy, id, to }) {
    const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(id))
    const allowance = yield* Effect.flatMap(Ledger, (ledger) => ledger.peek(account))
    const given = {
      granularity,
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
      ...(groupBy !== undefined && { group_by: groupBy })
    }
    const counted = toUsageQuery(given, defaultStretch(allowance.periodStart, yield* storeTime(yield* StoreClock)))
    if (Result.isFailure(counted)) return yield* new CommandFailed({ message: counted.failure.message })
    const query = counted.success
    const series = yield* Effect.flatMap(QueryLog, (log) => log.usage(id, query)).pipe(
      Effect.catchTag("invalid_request", ({ issues }) => Effect.fail(new CommandFailed({ message: textOf(issues) })))
    )
    const totals = total(series)
    yield* print(
      {
        account_id: id,
        from: time(query.from),
        to: time(query.to),
        granularity,
        group_by: query.groupBy ?? null,
        totals,
        series: series.map(({ group, start, ...counts }) => ({ start: time(start), group: group ?? null, ...counts }))
      },
      table([
        ["START", "GROUP", "SEARCHES", "CREDITS", "OK", "ERRORS", "TIMEOUTS"],
        ...[...series, { start: undefined, group: undefined, ...totals }].map(
          ({ credits, group, outcomes, searches, start }) => [
            time(start) ?? "Total",
            group ?? "-",
            ...[searches, credits, outcomes.ok, outcomes.upstream_error, outcomes.upstream_timeout].map(String)
          ]
        )
      ])
    )
  })
).pipe(Command.withDescription("Count an account's searches and credits over time"))

export type ExportAccount = (
  account: Account
) => Effect.Effect<
  Stream.Stream<string>,
  never,
  Activity | BillingBooks | EventBooks | Ledger | KeyStore | Members | QueryLog
>

/** Ignores `--json`: the document is always JSON. */
export const exportWith = (document: ExportAccount) =>
  Command.make(
    "export",
    { id: accountId("id") },
    Effect.fn(function* ({ id }) {
      const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(id))
      yield* recordFirst({ command: "account export", subject: account.id })
      const { stdout } = yield* Stdio.Stdio
      yield* notePrinted
      const pieces = Stream.concat(yield* document(account), Stream.make("\n"))
      // `process/lifecycle/Stdout.ts` handles stdout errors for all commands.
      yield* Effect.ignore(Stream.run(pieces, stdout({ endOnDone: false })))
    })
  ).pipe(Command.withDescription("Print all data kept about an account, as in the user's own export"))
