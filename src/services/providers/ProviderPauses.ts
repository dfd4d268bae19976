import { Context, type Effect } from "effect"
import type { PausedProvider } from "../../domain/providers/pauses.ts"

export interface ProviderPause extends PausedProvider {
  readonly engine: string | undefined
  /** The operator. */
  readonly by: string
  readonly reason: string
  /** Unix milliseconds of the database's clock. */
  readonly since: number
}

/** Providers that operators have paused. Each replica reads them with its heartbeat. */
export class ProviderPauses extends Context.Service<
  ProviderPauses,
  {
    /** By name. */
    readonly all: Effect.Effect<ReadonlyArray<ProviderPause>>
    /** Pausing again replaces the reason and keeps the time. */
    readonly pause: (pause: Omit<ProviderPause, "since">) => Effect.Effect<ProviderPause>
    /** Without an engine, also ends the pauses of the provider's engines. Returns the pauses that ended. */
    readonly resume: (provider: PausedProvider) => Effect.Effect<ReadonlyArray<ProviderPause>>
  }
>()("quarry/services/providers/ProviderPauses") {}
