import type { ComponentType } from "preact"
import { ForgotPasswordPage } from "../pages/ForgotPassword.tsx"
import { KeysPage } from "../pages/Keys.tsx"
import { LogPage } from "../pages/Log.tsx"
import { LogEntryPage } from "../pages/LogEntry.tsx"
import { NotFoundPage } from "../pages/NotFound.tsx"
import { OverviewPage } from "../pages/Overview.tsx"
import { PlaygroundPage } from "../pages/Playground.tsx"
import { SignInPage } from "../pages/SignIn.tsx"
import { SignUpPage } from "../pages/SignUp.tsx"
import { UsagePage } from "../pages/Usage.tsx"
import { OnDemand } from "./OnDemand.tsx"
import { home } from "./router.ts"
import { signInPath } from "./session.ts"

const pages: Readonly<Record<string, ComponentType>> = {
  [home]: OverviewPage,
  [`${home}/playground`]: PlaygroundPage,
  [`${home}/log`]: LogPage,
  [`${home}/usage`]: UsagePage,
  [`${home}/keys`]: KeysPage,
  [`${home}/apps`]: () => <OnDemand name="AppsPage" />,
  [`${home}/webhooks`]: () => <OnDemand name="WebhooksPage" />,
  [`${home}/billing`]: () => <OnDemand name="BillingPage" />,
  [`${home}/activity`]: () => <OnDemand name="ActivityPage" />,
  [`${home}/account`]: () => <OnDemand name="AccountPage" />,
  [signInPath]: SignInPage,
  [`${home}/sign-up`]: SignUpPage,
  [`${home}/forgot-password`]: ForgotPasswordPage
}

const logEntry = new RegExp(`^${home}/log/([^/]+)$`)

export const PageAt = ({ path }: { readonly path: string }) => {
  const id = logEntry.exec(path)?.[1]
  if (id !== undefined) return <LogEntryPage id={id} />
  const Page = pages[path] ?? NotFoundPage
  return <Page />
}
