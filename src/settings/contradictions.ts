import { Duration } from "effect"
import { isLoopbackHost } from "../domain/net/Network.ts"
import { type Values, variableOf } from "./table.ts"

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

const missingForSingleSignOn = (values: Values): ReadonlyArray<string> => {
  const { oidcClientId, oidcClientSecret, oidcDomains, oidcIssuer, oidcOnly } = values
  const set = [
    ...(oidcClientId === undefined ? [] : ["OIDC_CLIENT_ID"]),
    ...(oidcClientSecret === undefined ? [] : ["OIDC_CLIENT_SECRET"]),
    ...(oidcDomains.length === 0 ? [] : ["OIDC_DOMAINS"]),
    ...(oidcOnly ? ["OIDC_ONLY"] : [])
  ]
  if (oidcIssuer === undefined) return set.map((name) => `OIDC_ISSUER: not set; ${name} requires it.`)
  const missing = (["oidcClientId", "oidcClientSecret"] as const).filter((name) => values[name] === undefined)
  const others = oidcOnly ? (["googleClientId", "githubClientId"] as const).filter((name) => values[name]) : []
  return [
    ...missing.map((name) => `${variableOf(name)}: not set; OIDC_ISSUER requires it.`),
    ...others.map((name) => `${variableOf(name)}: set; OIDC_ONLY=true allows no other provider.`)
  ]
}

const compatSettings = ["compatKeylessAccount", "compatKeylessNetworks"] as const

/** Calls without a credential are accepted only from networks that the internet cannot reach (R43). */
const compatFaults = (values: Values): ReadonlyArray<string> => {
  const { compat, compatKeylessAccount, compatKeylessNetworks, host } = values
  const set = compatSettings.filter((name) => values[name] !== undefined)
  if (compat.length === 0) return set.map((name) => `COMPAT: not set; ${variableOf(name)} requires it.`)
  if (compatKeylessAccount === undefined) {
    return set.map((name) => `COMPAT_KEYLESS_ACCOUNT: not set; ${variableOf(name)} requires it.`)
  }
  return compatKeylessNetworks !== undefined || isLoopbackHost(host)
    ? []
    : [
        `COMPAT_KEYLESS_NETWORKS: not set; COMPAT_KEYLESS_ACCOUNT requires it because HOST is ${JSON.stringify(host)} and not this ` +
          "machine. Name the private networks of the clients, such as 172.16.0.0/12."
      ]
}

/** All replicas of a database share their secrets, so they cannot be generated at startup. */
const missingSecrets = (values: Values): ReadonlyArray<string> =>
  values.databaseUrl === undefined
    ? []
    : (["authSecret", "keyPepper"] as const)
        .filter((name) => values[name] === undefined)
        .map(
          (name) =>
            `${variableOf(name)}: not set; DATABASE_URL requires it, the same for every replica. Make one: openssl rand -base64 32`
        )

const products = ["polarProductStarter", "polarProductGrowth", "polarProductBusiness", "polarProductPack"] as const

/** A product identifies the plan that was bought, so each plan needs its own. */
const sameProducts = (values: Values): ReadonlyArray<string> =>
  products.flatMap((name, index) => {
    const other = products
      .slice(0, index)
      .find((earlier) => values[earlier] !== undefined && values[earlier] === values[name])
    return other === undefined
      ? []
      : [`${variableOf(name)}: the same as ${variableOf(other)}; takes a separate product.`]
  })

/** Without all of these, a deployment could take money and miss payments. */
const missingForBilling = (values: Values): ReadonlyArray<string> =>
  values.billingProvider === undefined
    ? []
    : (["polarAccessToken", "polarWebhookSecret", ...products] as const)
        .filter((name) => values[name] === undefined)
        .map((name) => `${variableOf(name)}: not set; BILLING_PROVIDER=${values.billingProvider} requires it.`)

const samePort = ({ adminHost, adminPort, host, port }: Values): ReadonlyArray<string> =>
  port === adminPort && port !== 0 && host === adminHost
    ? [`ADMIN_PORT: got ${adminPort}, which is PORT too; takes another port.`]
    : []

/** Links and cookies need the public URL before the port is known. */
const freePortWithoutAddress = ({ baseUrl, port }: Values): ReadonlyArray<string> =>
  port === 0 && baseUrl === undefined
    ? ["BASE_URL: not set; with PORT=0 it must name the address at which people reach the server."]
    : []

/** Half of the grace period is reserved for requests that are still open (R54). */
export const maxDrainDelay = ({ shutdownGrace }: Pick<Values, "shutdownGrace">): Duration.Duration =>
  Duration.times(shutdownGrace, 0.5)

const longDrainDelay = (values: Values): ReadonlyArray<string> => {
  const { drainDelay } = values
  const max = maxDrainDelay(values)
  return drainDelay === undefined || Duration.isLessThanOrEqualTo(drainDelay, max)
    ? []
    : [
        `DRAIN_DELAY: got ${Duration.format(drainDelay)}; takes at most ${Duration.format(max)}, half of SHUTDOWN_GRACE.`
      ]
}

/** Only one process can open the embedded database. */
const workersOnEmbedded = ({ databaseUrl, workers }: Values): ReadonlyArray<string> =>
  workers === 1 || databaseUrl !== undefined
    ? []
    : [`WORKERS: got ${workers}; the embedded database takes 1. For more, name a Postgres in DATABASE_URL.`]

export const contradictions = (values: Values): ReadonlyArray<string> => [
  ...missingSecrets(values),
  ...halfPairs(values),
  ...missingForSingleSignOn(values),
  ...compatFaults(values),
  ...samePort(values),
  ...freePortWithoutAddress(values),
  ...longDrainDelay(values),
  ...workersOnEmbedded(values),
  ...missingForBilling(values),
  ...sameProducts(values)
]
