import { Context, Data, Effect } from "effect"

/** Built from `src/dashboard/`. */
export interface Files {
  readonly script: string
  readonly style: string
}

/** The files cannot be built on this machine. The message is for the operator. */
export class DashboardUnavailable extends Data.TaggedError("DashboardUnavailable")<{ readonly message: string }> {}

/** Built once per process. Without a layer there is no dashboard. */
export const DashboardFiles = Context.Reference<Effect.Effect<Files, DashboardUnavailable>>(
  "quarry/services/operations/DashboardFiles",
  {
    defaultValue: () => Effect.fail(new DashboardUnavailable({ message: "The dashboard is not part of this process." }))
  }
)
