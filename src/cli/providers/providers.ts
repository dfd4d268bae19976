import { Duration, Effect } from "effect"
import { Command } from "effect/cli"
import { type Capabilities, type Codes, toJson } from "../../domain/search/Capabilities.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import { namesOf } from "../../services/providers/Provider.ts"
import { ProviderStates } from "../../services/providers/ProviderStates.ts"
import { AppConfig } from "../../settings/Settings.ts"
import { writesNothing } from "../effects.ts"
import type { CommandLayers } from "../layers.ts"
import { CommandFailed, print, table } from "../Output.ts"

/** A search with results on every engine. */
const request: SearchRequest = {
  target: "alpha_search",
  query: "web search",
  geo: "us",
  locale: "en-us",
  page: 1,
  num: 10,
  safe: "off",
  source: undefined
}

const codes = (one: string, many: string, known: Codes): string => {
  if (known === "none") return `no ${one}`
  return known === "any" ? `any ${one}` : `${known.length} ${many}`
}

const paging = (paging: Capabilities["paging"]): string => {
  if (paging.kind === "first") return `first ${paging.maxRows} rows`
  const pages = paging.maxPages === undefined ? "" : `, ${paging.maxPages} pages`
  return paging.kind === "fixed" ? `pages of ${paging.pageSize}${pages}` : `pages up to ${paging.maxPageSize}${pages}`
}

const serves = (it: Capabilities | undefined): string =>
  it === undefined
    ? "everything"
    : [
        paging(it.paging),
        `safe ${it.safe.join("/")}`,
        codes("country", "countries", it.countries),
        codes("language", "languages", it.languages)
      ].join("; ")

const check = Command.make(
  "check",
  {},
  Effect.fn(function* () {
    const { providerTimeout } = yield* AppConfig
    const states = yield* ProviderStates
    const checks = yield* states.check(request, Duration.toMillis(providerTimeout))
    const failed = checks.filter(({ refusal }) => refusal !== undefined).length
    yield* print(
      {
        ok: failed === 0,
        providers: checks.map((it) => ({
          ...namesOf(it.state),
          ok: it.refusal === undefined,
          rows: it.rows ?? null,
          ms: it.durationMs,
          refusal: it.refusal === undefined ? null : { reason: it.refusal.reason, message: it.refusal.message },
          serves: it.state.capabilities === undefined ? null : toJson(it.state.capabilities)
        }))
      },
      table([
        ["PROVIDER", "ENGINE", "RESULT", "ROWS", "MS", "SERVES"],
        ...checks.map((it) => [
          namesOf(it.state).provider,
          namesOf(it.state).engine ?? "-",
          it.refusal === undefined ? "ok" : `${it.refusal.reason} (${it.refusal.message})`,
          `${it.rows ?? "-"}`,
          `${it.durationMs}`,
          serves(it.state.capabilities)
        ])
      ])
    )
    if (failed > 0) {
      return yield* new CommandFailed({ message: `${failed} of ${checks.length} providers gave no answer.` })
    }
  })
).pipe(Command.withDescription("Run one live search on every provider and engine"))

export const providers = <E, R>(layers: CommandLayers<E, R>) =>
  Command.make("providers").pipe(
    Command.withDescription("Check the providers behind the targets"),
    Command.withSubcommands([check.pipe(writesNothing, Command.provide(layers.providers))])
  )
