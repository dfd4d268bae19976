import type { Reporter, TestModule } from "vitest/node"

/**
 * Maximum tests that pass only at the second attempt. With more, the run fails, because the machine is not to blame.
 */
export const maxUnstable = 2

/** Lists tests that passed at the second attempt, with the error of the first, and fails the run if there are too many. */
export default class UnstableTests implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const unstable = modules.flatMap((module) =>
      Array.from(module.children.allTests())
        .filter((test) => test.ok() && (test.diagnostic()?.retryCount ?? 0) > 0)
        .map((test) => {
          const [first] = test.result().errors ?? []
          return `${module.relativeModuleId} > ${test.fullName}: ${first?.message ?? "no error"}`
        })
    )
    for (const name of unstable) console.log(`Unstable: ${name}`)
    if (unstable.length <= maxUnstable) return
    console.log(`${unstable.length} tests are unstable, and at most ${maxUnstable} may be.`)
    process.exitCode = 1
  }
}
