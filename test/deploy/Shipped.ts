import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Duration } from "effect"
import { Yaml } from "effect/encoding"
import { usualDrainDelay } from "../../src/settings/Settings.ts"
import { table, variableOf } from "../../src/settings/table.ts"

export const directory = fileURLToPath(new URL("../../deploy/", import.meta.url))

export const read = (path: string): string => readFileSync(directory + path, "utf8")

/** The content of a file of ours, as its reader declares it: each test that reads a field fails when it is not so. */
export const parseYaml = <A>(text: string): A => Yaml.parse(text) as A

/** The variables that Quarry reads. */
export const settings: ReadonlySet<string> = new Set(
  // Nothing adds keys to the table.
  (Object.keys(table) as Array<keyof typeof table>).map(variableOf)
)

/** The seconds that a replica may take to end, with the defaults. */
export const shutdownSeconds = Duration.toSeconds(table.shutdownGrace.fallback)

/** The connections of a Postgres with its own settings, without those for superusers. */
export const postgresConnections = 97

export const poolSize = table.databasePoolSize.fallback

export const drainDelaySeconds = Duration.toSeconds(usualDrainDelay)
