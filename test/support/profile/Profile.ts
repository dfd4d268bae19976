import type { Reporter, TestModule } from "vitest/node"
import type { Use } from "./use.ts"

const shownFiles = 40
const shownTests = 25

const seconds = (value: number) => value.toFixed(1)

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string | number>>) =>
  [
    "",
    `| ${head.join(" | ")} |`,
    `| --- |${" ---: |".repeat(head.length - 1)}`,
    ...rows.map((row) => `| ${row.join(" | ")} |`)
  ].join("\n")

const list = (started: Use["started"]) =>
  Object.entries(started)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, times]) => `${times} ${name}`)
    .join(", ")

interface Figures {
  readonly name: string
  readonly project: string
  readonly importMs: number
  readonly hooksMs: number
  readonly testsMs: number
  readonly tests: number
  readonly use: Use
}

const figuresOf = (module: TestModule): Figures => {
  const { collectDuration, duration, prepareDuration, setupDuration } = module.diagnostic()
  const tests = Array.from(module.children.allTests())
  const testsMs = tests.reduce((sum, test) => sum + (test.diagnostic()?.duration ?? 0), 0)
  return {
    name: module.relativeModuleId,
    project: module.project.name,
    importMs: prepareDuration + setupDuration + collectDuration,
    hooksMs: Math.max(0, duration - testsMs),
    testsMs,
    tests: tests.length,
    use: module.meta().use ?? { workerSeconds: 0, startedSeconds: 0, started: {} }
  }
}

const totals = (files: ReadonlyArray<Figures>) => {
  const started: Record<string, number> = {}
  for (const { use } of files)
    for (const [name, times] of Object.entries(use.started)) started[name] = (started[name] ?? 0) + times
  const sum = (of: (file: Figures) => number) => files.reduce((all, file) => all + of(file), 0)
  return {
    tests: sum(({ tests }) => tests),
    cells: [
      seconds(sum(({ importMs }) => importMs) / 1_000),
      seconds(sum(({ hooksMs }) => hooksMs) / 1_000),
      seconds(sum(({ testsMs }) => testsMs) / 1_000),
      seconds(sum(({ use }) => use.workerSeconds)),
      seconds(sum(({ use }) => use.startedSeconds))
    ],
    started
  }
}

const columns = ["import", "hooks", "tests", "CPU of worker", "CPU of started"]

/** Prints where the time of a run goes, as Markdown: by project, by file and by test. */
export default class Profile implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const files = modules.map(figuresOf)
    const projects = [...new Set(files.map(({ project }) => project))].map((project) => {
      const own = files.filter((file) => file.project === project)
      return { project, files: own.length, ...totals(own) }
    })
    console.log(
      table(
        ["Project", "files", "number of tests", ...columns, "started"],
        projects.map(({ cells, files, project, started, tests }) => [project, files, tests, ...cells, list(started)])
      )
    )
    // Unlike their duration, it hardly depends on what else the machine does.
    const cpuSeconds = ({ use }: Figures) => use.workerSeconds + use.startedSeconds
    console.log(
      table(
        ["File", ...columns, "started"],
        files
          .toSorted((a, b) => cpuSeconds(b) - cpuSeconds(a))
          .slice(0, shownFiles)
          .map((file) => [file.name, ...totals([file]).cells, list(file.use.started)])
      )
    )
    const tests = modules.flatMap((module) => Array.from(module.children.allTests()))
    const durationOf = (test: (typeof tests)[number]) => test.diagnostic()?.duration ?? 0
    console.log(
      table(
        ["Test", "seconds"],
        tests
          .toSorted((a, b) => durationOf(b) - durationOf(a))
          .slice(0, shownTests)
          .map((test) => [
            `${test.module.relativeModuleId}: ${test.fullName.replaceAll("|", "\\|")}`,
            seconds(durationOf(test) / 1_000)
          ])
      )
    )
  }
}
