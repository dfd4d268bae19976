import { chmodSync, lstatSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { NodeFS } from "@electric-sql/pglite/nodefs"
import { addSync, type NodeFileLayer } from "./SyncedFiles.ts"

const forOthers = 0o077
const permissions = 0o7777

/** Set on shared directories such as /tmp. */
const sticky = 0o1000

/** On systems without Unix permissions, every file appears accessible to all. */
const hasPermissions = process.platform !== "win32"

/** PGlite's types are not published. */
interface FileOperations {
  setattr: (file: unknown, attributes: { readonly mode?: number }) => void
  mknod: (parent: unknown, name: string, mode: number, device: unknown) => unknown
}

/** PGlite sets the mode of each file explicitly, so the process's umask has no effect. */
export class PrivateFiles extends NodeFS {
  readonly #sync: boolean

  constructor(directory: string, { sync }: { readonly sync: boolean }) {
    super(directory)
    this.#sync = sync
  }

  override async init(...[database, options]: Parameters<NodeFS["init"]>): ReturnType<NodeFS["init"]> {
    const { emscriptenOpts } = await super.init(database, options)
    const preRun = emscriptenOpts.preRun ?? []
    const change = ({ NODEFS }: { readonly NODEFS: NodeFileLayer & { readonly node_ops: FileOperations } }) => {
      restrictNew(NODEFS.node_ops)
      if (this.#sync) addSync(NODEFS)
    }
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...preRun, change] } }
  }
}

const restrictNew = (operations: FileOperations): void => {
  const { mknod, setattr } = operations
  operations.mknod = (parent, name, mode, device) => mknod(parent, name, mode & ~forOthers, device)
  operations.setattr = (file, attributes) =>
    setattr(file, attributes.mode === undefined ? attributes : { ...attributes, mode: attributes.mode & ~forOthers })
}

/** Older or copied stores may have wider permissions. Throws operating-system errors. */
export const restrict = (dataDir: string): void => {
  if (!hasPermissions) return
  const { mode } = statSync(dataDir)
  if ((mode & sticky) !== 0) throw new Error("all users of the machine share it")
  if ((mode & forOthers) !== 0) chmodSync(dataDir, mode & permissions & ~forOthers)
  for (const name of readdirSync(dataDir, { recursive: true, encoding: "utf8" })) {
    const path = join(dataDir, name)
    const entry = lstatSync(path)
    if (!entry.isSymbolicLink() && (entry.mode & forOthers) !== 0) {
      chmodSync(path, entry.mode & permissions & ~forOthers)
    }
  }
}
