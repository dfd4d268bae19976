import { signal } from "@preact/signals"

export const prefix = "quarry."

/** Private windows and full disks may deny storage. The choice then lasts until the page closes. */
const read = (name: string): string | null => {
  try {
    return localStorage.getItem(prefix + name)
  } catch {
    return null
  }
}

const write = (name: string, value: string): void => {
  try {
    localStorage.setItem(prefix + name, value)
  } catch {
    // The choice lasts until the page closes.
  }
}

const themes = ["system", "light", "dark"] as const
export type Theme = (typeof themes)[number]

export const themeOf = (text: string | null): Theme => themes.find((name) => name === text) ?? "system"

export const theme = signal(themeOf(read("theme")))

/** Time zone of the log. Usage is always counted in UTC. */
export type Zone = "local" | "utc"

export const zoneOf = (text: string | null): Zone => (text === "utc" ? "utc" : "local")

export const zone = signal(zoneOf(read("zone")))

export const localZone = new Intl.DateTimeFormat().resolvedOptions().timeZone

export const setTheme = (next: string): void => {
  theme.value = themeOf(next)
  write("theme", theme.value)
}

export const setZone = (next: string): void => {
  zone.value = zoneOf(next)
  write("zone", zone.value)
}

export const areStepsHidden = signal(read("steps") === "hidden")

export const hideSteps = (): void => {
  areStepsHidden.value = true
  write("steps", "hidden")
}
