import { home } from "../app/router.ts"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { EmptyState } from "../components/ui/States.tsx"

export const NotFoundPage = () => (
  <>
    <PageHeader title="Not found" />
    <EmptyState
      title="This page does not exist"
      action={
        <a class="button" href={home}>
          Go to the overview
        </a>
      }
    >
      The URL may have a typo, or the page may have moved.
    </EmptyState>
  </>
)
