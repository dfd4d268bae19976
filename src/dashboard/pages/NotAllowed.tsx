import { type RoleGroup, roleGroups } from "../app/roles.ts"
import { home } from "../app/router.ts"
import { role } from "../app/session.ts"
import { ButtonLink } from "../components/ui/Button.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { EmptyState } from "../components/ui/States.tsx"

const listed = new Intl.ListFormat("en", { type: "disjunction" })

export const NotAllowedPage = ({ roles }: { readonly roles: RoleGroup }) => (
  <>
    <PageHeader title="Not available to your role" />
    <EmptyState
      title={`This page is for members with the role ${listed.format(roleGroups[roles])}`}
      action={<ButtonLink href={home} text="Overview" />}
    >
      {`Your role in this account is ${role.value}. An owner can change it.`}
    </EmptyState>
  </>
)
