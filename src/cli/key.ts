import { Effect, type Layer, Redacted, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { type ApiKey, keyModes } from "../domain/ApiKey.ts"
import { maxNameCodePoints } from "../domain/NewKey.ts"
import { Accounts } from "../services/Accounts.ts"
import { type IssuedKey, KeyStore } from "../services/KeyStore.ts"
import { CommandFailed, print, table, time } from "./Output.ts"

const id = Flag.String("id").pipe(Flag.withDescription("The key's id: key_…"))
const account = Flag.String("account").pipe(Flag.withDescription("The account's id: acc_…"))

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

/** The text of issues without their fields, because a command has none. */
const textOf = (issues: ReadonlyArray<{ readonly message: string }>): string =>
  issues.map(({ message }) => message).join("; ")

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
    yield* printIssued(yield* issued)
  })
).pipe(Command.withDescription("Make a key; its secret is printed this once"))

const list = Command.make(
  "list",
  { account },
  Effect.fn(function* (input) {
    // An id that was mistyped must not look like an account without keys.
    yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(input.account))
    const keys = yield* Effect.flatMap(KeyStore, (store) => store.list(input.account))
    yield* print(
      { keys: keys.map(keyJson) },
      table([
        ["KEY", "MODE", "SECRET", "CREATED", "LAST USED", "REVOKED", "LABEL"],
        ...keys.map((key) => [
          key.id,
          key.mode,
          key.hint,
          time(key.createdAt) ?? "",
          time(key.lastUsedAt) ?? "never",
          time(key.revokedAt) ?? "",
          key.label
        ])
      ])
    )
  })
).pipe(Command.withDescription("List an account's keys, revoked ones included"))

const revoke = Command.make(
  "revoke",
  { id },
  Effect.fn(function* (input) {
    const key = yield* Effect.flatMap(KeyStore, (store) => store.revoke(input.id))
    yield* print(keyJson(key), [`Revoked ${key.id}. It stops working everywhere within 10 seconds.`])
  })
).pipe(Command.withDescription("Revoke a key"))

const rotate = Command.make(
  "rotate",
  { id },
  Effect.fn(function* (input) {
    yield* printIssued(yield* Effect.flatMap(KeyStore, (store) => store.rotate(input.id)))
  })
).pipe(Command.withDescription("Revoke a key and make one in its place; its secret is printed this once"))

export const key = <E, R>(storage: Layer.Layer<Accounts | KeyStore, E, R>) =>
  Command.make("key").pipe(
    Command.withDescription("API keys"),
    Command.withSubcommands([
      create.pipe(Command.provide(storage)),
      list.pipe(Command.provide(storage)),
      revoke.pipe(Command.provide(storage)),
      rotate.pipe(Command.provide(storage))
    ])
  )
