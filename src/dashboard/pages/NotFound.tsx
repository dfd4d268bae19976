import { PageHeader } from "../components/PageHeader.tsx"
import { EmptyState } from "../components/States.tsx"
import { home } from "../router.ts"

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
