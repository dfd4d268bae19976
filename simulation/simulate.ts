import { Cause, Effect, Metric } from "effect"
import { Auditor, Broken } from "./Auditor.ts"
import { Agenda } from "./customers/Agenda.ts"
import { live, peopleOf } from "./customers/Customers.ts"
import { operator } from "./customers/Operator.ts"
import { Payments } from "./customers/Payments.ts"
import { dayMs, type Options, startAt, World } from "./World.ts"
import { faults } from "./world/Faults.ts"

export interface Report {
  readonly options: Options
  readonly digest: string
  readonly events: number
  readonly lines: number
  readonly requests: number
  readonly tail: ReadonlyArray<string>
  readonly checks: ReadonlyMap<string, number>
  readonly failure: string | undefined
}

/** Loads the database only if it is used, because the in-memory store starts faster without it. */
const openDatabase = async (agenda: Agenda) => (await import("./store/Database.ts")).Database.open(agenda)

/** Runs one simulation until its end or the first broken promise. */
export const simulate = async (options: Options): Promise<Report> => {
  // Loaded before time starts. Otherwise a replica would load it with the first request of an agent.
  await import("../src/mcp/ProtocolServer.ts")
  // Creates the process's registry of metrics now, so that it does not count as a replica's collection.
  Effect.runSync(Metric.snapshot)
  const auditor = new Auditor()
  const agenda = new Agenda(startAt)
  const database = options.store === "embedded" ? await openDatabase(agenda) : undefined
  const world = new World(options, auditor, agenda, database)
  auditor.attach(world)
  const { trace } = world
  let failure: string | undefined
  const fail = (cause: unknown) => {
    const error = Cause.isCause(cause) ? Cause.squash(cause) : cause
    failure ??=
      error instanceof Broken ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
  const people = peopleOf(world, auditor)
  const payments = new Payments(world, auditor)
  world.act(payments.year, fail)
  world.act(operator(world, auditor, people), fail)
  for (const person of people) world.act(live(person, payments), fail)
  const every = (ms: number, look: () => void): void => {
    agenda.after(ms, () => {
      world.store.onceQuiet(look)
      every(ms, look)
    })
  }
  every(600_000, () => {
    auditor.resolve()
    if (world.isCalm) auditor.judgeHolds()
  })
  every(dayMs, () => auditor.compare())
  // The sweeps of midnight have finished by then.
  agenda.after(2_400_000, () => every(dayMs, () => payments.judge(people)))
  every(dayMs, () => world.events.judge())
  options.script?.(world)
  if (options.faults) world.act(faults(world, auditor), fail)
  const maxEvents = options.maxEvents ?? Number.POSITIVE_INFINITY
  try {
    await agenda.runUntil(world.endAt, () => {
      if (auditor.broken !== undefined) fail(auditor.broken)
      return failure === undefined && agenda.count < maxEvents
    })
  } catch (error) {
    fail(error)
  }
  await database?.close()
  return {
    options,
    digest: trace.digest(),
    events: agenda.count,
    lines: trace.count,
    requests: auditor.checks.get("R2 X-Request-Id") ?? 0,
    tail: trace.tail,
    checks: auditor.checks,
    failure
  }
}
