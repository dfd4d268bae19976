import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Result } from "effect"

const version1 = { parent: "/sys/fs/cgroup/memory", file: "memory.limit_in_bytes" }
const version2 = { parent: "/sys/fs/cgroup", file: "memory.max" }

/** The kernel ends the process if it uses more memory. Returns false without the right to set such a limit. */
export const limit = (pid: number, bytes: number) => {
  const { file, parent } = existsSync(version1.parent) ? version1 : version2
  const group = join(parent, `quarry-torture-${pid}`)
  const moveTo = (to: string) => writeFileSync(join(to, "cgroup.procs"), String(pid))
  return Effect.acquireRelease(
    Effect.sync(() =>
      Result.try(() => {
        mkdirSync(group)
        writeFileSync(join(group, file), String(bytes))
        moveTo(group)
      })
    ),
    () =>
      Effect.sync(() => {
        Result.try(() => moveTo(parent))
        Result.try(() => rmdirSync(group))
      })
  ).pipe(Effect.map(Result.isSuccess))
}
