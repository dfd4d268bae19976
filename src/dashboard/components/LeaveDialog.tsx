import { call } from "../api/client.ts"
import { leave, me, membership } from "../app/session.ts"
import { ConfirmDialog } from "./ui/Dialog.tsx"

export const LeaveDialog = ({ onClose }: { readonly onClose: () => void }) => (
  <ConfirmDialog
    title={`Leave ${me.value?.email ?? "this account"}?`}
    action="Leave account"
    request={() => call("DELETE /v1/members/{id}", { params: { id: membership.value?.member_id ?? "" } })}
    onDone={leave}
    onClose={onClose}
  >
    <p>Your sessions and connected apps in this account end immediately. API keys that you created keep working.</p>
    <p>To come back, you need an invitation from an owner.</p>
  </ConfirmDialog>
)
