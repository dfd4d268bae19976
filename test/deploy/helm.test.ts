import { execFileSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Deployment } from "kubernetes-models/apps/v1"
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2"
import { CronJob, Job } from "kubernetes-models/batch/v1"
import { Ingress, NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1"
import { PodDisruptionBudget } from "kubernetes-models/policy/v1"
import { ConfigMap, PersistentVolumeClaim, Service } from "kubernetes-models/v1"
import { parse, parseAllDocuments } from "yaml"
import { version } from "../../src/domain/version.ts"
import { render, type Secrets } from "../support/helm/render.ts"
import { kubectl } from "../support/processes/OperatorTool.ts"
import * as Shipped from "./Shipped.ts"

// biome-ignore lint/suspicious/noExplicitAny: each kind has its own shape, which its schema checks.
type Manifest = any

/** The schemas that Kubernetes publishes, by kind. */
const models: Readonly<Record<string, new (manifest: Manifest) => { readonly validate: () => void }>> = {
  ConfigMap,
  CronJob,
  Deployment,
  HorizontalPodAutoscaler,
  Ingress,
  Job,
  NetworkPolicy,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  Service
}

const validate = (manifest: Manifest): void => {
  const Model = models[manifest.kind] ?? assert.fail(`no schema of ${manifest.kind}`)
  new Model(manifest).validate()
}

const chart = parse(Shipped.read("helm/quarry/Chart.yaml"))
const defaults = parse(Shipped.read("helm/quarry/values.yaml"))

const manifestsOf = (text: string): ReadonlyArray<Manifest> =>
  parseAllDocuments(text).flatMap((document) => (document.toJS() === null ? [] : [document.toJS()]))

/** What `helm template quarry` prints with these values in place of the defaults, or `helm upgrade` with the secrets. */
const rendered = (values: object = {}, secrets: Secrets = {}): ReadonlyArray<Manifest> => {
  const root = {
    Values: { ...defaults, ...values },
    Release: { Name: "quarry", Namespace: "search" },
    Chart: { ...chart, AppVersion: chart.appVersion }
  }
  return readdirSync(`${Shipped.directory}helm/quarry/templates`)
    .filter((name) => name.endsWith(".yaml"))
    .flatMap((name) => manifestsOf(render(Shipped.read(`helm/quarry/templates/${name}`), root, secrets)))
}

const byKind = (manifests: ReadonlyArray<Manifest>): ReadonlyArray<Manifest> =>
  manifests.toSorted((a, b) => String(a.kind).localeCompare(String(b.kind)))

/** Kustomize names settings and secrets by their checksums; the chart has the checksums as annotations. */
const withoutChecksums = (manifests: ReadonlyArray<Manifest>): ReadonlyArray<Manifest> =>
  byKind(manifests).map((manifest) => {
    const text = JSON.stringify(manifest).replaceAll(/"quarry-[a-z0-9]{10}"/g, '"quarry"')
    return JSON.parse(text.replaceAll(/,"checksum\/(?:config|secret)":"[0-9a-f]{64}"/g, ""))
  })

const one = (manifests: ReadonlyArray<Manifest>, kind: string): Manifest =>
  manifests.find((manifest) => manifest.kind === kind) ?? assert.fail(`no ${kind}`)

const everything = {
  migrate: { enabled: true },
  ingress: { ...defaults.ingress, enabled: true },
  image: { repository: "registry.example.com/quarry", tag: "1.2.3" },
  config: { ...defaults.config, BASE_URL: "https://search.example.com" },
  networkPolicy: { ...defaults.networkPolicy, egressPorts: [443, 8080] }
}

describe("deploy/helm, as a renderer of this repository renders it", () => {
  it("is of this version", () => {
    assert.deepStrictEqual([chart.version, chart.appVersion], [version, version])
  })

  it("makes manifests that Kubernetes' schemas accept, with the defaults and with everything turned on", () => {
    for (const manifest of [...rendered(), ...rendered(everything)]) validate(manifest)
    const wrong = structuredClone(one(rendered(), "Deployment"))
    wrong.spec.template.spec.containers[0].ports[0].containerPort = "http"
    assert.throws(() => validate(wrong))
  })

  it("takes its values", () => {
    const manifests = rendered(everything)
    assert.strictEqual(
      one(manifests, "Deployment").spec.template.spec.containers[0].image,
      "registry.example.com/quarry:1.2.3"
    )
    assert.strictEqual(one(manifests, "ConfigMap").data.BASE_URL, "https://search.example.com")
    assert.deepStrictEqual(
      one(manifests, "NetworkPolicy").spec.egress[0].ports.map(({ port }: Manifest) => port),
      [53, 53, 443, 8080]
    )
    const checksum = (list: ReadonlyArray<Manifest>): string =>
      one(list, "Deployment").spec.template.metadata.annotations["checksum/config"]
    assert.match(checksum(manifests), /^[0-9a-f]{64}$/)
    assert.notStrictEqual(checksum(manifests), checksum(rendered()))
    const off = { ...defaults.networkPolicy, enabled: false }
    assert.notInclude(
      rendered({ networkPolicy: off }).map(({ kind }) => kind),
      "NetworkPolicy"
    )
    assert.deepStrictEqual(
      Object.keys(defaults.config).filter((name) => !Shipped.settings.has(name)),
      []
    )
  })

  it("replaces the pods when the secret changes", () => {
    const checksum = (url: string): string =>
      one(rendered({}, { quarry: { DATABASE_URL: url } }), "Deployment").spec.template.metadata.annotations[
        "checksum/secret"
      ]
    assert.strictEqual(checksum("b2xk"), checksum("b2xk"))
    assert.notStrictEqual(checksum("b2xk"), checksum("bmV3"))
  })

  it("takes a digest with the tag", () => {
    const tag = `0.1.0@sha256:${"a".repeat(64)}`
    const manifests = rendered({ ...everything, image: { repository: "registry.example.com/quarry", tag } })
    for (const kind of ["Deployment", "Job"]) {
      const [{ image }] = one(manifests, kind).spec.template.spec.containers
      assert.strictEqual(image, `registry.example.com/quarry:${tag}`)
    }
  })

  it("has the ingress and the migration of deploy/kubernetes, the migration as a hook before the replicas", () => {
    const manifests = rendered({ ...everything, image: defaults.image })
    assert.deepStrictEqual(one(manifests, "Ingress"), parse(Shipped.read("kubernetes/example/ingress.yaml")))
    const { annotations, ...metadata } = one(manifests, "Job").metadata
    assert.strictEqual(annotations["helm.sh/hook"], "pre-install,pre-upgrade")
    const job = parse(Shipped.read("kubernetes/migrate/job.yaml"))
    assert.deepStrictEqual({ ...one(manifests, "Job"), metadata }, job)
  })

  it("the renderer refuses what it cannot render as Helm does", () => {
    for (const template of ["{{ .Values.none }}", "{{ include 1 }}", "{{ if .a }}", "{{ .Values | upper }}"]) {
      assert.throws(() => render(template, { Values: {} }), /cannot be rendered/)
    }
  })
})

kubectl.describe("deploy/helm and deploy/kubernetes", () => {
  const kustomized = (path: string): ReadonlyArray<Manifest> =>
    manifestsOf(execFileSync("kubectl", ["kustomize", `${Shipped.directory}kubernetes/${path}`], { encoding: "utf8" }))

  it("make the same manifests from the same values", () => {
    assert.deepStrictEqual(withoutChecksums(rendered()), withoutChecksums(kustomized("base")))
  })

  it("are accepted by Kubernetes' schemas", () => {
    for (const path of ["base", "migrate", "backup"]) for (const manifest of kustomized(path)) validate(manifest)
  })
})
