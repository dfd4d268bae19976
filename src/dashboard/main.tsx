import { render } from "preact"
import { EntryFrame } from "./components/EntryFrame.tsx"
import { Layout } from "./components/Layout.tsx"
import { PageHeader } from "./components/PageHeader.tsx"
import { ErrorState } from "./components/States.tsx"
import { place, startRouter } from "./router.ts"
import { pageAt } from "./routes.tsx"
import { loadSession, openPaths, session, startSession } from "./session.ts"

const App = () => {
  const { path } = place.value
  const { page: Page, params } = pageAt(path)
  if (openPaths.has(path)) {
    return (
      <EntryFrame>
        <Page params={params} />
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
        <Page key={path} params={params} />
      )}
    </Layout>
  )
}

const root = document.getElementById("dashboard")
if (root !== null) {
  // Removes the logo shown until this script runs.
  root.replaceChildren()
  startRouter()
  startSession()
  render(<App />, root)
}
