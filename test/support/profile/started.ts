import { channel } from "node:diagnostics_channel"

export const startedChannel = "quarry:test:started"

const started = channel(startedChannel)

/** Counts a database, a store or a sign-in for the profile of a run. Programs are counted without it. */
export const count = (what: string): void => started.publish(what)
