import { closeSync, fsyncSync, openSync } from "node:fs"
import { open, readdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Predicate } from "effect"

/** Windows cannot sync a directory. NTFS writes changes to directories in order by itself. */
const canSyncDirectories = process.platform !== "win32"

/** Keeps files that were created, renamed or removed in the directory so after a power cut. */
export const syncDirectory = (path: string): void => {
  if (!canSyncDirectories) return
  const descriptor = openSync(path, "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Enough for the system to write many files with one commit of its journal. Node uses four threads by default. */
const concurrentSyncs = 64

const isMissing = (error: unknown): boolean => Predicate.hasProperty(error, "code") && error.code === "ENOENT"

const syncEntry = async (path: string, flag: string): Promise<void> => {
  const file = await open(path, flag).catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  if (file === undefined) return
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Syncs a directory and everything in it. Entries that disappear meanwhile are skipped. */
export const syncTree = async (directory: string): Promise<void> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const at = entries.map((entry) => ({ path: join(entry.parentPath, entry.name), entry }))
  const files = at.filter(({ entry }) => entry.isFile()).map(({ path }) => ({ path, flag: "r+" }))
  const directories = [directory, ...at.filter(({ entry }) => entry.isDirectory()).map(({ path }) => path)]
  const remaining = [...files, ...(canSyncDirectories ? directories.map((path) => ({ path, flag: "r" })) : [])].values()
  const syncSome = async () => {
    for (const { flag, path } of remaining) await syncEntry(path, flag)
  }
  await Promise.all(Array.from({ length: concurrentSyncs }, syncSome))
}

interface Node {
  readonly mode: number
}

interface OpenFile {
  readonly node: Node
  /** The descriptor of the operating system. */
  readonly nfd: number
}

/** The part of PGlite's Node file layer that changes here. PGlite's types are not published. */
export interface NodeFileLayer {
  readonly realPath: (node: Node) => string
  /** Turns Node's errors into those of PGlite's C library. */
  readonly tryFSOperation: <A>(run: () => A) => A
  readonly node_ops: {
    mknod: (parent: Node, name: string, mode: number, device: unknown) => unknown
    rename: (node: Node, directory: Node, name: string) => void
    unlink: (parent: Node, name: string) => void
    rmdir: (parent: Node, name: string) => void
  }
  readonly stream_ops: { fsync?: (file: OpenFile) => number }
}

/**
 * Adds the `fsync` that PGlite's file layer lacks. Postgres relies on a file system that also keeps the name of a new
 * file when it syncs the file. POSIX does not promise that, so directories that changed are synced along with the file.
 */
export const addSync = ({ node_ops, realPath, stream_ops, tryFSOperation }: NodeFileLayer): void => {
  const changed = new Set<string>()
  const { mknod, rename, rmdir, unlink } = node_ops
  node_ops.mknod = (parent, name, mode, device) => {
    const node = mknod(parent, name, mode, device)
    changed.add(realPath(parent))
    return node
  }
  node_ops.rename = (node, directory, name) => {
    const before = dirname(realPath(node))
    rename(node, directory, name)
    changed.add(before).add(realPath(directory))
  }
  node_ops.unlink = (parent, name) => {
    unlink(parent, name)
    changed.add(realPath(parent))
  }
  node_ops.rmdir = (parent, name) => {
    rmdir(parent, name)
    changed.delete(join(realPath(parent), name))
    changed.add(realPath(parent))
  }
  const syncChanged = (path: string): void => {
    const parent = dirname(path)
    if (parent !== path) syncChanged(parent)
    if (!changed.has(path)) return
    syncDirectory(path)
    changed.delete(path)
  }
  stream_ops.fsync = ({ nfd, node }) =>
    tryFSOperation(() => {
      const path = realPath(node)
      const isDirectory = (node.mode & typeBits) === directoryType
      if (!isDirectory) fsyncSync(nfd)
      else if (canSyncDirectories) changed.add(path)
      syncChanged(path)
      return 0
    })
}

/** As in `stat(2)`, on every system. */
const typeBits = 0o170000
const directoryType = 0o040000
