import type { ComponentType } from "preact"
import { AccountPage } from "../pages/Account.tsx"
import { AppsPage } from "../pages/Apps.tsx"
import { BillingPage } from "../pages/Billing.tsx"
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
import { WebhooksPage } from "../pages/Webhooks.tsx"
import { home, type PageProps } from "./router.ts"
import { signInPath } from "./session.ts"

interface PageRoute {
  readonly pattern: string
  readonly page: ComponentType<PageProps>
}

const pages: ReadonlyArray<PageRoute> = [
  { pattern: home, page: OverviewPage },
  { pattern: `${home}/playground`, page: PlaygroundPage },
  { pattern: `${home}/log`, page: LogPage },
  { pattern: `${home}/log/:id`, page: LogEntryPage },
  { pattern: `${home}/usage`, page: UsagePage },
  { pattern: `${home}/keys`, page: KeysPage },
  { pattern: `${home}/apps`, page: AppsPage },
  { pattern: `${home}/webhooks`, page: WebhooksPage },
  { pattern: `${home}/billing`, page: BillingPage },
  { pattern: `${home}/account`, page: AccountPage },
  { pattern: signInPath, page: SignInPage },
  { pattern: `${home}/sign-up`, page: SignUpPage },
  { pattern: `${home}/forgot-password`, page: ForgotPasswordPage }
]

const match = (pattern: string, path: string): Readonly<Record<string, string>> | undefined => {
  const [wanted, given] = [pattern.split("/"), path.split("/")]
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? ""
    if (part.startsWith(":")) params[part.slice(1)] = value
    else if (part !== value) return undefined
  }
  return params
}

export const pageAt = (
  path: string
): { readonly page: ComponentType<PageProps>; readonly params: PageProps["params"] } => {
  for (const { page, pattern } of pages) {
    const params = match(pattern, path)
    if (params !== undefined) return { page, params }
  }
  return { page: NotFoundPage, params: {} }
}
