import { execFileSync, spawn, spawnSync } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { describe } from "@effect/vitest"
import { Effect } from "effect"
import { firstProcess } from "./firstProcess.ts"
import { temporaryDirectory } from "./Spawned.ts"

const repository = fileURLToPath(new URL("../../../", import.meta.url))

/** Mounts this machine's files under an in-memory layer, so that nothing on this machine changes. */
const overlay = `
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
`

const namespaces = ["--pid", "--fork", "--mount", "--uts", "--ipc", "--cgroup", "--kill-child"]

const possible =
  process.getuid?.() === 0 &&
  spawnSync("/lib/systemd/systemd", ["--version"]).status === 0 &&
  spawnSync("unshare", [...namespaces, "sh", "-c", overlay, "sh", "/mnt"]).status === 0

/** A group of tests that run systemd. Skipped with a message if root cannot create namespaces on this machine. */
export const describeWithSystemd = (name: string, tests: () => void): void => {
  describe.skipIf(!possible)(possible ? name : `${name} (needs root, systemd, namespaces and overlays)`, tests)
}

/**
 * Runs systemd as process 1 of its namespaces, on this machine's network. None of this machine's own units start. The
 * checkout is /opt/quarry.
 */
const boot = `${overlay}
root=$1/root
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for directory in run tmp dev; do mount -t tmpfs tmpfs "$root/$directory"; done
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm" "$root/dev/mqueue" "$root/dev/hugepages"
mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=0666
ln -s pts/ptmx "$root/dev/ptmx"
rm -rf "$root/etc/fstab" "$root/etc/systemd/system"
mkdir -p "$root/etc/systemd/system" "$root/opt/quarry" "$root/etc/quarry"
mount --bind "$2" "$root/opt/quarry"
printf '[Unit]\\nRequires=systemd-journald.socket\\nAllowIsolate=yes\\n' > "$root/etc/systemd/system/default.target"
mkdir "$root/outside"
cd "$root"
pivot_root . outside
umount -l /outside
mount --make-rshared /
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=other /lib/systemd/systemd
`

export interface Systemd {
  /** Runs a command inside, and returns its output. */
  readonly run: (command: string, ...args: ReadonlyArray<string>) => string
}

/** A separate systemd, which ends with the scope. */
export const systemd = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn("unshare", [...namespaces, "sh", "-c", boot, "sh", directory, repository], { stdio: "ignore" })
    ),
    (child) =>
      Effect.promise(
        () =>
          new Promise<void>((resolve) => {
            child.once("exit", () => resolve())
            child.kill("SIGKILL")
          })
      )
  )
  const run: Systemd["run"] = (command, ...args) =>
    execFileSync("nsenter", ["--target", `${firstProcess(child)}`, "--all", command, ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"]
    })
  yield* Effect.promise(async () => {
    for (;;) {
      try {
        run("systemctl", "is-active", "default.target")
        return
      } catch {
        if (child.exitCode !== null) throw new Error(`systemd ended with ${child.exitCode}`)
        await sleep(100)
      }
    }
  })
  return { run } satisfies Systemd
})
