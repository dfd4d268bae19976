import { type ComponentType, render } from "preact"
import { StartProblem, startProblem } from "../components/StartProblem.tsx"
import { leadToOwnAddress } from "./facts.ts"
import { startRouter } from "./router.ts"
import { startSession } from "./session.ts"
import { startPreferences } from "./startPreferences.ts"
import { startTranslation } from "./translation.ts"

/** Shows the app in the document of `site/shell.ts`. */
export const mount = (App: ComponentType): void => {
  const root = document.getElementById("dashboard")
  if (root === null || leadToOwnAddress()) return
  // Removes the logo shown until this script runs.
  root.replaceChildren()
  startPreferences()
  const problem = startProblem()
  if (problem !== undefined) {
    render(<StartProblem>{problem}</StartProblem>, root)
    return
  }
  startTranslation(root)
  startRouter()
  startSession()
  render(<App />, root)
}
