import { Array as Arr, Duration, Option, Redacted, Schema } from "effect"
import type { IpNetwork } from "effect/net"
import { isProviderAddress } from "../domain/accounts/singleSignOn.ts"
import * as domain from "../domain/compat/CompatShape.ts"
import { isPrivateNetwork, parseNetwork } from "../domain/net/Network.ts"
import { type Target, targets } from "../domain/search/Target.ts"

export interface Form<A> {
  readonly decode: (text: string) => Option.Option<A>
  readonly takes: string
  readonly hides: Hides
}

export type Hides = "nothing" | "password" | "everything"

type Decodes<A> = Schema.Codec<A, string>

const form = <A>(schema: Decodes<A>, takes: string, hides: Hides = "nothing"): Form<A> => ({
  decode: Schema.decodeOption(schema),
  takes,
  hides
})

const secret = <A>(schema: Decodes<A>, takes: string, hides: Hides = "everything"): Form<Redacted.Redacted<A>> => {
  const { decode } = form(schema, takes)
  return { decode: (text) => Option.map(decode(text), (value) => Redacted.make(value)), takes, hides }
}

const textThat = (is: (text: string) => boolean) => Schema.String.check(Schema.makeFilter(is))

const matching = (pattern: RegExp) => Schema.String.check(Schema.isPattern(pattern))

/** Each list is searched for every request, sign-up or call without a key. */
const maxListed = 100

/** At most `maxListed` values, separated by commas. */
const listOf = <A>(decode: (text: string) => Option.Option<A>, takes: string): Form<ReadonlyArray<A>> => ({
  decode: (text) => {
    const parts = text.split(",").map((part) => part.trim())
    return parts.length > maxListed ? Option.none() : Option.all(parts.map(decode))
  },
  takes: `at most ${maxListed} ${takes}`,
  hides: "nothing"
})

export const text = (takes: string): Form<string> => form(Schema.String, takes)

export const userAgent = form(
  matching(/^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/),
  "at most 200 visible ASCII characters"
)

export const operatorNamePattern = /^[^\p{Cc}]{1,100}$/u

export const operatorName = form(matching(operatorNamePattern), "a name of at most 100 characters")

export const secretText = (takes: string): Form<Redacted.Redacted> => secret(Schema.String, takes)

export const hostName = form(matching(/^[\w.:%-]+$/), "a host name or address")

export const hostNames = listOf(
  Schema.decodeOption(matching(/^[\w.-]{1,253}$/)),
  "host names without a port, separated by commas, such as metrics.example.com"
)

export const productId = form(matching(/^[0-9A-Za-z_-]{1,64}$/), "the id of a product at Polar")

/** Shorter secrets can be guessed. `openssl rand -base64 32` gives 44 characters. */
const minSecretCharacters = 32

/** `new,old` during a rotation. The comma separates only if both parts are long enough to be secrets. */
export const signingSecrets: Form<Arr.NonEmptyReadonlyArray<Redacted.Redacted>> = {
  decode: (text) => {
    const isLong = (part: string) => part.trim().length >= minSecretCharacters
    const parts = text.split(",")
    const secrets = parts.length === 2 && parts.every(isLong) ? parts : [text]
    const values = secrets.map((secret) => Redacted.make(secret))
    return isLong(text) && Arr.isArrayNonEmpty(values) ? Option.some(values) : Option.none()
  },
  takes: `a random text of at least ${minSecretCharacters} characters, such as \`openssl rand -base64 32\` makes, or during a rotation new,old`,
  hides: "everything"
}

export const oneOf = <const A extends string>(values: ReadonlyArray<A>, takes: string): Form<A> =>
  form(Schema.Literals(values), takes)

export const boolean = (takes = "true or false"): Form<boolean> =>
  form(Schema.Literals(["true", "false"]).transform([true, false]), takes)

/** The codec alone would also accept `1e3` and ` 1`. */
const digits = (pattern: RegExp) => matching(pattern).pipe(Schema.decodeTo(Schema.FiniteFromString))

export const whole = (minimum: number, maximum: number, takes: string): Form<number> =>
  form(digits(/^[0-9]{1,15}$/).check(Schema.isBetween({ minimum, maximum })), takes)

export const wholeOrAuto = (minimum: number, maximum: number, takes: string): Form<number | "auto"> => {
  const { decode } = whole(minimum, maximum, takes)
  return { decode: (text) => (text === "auto" ? Option.some("auto") : decode(text)), takes, hides: "nothing" }
}

export const share = (takes: string): Form<number> =>
  form(digits(/^[0-9]*\.?[0-9]+$/).check(Schema.isBetween({ minimum: 0, maximum: 1 })), takes)

export const duration = (minimum: Duration.Input, maximum: Duration.Input, takes: string): Form<Duration.Duration> => {
  const limits = { minimum: Duration.fromInputUnsafe(minimum), maximum: Duration.fromInputUnsafe(maximum) }
  const decode = Schema.decodeOption(Schema.DurationFromString)
  return {
    decode: (text) =>
      Option.filter(decode(text === "0" ? "0 millis" : text), (value) => Duration.between(value, limits)),
    takes,
    hides: "nothing"
  }
}

const isAddress = (protocols: ReadonlyArray<string>, text: string): boolean =>
  URL.canParse(text) && protocols.includes(new URL(text).protocol)

const web = ["http:", "https:"]

const withoutSlash = (text: string): string => text.replace(/\/+$/, "")

/** Tries to decode the URL as clients do, because a malformed `%` escape would crash startup later. */
const isServer = (protocols: ReadonlyArray<string>, text: string): boolean => {
  if (!isAddress(protocols, text)) return false
  const { hostname, password, pathname, searchParams, username } = new URL(text)
  if (hostname === "" && !searchParams.has("host")) return false
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}

/** No path: cookies, sign-in, and links in emails need a host of their own. */
export const hostAddress: Form<string> = {
  decode: (text) =>
    isAddress(web, text) && /^[^/]+\/\/[^/?#@]+\/*$/.test(text) ? Option.some(withoutSlash(text)) : Option.none(),
  takes: "an http(s) address without a path, such as https://api.example",
  hides: "nothing"
}

export const webAddress = (takes: string): Form<Redacted.Redacted> =>
  secret(
    textThat((text) => isAddress(web, text)),
    takes,
    "password"
  )

export const serverAddress = (protocols: ReadonlyArray<string>, takes: string): Form<Redacted.Redacted> =>
  secret(
    textThat((text) => isServer(protocols, text)),
    takes,
    "password"
  )

/** Redis Cluster supports only database 0, so URLs of several nodes must not name one. */
const areRedisNodes = (text: string): boolean => {
  const nodes = text.split(",").map((node) => node.trim())
  const path = nodes.length === 1 ? /^(\/[0-9]{0,5})?$/ : /^\/?$/
  return nodes.every((node) => isServer(["redis:", "rediss:"], node) && path.test(new URL(node).pathname))
}

export const redisAddresses = secret(
  textThat(areRedisNodes),
  "redis://host:port/database, or redis://host:port several times, separated by commas, for Redis Cluster",
  "password"
)

/** Exactly as in the `Origin` header, because the two are compared as text. `*` would never match. */
const origin = textThat((text) => isAddress(web, text) && new URL(text).origin === text && !text.includes("*"))

export const webOrigin = form(
  origin,
  "the value of X-Demo-Origin, an origin without a path such as https://www.example.com"
)

/** `*` is not accepted: pages that may call the API hold a key or spend the demo's credits. */
export const webOrigins = listOf(
  Schema.decodeOption(origin),
  "origins without a path, separated by commas, such as https://app.example.com"
)

export const sender = form(
  matching(/^[^\s@<>]+@[^\s@<>]+$|^[^<>\r\n]*<[^\s@<>]+@[^\s@<>]+>$/),
  "an address such as Quarry <quarry@example.com>"
)

const decodeEmailDomain = Schema.decodeOption(matching(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/))

export const emailDomains = listOf(
  (text) => decodeEmailDomain(text.toLowerCase()),
  "domains of email addresses, separated by commas, such as example.com,example.org"
)

/** Not normalized, because it must equal the issuer in the provider's documents. */
export const issuer = form(
  textThat((text) => isProviderAddress(text) && !/[?#\s]/.test(text)),
  "the https address of an OpenID provider, as its discovery document names it, or one with http on this machine"
)

export const buttonLabel = form(matching(/^[^\p{Cc}]{1,40}$/u), "at most 40 characters, such as Example SSO")

export const sharedSecrets: Form<ReadonlyArray<Redacted.Redacted>> = {
  decode: (text) => {
    const secrets = text.split(",").map((secret) => secret.trim())
    const isValid = secrets.length <= 2 && secrets.every((secret) => secret !== "")
    return isValid ? Option.some(secrets.map((secret) => Redacted.make(secret))) : Option.none()
  },
  takes: "one secret, or two separated by a comma",
  hides: "everything"
}

type Engines = { readonly [T in Target]: string }

export const defaultEngines: Engines = {
  alpha_search: "google",
  beta_search: "bing",
  gamma_search: "duckduckgo",
  delta_search: "brave",
  epsilon_search: "yandex",
  zeta_search: "mojeek"
}

/** Targets that are not listed keep their default engine. */
export const engines: Form<Engines> = {
  decode: (text) => {
    const pairs = text.split(",").map((pair) => /^\s*([a-z_]+)\s*=\s*([^=]*\S)\s*$/.exec(pair))
    if (!pairs.every((pair) => targets.some((target) => target === pair?.[1]))) return Option.none()
    return Option.some({ ...defaultEngines, ...Object.fromEntries(pairs.map((pair) => [pair?.[1], pair?.[2]])) })
  },
  takes: `target=engine pairs separated by commas; the targets are ${targets.join(", ")}`,
  hides: "nothing"
}

export const compatShapes: Form<ReadonlyArray<domain.CompatShape>> = {
  decode: (text) => {
    const names = new Set(text.split(",").map((name) => name.trim()))
    const shapes = domain.compatShapes.filter((shape) => names.has(shape))
    return shapes.length === names.size ? Option.some(shapes) : Option.none()
  },
  takes: `names separated by commas, of ${domain.compatShapes.join(", ")}`,
  hides: "nothing"
}

const maxEngines = 100

export const compatEngines: Form<Readonly<Record<string, Target>>> = {
  decode: (text) => {
    const pairs = text.split(",").flatMap((pair) => {
      const [, name, target] = /^\s*([^=]*\S)\s*=\s*([a-z_]+)\s*$/.exec(pair) ?? []
      const known = targets.find((each) => each === target)
      return name === undefined || known === undefined ? [] : [[name.toLowerCase(), known] as const]
    })
    const named = Object.fromEntries(pairs)
    const isValid = Object.keys(named).length === text.split(",").length && pairs.length <= maxEngines
    return isValid ? Option.some(named) : Option.none()
  },
  takes: `engine=target pairs separated by commas, each engine once; the targets are ${targets.join(", ")}`,
  hides: "nothing"
}

export const accountId = form(
  matching(/^acc_[0-9a-f]{32}$/),
  "the id of an account, such as account list prints: acc_…"
)

const networksThat = (isAllowed: (network: IpNetwork.IpNetwork) => boolean, takes: string) => {
  const isListed = (text: string): boolean => {
    const network = parseNetwork(text)
    return network !== undefined && isAllowed(network)
  }
  return listOf(Option.liftPredicate(isListed), takes)
}

export const privateNetworks = networksThat(
  isPrivateNetwork,
  "private networks separated by commas, such as 172.16.0.0/12 or fd00::/8"
)

export const networks = networksThat(
  () => true,
  "addresses or networks separated by commas, such as 192.0.2.0/24 or 2001:db8::/32"
)

type KeyValues = Readonly<Record<string, string>>

/** OpenTelemetry's format: percent-encoded `a=b,c=d`. */
export const keyValues: Form<KeyValues> = {
  decode: (text) => {
    const pairs = text.split(",").map((pair) => /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair))
    if (pairs.includes(null)) return Option.none()
    try {
      const decoded = pairs.map((pair) => [pair?.[1] ?? "", pair?.[2] ?? ""].map(decodeURIComponent))
      return Option.some(Object.fromEntries(decoded))
    } catch {
      return Option.none()
    }
  },
  takes: "name=value pairs separated by commas, percent-encoded",
  hides: "nothing"
}

/** With invalid header names or values, every export would fail. */
const areHeaders = (headers: KeyValues): boolean =>
  Object.entries(headers).every(([name, value]) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[ -~]*$/.test(value))

export const secretHeaders: Form<Redacted.Redacted<KeyValues>> = {
  decode: (text) => Option.map(Option.filter(keyValues.decode(text), areHeaders), (headers) => Redacted.make(headers)),
  takes: keyValues.takes,
  hides: "everything"
}
