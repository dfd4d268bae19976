import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { dirname, resolve, sep } from "node:path"
import { Effect } from "effect"

/** What a process did to a directory, in order. Paths are relative to it; a file keeps its number when it is renamed. */
export type Operation =
  | { readonly kind: "create"; readonly path: string; readonly file: number }
  | { readonly kind: "directory"; readonly path: string }
  | { readonly kind: "write"; readonly file: number; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: "truncate"; readonly file: number; readonly size: number }
  | { readonly kind: "rename"; readonly from: string; readonly to: string }
  | { readonly kind: "link"; readonly from: string; readonly to: string }
  | { readonly kind: "remove"; readonly path: string }
  | { readonly kind: "sync"; readonly file: number }
  | { readonly kind: "syncDirectory"; readonly path: string }
  | { readonly kind: "answer"; readonly answer: Answer }

/** What a caller has been told, which a power cut may not undo. Searches and people by their id. */
export type Answer =
  | { readonly of: "search" | "person"; readonly ids: ReadonlyArray<string> }
  | { readonly of: "documents"; readonly count: number }
  | { readonly of: "backup" | "migration" }

export interface Recording {
  readonly operations: ReadonlyArray<Operation>
  readonly answer: (answer: Answer) => void
}

type Callback = (error: Error | null, ...results: ReadonlyArray<unknown>) => void

const asBuffer = (data: string | NodeJS.ArrayBufferView): Buffer =>
  typeof data === "string" ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.byteLength)

class Recorder {
  readonly operations: Array<Operation> = []
  readonly #root: string
  readonly #files = new Map<string, number>()
  readonly #directories = new Set(["."])
  readonly #opened = new Map<number, string>()
  readonly #positions = new Map<number, number>()
  readonly #sizes = new Map<number, number>()
  #latest = 0

  constructor(root: string) {
    this.#root = resolve(root)
  }

  /** Undefined for paths outside the directory. */
  pathOf(path: unknown): string | undefined {
    if (typeof path !== "string") return undefined
    const whole = resolve(path)
    if (whole === this.#root) return "."
    return whole.startsWith(this.#root + sep) ? whole.slice(this.#root.length + 1) : undefined
  }

  #fileAt(path: string): number {
    const known = this.#files.get(path)
    if (known !== undefined) return known
    this.#latest++
    this.#files.set(path, this.#latest)
    this.operations.push({ kind: "create", path, file: this.#latest })
    return this.#latest
  }

  /** Notes the missing parents too, which `recursive` creates. */
  directory(path: string): void {
    if (this.#directories.has(path)) return
    this.directory(dirname(path))
    this.#directories.add(path)
    this.operations.push({ kind: "directory", path })
  }

  opened(path: string, descriptor: number, flags: unknown): void {
    this.#opened.set(descriptor, path)
    const appends = String(flags).startsWith("a")
    this.#positions.set(descriptor, appends ? (this.#sizes.get(this.#files.get(path) ?? 0) ?? 0) : 0)
    const writes = typeof flags === "number" ? (flags & fs.constants.O_CREAT) !== 0 : /^[wa]/.test(String(flags ?? "r"))
    if (!writes) return
    const file = this.#fileAt(path)
    const empties = typeof flags === "number" ? (flags & fs.constants.O_TRUNC) !== 0 : String(flags).startsWith("w")
    if (empties) this.operations.push({ kind: "truncate", file, size: 0 })
  }

  /** Where a write without a position goes: to the end of what the descriptor wrote, or of the file it appends to. */
  advance(descriptor: number, { length }: Buffer): number {
    const at = this.#positions.get(descriptor) ?? 0
    this.#positions.set(descriptor, at + length)
    return at
  }

  closed(descriptor: number): void {
    this.#opened.delete(descriptor)
  }

  openedPath(descriptor: number): string | undefined {
    return this.#opened.get(descriptor)
  }

  write(path: string, at: number, bytes: Buffer): void {
    const file = this.#fileAt(path)
    this.#sizes.set(file, Math.max(this.#sizes.get(file) ?? 0, at + bytes.length))
    this.operations.push({ kind: "write", file, at, bytes: Buffer.from(bytes) })
  }

  truncate(path: string, size: number): void {
    this.operations.push({ kind: "truncate", file: this.#fileAt(path), size })
  }

  sync(path: string): void {
    const file = this.#files.get(path)
    this.operations.push(file === undefined ? { kind: "syncDirectory", path } : { kind: "sync", file })
  }

  link(from: string, to: string): void {
    this.#files.set(to, this.#fileAt(from))
    this.operations.push({ kind: "link", from, to })
  }

  rename(from: string, to: string): void {
    this.operations.push({ kind: "rename", from, to })
    for (const [path, file] of [...this.#files]) {
      if (path !== from && !path.startsWith(from + sep)) continue
      this.#files.delete(path)
      this.#files.set(to + path.slice(from.length), file)
    }
    for (const path of [...this.#directories]) {
      if (path !== from && !path.startsWith(from + sep)) continue
      this.#directories.delete(path)
      this.#directories.add(to + path.slice(from.length))
    }
  }

  remove(path: string): void {
    this.operations.push({ kind: "remove", path })
    for (const known of [...this.#files.keys()]) {
      if (known === path || known.startsWith(path + sep)) this.#files.delete(known)
    }
    for (const known of [...this.#directories]) {
      if (known === path || known.startsWith(path + sep)) this.#directories.delete(known)
    }
  }
}

type Functions = Record<string, (...args: ReadonlyArray<never>) => unknown>

/** Notes an operation after it succeeded, of the synchronous function and of the one with a callback. */
const after = (
  functions: Functions,
  name: string,
  note: (args: ReadonlyArray<unknown>, result: unknown) => void
): void => {
  const sync = functions[`${name}Sync`]
  functions[`${name}Sync`] = (...args) => {
    const result: unknown = sync === undefined ? undefined : Reflect.apply(sync, fs, args)
    note(args, result)
    return result
  }
  const plain = functions[name]
  functions[name] = (...args) => {
    const callback = args.at(-1) as unknown as Callback
    const wrapped: Callback = (error, ...results) => {
      if (error === null) note(args.slice(0, -1), results[0])
      callback(error, ...results)
    }
    return plain === undefined ? undefined : Reflect.apply(plain, fs, [...args.slice(0, -1), wrapped])
  }
}

/** The recorder of the open scope, if there is one. */
let current: Recorder | undefined

type Note = (recorder: Recorder, path: string, args: ReadonlyArray<unknown>, result: unknown) => void

const at =
  (note: Note) =>
  (args: ReadonlyArray<unknown>, result: unknown): void => {
    const path = current?.pathOf(args[0])
    if (current !== undefined && path !== undefined) note(current, path, args, result)
  }

const of =
  (note: Note) =>
  (args: ReadonlyArray<unknown>, result: unknown): void => {
    const path = current?.openedPath(Number(args[0]))
    if (current !== undefined && path !== undefined) note(current, path, args, result)
  }

const between = (note: (recorder: Recorder, from: string, to: string) => void) =>
  at((recorder, from, args) => {
    const to = recorder.pathOf(args[1])
    if (to !== undefined) note(recorder, from, to)
  })

const noteWrite: Note = (recorder, path, [descriptor, data, offset, length, position], result) => {
  const from = Number(offset ?? 0)
  const bytes = asBuffer(data as string | NodeJS.ArrayBufferView).subarray(from, from + Number(result ?? length))
  recorder.write(path, typeof position === "number" ? position : recorder.advance(Number(descriptor), bytes), bytes)
}

/** `writeFileSync` opens and writes by the functions above, except for text, which Node writes in one call. */
const watchWholeFiles = (functions: Functions): void => {
  const { writeFileSync } = fs
  functions.writeFileSync = (...args) => {
    const before = current?.operations.length ?? 0
    Reflect.apply(writeFileSync, fs, args)
    const path = current?.pathOf(args[0])
    if (current === undefined || path === undefined || current.operations.length > before) return
    const bytes = asBuffer(args[1] as unknown as string)
    current.truncate(path, 0)
    if (bytes.length > 0) current.write(path, 0, bytes)
  }
}

/** `node:fs/promises` opens files by a handle, which the product uses only to sync. */
const watchHandles = (): void => {
  const { open } = fs.promises
  fs.promises.open = async (...args) => {
    const handle = await open(...args)
    const path = current?.pathOf(args[0])
    if (path === undefined) return handle
    const sync = handle.sync.bind(handle)
    handle.sync = async () => {
      await sync()
      current?.sync(path)
    }
    return handle
  }
}

// Effect keeps the functions that it finds when it is loaded, so import this module first.
const functions = fs as unknown as Functions
after(
  functions,
  "open",
  at((recorder, path, args, result) => recorder.opened(path, Number(result), args[1]))
)
after(functions, "close", ([descriptor]) => current?.closed(Number(descriptor)))
after(
  functions,
  "mkdir",
  at((recorder, path) => recorder.directory(path))
)
after(
  functions,
  "rename",
  between((recorder, from, to) => recorder.rename(from, to))
)
after(
  functions,
  "link",
  between((recorder, from, to) => recorder.link(from, to))
)
for (const name of ["unlink", "rmdir", "rm"])
  after(
    functions,
    name,
    at((recorder, path) => recorder.remove(path))
  )
after(
  functions,
  "truncate",
  at((recorder, path, args) => recorder.truncate(path, Number(args[1] ?? 0)))
)
after(
  functions,
  "ftruncate",
  of((recorder, path, args) => recorder.truncate(path, Number(args[1] ?? 0)))
)
after(
  functions,
  "fsync",
  of((recorder, path) => recorder.sync(path))
)
after(functions, "write", of(noteWrite))
watchWholeFiles(functions)
watchHandles()
syncBuiltinESMExports()

/** Records what this process does to a directory while the scope is open. */
export const record = (root: string) =>
  Effect.acquireRelease(
    Effect.sync((): Recording => {
      const recorder = new Recorder(root)
      current = recorder
      return {
        operations: recorder.operations,
        answer: (answer) => void recorder.operations.push({ kind: "answer", answer })
      }
    }),
    () =>
      Effect.sync(() => {
        current = undefined
      })
  )
