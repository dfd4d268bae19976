/** Rarely used pages, in a script of their own that loads when one of them is opened. */

// The error handler must run before the modules that both scripts share.
import "../app/start.ts"

export { AccountPage } from "./Account.tsx"
export { ActivityPage } from "./Activity.tsx"
export { AppsPage } from "./Apps.tsx"
export { BillingPage } from "./Billing.tsx"
export { EnrollPage } from "./Enroll.tsx"
export { MembersPage } from "./Members.tsx"
export { WebhooksPage } from "./Webhooks.tsx"
