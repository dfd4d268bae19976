import { execFileSync, spawnSync } from "node:child_process"
import { assert, it } from "@effect/vitest"
import { defaultSelector } from "../../scripts/alerts.ts"
import { version } from "../../src/domain/version.ts"
import { kubectl } from "../support/processes/OperatorTool.ts"
import * as Shipped from "./Shipped.ts"

type Labels = Readonly<Record<string, string>>

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
  readonly periodSeconds: number
  readonly failureThreshold: number
}

interface Container {
  readonly image: string
  readonly ports?: ReadonlyArray<{ readonly name: string; readonly containerPort: number }>
  readonly args?: ReadonlyArray<string>
  readonly envFrom: ReadonlyArray<{
    readonly configMapRef?: { readonly name: string }
    readonly secretRef?: { readonly name: string }
  }>
  readonly env?: ReadonlyArray<{ readonly name: string }>
  readonly startupProbe: Probe
  readonly readinessProbe: Probe
  readonly livenessProbe: Probe
  readonly securityContext: object
}

interface PodTemplate {
  readonly metadata: { readonly labels: Labels }
  readonly spec: {
    readonly terminationGracePeriodSeconds: number
    readonly automountServiceAccountToken: boolean
    readonly enableServiceLinks: boolean
    readonly securityContext: { readonly runAsNonRoot: boolean; readonly seccompProfile: object }
    readonly containers: readonly [Container]
  }
}

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly data?: Readonly<Record<string, string>>
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own shape, which its test asserts.
  readonly spec: any
}

/** The Kustomize of kubectl 1.20, which Debian 12 has, cannot read an overlay. */
const readsOverlays =
  Number(/v1\.(\d+)\./.exec(spawnSync("kubectl", ["version", "--client"], { encoding: "utf8" }).stdout ?? "")?.[1]) > 20

const itWithOverlays = (name: string, test: () => void): void => {
  it.skipIf(!readsOverlays)(readsOverlays ? name : `${name} (needs kubectl 1.21 or later)`, test)
}

const render = (path: string): ReadonlyArray<Manifest> =>
  execFileSync("kubectl", ["kustomize", `${Shipped.directory}kubernetes/${path}`], { encoding: "utf8" })
    .split(/^---$/m)
    .map((document) => Shipped.parseYaml<Manifest>(document))

const isRestricted = ({ spec }: PodTemplate): void => {
  assert.isTrue(spec.securityContext.runAsNonRoot)
  assert.deepStrictEqual(spec.securityContext.seccompProfile, { type: "RuntimeDefault" })
  assert.isFalse(spec.automountServiceAccountToken)
  assert.isFalse(spec.enableServiceLinks)
  assert.deepStrictEqual(spec.containers[0].securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] }
  })
}

kubectl.describe("deploy/kubernetes, as Kustomize renders it", () => {
  for (const path of ["base", "example", "migrate", "backup", "example/migrate"]) {
    const itHere = path.startsWith("example") ? itWithOverlays : it
    itHere(`${path}: holds no secret and names this version's image`, () => {
      const manifests = render(path)
      assert.notInclude(
        manifests.map(({ kind }) => kind),
        "Secret"
      )
      for (const { spec } of manifests) {
        for (const { image } of spec?.template?.spec.containers ?? []) {
          assert.isTrue(image.endsWith(`quarry:${version}`), image)
        }
      }
    })
  }

  const one = (kind: string, path = "base"): Manifest => {
    const found = render(path).filter((manifest) => manifest.kind === kind)
    assert.lengthOf(found, 1, kind)
    return found[0] as Manifest
  }

  it("runs replicas without privileges, which get more time to end than they take", () => {
    const template: PodTemplate = one("Deployment").spec.template
    isRestricted(template)
    assert.isAbove(template.spec.terminationGracePeriodSeconds, Shipped.shutdownSeconds)
  })

  it("backs up each night without privileges, and reads the backup again before old ones go", () => {
    const { concurrencyPolicy, jobTemplate } = one("CronJob", "backup").spec
    isRestricted(jobTemplate.spec.template)
    assert.strictEqual(concurrencyPolicy, "Forbid")
    const [container] = jobTemplate.spec.template.spec.containers
    assert.strictEqual(container.image, `quarry:${version}`)
    const [script] = container.args
    const places = ["quarry backup", "quarry restore --check", "rm --"].map((part) => script.indexOf(part))
    assert.isAbove(places[0], 0)
    assert.deepStrictEqual(
      places,
      places.toSorted((a, b) => a - b)
    )
  })

  it("asks the private listener: if a replica takes requests, and if it lives", () => {
    const [container] = (one("Deployment").spec.template as PodTemplate).spec.containers
    assert.deepStrictEqual(container.startupProbe.httpGet, { path: "/readyz", port: "admin" })
    assert.deepStrictEqual(container.readinessProbe.httpGet, { path: "/readyz", port: "admin" })
    assert.deepStrictEqual(container.livenessProbe.httpGet, { path: "/healthz", port: "admin" })
    // The kubelet asks at the pod's own address, and the image listens on the loopback alone.
    assert.strictEqual(one("ConfigMap").data?.ADMIN_HOST, "0.0.0.0")
    const noticedSeconds = container.readinessProbe.periodSeconds * container.readinessProbe.failureThreshold
    assert.isBelow(noticedSeconds, Shipped.drainDelaySeconds)
  })

  it("scales out to no more connections than Postgres takes by default, with some left for commands and backups", () => {
    const { maxReplicas } = one("HorizontalPodAutoscaler").spec
    const { maxSurge } = one("Deployment").spec.strategy.rollingUpdate
    const poolSize = Number(one("ConfigMap").data?.DATABASE_POOL_SIZE)
    assert.isAtMost((maxReplicas + maxSurge) * poolSize, Shipped.postgresConnections - 10)
  })

  itWithOverlays("has only settings that Quarry has, and the pods take them", () => {
    const { data = {}, metadata } = one("ConfigMap", "example")
    assert.deepStrictEqual(
      Object.keys(data).filter((name) => !Shipped.settings.has(name)),
      []
    )
    const [container] = (one("Deployment", "example").spec.template as PodTemplate).spec.containers
    assert.deepStrictEqual(container.envFrom, [
      { configMapRef: { name: metadata.name } },
      { secretRef: { name: "quarry" } }
    ])
    for (const { name } of container.env ?? []) assert.isTrue(name === "POD_NAME" || Shipped.settings.has(name), name)
  })

  it("leads the service, the budget of disruptions, the network's policy and the scaling to the replicas", () => {
    const { spec } = one("Deployment")
    const { labels } = (spec.template as PodTemplate).metadata
    assert.deepStrictEqual(spec.selector.matchLabels, labels)
    assert.deepStrictEqual(one("Service").spec.selector, labels)
    assert.deepStrictEqual(one("PodDisruptionBudget").spec.selector.matchLabels, labels)
    assert.deepStrictEqual(one("NetworkPolicy").spec.podSelector.matchLabels, labels)
    const { maxReplicas, minReplicas, scaleTargetRef } = one("HorizontalPodAutoscaler").spec
    assert.deepStrictEqual(scaleTargetRef, { apiVersion: "apps/v1", kind: "Deployment", name: "quarry" })
    assert.isAtLeast(minReplicas, 2)
    assert.isAbove(maxReplicas, minReplicas)
    // A number of replicas would undo the scaling at each apply.
    assert.notProperty(spec, "replicas")
  })

  it("opens the public port to all and the private one to Prometheus alone", () => {
    const ports = (one("Deployment").spec.template as PodTemplate).spec.containers[0].ports ?? []
    assert.deepStrictEqual(
      ports.map(({ name }) => name),
      ["public", "admin"]
    )
    assert.deepStrictEqual(
      one("Service").spec.ports.map(({ targetPort }: { readonly targetPort: string }) => targetPort),
      ["public"]
    )
    assert.deepStrictEqual(one("NetworkPolicy").spec.ingress, [
      { ports: [{ port: "public" }] },
      {
        from: [
          {
            namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } },
            podSelector: { matchLabels: { "app.kubernetes.io/name": "prometheus" } }
          }
        ],
        ports: [{ port: "admin" }]
      }
    ])
  })

  it("monitors the port of the private listener, under the job's name that the rules select", () => {
    const { labels } = (one("Deployment").spec.template as PodTemplate).metadata
    const { jobLabel, podMetricsEndpoints, selector } = one("PodMonitor", "monitoring").spec
    assert.deepStrictEqual(selector.matchLabels, labels)
    assert.strictEqual(defaultSelector, `job="${labels[jobLabel]}"`)
    assert.deepStrictEqual(podMetricsEndpoints, [{ port: "admin", path: "/metrics", interval: "10s" }])
    assert.isAbove(one("PrometheusRule", "monitoring").spec.groups.length, 0)
  })

  itWithOverlays("leads the name of the overlay to the service", () => {
    const backends = one("Ingress", "example").spec.rules[0].http.paths
    assert.deepStrictEqual(backends[0].backend.service, { name: "quarry", port: { name: "http" } })
  })

  it("migrates as a job that the replicas' policy does not hold back", () => {
    const { spec } = one("Job", "migrate")
    const template: PodTemplate = spec.template
    isRestricted(template)
    assert.deepStrictEqual(template.spec.containers[0].args, ["quarry", "migrate"])
    assert.notDeepEqual(template.metadata.labels, one("Service").spec.selector)
  })
})
