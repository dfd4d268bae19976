import { Context, Effect, Layer } from "effect"
import type { TargetLabels } from "../../domain/search/TargetLabels.ts"
import { Providers } from "./Providers.ts"

export const NamedTargets = Context.Reference<TargetLabels>("quarry/references/NamedTargets", {
  defaultValue: () => ({})
})

export const layer: Layer.Layer<never, never, Providers> = Layer.effect(
  NamedTargets,
  Effect.map(Providers, ({ labels }) => labels)
)
