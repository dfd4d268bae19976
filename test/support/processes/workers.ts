import { readdirSync, readFileSync } from "node:fs"

/** Running child processes of a process. */
export const childrenOf = (pid: number): ReadonlyArray<number> =>
  readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" "))
    .filter((text) => text !== "")
    .map(Number)
