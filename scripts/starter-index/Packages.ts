import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"

export interface Pin {
  readonly name: string
  readonly version: string
  readonly license: string
  /** Subresource integrity of the tarball, to reject a download that differs from the pinned one. */
  readonly integrity: string
}

export interface Package extends Pin {
  readonly paths: ReadonlyArray<string>
  readonly text: (path: string) => string
  readonly json: (path: string) => unknown
}

export const pins = {
  bcd: {
    name: "@mdn/browser-compat-data",
    version: "8.1.9",
    license: "CC0-1.0",
    integrity: "sha512-7d8D9yzVS4ugLbt4clzc5DKU8dq85K0lRebjzpP43GxSr7vYKmczgfuEU+0beimjl5YmnHkcErtolg5t5ttb0A=="
  },
  mdnPages: {
    name: "@ddbeck/mdn-content-inventory",
    version: "0.2.20260206",
    license: "CC-BY-SA-2.5",
    integrity: "sha512-12YEGGHK48GHRyAqCZNDF8IMr/I5b02XmQwmJcSmr6CINU/6Nb5kIIPeZBlxfT6b1CcajaOUnIzLw2oaMIdQEQ=="
  },
  webData: {
    name: "@vscode/web-custom-data",
    version: "0.6.3",
    license: "MIT",
    integrity: "sha512-3pDUAPGVkra1KjR2L5m3b7BgzLTlWdep4ijsRoqeLcrp+e7cJcyjnae8IkAdF/xS6Zo3B1YZSmIBIhRAEYBIog=="
  },
  webFeatures: {
    name: "web-features",
    version: "3.40.0",
    license: "Apache-2.0",
    integrity: "sha512-3AzfKxVv7hWTRZSubYBVu1LHk62mdGg+vIpVAf6+nNC3pC7g455nKSry5OlwsaSYMzuzL2DxSTwlyb5z0+XZdQ=="
  },
  webSpecs: {
    name: "web-specs",
    version: "4.16.0",
    license: "CC0-1.0",
    integrity: "sha512-jdkY9Q5OOfnYhqAVN4+jS0ByRD7KONptpX0wKG57dmSJjNRsCtxamB+CcfemqxGEf1zI+riNghjkYKwKWDbQGA=="
  },
  mdnData: {
    name: "mdn-data",
    version: "2.37.2",
    license: "CC0-1.0",
    integrity: "sha512-rz9YOBGItdSbe7HcSArUbhiAv4SB/4DKRYg96CSFS2CcIYMbUvBtZlzA1NCbk2AdgbmYwMqwNblLpR441lLeiQ=="
  },
  webrefIdl: {
    name: "@webref/idl",
    version: "3.85.0",
    license: "MIT",
    integrity: "sha512-pUflhFMSsZ+uwjxiyFwvzs1q/Y+1a4xps0toQbHgyNXvE9QMC+BpQZxhdX3VAS+OF0349XIezNHUE0V4NWFffw=="
  },
  typescript: {
    name: "typescript",
    version: "6.0.3",
    license: "Apache-2.0",
    integrity: "sha512-y2TvuxSZPDyQakkFRPZHKFm+KKVqIisdg9/CZwm9ftvKXLP8NRWj38/ODjNbr43SsoXqNuAisEf1GdCxqWcdBw=="
  },
  statuses: {
    name: "statuses",
    version: "2.0.2",
    license: "MIT",
    integrity: "sha512-DvEy55V3DB7uknRo+4iOGT5fP1slR8wQohVdknigZPMpMstaKJQWhwiYBACJE3Ul2pTnATihhBYnRhZQHGBiRw=="
  },
  caniuse: {
    name: "caniuse-db",
    version: "1.0.30001813",
    license: "CC-BY-4.0",
    integrity: "sha512-90L9rlSBXv0XWMFVlg5Y/kT7AqoJFRY5K0joyIZPS8p1sIBQIVs4Q6BRCDsVOc1mjy5D+TEZ7K6O171n4o9dcA=="
  },
  spdx: {
    name: "spdx-license-list",
    version: "6.12.0",
    license: "CC0-1.0",
    integrity: "sha512-+nUYqm3aZMSHbjsthK+i/HHI2okTElCvqwUd4k8QcSk+FTGgjq+fsdFj2wZOaX6XmR2JdWhf/NeflNnvKOjcnQ=="
  },
  next: {
    name: "next",
    version: "16.4.6",
    license: "MIT",
    integrity: "sha512-QZJiYhaZLJMo2KpkQGQIwvmd79WVsAWeYIU554a8d7zArS3si/IRy3lBNV/rtYhE70oLwdLYhPAXLPx8HwcwtA=="
  },
  ai: {
    name: "ai",
    version: "7.0.173",
    license: "Apache-2.0",
    integrity: "sha512-dLea37zT1h7cjkUsBprU4Rq35HJqhtHHaq1jTAXjHQoyfpeswpgCrhjZJWdWc10gjEAxmz114py7iLGQ3xIMxw=="
  },
  fastify: {
    name: "fastify",
    version: "5.12.8",
    license: "MIT",
    integrity: "sha512-moP8exb2sCHLUbJkwp+I6C0padhy4D8lp0SdmzY7HhSdZuqm7O/u3o2aq7u8okaQ//33QDzj3G/u+FsSdB8Qzw=="
  },
  bun: {
    name: "bun-types",
    version: "1.4.5",
    license: "MIT",
    integrity: "sha512-ECHn+9dhL3wv0G6u0+7dQvrnaimXiRDxxerYBmhTaLyJEEuvTPWk2Fye3XIf5Y++JIIiHKfQw4Z7V5D8KuiXbg=="
  },
  eslint: {
    name: "eslint",
    version: "10.15.0",
    license: "MIT",
    integrity: "sha512-+5Wg4p+ze3sG1WErYgUO/3H1IQIfFBymVUA0Fo/XTeBOLS6UQIUekpSJ8sdRkn7O7wjh84b55w/roqavH2aScg=="
  },
  typescriptEslint: {
    name: "@typescript-eslint/eslint-plugin",
    version: "8.73.0",
    license: "MIT",
    integrity: "sha512-UkygMFer53Yzn29MCYFTHf34hGXf5KJhiDWfIm1tXtXRrym1CS6l5H9Y3yCtPWChpC0/f93H88gdj8tN0dd4kw=="
  },
  unicorn: {
    name: "eslint-plugin-unicorn",
    version: "80.0.0",
    license: "MIT",
    integrity: "sha512-aHqSTSY0VglZtQfPrAJQiYNGJgOnI2O5+yuavD3oVXnToUL15kqIN/Dl10pAxpud2v/rrXSiepRaDlYuNxjlWg=="
  },
  biome: {
    name: "@biomejs/biome",
    version: "2.6.8",
    license: "MIT OR Apache-2.0",
    integrity: "sha512-kqZUFvX6/aYQOmzfRN5ANcfNS9wLH4aHLWWP/dQKyhRZVoA6rdWszA7DGugFcxPbMiznUyVYyukVl+ExZN4PQA=="
  }
} as const satisfies Record<string, Pin>

const blockBytes = 512

const field = (header: Buffer, start: number, length: number): string =>
  header
    .toString("utf8", start, start + length)
    .replace(/\0.*$/s, "")
    .trim()

// npm packs plain ustar, with a pax record only for a path too long for the header; a reader of that much keeps
// the script free of a tar on the machine and of unpacking forty thousand files to read a few hundred.
const untar = (tar: Buffer): ReadonlyMap<string, Buffer> => {
  const files = new Map<string, Buffer>()
  let longPath: string | undefined
  for (let at = 0; at + blockBytes <= tar.length && tar[at] !== 0; ) {
    const header = tar.subarray(at, at + blockBytes)
    const size = Number.parseInt(field(header, 124, 12) || "0", 8)
    const body = tar.subarray(at + blockBytes, at + blockBytes + size)
    const type = field(header, 156, 1) || "0"
    const prefix = field(header, 345, 155)
    if (type === "x") {
      longPath = /^\d+ path=(.*)$/m.exec(body.toString("utf8"))?.[1]
    } else {
      const path = longPath ?? (prefix === "" ? field(header, 0, 100) : `${prefix}/${field(header, 0, 100)}`)
      if (type === "0") files.set(path.slice(path.indexOf("/") + 1), body)
      longPath = undefined
    }
    at += blockBytes + Math.ceil(size / blockBytes) * blockBytes
  }
  return files
}

/** Fetches a pinned package into `folder` and opens it. Throws when the tarball or its license is not as pinned. */
export const fetchPackage = (pin: Pin, folder: string): Package => {
  const destination = join(folder, pin.name.replace(/\W+/g, "-"))
  mkdirSync(destination)
  execFileSync("npm", ["pack", `${pin.name}@${pin.version}`, "--silent", "--pack-destination", destination], {
    cwd: destination,
    stdio: ["ignore", "ignore", "inherit"]
  })
  const tarball = readdirSync(destination).find((name) => name.endsWith(".tgz"))
  if (tarball === undefined) throw new Error(`npm pack left no tarball of ${pin.name}`)
  const packed = readFileSync(join(destination, tarball))
  const integrity = `sha512-${createHash("sha512").update(packed).digest("base64")}`
  if (integrity !== pin.integrity) throw new Error(`${pin.name}@${pin.version} is not the pinned tarball`)
  const files = untar(gunzipSync(packed))
  const text = (path: string): string => {
    const body = files.get(path)
    if (body === undefined) throw new Error(`${pin.name}@${pin.version} has no ${path}`)
    return body.toString("utf8")
  }
  if (!text("package.json").includes(`"${pin.license}"`)) throw new Error(`${pin.name} is not under ${pin.license}`)
  return { ...pin, paths: [...files.keys()].sort(), text, json: (path) => JSON.parse(text(path)) as unknown }
}
