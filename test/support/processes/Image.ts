import { execFileSync, spawn, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe } from "@effect/vitest"
import { Effect } from "effect"
import { firstProcess } from "./firstProcess.ts"
import { watch } from "./Spawned.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const hostNpm = "/usr/lib/node_modules/npm"
const certificates = "/etc/ssl/certs/ca-certificates.crt"

const succeeds = (command: string, ...args: ReadonlyArray<string>): boolean => spawnSync(command, args).status === 0

const howToGetIt =
  "needs root, Debian's packages buildah, golang-github-containers-common and debootstrap, and npm in /usr/lib/node_modules"
const possible =
  process.getuid?.() === 0 &&
  succeeds("buildah", "--version") &&
  existsSync("/etc/containers/policy.json") &&
  succeeds("debootstrap", "--version") &&
  existsSync(hostNpm)
if (!possible && process.env.QUARRY_REQUIRE_SERVICES === "1")
  throw new Error(`QUARRY_REQUIRE_SERVICES=1: ${howToGetIt}`)

/** A group of tests that build the image. If programs are missing, it is skipped with a message. */
export const describeWithImages = (name: string, tests: () => void): void => {
  describe.skipIf(!possible)(possible ? name : `${name} (${howToGetIt})`, tests)
}

/** Stores layers as plain directories, because containers of continuous integration cannot mount an overlay. */
const buildah = (...args: ReadonlyArray<string>): string =>
  execFileSync("buildah", ["--storage-driver", "vfs", ...args], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "pipe"]
  }).trim()

const isBuilt = (image: string): boolean => buildah("images", "--quiet", "--filter", `reference=${image}`) !== ""

/** Derives an image from `from` by applying `change` to a container. */
const derived = (image: string, from: string, change: (container: string) => void): string => {
  const container = buildah("from", from)
  try {
    change(container)
    buildah("commit", "--quiet", container, image)
  } finally {
    buildah("rm", container)
  }
  return image
}

const debian = "localhost/quarry-test-debian"

/** Debian from its own installer, in place of the Dockerfile's base image. Built once per machine. */
const debianImage = (): string => {
  if (isBuilt(debian)) return debian
  const directory = mkdtempSync(join(tmpdir(), "quarry-debian-"))
  try {
    execFileSync("debootstrap", ["--variant=minbase", "bookworm", directory], { stdio: "ignore" })
    for (const path of ["var/lib/apt/lists", "var/cache/apt", "usr/share/doc", "usr/share/man", "usr/share/locale"]) {
      rmSync(join(directory, path), { recursive: true, force: true })
    }
    return derived(debian, "scratch", (container) => buildah("add", "--quiet", container, directory, "/"))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Debian with this machine's npm, its settings and certificates, in place of the image with Node and npm. */
const builderImage = (): string =>
  derived("localhost/quarry-test-builder", debianImage(), (container) => {
    buildah("copy", "--quiet", container, "/usr/bin/node", "/usr/bin/node")
    buildah("copy", "--quiet", container, hostNpm, hostNpm)
    buildah("run", "--isolation", "chroot", container, "ln", "-s", `${hostNpm}/bin/npm-cli.js`, "/usr/bin/npm")
    const npmrc = join(process.env.HOME ?? "/root", ".npmrc")
    if (existsSync(npmrc)) buildah("copy", "--quiet", container, npmrc, "/root/.npmrc")
    if (!existsSync(certificates)) return
    buildah("copy", "--quiet", container, certificates, certificates)
    buildah("config", "--env", `NODE_EXTRA_CA_CERTS=${certificates}`, container)
  })

/** The configuration of an image that its containers use. */
export interface ImageConfig {
  readonly User: string
  readonly Env: ReadonlyArray<string>
  readonly Cmd: ReadonlyArray<string>
  readonly WorkingDir: string
  readonly StopSignal: string
  readonly Volumes: Readonly<Record<string, object>>
  readonly Healthcheck: { readonly Test: ReadonlyArray<string> }
}

export interface Image {
  readonly config: ImageConfig
  /** Total size of its files. */
  readonly bytes: number
  /** A container's root file system, which is never written to. */
  readonly rootfs: string
}

const sizeOf = (directory: string): number =>
  Number(execFileSync("du", ["-sb", directory], { encoding: "utf8" }).split("\t")[0])

/** The image of this checkout's Dockerfile. Its container is removed with the scope. */
export const image = Effect.acquireRelease(
  Effect.sync(() => {
    const tag = `localhost/quarry-test:${process.pid}`
    const bases = ["--build-arg", `BUILDER=${builderImage()}`, "--build-arg", `BASE=${debianImage()}`]
    buildah("bud", "--isolation", "chroot", "--format", "docker", ...bases, "--tag", tag, ".")
    const { Docker } = JSON.parse(buildah("inspect", "--type", "image", tag)) as { Docker: { config: ImageConfig } }
    const container = buildah("from", tag)
    const rootfs = buildah("mount", container)
    return { tag, container, image: { config: Docker.config, rootfs, bytes: sizeOf(rootfs) } }
  }),
  ({ container, tag }) =>
    Effect.sync(() => {
      buildah("rm", container)
      buildah("rmi", tag)
    })
).pipe(Effect.map((built): Image => built.image))

/**
 * Mounts for a container: the image read-only, /proc of its own processes, a private /tmp, and the volume. The
 * remaining arguments are the command, which runs as the image's user.
 */
const contain = `
set -e
root=$1 volume=$2 user=$3
shift 3
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$volume" "$root/data"
mount -o remount,bind,ro "$root"
exec chroot --userspec="$user" "$root" env -i "$@"
`

export interface ContainerOptions {
  /** Directory of this machine, mounted at /data. */
  readonly volume: string
  readonly env: Readonly<Record<string, string>>
  readonly command?: ReadonlyArray<string>
}

/**
 * Runs a command of the image as process 1 of a PID namespace, on this machine's network. Killed with the scope.
 * `signal` reaches that process, like `docker stop`.
 */
export const container = ({ config, rootfs }: Image, { command = config.Cmd, env, volume }: ContainerOptions) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const variables = [...config.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)]
      const within = ["-C", config.WorkingDir, ...variables, ...command]
      const namespace = ["--pid", "--fork", "--mount", "--kill-child"]
      const child = spawn(
        "unshare",
        [...namespace, "setpriv", "--no-new-privs", "sh", "-c", contain, "sh", rootfs, volume, config.User, ...within],
        { stdio: ["ignore", "pipe", "pipe"] }
      )
      return { child, output: watch(child) }
    }),
    ({ child, output }) =>
      Effect.andThen(
        Effect.sync(() => child.kill("SIGKILL")),
        output.ended
      )
  ).pipe(
    Effect.map(({ child, output: { ended, said } }) => ({
      ended,
      said,
      signal: (name: NodeJS.Signals) => process.kill(firstProcess(child), name)
    }))
  )
