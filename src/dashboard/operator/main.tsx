import "../app/start.ts"
import { useEffect, useErrorBoundary } from "preact/hooks"
import { mount } from "../app/mount.tsx"
import { home, place } from "../app/router.ts"
import { Broken } from "../components/Broken.tsx"
import { Frame } from "../components/Layout.tsx"
import { SessionDialog } from "../components/SessionDialog.tsx"
import { Icon } from "../components/ui/Icon.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { EmptyState, ErrorState, Skeleton } from "../components/ui/States.tsx"
import { ActDialog } from "./acts.tsx"
import { links, loadOperator, operator, root } from "./console.ts"
import { CustomerPage } from "./pages/Customer.tsx"
import { EnginesPage } from "./pages/Engines.tsx"
import { IndexPage } from "./pages/Index.tsx"
import { AuditPage, CustomersPage, SettingsPage, TopPage } from "./pages/lists.tsx"
import { MoneyPage } from "./pages/Money.tsx"
import { NowPage } from "./pages/Now.tsx"
import { RequestPage } from "./pages/Request.tsx"

const pages = new Map([
  ["", NowPage],
  ["customers", CustomersPage],
  ["request", RequestPage],
  ["engines", EnginesPage],
  ["usage", TopPage],
  ["index", IndexPage],
  ["money", MoneyPage],
  ["audit", AuditPage],
  ["settings", SettingsPage]
])

const NotFoundPage = () => (
  <>
    <PageHeader title="Not found" />
    <EmptyState title="This page does not exist">Choose a page from the navigation.</EmptyState>
  </>
)

const PageAt = ({ path }: { readonly path: string }) => {
  const [error] = useErrorBoundary()
  if (error !== undefined) return <Broken title="This page stopped because of an error">{String(error)}</Broken>
  const [name = "", id, ...rest] = path.slice(root.length + 1).split("/")
  if (rest.length > 0) return <NotFoundPage />
  if (id !== undefined && name === "customers") return <CustomerPage id={decodeURIComponent(id)} />
  if (id !== undefined && name === "request") return <RequestPage id={decodeURIComponent(id)} />
  const Page = (id === undefined && pages.get(name)) || NotFoundPage
  return <Page />
}

const Content = ({ path }: { readonly path: string }) => {
  const state = operator.value
  if (state === undefined) return <Skeleton height={400} />
  if (state.ok) return <PageAt key={path} path={path} />
  return (
    <>
      <PageHeader title="Not available" />
      <ErrorState error={state.error} retry={() => void loadOperator()} />
    </>
  )
}

const App = () => {
  const { path, query } = place.value
  const isOutside = path !== root && !path.startsWith(`${root}/`)
  useEffect(() => void loadOperator(), [])
  useEffect(() => {
    // The customer's dashboard is another document.
    if (isOutside) location.replace(query.size === 0 ? path : `${path}?${query}`)
  }, [isOutside])
  const own = (
    <a href={home}>
      <Icon name="account" />
      Your own account
    </a>
  )
  return (
    <Frame name="Operator's console" links={links} more={own}>
      {!isOutside && <Content path={path} />}
      <ActDialog />
      <SessionDialog />
    </Frame>
  )
}

mount(App)
