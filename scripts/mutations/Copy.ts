import { spawn } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Mutation, TestedMutation } from "../../simulation/mutations/Mutation.ts"

const root = join(import.meta.dirname, "../..")

/** Never copied: history, packages, stores and what other commands write. */
const leftOut = new Set([".git", ".quarry", "node_modules", "coverage"])

/** The text with the mistake. Fails if the mistake no longer matches the sources. */
export const mutate = ({ file, from, name, to }: Mutation, text: string): string => {
  const parts = text.split(from)
  if (parts.length !== 2) throw new Error(`"${name}" must fit once into ${file}, and fits ${parts.length - 1} times`)
  return parts.join(to)
}

export const readSource = (file: string): string => readFileSync(join(root, file), "utf8")

/** A copy of the checkout, so that its sources stay as they are even if this process is killed. */
export const makeCopy = (): { readonly directory: string; readonly remove: () => void } => {
  const directory = mkdtempSync(join(tmpdir(), "quarry-mutations-"))
  const remove = () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  process.once("exit", remove)
  for (const name of readdirSync(root)) {
    if (!leftOut.has(name)) cpSync(join(root, name), join(directory, name), { recursive: true })
  }
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"))
  return { directory, remove }
}

interface Report {
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly message: string
    readonly assertionResults: ReadonlyArray<{ readonly fullName: string; readonly status: string }>
  }>
}

export interface Tried {
  /** The test that failed; undefined if all passed. */
  readonly foundBy: string | undefined
  readonly seconds: number
}

const stop = (message: string): never => {
  throw new Error(message)
}

/** Runs the test file of the mistake on the copy with the mistake, up to the first failure. */
export const tryMutation = async (directory: string, mutation: TestedMutation): Promise<Tried> => {
  const path = join(directory, mutation.file)
  const before = readFileSync(path, "utf8")
  const output = join(directory, "mutation.json")
  const startedAt = performance.now()
  writeFileSync(path, mutate(mutation, before))
  try {
    const args = ["run", mutation.test, "--bail=1", "--maxWorkers=1", "--reporter=json", `--outputFile=${output}`]
    const child = spawn(process.execPath, [join(directory, "node_modules/vitest/vitest.mjs"), ...args], {
      cwd: directory,
      // In the gate, a second attempt would only take longer.
      env: { ...process.env, CI: "" },
      stdio: ["ignore", "ignore", "pipe"]
    })
    let errors = ""
    child.stderr.on("data", (chunk) => {
      errors += chunk
    })
    const kill = () => void child.kill()
    process.once("exit", kill)
    const code = await new Promise((resolve) => child.once("close", resolve))
    process.off("exit", kill)
    const seconds = (performance.now() - startedAt) / 1_000
    if (code === 0) return { foundBy: undefined, seconds }
    if (!existsSync(output)) stop(`"${mutation.name}" did not run: ${errors}`)
    const { testResults } = JSON.parse(readFileSync(output, "utf8")) as Report // Vitest writes this form.
    for (const { assertionResults, name } of testResults) {
      const failed = assertionResults.find(({ status }) => status === "failed")
      if (failed !== undefined) return { foundBy: `${name.slice(directory.length + 1)}: ${failed.fullName}`, seconds }
    }
    return stop(
      `"${mutation.name}" broke the test files: ${testResults.map(({ message }) => message).join("\n")}${errors}`
    )
  } finally {
    writeFileSync(path, before)
    rmSync(output, { force: true })
  }
}
