import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { PausedProvider } from "../../domain/providers/pauses.ts"
import { namesOf } from "../../domain/providers/providerNames.ts"
import type { Capabilities, Codes } from "../../domain/search/Capabilities.ts"
import { QueryText } from "../../domain/search/SearchRequest.ts"
import { cutCodePoints } from "../../domain/text.ts"
import { pauseProvider, resumeProvider } from "../../services/operations/acts/providers.ts"
import { pauseJson } from "../../services/operations/views/engineJson.ts"
import { checkedSearch, checkProviders, checksJson } from "../../services/providers/checkProviders.ts"
import { ProviderPauses } from "../../services/providers/ProviderPauses.ts"
import {
  type MissingPath,
  ProviderTrials,
  type ShownRequest,
  type Trial
} from "../../services/providers/ProviderTrials.ts"
import { writesMore, writesNothing } from "../effects.ts"
import type { CommandLayers } from "../layers.ts"
import { CommandFailed, print, section, table, time, withoutControls } from "../Output.ts"
import { actCommand } from "../operations/actCommand.ts"
import { actFlags } from "../operations/actFlags.ts"

const codes = (one: string, many: string, known: Codes): string => {
  if (known === "none") return `no ${one}`
  return known === "any" ? `any ${one}` : `${known.length} ${many}`
}

const paging = (paging: Capabilities["paging"]): string => {
  if (paging.kind === "first") return `first ${paging.maxRows} rows`
  const pages = paging.maxPages === undefined ? "" : `, ${paging.maxPages} pages`
  return paging.kind === "fixed" ? `pages of ${paging.pageSize}${pages}` : `pages up to ${paging.maxPageSize}${pages}`
}

const serves = (capabilities: Capabilities | undefined): string =>
  capabilities === undefined
    ? "everything"
    : [
        paging(capabilities.paging),
        `safe ${capabilities.safe.join("/")}`,
        codes("country", "countries", capabilities.countries),
        codes("language", "languages", capabilities.languages)
      ].join("; ")

const check = Command.make(
  "check",
  {},
  Effect.fn(function* () {
    const checks = yield* checkProviders
    const failed = checks.filter(({ refusal }) => refusal !== undefined).length
    yield* print(
      checksJson(checks),
      table([
        ["PROVIDER", "ENGINE", "RESULT", "ROWS", "MS", "SERVES"],
        ...checks.map((check) => [
          namesOf(check.state).provider,
          namesOf(check.state).engine ?? "-",
          check.refusal === undefined ? "ok" : `${check.refusal.reason} (${check.refusal.message})`,
          `${check.rows ?? "-"}`,
          `${check.durationMs}`,
          serves(check.state.capabilities)
        ])
      ])
    )
    if (failed > 0) {
      return yield* new CommandFailed({ message: `${failed} of ${checks.length} providers gave no answer.` })
    }
  })
).pipe(Command.withDescription("Run one live search on every provider and engine"))

const shownRequest = ({ body, headers, method, url }: ShownRequest): ReadonlyArray<string> => [
  `${method} ${url}`,
  ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ...(body === null ? [] : [JSON.stringify(body)])
]

const missingLine = ({ found, member, members, path }: MissingPath): string => {
  const place = found === "" ? (member === "response.rows" ? "The response" : "A row") : found
  const there = members.length === 0 ? "has no members" : `has: ${members.join(", ")}`
  return `${member}: "${path}" finds nothing. ${place} ${there}.`
}

const outcomeLine = ({ durationMs, refusal, rows, status }: Trial): string => {
  const response = status === undefined ? "No response" : `Status ${status}`
  const end = refusal === undefined ? `${rows.length} rows` : `${refusal.reason} (${refusal.message})`
  return `${response} after ${durationMs} ms: ${end}`
}

const trialLines = (trial: Trial): ReadonlyArray<string> => [
  ...shownRequest(trial.request),
  "",
  outcomeLine(trial),
  ...section(
    ["TITLE", "URL", "PUBLISHED"],
    trial.rows.map(({ published, title, url }) => [cutCodePoints(title, 60), url, published ?? "-"])
  ),
  ...(trial.missing.length === 0 ? [] : ["", ...trial.missing.map(missingLine)])
]

const tryProvider = Command.make(
  "try",
  {
    name: Argument.String("name").pipe(Argument.withDescription("A provider of the type http in the provider file")),
    query: Flag.String("query").pipe(Flag.withSchema(QueryText), Flag.withDescription("What to search for"))
  },
  Effect.fn(function* ({ name, query }) {
    const trials = yield* ProviderTrials
    const trial = yield* trials.run(name, { ...checkedSearch, query })
    const { durationMs, missing, refusal, rows, status } = trial
    const isOk = refusal === undefined && missing.every(({ member }) => member !== "response.rows")
    yield* print(
      {
        ok: isOk,
        provider: name,
        request: trial.request,
        status: status ?? null,
        ms: durationMs,
        refusal: refusal === undefined ? null : { reason: refusal.reason, message: refusal.message },
        rows,
        missing
      },
      trialLines(trial).map(withoutControls)
    )
    if (!isOk) return yield* new CommandFailed({ message: `${name} gave no usable answer.` })
  })
).pipe(Command.withDescription("Send one search to a described provider, and show what it sends and finds"))

const nameOf = ({ engine, provider }: PausedProvider) => (engine === undefined ? provider : `${provider}/${engine}`)

const pause = actCommand("pause", "Let searches skip a provider or an engine until it is resumed", {
  flags: actFlags["providers pause"],
  act: pauseProvider,
  show: (pause) => print(pauseJson(pause), [`Paused ${nameOf(pause)}. Every replica skips it within 5 seconds.`])
})

const resume = actCommand("resume", "Let searches use a paused provider or engine again", {
  flags: actFlags["providers resume"],
  act: resumeProvider,
  show: (ended) => print({ resumed: ended.map(pauseJson) }, [`Resumed ${ended.map(nameOf).join(", ")}.`])
})

const listPaused = Command.make(
  "paused",
  {},
  Effect.fn(function* () {
    const all = yield* Effect.flatMap(ProviderPauses, (pauses) => pauses.all)
    yield* print(
      { paused: all.map(pauseJson) },
      table([
        ["PROVIDER", "ENGINE", "SINCE", "BY", "REASON"],
        ...all.map(({ by, engine, provider, reason, since }) => [
          provider,
          engine ?? "-",
          time(since) ?? "",
          by,
          reason
        ])
      ])
    )
  })
).pipe(Command.withDescription("List paused providers"))

export const providers = <E, R>(layers: CommandLayers<E, R>) =>
  Command.make("providers").pipe(
    Command.withDescription("Check and pause the providers behind the targets"),
    Command.withSubcommands([
      check.pipe(writesNothing, Command.provide(layers.providers)),
      tryProvider.pipe(writesNothing, Command.provide(layers.trials)),
      pause.pipe(writesMore, Command.provide(layers.storage)),
      resume.pipe(writesMore, Command.provide(layers.storage)),
      listPaused.pipe(writesNothing, Command.provide(layers.reading))
    ])
  )
