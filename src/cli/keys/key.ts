import { Effect, Redacted, Schema } from "effect"
import { CliError, Command, Flag } from "effect/cli"
import { budgetPeriods } from "../../domain/credits/Budget.ts"
import { type ApiKey, keyModes } from "../../domain/keys/ApiKey.ts"
import { maxGraceSeconds } from "../../domain/keys/grace.ts"
import { ApiKeyChange, maxNameCodePoints } from "../../domain/keys/NewKey.ts"
import { between } from "../../domain/operations/acts.ts"
import { decoder } from "../../domain/requests/fields.ts"
import { plural } from "../../domain/text.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { type IssuedKey, KeyStore } from "../../services/keys/KeyStore.ts"
import * as acts from "../../services/operations/acts/keys.ts"
import { keyJson } from "../../services/operations/views/keyJson.ts"
import { StoreClock, storeTime } from "../../services/StoreClock.ts"
import { writesMore, writesNothing } from "../effects.ts"
import {
  accountId,
  nextLines,
  nextOf,
  optional,
  optionalText,
  page,
  requireOne,
  requireYes,
  toggle,
  yes
} from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { print, table, time } from "../Output.ts"
import { keyId } from "../operations/actFlags.ts"
import { audited } from "../operations/audited.ts"
import { asOperator } from "../operations/operator.ts"
import { bodyOf, boundsText, budgetFlag, readBounds, targetsFlag, wrongBounds } from "./bounds.ts"

const id = keyId
const account = accountId("account")

const printIssued = ({ key, secret }: IssuedKey) =>
  print({ id: key.id, secret: Redacted.value(secret), label: key.label, mode: key.mode }, [
    ...table([
      ["Key", key.id],
      ["Label", key.label],
      ["Mode", key.mode],
      ["Secret", Redacted.value(secret)]
    ]),
    "Store the secret now. It cannot be shown again."
  ])

const boundsFlags = {
  expires: optionalText("expires", "When the key expires: an ISO 8601 date or time, or none"),
  budget: budgetFlag("key"),
  budgetPeriod: Flag.Literals("budget-period", budgetPeriods).pipe(
    Flag.withDescription("Budget period in UTC"),
    Flag.withDefault("month")
  ),
  targets: targetsFlag("key"),
  networks: optionalText("networks", "Comma-separated networks (CIDR) that may use the key, or none to allow all")
}

const decodeBounds = decoder(ApiKeyChange)

const create = Command.make(
  "create",
  {
    account,
    ...boundsFlags,
    name: Flag.String("name").pipe(
      Flag.withDescription("Name of the key"),
      Flag.withSchema(
        Schema.String.check(
          Schema.isPattern(new RegExp(`^[^\\p{Cc}]{1,${maxNameCodePoints}}$`, "u"), {
            message: `must have 1 to ${maxNameCodePoints} characters and no control characters`
          })
        )
      )
    ),
    mode: Flag.Literals("mode", keyModes).pipe(
      Flag.withDescription("Intended use of the key; live and test keys work the same"),
      Flag.withDefault("live")
    )
  },
  Effect.fn(function* (input) {
    const keys = yield* KeyStore
    const bounds = yield* Effect.fromResult(readBounds(input, decodeBounds))
    const issued = keys
      .create(input.account, { label: input.name, mode: input.mode, bounds })
      .pipe(Effect.catchTag("invalid_request", (error) => Effect.fail(wrongBounds(error))))
    yield* printIssued(
      yield* audited(issued, ({ key }) => ({
        command: "key create",
        subject: key.id,
        arguments: { account: input.account, mode: input.mode, ...bodyOf(input) }
      }))
    )
  })
).pipe(Command.withDescription("Create a key and print its secret, which is not shown again"))

const keyLines = (keys: ReadonlyArray<ApiKey>) =>
  table([
    ["KEY", "ACCOUNT", "MODE", "SECRET", "CREATED", "LAST USED", "REVOKED", "BOUNDS", "LABEL"],
    ...keys.map((key) => [
      key.id,
      key.accountId,
      key.mode,
      key.hint,
      time(key.createdAt) ?? "",
      time(key.lastUsedAt) ?? "never",
      time(key.revokedAt) ?? "-",
      boundsText(key) || "-",
      key.label
    ])
  ])

const listOf = Effect.fnUntraced(function* (accountId: string) {
  // Fails for a mistyped ID, which would otherwise look like an account without keys.
  yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(accountId))
  const keys = yield* Effect.flatMap(KeyStore, (store) => store.list(accountId))
  yield* print({ keys: keys.map(keyJson) }, keyLines(keys))
})

const listAll = Effect.fnUntraced(function* (limit: number, after: string | undefined) {
  const keys = yield* Effect.flatMap(KeyStore, (store) => store.listAll({ after, limit }))
  const next = nextOf(keys, limit)
  yield* print({ keys: keys.map(keyJson), next }, [...keyLines(keys), ...nextLines(next)])
})

const list = Command.make(
  "list",
  {
    account: optional(account),
    all: toggle("all", "List the keys of all accounts, newest first, in pages"),
    ...page("key")
  },
  ({ account, after, limit }) => (account === undefined ? listAll(limit, after) : listOf(account))
).pipe(
  Command.withDescription("List the keys of one or all accounts, including revoked keys"),
  Command.validate(({ account, all }) =>
    requireOne("Name an account with --account, or give --all", account !== undefined, all)
  )
)

const revokeOne = Effect.fnUntraced(function* (id: string) {
  const key = yield* asOperator(acts.revoke({ id }))
  yield* print(keyJson(key), [`Revoked ${key.id}. It stops working everywhere within 10 seconds.`])
})

const revokeAll = Effect.fnUntraced(function* (accountId: string, isConfirmed: boolean) {
  yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(accountId))
  const store = yield* KeyStore
  const now = yield* storeTime(yield* StoreClock)
  const active = (yield* store.list(accountId)).filter(({ revokedAt }) => revokedAt === undefined || revokedAt > now)
  yield* requireYes(isConfirmed, `This revokes ${plural(active.length, "key")} of ${accountId}.`)
  const keys = yield* audited(store.revokeAll(accountId), (revoked) => ({
    command: "key revoke --all",
    subject: accountId,
    arguments: { keys: revoked.length }
  }))
  yield* print({ keys: keys.map(keyJson) }, [
    `Revoked ${plural(keys.length, "key")} of ${accountId}. No replica accepts them after 10 seconds.`
  ])
})

const revoke = Command.make(
  "revoke",
  { id: optional(id), all: toggle("all", "Revoke all keys of the account"), account: optional(account), yes },
  ({ account = "", id, yes }) => (id === undefined ? revokeAll(account, yes) : revokeOne(id))
).pipe(
  Command.withDescription("Revoke one key or all keys of an account"),
  Command.validate(({ account, all, id }) =>
    (id !== undefined) !== (all && account !== undefined) && all === (account !== undefined)
      ? Effect.void
      : Effect.fail(new CliError.ValidationError({ message: "Name a key with --id, or give --all and --account" }))
  )
)

const rotate = Command.make(
  "rotate",
  {
    id,
    graceSeconds: Flag.Int("grace-seconds").pipe(
      Flag.withDescription("Seconds during which the old secret keeps working"),
      Flag.withSchema(between(0, maxGraceSeconds)),
      Flag.withDefault(0)
    )
  },
  Effect.fn(function* ({ graceSeconds, id }) {
    const store = yield* KeyStore
    const issued = store
      .rotate(id, graceSeconds)
      .pipe(Effect.catchTag("invalid_request", (error) => Effect.fail(wrongBounds(error))))
    yield* printIssued(
      yield* audited(issued, ({ key }) => ({
        command: "key rotate",
        subject: id,
        arguments: {
          account: key.accountId,
          new_key: key.id,
          ...(graceSeconds === 0 ? {} : { grace_seconds: graceSeconds })
        }
      }))
    )
  })
).pipe(Command.withDescription("Replace a key and print the new secret, which is not shown again"))

const bounds = Command.make(
  "bounds",
  { id, ...boundsFlags },
  Effect.fn(function* (input) {
    const store = yield* KeyStore
    const change = yield* Effect.fromResult(readBounds(input, decodeBounds))
    const changed = store
      .bind(input.id, change)
      .pipe(Effect.catchTag("invalid_request", (error) => Effect.fail(wrongBounds(error))))
    const key = yield* audited(changed, ({ accountId, id }) => ({
      command: "key bounds",
      subject: id,
      arguments: { account: accountId, ...bodyOf(input) }
    }))
    yield* print(keyJson(key), [
      `Bounds of ${key.id}: ${boundsText(key) || "none"}. This takes effect within 10 seconds.`
    ])
  })
).pipe(
  Command.withDescription("Change the bounds of a key: expiry, budget, targets, and networks"),
  Command.validate((input) =>
    Object.keys(bodyOf(input)).length > 0
      ? Effect.void
      : Effect.fail(
          new CliError.ValidationError({ message: "Give at least one of --expires, --budget, --targets, --networks" })
        )
  )
)

export const key = <E, R>({ reading, storage }: CommandLayers<E, R>) =>
  Command.make("key").pipe(
    Command.withDescription("Manage API keys"),
    Command.withSubcommands([
      create.pipe(writesMore, Command.provide(storage)),
      list.pipe(writesNothing, Command.provide(reading)),
      revoke.pipe(writesMore, Command.provide(storage)),
      rotate.pipe(writesMore, Command.provide(storage)),
      bounds.pipe(writesMore, Command.provide(storage))
    ])
  )
