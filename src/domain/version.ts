import manifest from "../../package.json" with { type: "json" }

/** The version of Quarry. It is in package.json and nowhere else. */
export const version: string = manifest.version
