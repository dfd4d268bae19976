import { type ComponentType, render } from "preact"
import { isAtOwnAddress } from "./facts.ts"
import { startRouter } from "./router.ts"
import { signInAddress, startSession } from "./session.ts"
import { startPreferences } from "./startPreferences.ts"
import { startTranslation } from "./translation.ts"

/** Shows the app in the document of `site/shell.ts`. */
export const mount = (App: ComponentType): void => {
  const root = document.getElementById("dashboard")
  if (root === null) return
  // The sign-in page leads to the own address, or names it.
  if (!isAtOwnAddress) {
    location.replace(signInAddress())
    return
  }
  // Removes the logo shown until this script runs.
  root.replaceChildren()
  startPreferences()
  startTranslation(root)
  startRouter()
  startSession()
  render(<App />, root)
}
