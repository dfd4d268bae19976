import { effect } from "@preact/signals"
import { prefix, theme, themeOf, zone, zoneOf } from "./preferences.ts"

/** Follows the choices of this tab and of the others. */
export const startPreferences = (): void => {
  effect(() => {
    if (theme.value === "system") delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme.value
  })
  addEventListener("storage", ({ key, newValue }) => {
    if (key === `${prefix}theme`) theme.value = themeOf(newValue)
    if (key === `${prefix}zone`) zone.value = zoneOf(newValue)
  })
}
