import { Context } from "effect"

export interface ShownSetting {
  /** The variable. */
  readonly name: string
  /** Null if it is not set and has no default. Secrets are hidden. */
  readonly value: string | number | boolean | null
  readonly secret: boolean
  readonly source: "environment" | "default" | "data directory"
}

/** The settings in force in this process. */
export const SettingsList = Context.Reference<ReadonlyArray<ShownSetting>>("quarry/references/SettingsList", {
  defaultValue: () => []
})
