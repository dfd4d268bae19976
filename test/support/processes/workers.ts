import { readdirSync, readFileSync } from "node:fs"

/** The processes that a process has started and that run. */
export const childrenOf = (pid: number): ReadonlyArray<number> =>
  readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" "))
    .filter((text) => text !== "")
    .map(Number)
