import { ownPlace, place } from "../app/router.ts"
import { Factors } from "../components/account/Factors.tsx"
import { SessionDialog } from "../components/SessionDialog.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"

/** Continues where the person was sent here from: on the dashboard, or on the page that connects an app. */
const next = (): string => {
  const address = place.peek().query.get("next")
  return address?.startsWith("/oauth/consent?") === true ? address : ownPlace(address)
}

/** For a person who must set up a second factor first (R66). */
export const EnrollPage = () => (
  <>
    <PageHeader title="Set up a second factor" lead="This server requires one. Choose either of the two." />
    <Factors onReady={() => location.assign(next())} />
    <SessionDialog />
  </>
)
