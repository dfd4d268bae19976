import { execFileSync } from "node:child_process"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { CliConfig, Command } from "effect/cli"
import { actFlags } from "../../../src/cli/operations/actFlags.ts"
import { type Act, type ActName, actNames, actSchemas, decodeAct } from "../../../src/domain/operations/acts.ts"
import { commandLine } from "../../../src/domain/operations/commandLine.ts"
import { shellWords } from "../../support/shellWords.ts"

/** The fields that the command's own flags read from the words after its name. */
const parsed = Effect.fnUntraced(function* (name: ActName, words: ReadonlyArray<string>) {
  const found: Array<object> = []
  const flags: Command.Command.Config = actFlags[name]
  const command = Command.make("act", flags, (input) => Effect.sync(() => found.push(input)))
  yield* Command.runWith(command, { version: "0" })(words).pipe(Effect.provide(CliConfig.layer({ builtIns: [] })))
  assert.lengthOf(found, 1)
  return Object.fromEntries(
    Object.entries(found[0] ?? {}).filter(([, value]) => value !== undefined && value !== false)
  )
})

const given = ({ command: _, ...fields }: Act): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== false))

describe("the command of an act", () => {
  it("has the flags of every act", () => {
    assert.deepStrictEqual(Object.keys(actFlags), [...actNames])
  })

  for (const name of actNames) {
    it.effect.prop(`${name}: is read as the act again`, [actSchemas[name]], ([fields]) =>
      Effect.gen(function* () {
        const act = yield* Effect.fromResult(decodeAct({ ...fields, command: name }))
        const [program, ...words] = shellWords(commandLine(act))
        assert.strictEqual(program, "quarry")
        assert.deepStrictEqual(words.slice(0, 2), name.split(" "))
        const expected = given(act)
        const found = yield* parsed(name, words.slice(2))
        // The default of the flag.
        assert.deepStrictEqual(name === "account adjust" ? { to: "balance", ...expected } : expected, found)
      }).pipe(Effect.provide(NodeServices.layer))
    )
  }

  it("is what a shell reads", () => {
    const reason = `it's "$HOME" \\ \`id\`\n; & #!`
    const line = commandLine({ command: "account adjust", id: "acc_1", credits: -5, reason })
    const words = execFileSync("sh", ["-c", `printf '%s\\0' ${line}`], { encoding: "utf8" })
      .split("\0")
      .slice(0, -1)
    assert.deepStrictEqual(words, [
      ...["quarry", "account", "adjust", "--id", "acc_1", "--credits=-5", "--reason", reason]
    ])
    assert.deepStrictEqual(shellWords(line), words)
  })

  it.each([
    [{ command: "account suspend", id: "acc_1", reason: "abuse" }, "quarry account suspend --id acc_1 --reason abuse"],
    [{ command: "account delete", id: "acc_1", yes: true }, "quarry account delete --id acc_1 --yes"],
    [{ command: "replica forget", id: "rep_1" }, "quarry replica forget rep_1"],
    [{ command: "account resume", id: "acc_1", reason: undefined }, "quarry account resume --id acc_1"],
    [{ command: "ledger verify", full: false }, "quarry ledger verify"]
  ] as const)("of %j", (act, line) => {
    assert.strictEqual(commandLine(act), line)
  })
})
