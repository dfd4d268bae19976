import { constants, setPriority } from "node:os"
import { getHeapStatistics } from "node:v8"
import { parentPort } from "node:worker_threads"
import { DocumentTooLarge } from "./html/Tree.ts"
import type { ParseJob, ParseReply, ThreadMessage } from "./messages.ts"
import { readDocument } from "./readDocument.ts"

const reply = async (job: ParseJob): Promise<ParseReply> => {
  try {
    const result = await readDocument(job)
    return typeof result === "string" ? { reason: result } : { page: result }
  } catch (error) {
    // A RangeError means a stack overflow, or a string that is too long.
    if (error instanceof DocumentTooLarge || error instanceof RangeError) return { reason: "too_large" }
    return { reason: "no_text", problem: error instanceof Error ? `${error.name}: ${error.message}` : String(error) }
  }
}

// The event loop comes first. Only Linux applies this to the thread alone instead of to the whole process.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL)

// Libraries may leave rejected promises behind after a broken document.
process.on("unhandledRejection", () => undefined)

const send = (reply: ThreadMessage["reply"]): void => {
  const { system, user } = process.threadCpuUsage()
  const heapBytes = getHeapStatistics().total_heap_size
  parentPort?.postMessage({ cpuMs: (system + user) / 1000, heapBytes, reply } satisfies ThreadMessage)
}

parentPort?.on("message", async (job: ParseJob) => send(await reply(job)))
send(undefined)
