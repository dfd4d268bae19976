import { Duplex } from "node:stream"
import { PgClient } from "@effect/sql-pg"
import { PGlite } from "@electric-sql/pglite"
import { Cause, Context, Duration, Effect, Exit, Layer, References, Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, SqlConnection, SqlError } from "effect/sql"
import { rootCauseMessage } from "../../src/domain/rootCause.ts"
import * as Migrations from "../../src/layers/sql/Migrations.ts"
import { CheckRows } from "../../src/layers/sql/Rows.ts"
import { greeting } from "../../src/layers/sql/store/Pglite.ts"
import { commit } from "../../src/layers/sql/store/Postgres.ts"
import { limitedAcquirer, unprepared } from "../../src/layers/sql/store/StatementLimit.ts"
import { Agenda, clockOf, exitNow, machineContext } from "../customers/Agenda.ts"
import type { Link } from "../world/Network.ts"

/** Statement timeout as in the Postgres client: ten seconds, plus two for the server to report it. */
const statementLimit = Duration.seconds(12)

/**
 * The database's clock is a variable of its session, which is set to simulated time before each statement. Random ids
 * are counted. These functions precede those of Postgres in the search path, so the schema and the statements use them.
 * The counter is in a separate schema, so that no id is repeated after a failover.
 */
const simulatedFunctions = `
do $$ declare name text; begin
  create schema simulated;
  create sequence simulated.ids;
  create function public.gen_random_uuid() returns uuid language sql volatile as
    $f$ select md5('simulated ' || nextval('simulated.ids'))::uuid $f$;
  foreach name in array array['clock_timestamp', 'statement_timestamp', 'now'] loop
    execute format(
      'create function public.%I() returns timestamptz language sql volatile as
        $f$ select to_timestamp(current_setting(''simulated.now'')::numeric / 1000) $f$', name);
  end loop;
end $$`

/** Functions of `public` take precedence over those of Postgres. */
const searchPath = "set search_path = public, pg_catalog"

/** Everything that changes after the migrations. Documents do not. */
const changing = `
  select relname::text as name from pg_class
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
    and relname not like '%document%' and relname not in ('quarry_migrations', 'audit_entries') order by 1`
const sequences =
  "select c.oid::regclass::text as name from pg_class c where relkind = 'S' and relnamespace = 'public'::regnamespace"

const keep = `
do $$ declare t record; begin
  drop schema if exists kept cascade;
  create schema kept;
  create table kept.sequences (name text, value bigint, is_called boolean);
  for t in ${changing} loop
    execute format('create table kept.%I as table public.%I', t.name, t.name);
  end loop;
  for t in ${sequences} loop
    execute format('insert into kept.sequences select %L, last_value, is_called from %s', t.name, t.name);
  end loop;
end $$`

/** Disables triggers, because the restored rows already include their effects. */
const bringBack = `
do $$ declare t record; begin
  perform set_config('session_replication_role', 'replica', true);
  execute (select 'truncate ' || string_agg(format('public.%I', c.name), ', ') from (${changing}) as c);
  for t in ${changing} loop
    execute format('insert into public.%I overriding system value select * from kept.%I', t.name, t.name);
  end loop;
  perform setval(name::regclass, value, is_called) from kept.sequences;
end $$`

/** The client's end of the connection. Responds before a write returns, so that statements take no real time. */
class Wire extends Duplex {
  private readonly answer: (messages: Uint8Array) => Uint8Array
  private isStarted = false

  constructor(answer: (messages: Uint8Array) => Uint8Array) {
    super()
    this.answer = answer
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const answer = this.isStarted ? this.answer(chunk) : greeting
    this.isStarted = true
    this.emit("data", answer)
    done()
  }
}

type Answer = Exit.Exit<unknown, SqlError.SqlError>
type Statement = (connection: SqlConnection.Connection) => Effect.Effect<unknown, SqlError.SqlError>

/** Files of this process's first database, which others copy, because creating one takes seconds. */
let template: Blob | undefined

class Session {
  isOpen = true
  hasBegun = false
}

interface Waiting {
  readonly session: Session
  readonly statement: Statement
  readonly done: (answer: Answer | undefined) => void
}

/**
 * The embedded database on simulated time. Statements take no time, but the network does. There is a single session:
 * while one connection is in a transaction, the statements of all others wait.
 */
export class Database {
  /** Number of statements, which tells readers if their data may have changed. */
  count = 0
  private owner: Session | undefined
  private waiting: Array<Waiting> = []
  private isFrozen = false
  private status = "I"
  private toldAt = Number.NaN
  private readonly whenFree: Array<() => void> = []
  private readonly links = new Map<Link, Set<Session>>()
  private readonly pglite: PGlite
  private readonly agenda: Agenda
  private readonly loop = new Agenda(0)
  private readonly context: Context.Context<never>
  private readonly connection: SqlConnection.Connection

  private constructor(pglite: PGlite, agenda: Agenda) {
    this.pglite = pglite
    this.agenda = agenda
    this.context = machineContext(this.loop, clockOf(this.loop))
    const client = PgClient.layer({
      stream: () => new Wire((messages) => this.exchange(messages)),
      ssl: false,
      username: "postgres",
      database: "postgres",
      maxConnections: 1,
      idleTimeout: Duration.infinity
    })
    const reserved = Effect.flatMap(Layer.build(client), (context) => Context.get(context, SqlClient.SqlClient).reserve)
    this.connection = must(exitNow(this.loop, Scope.provide(reserved, Scope.makeUnsafe()), this.context))
  }

  /** Creates a database with the current schema at the agenda's time. */
  static async open(agenda: Agenda): Promise<Database> {
    const database = new Database(await PGlite.create(template === undefined ? {} : { loadDataDir: template }), agenda)
    database.rows(searchPath)
    if (template !== undefined) return database
    database.rows(simulatedFunctions)
    const migrate = Migrations.run.pipe(Effect.provide(database.clientAtOnce), Effect.scoped)
    const loop = new Agenda(agenda.now)
    must(
      exitNow(
        loop,
        migrate,
        machineContext(loop, clockOf(agenda)).pipe(Context.add(References.MinimumLogLevel, "None"))
      )
    )
    template = await database.pglite.dumpDataDir("none")
    return database
  }

  close(): Promise<void> {
    return this.pglite.close()
  }

  private exchange(messages: Uint8Array): Uint8Array {
    const now = this.agenda.now
    if (now !== this.toldAt && this.status !== "E") {
      this.pglite.execProtocolRawSync(simpleQuery(`select set_config('simulated.now', '${now}', false)`))
      this.toldAt = now
    }
    const answer = this.pglite.execProtocolRawSync(messages)
    const status = String.fromCharCode(answer[answer.length - 1] ?? 0)
    // Rolling back a transaction also resets the variable.
    if (status !== "I" || this.status !== "I") this.toldAt = Number.NaN
    this.status = status
    return answer
  }

  /** Reads rows as an observer, who never sees an open transaction. */
  rows(text: string): ReadonlyArray<Record<string, unknown>> {
    if (this.owner !== undefined) throw new Error("a transaction is open")
    return must(exitNow(this.loop, this.connection.executeUnprepared(text, [], undefined), this.context))
  }

  /** Calls as soon as no transaction is open. */
  onceFree(call: () => void): void {
    if (this.owner === undefined) call()
    else this.whenFree.push(call)
  }

  /** Runs a statement when it is its turn. The answer is undefined if the connection ends before that. */
  private run(session: Session, statement: Statement, done: (answer: Answer | undefined) => void): void {
    if (!session.isOpen && session.hasBegun) {
      done(undefined)
    } else if (this.isFrozen || (this.owner !== undefined && this.owner !== session)) {
      this.waiting.push({ session, statement, done })
    } else {
      done(this.runNow(statement, session))
      this.goOn()
    }
  }

  /** Runs a statement whose turn it is. */
  private runNow(statement: Statement, session: Session): Answer {
    if (this.owner !== undefined && this.owner !== session) throw new Error("a transaction is open")
    this.count++
    const answer = exitNow(this.loop, statement(this.connection), this.context)
    session.hasBegun = this.status !== "I"
    this.owner = session.hasBegun ? session : undefined
    // Otherwise a transaction of a disconnected client would never end.
    if (session.hasBegun && !session.isOpen) this.rollBack()
    return answer
  }

  private rollBack(): void {
    this.owner = undefined
    this.rows("rollback")
  }

  /** Runs waiting statements while the session is free. */
  private goOn(): void {
    if (this.owner !== undefined || this.isFrozen) return
    const next = this.waiting.shift()
    if (next !== undefined) this.run(next.session, next.statement, next.done)
    else for (const call of this.whenFree.splice(0)) call()
  }

  /** Ends a connection and rolls back its transaction. A single statement that is under way still arrives. */
  end(session: Session): void {
    session.isOpen = false
    if (this.owner !== session) return
    this.rollBack()
    this.goOn()
  }

  /** Ends all connections of a crashed machine. */
  left(link: Link): void {
    for (const session of this.links.get(link) ?? []) this.end(session)
    this.links.delete(link)
  }

  freeze(): void {
    this.isFrozen = true
  }

  /** Resumes. After a crash of the database, all connections are closed and waiting statements are lost. */
  thaw(isCrash: boolean): void {
    if (isCrash) this.endAll()
    this.isFrozen = false
    this.goOn()
  }

  private endAll(): void {
    for (const sessions of this.links.values()) for (const session of sessions) session.isOpen = false
    if (this.owner !== undefined) this.rollBack()
    for (const { done } of this.waiting.splice(0)) done(undefined)
  }

  /** Saves all rows. The returned function restores them. */
  snapshot(): () => void {
    this.rows(keep)
    return () => {
      this.endAll()
      this.count++
      this.rows(bringBack)
    }
  }

  /** A client without a network, which works even while the database is frozen for others. */
  get clientAtOnce(): Layer.Layer<SqlClient.SqlClient> {
    return clientOver(
      Effect.acquireRelease(
        Effect.sync(() => new Session()),
        (session) => Effect.sync(() => this.end(session))
      ).pipe(
        Effect.map((session) => connectionOver((statement) => Effect.suspend(() => this.runNow(statement, session))))
      )
    )
  }

  /** The client of a machine at the other end of a link. A connection ends at its first error. */
  clientOver(link: Link): Layer.Layer<SqlClient.SqlClient> {
    const open = Effect.sync(() => {
      const session = new Session()
      const sessions = this.links.get(link) ?? new Set()
      this.links.set(link, sessions.add(session))
      return session
    })
    const release = (session: Session) =>
      Effect.sync(() => {
        this.links.get(link)?.delete(session)
        this.end(session)
      })
    const acquirer = Effect.acquireRelease(open, release).pipe(
      Effect.map((session) => connectionOver((statement) => this.send(link, session, statement)))
    )
    return Layer.unwrap(Effect.map(limitedAcquirer(acquirer, statementLimit), clientOver))
  }

  private send(link: Link, session: Session, statement: Statement): Effect.Effect<unknown, SqlError.SqlError> {
    return Effect.callback<unknown, SqlError.SqlError>((resume) => {
      const { agenda } = this
      let isOver = false
      const end = (result: Effect.Effect<unknown, SqlError.SqlError>) => {
        if (isOver || link.isGone) return
        isOver = true
        resume(result)
      }
      const breakOff = () =>
        void agenda.after(link.noticeMs(), () => {
          this.end(session)
          end(Effect.fail(lost()))
        })
      const fate = session.isOpen ? link.fate() : "lost"
      if (fate === "lost") breakOff()
      else if (fate !== "half-open") {
        link.carry(() =>
          this.run(session, statement, (answer) => {
            if (answer === undefined || fate === "cut" || !link.isOpen) breakOff()
            else link.carry(() => end(answer))
          })
        )
      }
      return Effect.sync(() => {
        isOver = true
        this.end(session)
      })
    })
  }
}

const lost = (): SqlError.SqlError => {
  const cause = new Error("Connection closed")
  return new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ cause, message: cause.message, operation: "query" })
  })
}

const simpleQuery = (text: string): Uint8Array => {
  const body = Buffer.from(`${text}\0`)
  const head = Buffer.alloc(5)
  head.write("Q", 0, "latin1")
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const must = <A>(exit: Exit.Exit<A, unknown>): A => {
  if (Exit.isFailure(exit)) throw new Error(`this failed: ${rootCauseMessage(Cause.squash(exit.cause))}`)
  return exit.value
}

/** A connection whose statements run elsewhere, with the result types of its methods. */
const connectionOver = (
  send: (statement: Statement) => Effect.Effect<unknown, SqlError.SqlError>
): SqlConnection.Connection => {
  const there = <A>(statement: (connection: SqlConnection.Connection) => Effect.Effect<A, SqlError.SqlError>) =>
    // The cast is safe because the result belongs to this statement.
    send(statement) as Effect.Effect<A, SqlError.SqlError>
  return SqlConnection.Connection.of({
    execute: (...args) => there((it) => it.execute(...args)),
    executeRaw: (...args) => there((it) => it.executeRaw(...args)),
    executeStream: () => {
      throw new Error("Quarry runs no streams of rows")
    },
    executeValues: (...args) => there((it) => it.executeValues(...args)),
    executeValuesUnprepared: (...args) => there((it) => it.executeValuesUnprepared(...args)),
    executeUnprepared: (...args) => there((it) => it.executeUnprepared(...args))
  })
}

/** Makes a client of connections, as the server does for Postgres. */
const clientOver = (acquirer: SqlConnection.Acquirer): Layer.Layer<SqlClient.SqlClient> =>
  Layer.effect(
    SqlClient.SqlClient,
    SqlClient.make({
      acquirer,
      transactionAcquirer: Effect.map(acquirer, unprepared),
      compiler: PgClient.makeCompiler(),
      driver: "pg",
      spanAttributes: [],
      commit,
      releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`
    })
  ).pipe(Layer.provide(Reactivity.layer), Layer.provide(Layer.succeed(CheckRows, true)))
