import { Effect } from "effect"
import type { Auditor } from "../Auditor.ts"
import { dayMs, rushMs, rushStartMs, type World } from "../World.ts"
import { agentSearch } from "../world/Tools.ts"
import {
  acrossQuota,
  atTheEdge,
  batch,
  burst,
  keyedBatch,
  keyedSearch,
  leaveAndReturn,
  mistake,
  rotate,
  search,
  stream,
  whoAmI
} from "./Habits.ts"
import { useBounded } from "./KeyHabits.ts"
import { keyedPage, readPage, readPages } from "./PageHabits.ts"
import type { Payments } from "./Payments.ts"
import { type Kind, Person } from "./Person.ts"

type Habit = (me: Person) => Effect.Effect<void>

const askWho: Habit = (me) => whoAmI(me)
const webhooks: Habit = (me) => me.world.events.act(me)
const inPart: Habit = (me) => stream(me)

/** Relative frequency of each habit. Rare events are more frequent here than in reality. */
const habits: ReadonlyArray<readonly [number, Habit]> = [
  [56, search],
  [8, keyedSearch],
  [7, batch],
  [6, inPart],
  [7, acrossQuota],
  [5, burst],
  [1, atTheEdge],
  [4, mistake],
  [3, askWho],
  [3, rotate],
  [3, useBounded],
  [3, keyedBatch],
  [2, agentSearch],
  [3, webhooks],
  [5, readPage],
  [2, keyedPage],
  [4, readPages]
]
const total = habits.reduce((sum, [share]) => sum + share, 0)

const pickHabit = (me: Person): Habit => {
  let draw = me.chance.between(1, total)
  for (const [share, habit] of habits) {
    draw -= share
    if (draw <= 0) return me.kind === "demo" || me.kind === "marketplace" ? inPublic(habit) : habit
  }
  return search
}

/** Habits that need a session or a key. */
const ofAccounts: ReadonlySet<Habit> = new Set([
  rotate,
  askWho,
  keyedSearch,
  useBounded,
  keyedBatch,
  agentSearch,
  webhooks,
  readPage,
  keyedPage,
  readPages
])

/** Without a session or key, replaces habits that need one. */
const inPublic = (habit: Habit): Habit => (ofAccounts.has(habit) ? search : habit)

const kinds: ReadonlyArray<Kind> = [
  "custom",
  "custom",
  "custom",
  "buyer",
  "custom",
  "marketplace",
  "custom",
  "trial",
  "demo",
  "buyer"
]

/** Sleeps until the rush hour of a later day. */
export const untilVisit = (me: Person, meanDays: number) =>
  Effect.suspend(() => {
    const { now } = me.world.agenda
    const day = Math.floor(now / dayMs) + Math.ceil(me.chance.wait(meanDays * 1_000) / 1_000)
    const at = day * dayMs + rushStartMs + me.chance.between(0, rushMs)
    return Effect.sleep(Math.max(at - now, 0))
  })

/** Turns per visit, and the measured mean of requests per turn, which bursts increase. */
const turns = 4
const requestsOfTurn = 3.4

export const peopleOf = (world: World, auditor: Auditor): ReadonlyArray<Person> =>
  Array.from({ length: world.options.customers }, (_, index) => {
    const kind = kinds[index % kinds.length] ?? "custom"
    return new Person(world, auditor, `${kind}-${index + 1}`, kind)
  })

/** A customer who returns regularly and acts a few times per visit. */
export const live = (me: Person, payments: Payments): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { endAt, options, agenda } = me.world
    const meanDays = (365 * turns * requestsOfTurn) / options.requests
    while (agenda.now < endAt) {
      yield* untilVisit(me, meanDays)
      const count = me.chance.between(1, 2 * turns - 1)
      for (let turn = 0; turn < count; turn++) {
        yield* pickHabit(me)(me)
        yield* Effect.sleep(me.chance.wait(2_000))
      }
      if (me.kind === "buyer" && me.chance.isTrue(0.4)) yield* payments.act(me)
      if (me.kind === "trial" && me.chance.isTrue(0.05)) yield* leaveAndReturn(me)
    }
  })
