import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Operation } from "./Recording.ts"

/** What of the operations without a sync has reached the disk. */
export type Kept = "none" | "all" | "prefix" | "subset"

export type Random = () => number

interface Node {
  /** Undefined for a directory. */
  readonly file: number | undefined
}

const sectorBytes = 512

/** Which later operation makes each one durable: a sync of its file, or of the directories whose entries it changes. */
const syncedAt = (operations: ReadonlyArray<Operation>, moment: number): ReadonlyArray<boolean> => {
  const files = new Map<number, number>()
  const directories = new Map<string, number>()
  const synced: Array<boolean> = []
  for (let index = moment - 1; index >= 0; index--) {
    const operation = operations[index]
    if (operation === undefined) continue
    if (operation.kind === "sync") files.set(operation.file, Math.max(files.get(operation.file) ?? 0, index))
    if (operation.kind === "syncDirectory")
      directories.set(operation.path, Math.max(directories.get(operation.path) ?? 0, index))
    synced[index] = isSynced(operation, files, directories)
  }
  return synced
}

const isSynced = (
  operation: Operation,
  files: ReadonlyMap<number, number>,
  directories: ReadonlyMap<string, number>
): boolean => {
  switch (operation.kind) {
    case "write":
    case "truncate":
      return files.has(operation.file)
    case "create":
    case "directory":
    case "remove":
      return directories.has(dirname(operation.path))
    case "rename":
    case "link":
      return directories.has(dirname(operation.to))
    default:
      return true
  }
}

/** `bytes` has room for the file to grow, because copying it for each write would take most of the time. */
interface Content {
  bytes: Buffer
  size: number
}

class Disk {
  readonly #contents = new Map<number, Content>()
  readonly names = new Map<string, Node>([[".", { file: undefined }]])

  #put(path: string, node: Node): void {
    if (this.names.has(dirname(path))) this.names.set(path, node)
  }

  #below(path: string): ReadonlyArray<readonly [string, Node]> {
    return [...this.names].filter(([name]) => name === path || name.startsWith(`${path}/`))
  }

  apply(operation: Operation, share: number): void {
    switch (operation.kind) {
      case "create":
        this.#put(operation.path, { file: operation.file })
        break
      case "directory":
        this.#put(operation.path, { file: undefined })
        break
      case "link": {
        const node = this.names.get(operation.from)
        if (node !== undefined) this.#put(operation.to, node)
        break
      }
      case "remove":
        for (const [name] of this.#below(operation.path)) this.names.delete(name)
        break
      case "rename": {
        const moved = this.#below(operation.from)
        for (const [name] of moved) this.names.delete(name)
        for (const [name, node] of moved) this.#put(operation.to + name.slice(operation.from.length), node)
        break
      }
      case "write": {
        const whole = operation.bytes.length
        const length = share === 1 ? whole : Math.floor((whole * share) / sectorBytes) * sectorBytes
        const content = this.#content(operation.file, operation.at + length)
        operation.bytes.copy(content.bytes, operation.at, 0, length)
        content.size = Math.max(content.size, operation.at + length)
        break
      }
      case "truncate": {
        const content = this.#content(operation.file, operation.size)
        content.bytes.fill(0, operation.size)
        content.size = operation.size
      }
    }
  }

  #content(file: number, size: number): Content {
    const content = this.#contents.get(file) ?? { bytes: Buffer.alloc(0), size: 0 }
    this.#contents.set(file, content)
    if (size > content.bytes.length) {
      content.bytes = Buffer.concat([content.bytes, Buffer.alloc(size * 2 - content.bytes.length)])
    }
    return content
  }

  writeTo(directory: string): void {
    for (const [name, { file }] of this.names) {
      const path = join(directory, name)
      if (file === undefined) mkdirSync(path, { recursive: true, mode: 0o700 })
      else {
        const { bytes, size } = this.#contents.get(file) ?? { bytes: Buffer.alloc(0), size: 0 }
        writeFileSync(path, bytes.subarray(0, size), { mode: 0o600 })
      }
    }
  }
}

/**
 * Writes a state in which a disk may be after a power cut: everything synced before `moment`, and of the rest nothing,
 * all, the first operations, or any of them, where a write may have stopped after any sector. Returns the answered ids.
 */
export const writeState = (
  operations: ReadonlyArray<Operation>,
  moment: number,
  kept: Kept,
  random: Random,
  directory: string
): ReadonlyArray<string> => {
  const synced = syncedAt(operations, moment)
  const until = kept === "all" ? moment : kept === "prefix" ? Math.floor(random() * moment) : 0
  const disk = new Disk()
  const answered: Array<string> = []
  for (const [index, operation] of operations.slice(0, moment).entries()) {
    if (operation.kind === "answer") answered.push(operation.id)
    if (synced[index] === true || index < until) disk.apply(operation, 1)
    else if (kept === "subset" && random() < 0.5) disk.apply(operation, random() < 0.3 ? random() : 1)
  }
  disk.writeTo(directory)
  return answered
}
