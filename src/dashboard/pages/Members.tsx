import { useState } from "preact/hooks"
import { call } from "../api/client.ts"
import type { Answer } from "../api/routes.ts"
import { changed, useFresh } from "../app/freshness.ts"
import { useRoute } from "../app/resource.ts"
import { membership } from "../app/session.ts"
import { useForm } from "../app/useForm.ts"
import { describeBounds } from "../bounds.ts"
import { Spent } from "../components/keys/Spent.tsx"
import { LeaveDialog } from "../components/LeaveDialog.tsx"
import { InviteDialog, LimitsDialog, RemoveDialog, RoleDialog } from "../components/members/MemberDialogs.tsx"
import { Badge } from "../components/ui/Badge.tsx"
import { Button } from "../components/ui/Button.tsx"
import { Card } from "../components/ui/Card.tsx"
import { Menu, type MenuItem } from "../components/ui/Menu.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { Loaded } from "../components/ui/States.tsx"
import { actionHead, Table } from "../components/ui/Table.tsx"
import { announce } from "../components/ui/Toast.tsx"

type Member = Answer<"GET /v1/members">["members"][number]

const dialogs = { role: RoleDialog, limits: LimitsDialog, remove: RemoveDialog }

type Action = { readonly _tag: "invite" | "leave" } | { readonly _tag: keyof typeof dialogs; readonly subject: Member }

interface RowProps {
  readonly member: Member
  readonly onAction: (action: Action) => void
  readonly onDone: (text: string) => void
}

const isSelf = ({ id }: Member): boolean => id === membership.value?.member_id

const itemsOf = ({ member, onAction }: RowProps): ReadonlyArray<MenuItem> => [
  { text: "Change role", onSelect: () => onAction({ _tag: "role", subject: member }) },
  { text: "Edit limits", onSelect: () => onAction({ _tag: "limits", subject: member }) },
  isSelf(member)
    ? { text: "Leave account", isDanger: true, onSelect: () => onAction({ _tag: "leave" }) }
    : {
        text: member.status === "invited" ? "Cancel invitation" : "Remove",
        isDanger: true,
        onSelect: () => onAction({ _tag: "remove", subject: member })
      }
]

const Resend = ({ member: { email, id }, onDone }: RowProps) => {
  const { busy, run } = useForm()
  const resend = (): void =>
    run(
      async () => {
        const result = await call("POST /v1/members/{id}/resend", { params: { id } })
        if (!result.ok) announce(`The invitation was not sent. ${result.error.message}`)
        return result
      },
      () => onDone(`Sent the invitation to ${email} again.`)
    )
  return (
    <Button small busy={busy} label={`Resend the invitation to ${email}`} onClick={resend}>
      Resend
    </Button>
  )
}

const MemberTable = ({ members, ...row }: Omit<RowProps, "member"> & { readonly members: ReadonlyArray<Member> }) => (
  <Table
    caption="Members"
    rows={members}
    keyOf={({ id }) => id}
    columns={[
      {
        name: "Member",
        isHeader: true,
        cell: (member) => (
          <div class="named">
            <bdi>{member.email}</bdi>
            {isSelf(member) && <span class="bound">You</span>}
            {describeBounds(member).map((bound) => (
              <span key={bound} class="bound">
                {bound}
              </span>
            ))}
          </div>
        )
      },
      { name: "Role", cell: ({ role }) => <Badge text={role} /> },
      {
        name: "Status",
        cell: ({ status }) => <Badge kind={status === "active" ? "ok" : "slow"} text={status} />
      },
      { name: "Spent", cell: ({ budget }) => <Spent budget={budget} /> },
      {
        ...actionHead,
        cell: (member) => (
          <span class="row-actions">
            {member.status === "invited" && <Resend member={member} {...row} />}
            <Menu label={`Actions for ${member.email}`} items={itemsOf({ member, ...row })} />
          </span>
        )
      }
    ]}
  />
)

export const MembersPage = () => {
  const members = useRoute("GET /v1/members", {})
  const [action, setAction] = useState<Action>()
  useFresh("members", members.reload)
  const close = (): void => setAction(undefined)
  const onDone = (text: string): void => {
    announce(text)
    changed("members")
    members.reload()
    close()
  }
  const shared = { onDone, onClose: close }
  const OneMemberDialog = action && "subject" in action ? dialogs[action._tag] : undefined
  return (
    <>
      <PageHeader
        title="Members"
        lead="The people who can sign in to this account, and what each of them may do."
        actions={
          <Button kind="primary" onClick={() => setAction({ _tag: "invite" })}>
            Invite a person
          </Button>
        }
      />
      <Card title="Members and invitations">
        <Loaded resource={members} height={160}>
          {({ members: all }) => <MemberTable members={all} onAction={setAction} onDone={onDone} />}
        </Loaded>
      </Card>
      {action?._tag === "invite" && <InviteDialog {...shared} />}
      {action?._tag === "leave" && <LeaveDialog onClose={close} />}
      {OneMemberDialog && action && "subject" in action && <OneMemberDialog subject={action.subject} {...shared} />}
    </>
  )
}
