import { otherOrigin } from "../app/facts.ts"
import { EntryFrame } from "./EntryFrame.tsx"
import { PageHeader } from "./ui/PageHeader.tsx"

const OtherAddress = ({ own }: { readonly own: string }) => (
  <>
    <PageHeader title="Open Quarry at its own address" />
    <p class="foot">
      You opened <strong>{location.origin}</strong>, but the address of this server (<code>BASE_URL</code>) is{" "}
      <strong>{own}</strong>. Signing in works only there.
    </p>
    <div class="choices">
      <a class="button primary" href={own + location.pathname + location.search}>
        Open {own}
      </a>
    </div>
    <p class="foot">
      If that address is wrong, the operator can set <code>BASE_URL</code> to the one that people open.
    </p>
  </>
)

const NoCookies = () => (
  <>
    <PageHeader title="Quarry needs cookies" />
    <p class="foot">
      Your browser blocks cookies for <strong>{location.host}</strong>, so it cannot stay signed in. Allow cookies for
      this site in the browser’s privacy settings, then reload the page. Quarry sets only the cookie of your session.
    </p>
  </>
)

/** Why this browser cannot use the dashboard, if it cannot. */
export const startProblem = (): preact.ComponentChild => {
  if (otherOrigin !== undefined) return <OtherAddress own={otherOrigin} />
  return navigator.cookieEnabled ? undefined : <NoCookies />
}

export const StartProblem = ({ children }: { readonly children: preact.ComponentChild }) => (
  <EntryFrame>{children}</EntryFrame>
)
