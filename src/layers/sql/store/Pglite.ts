import { accessSync, constants, existsSync, mkdirSync, readdirSync, statfsSync } from "node:fs"
import { join } from "node:path"
import { Duplex } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { PgClient } from "@effect/sql-pg"
import { PGlite } from "@electric-sql/pglite"
import { Duration, Effect, Layer, type Scope } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { lockDirectory, StorageUnavailable, unusableDirectory } from "./DirectoryLock.ts"
import { PrivateFiles, restrict } from "./PrivateFiles.ts"
import { type Opened, RunningDatabase } from "./RunningDatabase.ts"
import { syncTree } from "./SyncedFiles.ts"
import { readTemplate, type Template } from "./templates.ts"

export interface PgliteOptions {
  /** Used by one process at a time. Undefined keeps the data in memory. */
  readonly dataDir: string | undefined
  readonly readOnly?: boolean | undefined
  /** False for data that may be lost in a power cut. By default, every commit waits for the disk. */
  readonly sync?: boolean | undefined
  /** The contents of a new database. Empty by default. */
  readonly template?: Template | undefined
}

/** The default of 128 MB is allocated at once, and the OS caches the files anyway. */
const sharedBuffers = "16MB"

/** PGlite's default, which turns syncs off. */
const withoutSync = "-F"

/** Settings that a commit survives a power cut with. PGlite ignores `fdatasync`, the default method. */
const durableSettings = ["fsync=on", "wal_sync_method=fsync", "synchronous_commit=on", "full_page_writes=on"]

const startParams = (sync: boolean): Array<string> => [
  ...PGlite.defaultStartParams.filter((param) => !sync || param !== withoutSync),
  ...[`shared_buffers=${sharedBuffers}`, ...(sync ? durableSettings : [])].flatMap((setting) => ["-c", setting])
]

export const layer = (
  options: PgliteOptions
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, StorageUnavailable | SqlError.SqlError> =>
  Layer.unwrap(
    Effect.map(open(options), (running) =>
      PgClient.layer({
        stream: () => new Connection(running, options.readOnly === true ? [...reset, noWrites] : reset),
        ssl: false,
        username: "postgres",
        database: "postgres",
        applicationName: "quarry",
        // The database has one session. Reopening it would only discard its prepared statements.
        maxConnections: 1,
        minConnections: 1,
        idleTimeout: Duration.infinity
      })
    )
  )

const open = Effect.fnUntraced(function* ({
  dataDir,
  sync = true,
  template = "empty"
}: PgliteOptions): Effect.fn.Return<RunningDatabase, StorageUnavailable, Scope.Scope> {
  if (dataDir !== undefined) yield* lockDirectory(dataDir)
  return yield* Effect.acquireRelease(
    dataDir === undefined ? startInMemory(template) : openDirectory(dataDir, sync, template),
    (running) => Effect.promise(() => running.close()).pipe(Effect.ignoreCause)
  )
})

const openDirectory = Effect.fnUntraced(function* (
  dataDir: string,
  sync: boolean,
  template: Template
): Effect.fn.Return<RunningDatabase, StorageUnavailable> {
  const directory = join(dataDir, "postgres")
  const foreign = yield* Effect.try({
    try: () => {
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK)
      if (readdirSync(directory).length > 0 && !existsSync(join(directory, "PG_VERSION"))) return true
      restrict(dataDir)
      return false
    },
    catch: (error) => unusableDirectory(dataDir, error)
  })
  if (foreign) return yield* unusable(directory, "it holds files but no database")
  return yield* startIn(directory, sync, template)
})

const startInMemory = (template: Template): Effect.Effect<RunningDatabase, StorageUnavailable> =>
  Effect.tryPromise({
    try: async () => {
      const loadDataDir = await readTemplate(template)
      const database = await PGlite.create({ startParams: startParams(false), loadDataDir })
      return new RunningDatabase({ database, abandon: async () => {} }, undefined)
    },
    catch: () => unusable("the in-memory database", "its files are damaged, incomplete or of another version")
  })

/** Enough to find the reason of a failed start. */
const maxLines = 100

const startIn = (
  directory: string,
  sync: boolean,
  template: Template
): Effect.Effect<RunningDatabase, StorageUnavailable> => {
  const start = async () => {
    const lines: Array<string> = []
    const onStderr = (line: string) => {
      if (lines.push(line) > maxLines) lines.shift()
      return false
    }
    try {
      return await create(directory, sync, template, onStderr)
    } catch {
      throw startFailure(directory, lines)
    }
  }
  return Effect.tryPromise({
    try: async () => new RunningDatabase(await start(), start),
    catch: (error) => (error instanceof StorageUnavailable ? error : unusableDirectory(directory, error))
  })
}

const create = async (
  directory: string,
  sync: boolean,
  template: Template,
  onStderr: (line: string) => boolean
): Promise<Opened> => {
  const isNew = !existsSync(join(directory, "PG_VERSION"))
  const fs = new PrivateFiles(directory, { sync })
  const database = await PGlite.create({
    onStderr,
    startParams: startParams(sync),
    fs,
    ...(isNew ? { loadDataDir: await readTemplate(template) } : {})
  })
  // Postgres does not sync what it finds, such as the files of a store that was copied or used without syncs.
  if (sync) await syncTree(directory)
  return { database, abandon: () => fs.closeFs() }
}

/** Enough to replay the write-ahead log and to write a segment of it. */
const neededMegabytes = 64

const fullDisk = /No space left|quota exceeded/i

/** Faults of the machine, after which the files may be whole. */
const machineFault = /Permission denied|Read-only file system|I\/O error|Too many open files|Cannot allocate memory/i

/** Never advises to move files away that another fault than damage may have caused to be unreadable. */
const startFailure = (directory: string, lines: ReadonlyArray<string>): StorageUnavailable => {
  const { bavail, bsize } = statfsSync(directory)
  const freeMegabytes = Math.floor((bavail * bsize) / 2 ** 20)
  const cannot = `The database in ${directory} cannot be opened:`
  if (freeMegabytes < neededMegabytes || lines.some((line) => fullDisk.test(line))) {
    const message = `${cannot} its disk is full (${freeMegabytes} MB free). Free ${neededMegabytes} MB there and start again.`
    return new StorageUnavailable({ message })
  }
  const fault = lines.findLast((line) => machineFault.test(line))
  // The database reports damage as an abort without a reason.
  return fault === undefined
    ? unusable(directory, "its files are damaged, incomplete or of another version")
    : new StorageUnavailable({ message: `${cannot} ${fault.trim()}. Correct this and start again.` })
}

const unusable = (directory: string, reason: string): StorageUnavailable =>
  new StorageUnavailable({
    message:
      `The database in ${directory} cannot be opened: ${reason}. ` +
      "Restore the directory from a backup, move it away to start empty, or set DATA_DIR to another one."
  })

const sslRequest = 80877103
const cancelRequest = 80877102

const message = (type: string, body: Buffer = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(5)
  head.write(type, 0, "latin1")
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const query = (text: string): Buffer => message("Q", Buffer.from(`${text}\0`))

export const greeting = Buffer.concat([
  message("R", Buffer.from([0, 0, 0, 0])),
  message("S", Buffer.from("client_encoding\0UTF8\0")),
  message("K", Buffer.from([0, 0, 0, 1, 0, 0, 0, 1])),
  message("Z", Buffer.from("I"))
])

/** Statements complete within one turn of the event loop, so a long run of them would delay timers and sockets. */
const maxTurnMs = 5

/** Clears the previous session, whose connection may have been closed at any point. */
const reset = [message("S"), query("ROLLBACK"), query("DISCARD ALL")]

const noWrites = query("SET default_transaction_read_only = on")

/** Handles the protocol's startup. Ignores cancel requests, because statements end before the next message is read. */
class Connection extends Duplex {
  readonly #running: RunningDatabase
  readonly #reset: ReadonlyArray<Buffer>
  #unread: Buffer = Buffer.alloc(0)
  /** Set by the startup. A session never continues on a database that was opened later. */
  #database: PGlite | undefined
  #turnedAt = 0

  constructor(running: RunningDatabase, reset: ReadonlyArray<Buffer>) {
    super()
    this.#running = running
    this.#reset = reset
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk])
    this.#advance().then(() => done(), done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.push(null)
    done()
  }

  async #advance(): Promise<void> {
    const database = this.#database ?? (await this.#start())
    if (database === undefined) return
    let end = 0
    while (this.#unread.length >= end + 5) {
      const next = end + 1 + this.#unread.readInt32BE(end + 1)
      if (next > this.#unread.length || this.#unread[end] === 0x58) break
      end = next
    }
    if (end === 0) return
    const whole = this.#unread.subarray(0, end)
    this.#unread = this.#unread.subarray(end)
    this.push(await this.#execute(database, whole))
  }

  /** Responds to the startup message. Returns the database once that is done. */
  async #start(): Promise<PGlite | undefined> {
    if (this.#unread.length < 8 || this.#unread.length < this.#unread.readInt32BE(0)) return undefined
    const code = this.#unread.readInt32BE(4)
    this.#unread = this.#unread.subarray(this.#unread.readInt32BE(0))
    if (code === sslRequest) this.push("N")
    else if (code === cancelRequest) this.push(null)
    else {
      const database = await this.#running.get()
      for (const part of this.#reset) await this.#execute(database, part)
      this.push(greeting)
      this.#database = database
    }
    return this.#database
  }

  /** One at a time, because connections may overlap. Streams, because `execProtocolRaw` keeps every parsed row. */
  async #execute(database: PGlite, messages: Uint8Array): Promise<Uint8Array> {
    if (performance.now() - this.#turnedAt > maxTurnMs) {
      await setImmediate()
      this.#turnedAt = performance.now()
    }
    const parts: Array<Buffer> = []
    // `part` is a view of the database's memory, which the next statement overwrites.
    const onRawData = (part: Uint8Array) => void parts.push(Buffer.from(part))
    try {
      await database.runExclusive(() => database.execProtocolRawStream(messages, { onRawData }))
    } catch (error) {
      await this.#running.abandon(database, error)
      throw error
    }
    return Buffer.concat(parts)
  }
}
