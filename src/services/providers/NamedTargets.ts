import { Context, Effect, Layer } from "effect"
import type { TargetLabels } from "../../domain/search/TargetLabels.ts"
import { Providers } from "./Providers.ts"

/** The operator's names for targets (R73), for documents and descriptions. */
export const NamedTargets = Context.Reference<TargetLabels>("quarry/services/NamedTargets", {
  defaultValue: () => ({})
})

export const layer: Layer.Layer<never, never, Providers> = Layer.effect(
  NamedTargets,
  Effect.map(Providers, ({ labels }) => labels)
)
