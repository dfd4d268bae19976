const unitsMs = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1000, milli: 1 }

/** In the largest unit that divides the duration, as settings accept it: `90 days`. */
export const durationText = (ms: number): string => {
  const [unit, unitMs] = Object.entries(unitsMs).find(([, unitMs]) => ms % unitMs === 0) ?? ["milli", 1]
  return ms === 0 ? "0" : `${ms / unitMs} ${unit}${ms === unitMs ? "" : "s"}`
}
