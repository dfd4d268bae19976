import type { ChildProcess } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"

/** The first process of the PID namespace created by `unshare --fork`: its only child. */
export const firstProcess = ({ pid }: ChildProcess): number =>
  Number(
    readdirSync(`/proc/${pid}/task`)
      .map((task) => readFileSync(`/proc/${pid}/task/${task}/children`, "utf8"))
      .join("")
  )
