/**
 * Runs of a property whose runs each pass through the whole stack: 20 while you work, 500 in the gate. Pure rules are
 * cheap, so their properties run 100 times or more everywhere.
 */
export const wholeStackRuns = Number(process.env.QUARRY_RUNS ?? (process.env.CI === "true" ? 500 : 20))
