import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { version } from "../../src/domain/version.ts"
import { compose, promtool } from "../support/processes/OperatorTool.ts"
import * as Shipped from "./Shipped.ts"

interface Service {
  readonly image: string
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: ReadonlyArray<string | { readonly target: number }>
  readonly read_only?: boolean
  readonly cap_drop?: ReadonlyArray<string>
  readonly security_opt?: ReadonlyArray<string>
  readonly stop_grace_period?: string
  readonly profiles?: ReadonlyArray<string>
  readonly networks?: Readonly<Record<string, { readonly aliases?: ReadonlyArray<string> } | null>>
}

interface Composed {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>
}

/** The services on a network. */
const membersOf = ({ services }: Composed, network: string): ReadonlyArray<string> =>
  Object.keys(services).filter((name) => Object.hasOwn(services[name]?.networks ?? {}, network))

const networksOf = ({ services }: Composed, name: string): ReadonlyArray<string> =>
  Object.keys(services[name]?.networks ?? {})

/** The settings that deploy/make-env writes for Compose and for the other containers. */
const notSettings = ["COMPOSE_PROJECT_NAME", "QUARRY_SITE", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "SEARXNG_SECRET"]

/** Compose writes `1m30s` for `90s`. */
const secondsOf = (text: string): number => {
  const [, minutes = "0", seconds = "0"] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(text) ?? []
  return Number(minutes) * 60 + Number(seconds)
}

describe("Dockerfile", () => {
  it("names the images that it is built on by their exact versions", () => {
    const dockerfile = readFileSync(join(Shipped.directory, "../Dockerfile"), "utf8")
    const [builder, base] = Array.from(dockerfile.matchAll(/^ARG (?:BUILDER|BASE)=(.*)$/gm), ([, image]) => image)
    assert.match(`${builder}`, /node:\d+\.\d+\.\d+-\w+-slim$/)
    assert.match(`${base}`, /debian:\w+-\d{8}-slim$/)
  })
})

describe("deploy/make-env", () => {
  it("makes secrets of its own, for its owner alone, and never replaces them", () => {
    const directory = mkdtempSync(join(tmpdir(), "quarry-env-"))
    try {
      const files = ["a", "b"].map((name) => join(directory, name))
      const made = files.map((file) => {
        execFileSync(`${Shipped.directory}make-env`, ["search.example.com", file])
        assert.strictEqual(statSync(file).mode & 0o777, 0o600)
        return readFileSync(file, "utf8")
      })
      const secrets = made.flatMap((text) => [...text.matchAll(/^\w+=([0-9a-f]{64})$/gm)].map(([, secret]) => secret))
      assert.strictEqual(new Set(secrets).size, 10)
      const again = spawnSync(`${Shipped.directory}make-env`, ["search.example.com", files[0] ?? ""])
      assert.strictEqual(again.status, 1)
      assert.include(String(again.stderr), "is there already")
      assert.strictEqual(readFileSync(files[0] ?? "", "utf8"), made[0])
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})

compose.describe("deploy/compose.yml", () => {
  let checkout = ""
  const composed = (): Composed => {
    const file = join(checkout, "deploy/compose.yml")
    const args = ["--env-file", join(checkout, "deploy/.env"), "-f", file, "--profile", "telemetry", "config"]
    return Shipped.parseYaml(
      execFileSync("docker-compose", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
    )
  }
  const replicasOf = ({ services }: Composed) => Object.entries(services).filter(([name]) => name.startsWith("quarry-"))

  beforeAll(() => {
    checkout = mkdtempSync(join(tmpdir(), "quarry-compose-"))
    for (const folder of ["deploy", "otel"]) {
      cpSync(join(Shipped.directory, "..", folder), join(checkout, folder), {
        recursive: true,
        filter: (path) => !path.endsWith("/.env")
      })
    }
  })

  afterAll(() => rmSync(checkout, { recursive: true }))

  it("without its secrets says which command makes them", () => {
    assert.include(compose.complaints(["-f", join(checkout, "deploy/compose.yml"), "config"]), "make-env")
  })

  it("is what Compose takes, once its secrets are made, and names every image by its exact version", () => {
    execFileSync(join(checkout, "deploy/make-env"), ["search.example.com"])
    const { services } = composed()
    assert.includeMembers(Object.keys(services), ["postgres", "redis", "searxng", "proxy", "collector", "grafana"])
    for (const [name, { image }] of Object.entries(services))
      assert.match(image, /:v?\d+\.\d+(?:\.\d+)?(?:-\w+)?$/, name)
  })

  it("lets nobody but replicas reach Postgres, Redis and SearXNG, and keeps the data off the internet", () => {
    const all = composed()
    const replicas = replicasOf(all).map(([name]) => name)
    for (const name of ["postgres", "redis", "searxng"]) {
      assert.lengthOf(networksOf(all, name), 1, name)
      for (const network of networksOf(all, name)) {
        const others = membersOf(all, network).filter((it) => !replicas.includes(it))
        assert.includeMembers(name === "searxng" ? ["searxng"] : ["postgres", "redis"], others, name)
        assert.strictEqual(all.networks[network]?.internal ?? false, name !== "searxng", name)
      }
    }
  })

  it("opens the private listener to the proxy and to Prometheus alone", () => {
    const all = composed()
    for (const [replica, { environment = {}, networks = {} }] of replicasOf(all)) {
      const host = environment.ADMIN_HOST
      const listening = Object.entries(networks).filter(([, options]) => options?.aliases?.includes(host ?? ""))
      assert.lengthOf(listening, 1, replica)
      const members = listening.flatMap(([network]) => membersOf(all, network))
      assert.sameMembers(
        members.filter((name) => !name.startsWith("quarry-")),
        ["proxy", "prometheus"]
      )
    }
  })

  it("gives every replica settings that Quarry has, no privileges, and time to end", () => {
    const replicas = replicasOf(composed())
    assert.lengthOf(replicas, 3)
    for (const [name, { cap_drop, environment = {}, image, read_only, security_opt, stop_grace_period }] of replicas) {
      const unknown = Object.keys(environment).filter((key) => !Shipped.settings.has(key) && !notSettings.includes(key))
      assert.deepStrictEqual(unknown, [], name)
      assert.strictEqual(image, `quarry:${version}`)
      assert.isTrue(read_only)
      assert.deepStrictEqual(cap_drop, ["ALL"])
      assert.deepStrictEqual(security_opt, ["no-new-privileges:true"])
      assert.isAbove(secondsOf(`${stop_grace_period}`), Shipped.shutdownSeconds)
    }
  })

  it("opens no more connections than Postgres takes by default, with some left for commands and backups", () => {
    assert.isAtMost(replicasOf(composed()).length * Shipped.poolSize, Shipped.postgresConnections - 10)
  })

  it("has the same replicas for the proxy and for Prometheus, and only the proxy is open to others", () => {
    const all = composed()
    const names = replicasOf(all).map(([name]) => name)
    assert.strictEqual(all.services.proxy?.environment?.QUARRY_REPLICAS, names.map((name) => `${name}:3000`).join(" "))
    interface Prometheus {
      readonly scrape_configs: ReadonlyArray<{
        readonly job_name: string
        readonly static_configs: ReadonlyArray<{ readonly targets: ReadonlyArray<string> }>
      }>
    }
    const { scrape_configs } = Shipped.parseYaml<Prometheus>(Shipped.read("prometheus.yml"))
    const quarry = scrape_configs.find(({ job_name }) => job_name === "quarry")
    assert.deepStrictEqual(
      quarry?.static_configs.flatMap(({ targets }) => targets),
      replicasOf(all).map(([, { environment }]) => `${environment?.ADMIN_HOST}:9464`)
    )
    for (const [name, { ports = [] }] of Object.entries(all.services)) {
      if (name !== "proxy") for (const port of ports) assert.match(String(port), /^127\.0\.0\.1:/, name)
    }
  })
})

promtool.describe("deploy/prometheus.yml", () => {
  it("is what Prometheus takes", () => {
    const file = `${Shipped.directory}prometheus.yml`
    assert.strictEqual(promtool.complaints(["check", "config", "--syntax-only", file]), "")
  })
})
