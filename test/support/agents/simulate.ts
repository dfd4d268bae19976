import { assert } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { Chance } from "../../../simulation/world/Chance.ts"
import * as Apps from "../accounts/Apps.ts"
import { makeEmail } from "../api/searches.ts"
import { makeWorld, type World } from "./AgentWorld.ts"

/** A refresh token that the program had, and between which times it was first used, if it was. */
interface Token {
  readonly pair: Apps.Tokens
  readonly issuedAt: number
  firstUse: { readonly began: number; readonly ended: number } | undefined
}

/** One sign-in: all tokens that came from it. */
interface Family {
  readonly tokens: Array<Token>
  /** Why none of its tokens may work any more. */
  endedBy: string | undefined
}

/** One program of one person, with what it keeps on disk. */
interface Program {
  readonly name: string
  readonly email: string
  readonly accountId: string
  readonly personId: string
  app: string
  appUsedAt: number
  family: Family
  /** The token store that all windows of the program share. */
  current: Token
  issuedAt: number
  readonly pastFamilies: Array<Family>
}

export interface Report {
  readonly calls: number
  readonly refreshes: number
  readonly repeats: number
  readonly signIns: number
  readonly endings: ReadonlyMap<string, number>
}

const accessMs = Duration.toMillis(Duration.hours(1))
const refreshMs = Duration.toMillis(Duration.days(30))
const registrationMs = Duration.toMillis(Duration.days(90))
/** Uses of a registration are recorded once an hour, and time passes while requests run. */
const slackMs = Duration.toMillis(Duration.hours(2))
const repeatMs = 60_000

const signIn = Effect.fnUntraced(function* (world: World, email: string, app: string) {
  const browser = world.makeBrowser()
  yield* browser.signIn(world.site, email)
  const { redeem } = yield* Apps.makeCode(world.site, browser, app)
  const answer = yield* redeem()
  assert.strictEqual(answer.status, 200, answer.text)
  return Apps.tokensOf(answer)
})

const makeProgram = Effect.fnUntraced(function* (world: World, index: number) {
  const email = yield* makeEmail
  const { json } = yield* world.makeBrowser().signUp(world.site, email)
  const [row] = yield* world.sql<{ id: string }>`select account_id as id from members where user_id = ${json.user.id}`
  const accountId = row?.id ?? assert.fail("no account")
  yield* world.sql`update wallets set balance = 1000000 where account_id = ${accountId}`
  const app = yield* Apps.makeApp(world.site)
  const pair = yield* signIn(world, email, app)
  const now = yield* world.now
  const current: Token = { pair, issuedAt: now, firstUse: undefined }
  const program: Program = {
    name: `program ${index}`,
    email,
    accountId,
    personId: String(json.user.id),
    app,
    appUsedAt: now,
    family: { tokens: [current], endedBy: undefined },
    current,
    issuedAt: now,
    pastFamilies: []
  }
  return program
})

/** Lives through random days of programs. Fails at the first connection that ends without a reason. */
export const simulate = Effect.fnUntraced(function* (options: {
  readonly seed: number
  readonly days: number
  readonly programs: number
}) {
  const world = yield* makeWorld
  const chance = new Chance(`agents ${options.seed}`)
  const programs: Array<Program> = []
  for (let index = 0; index < options.programs; index++) programs.push(yield* makeProgram(world, index))
  const counts = { calls: 0, refreshes: 0, repeats: 0, signIns: 0 }
  const charged = new Map<string, number>()
  const endings = new Map<string, number>()
  const random = (limit: number) => chance.int() % limit

  const search = Effect.fnUntraced(function* ({ accountId, current }: Program) {
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "web_search", arguments: { query: "css grid", num: "2", geo: null } }
    })
    const headers = { authorization: `Bearer ${current.pair.access}`, "content-type": "application/json" }
    const request = new Request(`${world.site.baseUrl}/mcp`, { method: "POST", headers, body })
    const { status } = yield* world.site.routes.handle(request, "192.0.2.9")
    if (status === 200) charged.set(accountId, (charged.get(accountId) ?? 0) + 1)
    if (status === 200) counts.calls++
    return status
  })

  const end = (program: Program, reason: string) => {
    if (program.family.endedBy !== undefined) return
    program.family.endedBy = reason
    endings.set(reason, (endings.get(reason) ?? 0) + 1)
  }

  /** Registers again where the registration is over, and signs in. */
  const reconnect = Effect.fnUntraced(function* (program: Program) {
    const now = yield* world.now
    const probe = yield* Apps.refresh(world.site, program.app, "quarry_rt_nothing")
    const isKnown = probe.json.error === "invalid_grant"
    if (!isKnown) {
      assert.deepStrictEqual([probe.status, probe.json.error], [401, "invalid_client"])
      assert.isAbove(now - program.appUsedAt, registrationMs, `${program.name}: its registration ended early`)
      program.app = yield* Apps.makeApp(world.site)
    } else {
      assert.isBelow(now - program.appUsedAt, registrationMs + slackMs, `${program.name}: its registration is too old`)
    }
    program.pastFamilies.push(program.family)
    const pair = yield* signIn(world, program.email, program.app)
    program.issuedAt = program.appUsedAt = yield* world.now
    program.current = { pair, issuedAt: program.issuedAt, firstUse: undefined }
    program.family = { tokens: [program.current], endedBy: undefined }
    counts.signIns++
  })

  /** Uses a token, as often as windows and retries do at once. */
  const refresh = Effect.fnUntraced(function* (program: Program, token: Token, times: number) {
    const now = yield* world.now
    const { app, family } = program
    const { firstUse } = token
    const isRepeat = firstUse !== undefined
    // An expired token is unknown, so using it says nothing of its family.
    const isExpired = now - token.issuedAt > refreshMs
    const isLate = !isExpired && firstUse !== undefined && now - firstUse.ended > repeatMs
    if (isLate) end(program, "a token was used again late")
    const answers = yield* Effect.all(
      Array.from({ length: times }, () => Apps.refresh(world.site, app, token.pair.refresh)),
      { concurrency: "unbounded" }
    )
    counts.refreshes += times
    // Any request of a registered app counts as its use.
    if (answers.some(({ status }) => status !== 401)) program.appUsedAt = now
    if (isRepeat || times > 1) counts.repeats += isRepeat ? times : times - 1
    const ended = yield* world.now
    // The minute may pass while the requests run. Then either outcome is right.
    const mayBeLate = !isExpired && !isLate && firstUse !== undefined && ended - firstUse.began > repeatMs
    if (mayBeLate && answers.some(({ status }) => status !== 200)) {
      end(program, "a token was used again late")
      return false
    }
    if (now - program.issuedAt > refreshMs) end(program, "30 days without use")
    if (family.endedBy !== undefined || isExpired) {
      for (const { json, status, text } of answers) {
        assert.include([400, 401], status, `${program.name}: works after ${family.endedBy}: ${text}`)
        assert.include(["invalid_grant", "invalid_client"], json.error)
      }
      return false
    }
    token.firstUse ??= { began: now, ended }
    for (const answer of answers) {
      assert.strictEqual(answer.status, 200, `${program.name} lost its connection without a reason: ${answer.text}`)
      family.tokens.push({ pair: Apps.tokensOf(answer), issuedAt: now, firstUse: undefined })
    }
    // Windows overwrite each other in the shared store, so any of the new tokens is kept.
    program.current = family.tokens[family.tokens.length - 1 - random(times)] ?? token
    program.issuedAt = now
    return true
  })

  const call = Effect.fnUntraced(function* (program: Program) {
    const status = yield* search(program)
    if (status === 200)
      return assert.isUndefined(program.family.endedBy, `${program.name}: a token works after its end`)
    assert.strictEqual(status, 401)
    const isFresh = (yield* world.now) - program.issuedAt < accessMs - repeatMs
    if (isFresh) assert.isDefined(program.family.endedBy, `${program.name}: its token ended early`)
    const token = program.current
    if (!(yield* refresh(program, token, [1, 1, 1, 4, 2][random(5)] ?? 1))) return yield* reconnect(program)
    if (random(4) === 0) {
      // The answer was lost, or another window still has the token.
      yield* world.advance(Duration.seconds(random(30)))
      yield* refresh(program, token, 1 + random(2))
    }
    assert.strictEqual(yield* search(program), 200)
  })

  /** Someone else uses a token of the program's past. */
  const steal = Effect.fnUntraced(function* (program: Program) {
    const used = program.family.tokens.filter(({ firstUse }) => firstUse !== undefined)
    const token = used[random(Math.max(1, used.length))]
    if (token !== undefined) yield* refresh(program, token, 1)
  })

  const leave = Effect.fnUntraced(function* (program: Program) {
    if (random(2) === 0) {
      yield* Effect.ignore(world.disconnect(program, program.app))
      return end(program, "the person disconnected the program")
    }
    const browser = world.makeBrowser()
    yield* browser.signIn(world.site, program.email)
    yield* browser.post(world.site, "/revoke-sessions", {})
    end(program, "the person signed out everywhere")
  })

  /** No token of a family that has ended works, in any order. */
  const checkEnded = Effect.fnUntraced(function* (program: Program) {
    for (const { endedBy, tokens } of program.pastFamilies.splice(0)) {
      if (endedBy === undefined) continue
      for (const { pair } of [tokens[0], tokens.at(-1), tokens[random(tokens.length)]].flatMap((it) => it ?? [])) {
        const { status } = yield* Apps.refresh(world.site, program.app, pair.refresh)
        assert.include(
          [400, 401],
          status,
          `${program.name}: a refresh token works after its family ended by ${endedBy}`
        )
        if (status === 400) program.appUsedAt = yield* world.now
      }
    }
  })

  for (let day = 0; day < options.days; day++) {
    yield* world.sql`delete from auth_rate_limits`
    for (const program of programs) {
      const choice = random(200)
      if (choice < 24) yield* call(program)
      else if (choice === 24) yield* leave(program)
      else if (choice === 25) yield* steal(program)
      else if (choice === 26) yield* checkEnded(program)
      yield* world.advance(Duration.minutes(random(90)))
    }
    if (random(30) === 0) yield* world.restart
    // A program that sleeps for months.
    if (random(60) === 0) yield* world.advance(Duration.days(20 + random(80)))
    yield* world.advance(Duration.hours(random(24)))
  }

  for (const { accountId } of programs) {
    const [row] = yield* world.sql<{ charged: number }>`
      select coalesce(sum(credits), 0)::integer as charged from queries where account_id = ${accountId}`
    assert.strictEqual(row?.charged, charged.get(accountId) ?? 0, "credits are exact")
  }
  return { ...counts, endings } satisfies Report
})
