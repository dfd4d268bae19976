import type { Mutation, TestedMutation } from "../../simulation/mutations/Mutation.ts"
import { mutations } from "../../simulation/mutations/mutations.ts"
import { sqlMutations } from "../../simulation/mutations/sqlMutations.ts"
import { mutations as costMutations } from "../../torture/mutations.ts"
import { contractMutations } from "./contract.ts"

/** Every mistake that a test of `npm test` must find. */
export const testedMutations: ReadonlyArray<TestedMutation> = [...contractMutations, ...mutations, ...sqlMutations]

const levelOf = (test: string): string =>
  test.endsWith(".integration.test.ts")
    ? test.startsWith("test/dashboard/")
      ? "dashboard"
      : "integration"
    : "in-process"

const gate = "system"

const row = ({ file, name }: Mutation, level: string, finder: string): string =>
  `| ${name} | \`${file}\` | ${level} | ${finder} |`

/** The text of docs/internals/mutations.md. */
export const makeTable = (): string => {
  const levels = testedMutations.map(({ test }) => levelOf(test))
  const count = (level: string) => levels.filter((it) => it === level).length
  return `${[
    "# Mutations",
    "",
    "Each mistake, and the test that finds it. `npm run mutations` puts the mistakes of `npm test` into a copy of the sources, one at a time, and",
    "fails if the named test does not find them. `npm run -s mutations -- --list > docs/internals/mutations.md` writes this page.",
    "[Testing](testing.md#mutations) says how to add a mistake.",
    "",
    "| Level | Command that runs its tests | Mistakes |",
    "| --- | --- | ---: |",
    ...["in-process", "integration", "dashboard"].map((level) => `| ${level} | \`npm test\` | ${count(level)} |`),
    `| ${gate} | \`npm run test:all\`, which the gate runs | ${costMutations.length} |`,
    "",
    `\`npm test\` does not find the ${costMutations.length} mistakes of the level \`${gate}\`. The gate tries a sample of all others too.`,
    "",
    "| Mistake | Source | Level | Found by |",
    "| --- | --- | --- | --- |",
    ...testedMutations.map((mutation) => row(mutation, levelOf(mutation.test), `\`${mutation.test}\``)),
    ...costMutations.map((mutation) =>
      row(mutation, gate, "`test/e2e/torture/cost.system.test.ts`, which tries one in each run")
    )
  ].join("\n")}\n`
}
