import type { Reporter, TestModule } from "vitest/node"

/** Lists skipped tests at the end of a run, with the missing program and how to install it, from their group's name. */
export default class MissingServices implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const skipped = new Map<string, number>()
    for (const module of modules) {
      for (const suite of module.children.allSuites()) {
        const need = /\((needs .+)\)$/.exec(suite.name)?.[1]
        if (need === undefined) continue
        skipped.set(need, (skipped.get(need) ?? 0) + Array.from(suite.children.allTests()).length)
      }
    }
    for (const [need, tests] of skipped) console.log(`Skipped ${tests} tests: ${need}`)
  }
}
