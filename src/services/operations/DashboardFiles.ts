import { Context, Data, Effect } from "effect"

/** Built from `src/dashboard/`. */
export interface Files {
  /** The text of each file by its name, which contains a hash of the text. */
  readonly texts: ReadonlyMap<string, string>
  readonly script: string
  /** Scripts that `script` imports. All other scripts load when a page needs them. */
  readonly imports: ReadonlyArray<string>
  readonly style: string
}

/** The files cannot be built on this machine. The message is for the operator. */
export class DashboardUnavailable extends Data.TaggedError("DashboardUnavailable")<{ readonly message: string }> {}

const notPart = Effect.fail(new DashboardUnavailable({ message: "The dashboard is not part of this process." }))

/** Built once per process. Without a layer there is no dashboard. */
export const DashboardFiles = Context.Reference<Effect.Effect<Files, DashboardUnavailable>>(
  "quarry/references/DashboardFiles",
  { defaultValue: () => notPart }
)

/** Of the operator's console. A separate bundle, so that the customers' scripts have nothing of it. */
export const ConsoleFiles = Context.Reference<Effect.Effect<Files, DashboardUnavailable>>(
  "quarry/references/ConsoleFiles",
  { defaultValue: () => notPart }
)
