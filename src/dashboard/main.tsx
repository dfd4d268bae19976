import { render } from "preact"
import { startPreferences } from "./app/preferences.ts"
import { place, startRouter } from "./app/router.ts"
import { PageAt } from "./app/routes.tsx"
import { loadSession, openPaths, session, startSession } from "./app/session.ts"
import { EntryFrame } from "./components/EntryFrame.tsx"
import { Layout } from "./components/Layout.tsx"
import { SessionDialog } from "./components/SessionDialog.tsx"
import { PageHeader } from "./components/ui/PageHeader.tsx"
import { ErrorState } from "./components/ui/States.tsx"

const App = () => {
  const { path } = place.value
  if (openPaths.has(path)) {
    return (
      <EntryFrame>
        <PageAt path={path} />
      </EntryFrame>
    )
  }
  const state = session.value
  return (
    <Layout>
      {state._tag === "failed" ? (
        <>
          <PageHeader title="Not available" />
          <ErrorState error={state.error} retry={() => void loadSession()} />
        </>
      ) : (
        <PageAt key={path} path={path} />
      )}
      <SessionDialog />
    </Layout>
  )
}

const root = document.getElementById("dashboard")
if (root !== null) {
  // Removes the logo shown until this script runs.
  root.replaceChildren()
  startPreferences()
  startRouter()
  startSession()
  render(<App />, root)
}
