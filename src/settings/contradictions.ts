import { type Values, variableOf } from "./table.ts"

/** Settings that mean nothing without each other. */
const pairs = [
  ["googleClientId", "googleClientSecret"],
  ["githubClientId", "githubClientSecret"],
  ["smtpUrl", "emailFrom"]
] as const

const halfPairs = (values: Values): ReadonlyArray<string> =>
  pairs.flatMap(([one, other]) => {
    if ((values[one] === undefined) === (values[other] === undefined)) return []
    const [set, unset] = values[one] === undefined ? [other, one] : [one, other]
    return [`${variableOf(unset)}: not set; ${variableOf(set)} requires it.`]
  })

/** The replicas of one database must have the same secrets, so that they cannot be made at the start. */
const missingSecrets = (values: Values): ReadonlyArray<string> =>
  values.databaseUrl === undefined
    ? []
    : (["authSecret", "keyPepper"] as const)
        .filter((name) => values[name] === undefined)
        .map(
          (name) =>
            `${variableOf(name)}: not set; DATABASE_URL requires it, the same for every replica. Make one: openssl rand -base64 32`
        )

const samePort = ({ adminHost, adminPort, host, port }: Values): ReadonlyArray<string> =>
  port === adminPort && host === adminHost
    ? [`ADMIN_PORT: got ${adminPort}, which is PORT too; takes another port.`]
    : []

/** The faults that no variable shows alone, one line each. */
export const contradictions = (values: Values): ReadonlyArray<string> => [
  ...missingSecrets(values),
  ...halfPairs(values),
  ...samePort(values)
]
