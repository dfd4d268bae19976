import type { Reporter, TestModule } from "vitest/node"

/** More tests than this that pass only at their second try fail the run: then it is not the machine that is at fault. */
export const maxUnstable = 2

/** Lists the tests that passed at their second try, by name, and fails the run if they are too many. */
export default class UnstableTests implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const unstable = modules.flatMap((module) =>
      Array.from(module.children.allTests())
        .filter((test) => test.ok() && (test.diagnostic()?.retryCount ?? 0) > 0)
        .map((test) => `${module.relativeModuleId} > ${test.fullName}`)
    )
    for (const name of unstable) console.log(`Unstable: ${name}`)
    if (unstable.length <= maxUnstable) return
    console.log(`${unstable.length} tests are unstable, and at most ${maxUnstable} may be.`)
    process.exitCode = 1
  }
}
