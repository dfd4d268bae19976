import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"

/** Debian's faketime library, in a directory per architecture. Undefined if it is not installed. */
export const faketimeLibrary = readdirSync("/usr/lib", { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => join("/usr/lib", name, "faketime/libfaketime.so.1"))
  .find((path) => existsSync(path))

/** Environment of a process whose clock has an offset, such as `+10d`. Its timers are not affected. */
export const fakeClock = (offset: string): Record<string, string> => ({
  LD_PRELOAD: faketimeLibrary ?? "",
  FAKETIME: offset,
  FAKETIME_DONT_FAKE_MONOTONIC: "1"
})
