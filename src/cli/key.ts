import { Effect, type Layer, Option, Redacted, Schema } from "effect"
import { CliError, Command, Flag } from "effect/cli"
import { type ApiKey, keyModes } from "../domain/ApiKey.ts"
import { maxNameCodePoints } from "../domain/NewKey.ts"
import { Accounts } from "../services/Accounts.ts"
import type { Audit } from "../services/Audit.ts"
import { type IssuedKey, KeyStore } from "../services/KeyStore.ts"
import type { AppConfig } from "../settings/Settings.ts"
import { audited } from "./audited.ts"
import { accountId, nextLines, nextOf, page, requireOne, requireYes, yes } from "./flags.ts"
import { CommandFailed, print, table, textOf, time } from "./Output.ts"

const id = Flag.String("id").pipe(Flag.withDescription("The key's id: key_…"))
const account = accountId("account")

const keyJson = (key: ApiKey) => ({
  id: key.id,
  account_id: key.accountId,
  label: key.label,
  mode: key.mode,
  hint: key.hint,
  created_at: time(key.createdAt),
  last_used_at: time(key.lastUsedAt),
  revoked_at: time(key.revokedAt)
})

/** Prints a new key with its secret, which is shown this once. */
const printIssued = ({ key, secret }: IssuedKey) =>
  print({ id: key.id, secret: Redacted.value(secret), label: key.label, mode: key.mode }, [
    ...table([
      ["Key", key.id],
      ["Label", key.label],
      ["Mode", key.mode],
      ["Secret", Redacted.value(secret)]
    ]),
    "Keep the secret now: it is not shown again."
  ])

const create = Command.make(
  "create",
  {
    account,
    name: Flag.String("name").pipe(
      Flag.withDescription("What the key is called"),
      Flag.withSchema(
        Schema.String.check(
          Schema.isPattern(new RegExp(`^[^\\p{Cc}]{1,${maxNameCodePoints}}$`, "u"), {
            message: `must have 1 to ${maxNameCodePoints} characters and no control characters`
          })
        )
      )
    ),
    mode: Flag.Literals("mode", keyModes).pipe(Flag.withDescription("What the key is for"), Flag.withDefault("live"))
  },
  Effect.fn(function* (input) {
    const keys = yield* KeyStore
    const issued = keys
      .create(input.account, { label: input.name, mode: input.mode })
      .pipe(
        Effect.catchTag("invalid_request", ({ issues }) => Effect.fail(new CommandFailed({ message: textOf(issues) })))
      )
    yield* printIssued(
      yield* audited(issued, ({ key }) => ({
        command: "key create",
        subject: key.id,
        arguments: { account: input.account, mode: input.mode }
      }))
    )
  })
).pipe(Command.withDescription("Make a key; its secret is printed this once"))

const all = (description: string) =>
  Flag.Boolean("all").pipe(Flag.withDescription(description), Flag.withDefault(false))

const keyLines = (keys: ReadonlyArray<ApiKey>) =>
  table([
    ["KEY", "ACCOUNT", "MODE", "SECRET", "CREATED", "LAST USED", "REVOKED", "LABEL"],
    ...keys.map((key) => [
      key.id,
      key.accountId,
      key.mode,
      key.hint,
      time(key.createdAt) ?? "",
      time(key.lastUsedAt) ?? "never",
      time(key.revokedAt) ?? "-",
      key.label
    ])
  ])

const listOf = Effect.fnUntraced(function* (accountId: string) {
  // An id that was mistyped must not look like an account without keys.
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
  { account: Flag.optional(account), all: all("Keys of all accounts, newest first, page by page"), ...page("key") },
  ({ account, after, limit }) =>
    Option.isSome(account) ? listOf(account.value) : listAll(limit, Option.getOrUndefined(after))
).pipe(
  Command.withDescription("List an account's keys, or all keys; revoked ones included"),
  Command.validate(({ account, all }) =>
    requireOne("Name an account with --account, or give --all", Option.isSome(account), all)
  )
)

const revokeOne = Effect.fnUntraced(function* (id: string) {
  const store = yield* KeyStore
  const key = yield* audited(store.revoke(id), ({ accountId, id }) => ({
    command: "key revoke",
    subject: id,
    arguments: { account: accountId }
  }))
  yield* print(keyJson(key), [`Revoked ${key.id}. It stops working everywhere within 10 seconds.`])
})

const revokeAll = Effect.fnUntraced(function* (accountId: string, isConfirmed: boolean) {
  yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(accountId))
  const store = yield* KeyStore
  const active = (yield* store.list(accountId)).filter(({ revokedAt }) => revokedAt === undefined)
  yield* requireYes(isConfirmed, `This revokes ${active.length} keys of ${accountId}.`)
  const keys = yield* audited(store.revokeAll(accountId), (revoked) => ({
    command: "key revoke --all",
    subject: accountId,
    arguments: { keys: revoked.length }
  }))
  yield* print({ keys: keys.map(keyJson) }, [
    `Revoked ${keys.length} keys of ${accountId}. They stop working everywhere within 10 seconds.`
  ])
})

const revoke = Command.make(
  "revoke",
  { id: Flag.optional(id), all: all("Every key of the account"), account: Flag.optional(account), yes },
  ({ account, id, yes }) =>
    Option.isSome(id)
      ? revokeOne(id.value)
      : revokeAll(
          Option.getOrElse(account, () => ""),
          yes
        )
).pipe(
  Command.withDescription("Revoke a key, or every key of an account"),
  Command.validate(({ account, all, id }) =>
    Option.isSome(id) !== (all && Option.isSome(account)) && all === Option.isSome(account)
      ? Effect.void
      : Effect.fail(new CliError.ValidationError({ message: "Name a key with --id, or give --all and --account" }))
  )
)

const rotate = Command.make(
  "rotate",
  { id },
  Effect.fn(function* (input) {
    const store = yield* KeyStore
    const issued = yield* audited(store.rotate(input.id), ({ key }) => ({
      command: "key rotate",
      subject: input.id,
      arguments: { account: key.accountId, new_key: key.id }
    }))
    yield* printIssued(issued)
  })
).pipe(Command.withDescription("Revoke a key and make one in its place; its secret is printed this once"))

export const key = <E, R>(storage: Layer.Layer<Accounts | AppConfig | Audit | KeyStore, E, R>) =>
  Command.make("key").pipe(
    Command.withDescription("API keys"),
    Command.withSubcommands([
      create.pipe(Command.provide(storage)),
      list.pipe(Command.provide(storage)),
      revoke.pipe(Command.provide(storage)),
      rotate.pipe(Command.provide(storage))
    ])
  )
