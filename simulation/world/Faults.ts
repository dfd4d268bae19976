import { Effect } from "effect"
import type { Auditor } from "../Auditor.ts"
import { quiet } from "../store/Store.ts"
import { dayMs, rushMs, rushStartMs, type Slot, type World } from "../World.ts"
import type { Chance } from "./Chance.ts"
import type { Line, Weather } from "./Network.ts"
import { type Mood, moods } from "./Upstreams.ts"

/** Mean time between faults. */
const meanPauseMs = 1.5 * dayMs

const storm: Weather = { meanMs: 40, loss: 0.05, cut: 0.05, halfOpen: 0.01, duplicate: 0 }

/** Marks the world as broken until a fault is over. */
const lasting = (world: World, ms: number) => {
  world.brokenUntil = Math.max(world.brokenUntil, world.agenda.now + ms)
  return Effect.sleep(ms)
}

const during = (world: World, ms: number, begin: () => void, end: () => void) =>
  Effect.gen(function* () {
    begin()
    yield* lasting(world, ms)
    end()
  })

const closeLine = (world: World, line: Line, ms: number) =>
  during(
    world,
    ms,
    () => {
      line.isOpen = false
    },
    () => {
      line.isOpen = true
    }
  )

const badWeather = (world: World, line: Line, ms: number) => {
  const { weather } = line
  return during(
    world,
    ms,
    () => {
      line.weather = storm
    },
    () => {
      line.weather = weather
    }
  )
}

/** Maximum time that a crash waits for a request in progress. */
const crashPatienceMs = 120_000
const lookMs = 60

/** Crashes a replica, if possible during a request, which then leaves its hold behind. */
const crash = (world: World, slot: Slot, downMs: number) =>
  Effect.gen(function* () {
    const latestAt = world.agenda.now + crashPatienceMs
    while (slot.replica?.inFlight === 0 && world.agenda.now < latestAt) yield* Effect.sleep(lookMs)
    if (slot.replica?.state !== "serving") return
    slot.replica.crash()
    slot.replica = undefined
    world.wake("holds", 300_000)
    yield* lasting(world, downMs)
    world.start(slot)
    world.wake("holds", 300_000)
    world.wake("payments", 10_000)
  })

const stop = (world: World, slot: Slot, downMs: number) =>
  Effect.gen(function* () {
    const { replica } = slot
    // If it is already down, another fault will start it.
    if (replica?.state !== "serving") return
    yield* Effect.callback<void>((resume) => replica.stop(() => resume(Effect.void)))
    slot.replica = undefined
    yield* lasting(world, downMs)
    world.start(slot)
  })

const providerDown = (world: World, ms: number) => {
  const { state } = world.levers
  return during(
    world,
    ms,
    () => {
      state.isUp = false
    },
    () => {
      state.isUp = true
    }
  )
}

const freezing = (world: World, ms: number) =>
  during(
    world,
    ms,
    () => {
      world.store.isBusy = true
      world.store.freeze()
    },
    () => {
      world.store.isBusy = false
      world.store.thaw()
    }
  )

/**
 * The store crashes and fails over to a server that lacks its last writes. The model forgets them too: responses of
 * those moments may have been free, and everything written before is kept.
 */
const failOver = (world: World, auditor: Auditor, lostMs: number, downMs: number) =>
  Effect.gen(function* () {
    if (world.store.isBusy) return
    world.store.isBusy = true
    yield* quiet(world.store)
    const restore = [world.store.snapshot(), auditor.snapshot()]
    yield* lasting(world, lostMs)
    world.store.freeze()
    yield* lasting(world, downMs)
    for (const step of restore) step()
    world.epoch++
    world.store.thaw(true)
    world.store.isBusy = false
    world.wake("holds", 300_000)
    world.wake("payments", 10_000)
  })

/** The next fault: its description, and an effect that lasts as long as the fault. */
const next = (world: World, auditor: Auditor, chance: Chance): readonly [string, Effect.Effect<unknown>] => {
  const slot = chance.pick(world.slots)
  const seconds = (low: number, high: number) => chance.between(low, high) * 1_000
  const draw = chance.between(1, 100)
  if (draw <= 8) return [`${slot.name} crashes`, crash(world, slot, seconds(1, 600))]
  if (draw <= 12) return [`${slot.name} is stopped`, stop(world, slot, seconds(1, 60))]
  if (draw <= 22) return [`${slot.name} cannot reach the store`, closeLine(world, slot.lines.store, seconds(1, 180))]
  if (draw <= 30)
    return [`${slot.name} cannot reach the limiter`, closeLine(world, slot.lines.limiter, seconds(1, 600))]
  if (draw <= 38) return [`${slot.name} loses packets`, badWeather(world, slot.lines.store, seconds(60, 1_800))]
  if (draw <= 44) {
    const freeze = Effect.suspend(() => (world.store.isBusy ? Effect.void : freezing(world, seconds(1, 40))))
    return ["the store freezes", freeze]
  }
  if (draw <= 52) {
    return ["the store fails over", failOver(world, auditor, chance.between(100, 60_000), seconds(1, 20))]
  }
  if (draw <= 58) return ["the payment provider is down", providerDown(world, seconds(60, 20_000))]
  const mood = chance.pick(moods)
  const isOne = chance.isTrue(0.6)
  const upstreams = isOne ? [chance.pick(world.upstreams)] : world.upstreams
  const set = (it: Mood) => () => {
    for (const upstream of upstreams) upstream.mood = it
  }
  const what = `${isOne ? upstreams[0]?.name : "every upstream"} is ${mood}`
  return [what, during(world, seconds(60, isOne ? 20_000 : 900), set(mood), set("well"))]
}

/** Most faults occur at the busiest time, and a few at any time. */
const untilRush = (world: World, chance: Chance) =>
  Effect.suspend(() => {
    const at = world.agenda.now + chance.wait(meanPauseMs)
    if (chance.isTrue(0.1)) return Effect.sleep(at - world.agenda.now)
    const rush = Math.floor(at / dayMs) * dayMs + rushStartMs + chance.between(0, rushMs)
    return Effect.sleep(Math.max(rush - world.agenda.now, 1_000))
  })

/** Causes one fault after another until the simulation ends. */
export const faults = (world: World, auditor: Auditor): Effect.Effect<void> =>
  Effect.gen(function* () {
    const chance = world.chance("faults")
    while (world.agenda.now < world.endAt) {
      yield* untilRush(world, chance)
      const [what, fault] = next(world, auditor, chance)
      world.trace.add("fault", what)
      const over = Effect.sync(() => world.trace.add("fault", `${what}: over`))
      yield* Effect.forkChild(Effect.andThen(fault, over))
    }
  })
