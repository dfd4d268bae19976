/** True in `.ci/run`. */
export const isGate = process.env.CI === "true"

/**
 * Runs of a property whose runs each pass through the whole stack: 20 while you work, 100 in the gate, where each run has
 * new values. Pure rules are cheap, so their properties run 100 times or more everywhere.
 */
export const wholeStackRuns = Number(process.env.QUARRY_RUNS ?? (isGate ? 100 : 20))
