import { home } from "../app/router.ts"
import { ButtonLink } from "../components/ui/Button.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { EmptyState } from "../components/ui/States.tsx"

export const NotFoundPage = () => (
  <>
    <PageHeader title="Not found" />
    <EmptyState title="This page does not exist" action={<ButtonLink href={home} text="Go to the overview" />}>
      The URL may have a typo, or the page may have moved.
    </EmptyState>
  </>
)
