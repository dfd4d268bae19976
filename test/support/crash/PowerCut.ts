import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import type { Answer, Operation } from "./Recording.ts"

/** What of the operations without a sync has reached the disk. */
export type Kept = "none" | "all" | "prefix" | "subset"

export interface Cut {
  /** The number of operations that were done before the power failed. */
  readonly moment: number
  readonly kept: Kept
  readonly random: () => number
}

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

/**
 * `bytes` has room for the file to grow, because copying it for each write would take most of the time. The contents of a
 * shared file are those of several disks, and copied before they change.
 */
interface Content {
  bytes: Buffer
  size: number
  isShared: boolean
}

class Disk {
  #contents = new Map<number, Content>()
  names = new Map<string, Node>([[".", { file: undefined }]])

  /** Another disk with the same files. */
  copy(): Disk {
    const disk = new Disk()
    for (const content of this.#contents.values()) content.isShared = true
    disk.#contents = new Map(this.#contents)
    disk.names = new Map(this.names)
    return disk
  }

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
    const before = this.#contents.get(file) ?? { bytes: Buffer.alloc(0), size: 0, isShared: false }
    const isTooSmall = size > before.bytes.length
    const content = before.isShared || isTooSmall ? { ...before, isShared: false } : before
    if (isTooSmall) content.bytes = Buffer.concat([before.bytes, Buffer.alloc(size * 2 - before.bytes.length)])
    else if (before.isShared) content.bytes = Buffer.from(before.bytes)
    this.#contents.set(file, content)
    return content
  }

  contentOf(file: number): Buffer {
    const { bytes, size } = this.#contents.get(file) ?? { bytes: Buffer.alloc(0), size: 0 }
    return bytes.subarray(0, size)
  }
}

interface Written {
  readonly bytes: Buffer
  /** Changes with each write, and with another file of the same name. */
  readonly mark: string
}

const markOf = (path: string): string => {
  const { ctimeNs, ino, size } = statSync(path, { bigint: true })
  return `${ino} ${ctimeNs} ${size}`
}

/**
 * A directory that is brought from one state to the next. Of the 1,258 files of a store, a state and its start change
 * few, and writing all of them anew would take most of the time.
 */
export class Place {
  readonly directory: string
  #written = new Map<string, Written>()

  constructor(directory: string) {
    this.directory = directory
  }

  #isWritten(path: string, name: string, bytes: Buffer): boolean {
    const written = this.#written.get(name)
    if (written === undefined || written.mark !== markOf(path)) return false
    const isSame = written.bytes.buffer === bytes.buffer && written.bytes.byteOffset === bytes.byteOffset
    return (isSame && written.bytes.length === bytes.length) || written.bytes.equals(bytes)
  }

  write(disk: Disk): void {
    const found = new Set<string>()
    for (const entry of readdirSync(this.directory, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      const name = relative(this.directory, path)
      const node = disk.names.get(name)
      if (node !== undefined && entry.isDirectory() === (node.file === undefined)) found.add(name)
      else rmSync(path, { recursive: true, force: true })
    }
    const written = new Map<string, Written>()
    for (const [name, { file }] of disk.names) {
      const path = join(this.directory, name)
      if (file === undefined) {
        mkdirSync(path, { recursive: true, mode: 0o700 })
        continue
      }
      const bytes = disk.contentOf(file)
      if (!found.has(name) || !this.#isWritten(path, name, bytes)) writeFileSync(path, bytes, { mode: 0o600 })
      written.set(name, { bytes, mark: markOf(path) })
    }
    this.#written = written
  }
}

/** Operations that were done at a moment, of which later states need only those that no disk must have kept. */
export interface Base {
  readonly moment: number
  readonly disk: Disk
  readonly uncertain: ReadonlySet<number>
}

/** The disk after the operations until a moment that it must have kept. */
export const baseAt = (operations: ReadonlyArray<Operation>, moment: number): Base => {
  const disk = new Disk()
  const uncertain = new Set<number>()
  const synced = syncedAt(operations, moment)
  for (const [index, operation] of operations.slice(0, moment).entries()) {
    if (synced[index] === true) disk.apply(operation, 1)
    else uncertain.add(index)
  }
  return { moment, disk, uncertain }
}

export const emptyBase: Base = { moment: 0, disk: new Disk(), uncertain: new Set() }

/**
 * Puts a state there in which a disk may be after a power cut: everything synced before `moment`, and of the rest
 * nothing, all, the first operations, or any of them, where a write may have stopped after any sector. Returns what
 * callers had been told.
 */
export const writeState = (
  operations: ReadonlyArray<Operation>,
  { kept, moment, random }: Cut,
  base: Base,
  place: Place
): ReadonlyArray<Answer> => {
  const synced = syncedAt(operations, moment)
  const until = kept === "all" ? moment : kept === "prefix" ? Math.floor(random() * moment) : 0
  const disk = base.disk.copy()
  const answers: Array<Answer> = []
  for (const [index, operation] of operations.slice(0, moment).entries()) {
    if (operation.kind === "answer") answers.push(operation.answer)
    if (index < base.moment && !base.uncertain.has(index)) continue
    if (synced[index] === true || index < until) disk.apply(operation, 1)
    else if (kept === "subset" && random() < 0.5) disk.apply(operation, random() < 0.3 ? random() : 1)
  }
  place.write(disk)
  return answers
}
