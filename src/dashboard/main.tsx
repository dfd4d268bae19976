import "./app/start.ts"
import { useErrorBoundary } from "preact/hooks"
import { mount } from "./app/mount.tsx"
import { place } from "./app/router.ts"
import { PageAt } from "./app/routes.tsx"
import { enrollPath, loadSession, session } from "./app/session.ts"
import { Broken } from "./components/Broken.tsx"
import { EntryFrame } from "./components/EntryFrame.tsx"
import { Layout } from "./components/Layout.tsx"
import { SecretDialog } from "./components/SecretDialog.tsx"
import { SessionDialog } from "./components/SessionDialog.tsx"
import { PageHeader } from "./components/ui/PageHeader.tsx"
import { ErrorState } from "./components/ui/States.tsx"

const Page = ({ path }: { readonly path: string }) => {
  const [error] = useErrorBoundary()
  return error === undefined ? (
    <PageAt path={path} />
  ) : (
    <Broken title="This page stopped because of an error">{String(error)}</Broken>
  )
}

const App = () => {
  const { path } = place.value
  if (path === enrollPath) {
    return (
      <EntryFrame>
        <Page key={path} path={path} />
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
        <Page key={path} path={path} />
      )}
      <SecretDialog />
      <SessionDialog />
    </Layout>
  )
}

mount(App)
