import { PageHeader } from "../components/PageHeader.tsx"
import { EmptyState } from "../components/States.tsx"
import { home } from "../router.ts"

export const NotFoundPage = () => (
  <>
    <PageHeader title="Not found" />
    <EmptyState
      title="There is no such page"
      action={
        <a class="button" href={home}>
          Go to the overview
        </a>
      }
    >
      The address may have a typing error, or the page has moved.
    </EmptyState>
  </>
)
