import { Context, Data, Effect } from "effect"

export interface Files {
  readonly script: string
  readonly style: string
}

export class DashboardUnavailable extends Data.TaggedError("DashboardUnavailable")<{ readonly message: string }> {}

export const DashboardFiles = Context.Reference<Effect.Effect<Files, DashboardUnavailable>>(
  "quarry/services/DashboardFiles",
  {
    defaultValue: () => Effect.fail(new DashboardUnavailable({ message: "The dashboard is not part of this process." }))
  }
)
