import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { MemberChange, NewMember } from "../../domain/accounts/MemberRequest.ts"
import { everyRole, ownerOnly, Role } from "../../domain/accounts/Role.ts"
import { AnyTarget } from "../../domain/search/Target.ts"
import { acceptingSessions, NeedsFreshSignIn } from "../Callers.ts"
import { FreshSignInRequired, InternalError, InvalidRequest, LastOwner, NotFound } from "../errors.ts"
import { Gates, RequestDecoding } from "../Gates.ts"
import { KeyBudget } from "./KeysGroup.ts"

export const Member = Schema.Struct({
  id: Schema.String.annotate({ description: "mem_ and 32 hex characters" }),
  email: Schema.String,
  role: Role,
  status: Schema.Literals(["active", "invited"]).annotate({ description: "`invited` until the person joins" }),
  targets: Schema.NullOr(Schema.Array(AnyTarget)).annotate({
    description: "The targets that the member's searches can use; null for all"
  }),
  budget: Schema.NullOr(KeyBudget).annotate({
    description: "The budget of the member's sessions, apps and keys together; null if there is none"
  })
}).annotate({ identifier: "Member" })

export const Members = Schema.Struct({ members: Schema.Array(Member) }).annotate({ identifier: "Members" })

/** Accepts any string: an unknown ID is `not_found`, not `invalid_request`. */
const params = {
  id: Schema.String.annotate({ pattern: "^mem_[0-9a-f]{32}$", description: "The ID of the member or invitation." })
}

export class MembersGroup extends HttpApiGroup.make("members")
  .add(
    HttpApiEndpoint.get("list", "/v1/members", { success: Members, error: InternalError }).annotateMerge(
      OpenApi.annotations({
        identifier: "listMembers",
        summary: "Members and invitations",
        description: "The people of the account, owners first, and those who are invited."
      })
    ),
    HttpApiEndpoint.post("invite", "/v1/members", {
      payload: NewMember,
      success: Member.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "inviteMember",
          summary: "Invite a person",
          description:
            "Sends an email with a link that is valid for seven days and works once. An account can have at most 50 members " +
            "and invitations."
        })
      ),
    HttpApiEndpoint.post("resend", "/v1/members/:id/resend", {
      params,
      success: Member,
      error: [NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "resendInvitation",
        summary: "Send an invitation again",
        description: "Sends a new link, valid for seven days. The previous link stops working."
      })
    ),
    HttpApiEndpoint.patch("change", "/v1/members/:id", {
      params,
      payload: MemberChange,
      success: Member,
      error: [InvalidRequest, NotFound, LastOwner, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "changeMember",
          summary: "Change a member's role or limits",
          description:
            "Also changes an invitation. Absent fields keep their values. A role takes effect at once; the last owner stays an " +
            "owner. `targets` and `budget` limit all searches of the member together: in the dashboard, with apps, and with the " +
            "keys that the member created, even after the member is removed. null removes a limit. Keys follow a change within 10 seconds."
        })
      ),
    HttpApiEndpoint.delete("remove", "/v1/members/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: [FreshSignInRequired, NotFound, LastOwner, InternalError]
    })
      .annotate(NeedsFreshSignIn, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "removeMember",
          summary: "Remove a member or an invitation",
          description:
            "Ends the person's sessions and apps in this account at once. The keys that the person created keep working. " +
            "Owners remove anybody; other members may remove themselves. The last owner cannot be removed. " +
            "Needs a sign-in within the last ten minutes."
        })
      )
  )
  .pipe(
    acceptingSessions({
      list: ownerOnly,
      invite: ownerOnly,
      resend: ownerOnly,
      change: ownerOnly,
      remove: everyRole
    })
  )
  .middleware(Gates)
  .annotateMerge(OpenApi.annotations({ title: "Members", description: "The people of the signed-in account" })) {}
